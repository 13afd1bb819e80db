//! The lines of text that a trace.dat stands for.
//!
//! First what a header would say: CPUs, and a line for each buffer. Then a line for each event, as the kernel
//! writes it:
//!
//! ```text
//! [instance: ]            task-pid     [cpu] flags  seconds.nanoseconds: event: text
//! ```
//!
//! A clock that counts no time (`counter`, `uptime`, `x86-tsc`) is written without a dot, as the kernel does,
//! and the reader takes it for an order only. Names of tasks are those that trace-cmd saved; a task that it
//! does not know gets the name under which a `sched_switch` saw it, if one did, and is `<...>` otherwise.

use super::expr::Context;
use super::format::Format;
use super::layout::Layout;
use super::merge::{Merge, Met};
use super::page::Missing;
use super::print::write_fields;
use super::walk::{File, Source, lossy};
use crate::base::made::{Made, Maker, push_columns, push_line};
use std::collections::HashMap;
use std::io::{self, Write};

/// Bytes of one event's text; beyond it is cut.
const TEXT_MOST: usize = 32 << 10;

/// Names of tasks that are learned on the way.
const LEARNED_MOST: usize = 1 << 16;

/// A trace.dat as text.
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
    pub(crate) fn open(source: Box<dyn Source>) -> io::Result<Made<Self>> {
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

    fn line(&mut self, met: &Met, out: &mut Vec<u8>) {
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
        let context = Context {
            event,
            fields: format.map_or(&[], |f| &f.fields),
            big,
            long,
            symbols: &layout.symbols,
            strings: &layout.strings,
        };
        self.text.clear();
        match format {
            Some(format) => write_event(format, &context, &mut self.text),
            None => self.text.push_str("(no format in the file)"),
        }
        if let Some(format) = format.filter(|f| f.name == "sched_switch") {
            learn(format, event, big, &mut layout.tasks);
        }
        let buffer = &layout.buffers[met.buffer];
        if !buffer.name.is_empty() {
            push_line(out, buffer.name.as_bytes());
            out.extend_from_slice(b": ");
        }
        let task = match pid {
            0 => "<idle>",
            _ => layout.tasks.get(&pid).map_or("<...>", |t| t),
        };
        let time = met.time.wrapping_add_signed(layout.time_offset);
        push_columns(
            out,
            (task.as_bytes(), pid, met.cpu),
            Some((flags, depth)),
            (time, self.units[met.buffer]),
        );
        push_line(out, format.map_or("unknown", |f| &f.name).as_bytes());
        out.extend_from_slice(b": ");
        push_line(out, self.text.trim_end().as_bytes());
        out.push(b'\n');
    }

    /// Events that are missing before this one.
    fn gap(&mut self, met: &Met, out: &mut Vec<u8>) {
        let reported = self.reported.entry((met.buffer, met.cpu)).or_default();
        let _always = match met.missing {
            Missing::None => Ok(()),
            Missing::Some => writeln!(out, "CPU:{} [LOST EVENTS]", met.cpu),
            Missing::Number(n) => {
                *reported = reported.saturating_add(n);
                writeln!(out, "CPU:{} [LOST {n} EVENTS]", met.cpu)
            }
        };
    }

    /// What the statistics count and no page reported.
    fn lost_by_statistics(&self, out: &mut Vec<u8>) {
        let mut all: Vec<_> = self.layout.dropped.iter().collect();
        all.sort_unstable();
        for ((name, cpu), lost) in all {
            let buffer = self.layout.buffers.iter().position(|b| b.name == *name);
            let reported = buffer.and_then(|b| self.reported.get(&(b, *cpu)));
            let rest = lost.saturating_sub(reported.copied().unwrap_or(0));
            if rest > 0 {
                let _always = writeln!(out, "CPU:{cpu} [LOST {rest} EVENTS]");
            }
        }
    }
}

impl Maker for Dat {
    /// A line; at the end what the statistics say.
    fn more(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        match self.merge.next()? {
            Some(met) => self.line(&met, out),
            None => {
                self.lost_by_statistics(out);
                return Ok(false);
            }
        }
        Ok(true)
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
