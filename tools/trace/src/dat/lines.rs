//! The records of a trace.dat.
//!
//! First what a header would say: CPUs, and a line for each buffer. Then a record for each event: its fields,
//! if it is one that is decoded, or its text as the kernel writes it. A clock that counts no time (`counter`,
//! `uptime`, `x86-tsc`) gives an order only. Names of tasks are those that trace-cmd saved; a task that it
//! does not know gets the name under which a `sched_switch` saw it, if one did, and is `<...>` otherwise.

use super::expr::Context;
use super::format::{Field, Format, Kind};
use super::layout::Layout;
use super::merge::{Merge, Met};
use super::page::Missing;
use super::print::write_fields;
use super::walk::{File, Source, lossy};
use crate::base::made::push_line;
use crate::line::{self, Columns, Draft, How, Made, Maker, Shape};
use std::collections::HashMap;
use std::io::{self, Write};

/// Bytes of one event's text; beyond it is cut.
const TEXT_MOST: usize = 32 << 10;

/// Names of tasks that are learned on the way.
const LEARNED_MOST: usize = 1 << 16;

/// A trace.dat.
pub(crate) struct Dat {
    layout: Layout,
    merge: Merge,
    /// By buffer: whether its clock counts time.
    units: Vec<bool>,
    /// Events of a buffer and CPU whose loss has been written.
    reported: HashMap<(usize, u32), u64>,
    text: String,
}

impl Dat {
    pub(crate) fn open(source: Box<dyn Source>) -> io::Result<Made> {
        let mut file = File::new(source)?;
        let layout = Layout::read(&mut file)?;
        let merge = Merge::new(file, &layout)?;
        let units = layout.buffers.iter().map(|b| counts_time(&b.clock));
        let dat = Dat {
            units: units.collect(),
            merge,
            reported: HashMap::new(),
            text: String::new(),
            layout,
        };
        let head = dat.header();
        Ok(Made::new(dat, head))
    }

    fn header(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let layout = &self.layout;
        let _always = writeln!(
            out,
            "# trace.dat version {}, compression {}\ncpus={}",
            layout.version,
            layout.packing.name(),
            layout.cpus
        );
        for buffer in &layout.buffers {
            let (name, clock) = (one_line(&buffer.name), one_line(&buffer.clock));
            let _always = writeln!(
                out,
                "# buffer: {} clock: {clock} cpus-with-events: {}",
                if name.is_empty() { "-" } else { &name },
                buffer.cpus.len()
            );
        }
        for option in &layout.not_applied {
            let _always = writeln!(out, "# not applied: {option}");
        }
        out
    }

    fn record(&mut self, met: &Met, out: &mut Draft) {
        self.gap(met, out);
        let event = self.merge.event(met);
        let layout = &mut self.layout;
        let (big, long) = (layout.shape.big, layout.shape.long);
        let formats = &mut layout.formats;
        let common = |name| formats.common(name).and_then(|f| f.number(event, big));
        let id = common("common_type");
        let pid = common("common_pid").unwrap_or(0) as u32;
        let flags = common("common_flags").unwrap_or(0) as u8;
        let depth = common("common_preempt_count").unwrap_or(0) as u8;
        let format = id.and_then(|id| formats.get(id as u64));
        if let Some(format) = format.filter(|f| f.name == "sched_switch") {
            learn(format, event, big, &mut layout.tasks);
        }
        let context = Context {
            event,
            fields: format.map_or(&[], |f| &f.fields),
            big,
            long,
            symbols: &layout.symbols,
            strings: &layout.strings,
        };
        let task = match pid {
            0 => "<idle>",
            _ => layout.tasks.get(&pid).map_or("<...>", |t| t),
        };
        let columns = Columns {
            instance: layout.buffers[met.buffer].name.as_bytes(),
            task: task.as_bytes(),
            pid,
            cpu: met.cpu,
            flags: Some((flags, depth)),
            time: met.time.wrapping_add_signed(layout.time_offset),
            seconds: self.units[met.buffer],
        };
        let Some(format) = format else {
            return out.with_text(&columns, b"unknown", |out| {
                out.extend_from_slice(b"(no format in the file)");
            });
        };
        if let Some((shape, needs)) = &format.shape
            && let Some(shape) = out.takes(Some(shape))
        {
            let fields = fields_of(shape, needs, format, &context, out);
            return out.with_fields(&columns, fields);
        }
        self.text.clear();
        write_event(format, &context, &mut self.text);
        out.with_text(&columns, format.name.as_bytes(), |out| {
            push_line(out, self.text.trim_end().as_bytes());
        });
    }

