//! The records of a trace.dat.
//!
//! First what a header would say: CPUs, and the buffers. Then a record for each event, with the fields of its
//! event if it is one that is decoded. A clock that counts no time (`counter`, `uptime`, `x86-tsc`) gives an
//! order only. Names of tasks are those that trace-cmd saved; a task that it does not know gets the name
//! under which a `sched_switch` saw it, if one did, and is `<...>` otherwise.

use super::format::{Field, Format, Kind};
use super::layout::Layout;
use super::merge::{Merge, Met};
use super::page::Missing;
use super::symbols::Symbols;
use super::walk::{File, Source, lossy};
use crate::Unit;
use crate::base::made::push_line;
use crate::event::{Fields, SWITCHED, Text, push_text};
use crate::line::{Columns, Draft, Line, Maker};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Write};

/// Names of tasks that are learned on the way.
const LEARNED_MOST: usize = 1 << 16;

/// A trace.dat.
pub(crate) struct Dat {
    layout: Layout,
    merge: Merge,
    /// By buffer: that of its clock.
    units: Vec<Unit>,
    /// Events of a buffer and CPU whose loss has been written.
    reported: HashMap<(usize, u32), u64>,
}

impl Dat {
    pub(crate) fn open(source: Box<dyn Source>) -> io::Result<Dat> {
        let mut file = File::new(source)?;
        let layout = Layout::read(&mut file)?;
        let merge = Merge::new(file, &layout)?;
        let units = layout.buffers.iter().map(|b| unit(&b.clock));
        Ok(Dat {
            units: units.collect(),
            merge,
            reported: HashMap::new(),
            layout,
        })
    }

    fn record(&mut self, met: &Met, out: &mut Draft) {
        self.gap(met, out);
        let event = self.merge.event(met);
        let layout = &mut self.layout;
        let big = layout.shape.big;
        let formats = &layout.formats;
        let common = |name| formats.common(name).and_then(|f| f.number(event, big));
        let id = common("common_type");
        let pid = common("common_pid").unwrap_or(0) as u32;
        let flags = common("common_flags").unwrap_or(0) as u8;
        let format = id.and_then(|id| formats.get(id));
        if let Some(format) = format.filter(|f| f.name == "sched_switch") {
            learn(format, event, big, &mut layout.tasks);
        }
        let task = match pid {
            0 => "<idle>",
            _ => layout.tasks.get(&pid).map_or("<...>", |t| t),
        };
        let columns = Columns {
            task: task.as_bytes(),
            pid,
            cpu: met.cpu,
            flags: Some(flags),
            time: met.time.wrapping_add_signed(layout.time_offset),
            unit: self.units[met.buffer],
        };
        let Some(format) = format else {
            return out.record(&columns, b"unknown", Fields::default());
        };
        let context = Context {
            event,
            big,
            symbols: &layout.symbols,
            strings: &layout.strings,
        };
        let fields = context.fields(format, out);
        out.record(&columns, format.name.as_bytes(), fields);
    }

    /// Events that are missing before this one.
    fn gap(&mut self, met: &Met, out: &mut Draft) {
        let reported = self.reported.entry((met.buffer, met.cpu));
        let first = matches!(reported, Entry::Vacant(_));
        let reported = reported.or_default();
        if first && !matches!(met.missing, Missing::None) {
            out.line(Line::Started(met.cpu));
        }
        match met.missing {
            Missing::None => {}
            Missing::Some => out.line(Line::Lost(None)),
            Missing::Number(n) => {
                *reported = reported.saturating_add(n);
                out.line(Line::Lost(Some(n)));
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
                out.line(Line::Lost(Some(rest)));
            }
        }
    }
}

impl Maker for Dat {
    fn header(&self, out: &mut Draft) {
        let layout = &self.layout;
        out.line(Line::Nothing);
        out.line(Line::Cpus(layout.cpus));
        for buffer in &layout.buffers {
            let (name, clock) = (&buffer.name, &buffer.clock);
            out.line(Line::Buffer { name, clock });
        }
        let options = layout.not_applied.iter();
        options.for_each(|option| out.line(Line::NotApplied(option)));
    }

    /// A record; at the start the header, at the end what the statistics say.
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

/// The bytes of an event, and names for what is in them.
struct Context<'a> {
    event: &'a [u8],
    big: bool,
    symbols: &'a Symbols,
    strings: &'a HashMap<u64, String>,
}

impl Context<'_> {
    /// What the event needs.
    fn fields(&self, format: &Format, out: &mut Draft) -> Fields {
        let mut fields = Fields::default();
        for (at, (how, field)) in format.needs.iter().enumerate() {
            let Some(field) = field else {
                continue;
            };
            let number = field.number(self.event, self.big);
            match (how, field.text(self.event, self.big), number) {
                (None, _, Some(number)) => fields.number(at, number),
                (Some(Text::Stack), ..) => {
                    fields.text(at, out.span_of(|out| self.write_stack(field, out)))
                }
                (Some(_), Some(text), _) => fields.text(at, out.span(text)),
                (Some(how), None, Some(number)) => {
                    let write = |out: &mut Vec<u8>| self.write(field, *how, number, out);
                    fields.text(at, out.span_of(write));
                }
                _ => {}
            }
        }
        fields
    }

    /// What a number stands for: a function or a text by its address.
    fn write(&self, field: &Field, how: Text, number: u64, out: &mut Vec<u8>) {
        match (field.kind, self.strings.get(&number)) {
            (Kind::Pointer, Some(text)) => push_line(out, text.as_bytes()),
            (Kind::Pointer, None) => {
                let _always = write!(out, "({number:#x})");
            }
            _ => {
                let function = self.symbols.find(number);
                push_text(out, how, number, function.map(str::as_bytes));
            }
        }
    }

    fn write_stack(&self, field: &Field, out: &mut Vec<u8>) {
        for number in (0..).map_while(|at| field.element(self.event, at, self.big)) {
            out.extend_from_slice(b" => ");
            self.write(field, Text::Stack, number, out);
            out.push(b'\n');
        }
    }
}

/// The names of the two tasks of a `sched_switch`, where they were not known.
fn learn(format: &Format, event: &[u8], big: bool, tasks: &mut HashMap<u32, String>) {
    for (comm, pid) in SWITCHED {
        let field = |at: usize| format.needs.get(at).and_then(|it| it.1.as_ref());
        let pid = field(pid).and_then(|f| f.number(event, big));
        let comm = field(comm).and_then(|f| f.text(event, big));
        let (Some(pid), Some(comm)) = (pid, comm) else {
            continue;
        };
        if tasks.len() < LEARNED_MOST && !tasks.contains_key(&(pid as u32)) {
            tasks.insert(pid as u32, lossy(comm));
        }
    }
}

/// Clocks that count nanoseconds. A name that is not known is taken for one that does not.
fn unit(clock: &str) -> Unit {
    match clock {
        "local" | "global" | "perf" | "mono" | "mono_raw" | "boot" | "tai" | "" => Unit::Seconds,
        _ => Unit::None,
    }
}