    /// Events that are missing before this one.
    fn gap(&mut self, met: &Met, out: &mut Draft) {
        let reported = self.reported.entry((met.buffer, met.cpu)).or_default();
        match met.missing {
            Missing::None => {}
            Missing::Some => out.line(format_args!("CPU:{} [LOST EVENTS]", met.cpu)),
            Missing::Number(n) => {
                *reported = reported.saturating_add(n);
                out.line(format_args!("CPU:{} [LOST {n} EVENTS]", met.cpu));
            }
        }
    }

    /// What the statistics count and no page reported.
    fn lost_by_statistics(&self, out: &mut Draft) {
        let mut all: Vec<_> = self.layout.dropped.iter().collect();
        all.sort_unstable();
        for ((name, cpu), lost) in all {
            let buffer = self.layout.buffers.iter().position(|b| b.name == *name);
            let reported = buffer.and_then(|b| self.reported.get(&(b, *cpu)));
            let rest = lost.saturating_sub(reported.copied().unwrap_or(0));
            if rest > 0 {
                out.line(format_args!("CPU:{cpu} [LOST {rest} EVENTS]"));
            }
        }
    }
}

impl Maker for Dat {
    /// A record; at the end what the statistics say.
    fn more(&mut self, out: &mut Draft) -> io::Result<bool> {
        match self.merge.next()? {
            Some(met) => self.record(&met, out),
            None => {
                self.lost_by_statistics(out);
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// What the event needs, out of its bytes.
fn fields_of(
    shape: &'static Shape,
    needs: &[usize],
    format: &Format,
    context: &Context<'_>,
    out: &mut Draft,
) -> line::Fields {
    let mut fields = line::Fields::new(shape);
    let (event, big) = (context.event, context.big);
    for (at, ((_, how), place)) in shape.needs.iter().zip(needs).enumerate() {
        let field = &format.fields[*place];
        let number = field.number(event, big).map(|it| it as u64);
        match how {
            How::Number => {
                if let Some(number) = number {
                    fields.number(at, number);
                }
            }
            How::Text => match field.text(event, big) {
                Some(text) => fields.text(at, out.span(text)),
                None => {
                    if let Some(number) = number {
                        let text = text_of(field, number, context);
                        fields.text(at, out.span(text.as_bytes()));
                    }
                }
            },
            How::Function | How::State => {
                let mut text = String::new();
                let written = match (how, &format.print) {
                    (How::State, Some(print)) => print.write_state(context, &mut text),
                    _ => number.map(|it| context.write_function(it, false, &mut text)),
                };
                if written.is_some() {
                    fields.text(at, out.span(text.as_bytes()));
                }
            }
        }
    }
    fields
}

/// The string at an address, as the kernel's list has it; or a number.
fn text_of(field: &Field, number: u64, context: &Context<'_>) -> String {
    match (field.kind, context.strings.get(&number)) {
        (Kind::Pointer, Some(text)) => text.clone(),
        (Kind::Pointer, None) => format!("({number:#x})"),
        _ => (number as i64).to_string(),
    }
}

fn write_event(format: &Format, context: &Context<'_>, out: &mut String) {
    let printed = format.print.as_ref().and_then(|p| p.write(context, out));
    if printed.is_none() {
        out.clear();
        write_fields(format, context, out);
    }
    if out.len() > TEXT_MOST {
        let end = (0..=TEXT_MOST).rev().find(|at| out.is_char_boundary(*at));
        out.truncate(end.unwrap_or(0));
    }
}

/// The names of the two tasks of a `sched_switch`, where they were not known.
fn learn(format: &Format, event: &[u8], big: bool, tasks: &mut HashMap<u32, String>) {
    for (pid, comm) in [("prev_pid", "prev_comm"), ("next_pid", "next_comm")] {
        let pid = format.field(pid).and_then(|f| f.number(event, big));
        let comm = format.field(comm).and_then(|f| f.text(event, big));
        let (Some(pid), Some(comm)) = (pid, comm) else {
            continue;
        };
        if tasks.len() < LEARNED_MOST && !tasks.contains_key(&(pid as u32)) {
            tasks.insert(pid as u32, lossy(comm));
        }
    }
}

/// Clocks that count nanoseconds. A name that is not known is taken for one that does not.
fn counts_time(clock: &str) -> bool {
    let known = [
        "local", "global", "perf", "mono", "mono_raw", "boot", "tai", "",
    ];
    known.contains(&clock)
}

fn one_line(text: &str) -> String {
    let mut line = Vec::new();
    push_line(&mut line, text.as_bytes());
    String::from_utf8_lossy(&line).into_owned()
}
