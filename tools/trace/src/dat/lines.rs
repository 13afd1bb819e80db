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
use std::collections::HashMap;
use std::fmt::Write;
use std::io::{self, BufRead, Read};

/// Bytes that are made at a time.
const BLOCK: usize = 64 << 10;

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
    at: usize,
    out: String,
    ended: bool,
    /// What ended it, for later calls.
    failed: Option<(io::ErrorKind, String)>,
}

impl Dat {
    pub(crate) fn new(source: Box<dyn Source>) -> io::Result<Self> {
        let mut file = File::new(source)?;
        let layout = Layout::read(&mut file)?;
        let merge = Merge::new(file, &layout)?;
        let units = layout.buffers.iter().map(|b| counts_time(&b.clock));
        let mut dat = Dat {
            units: units.collect(),
            merge,
            reported: HashMap::new(),
            text: String::new(),
            at: 0,
            out: String::new(),
            ended: false,
            failed: None,
            layout,
        };
        dat.header();
        Ok(dat)
    }

    fn header(&mut self) {
        let layout = &self.layout;
        let _always = writeln!(
            self.out,
            "# trace.dat version {}, compression {}\ncpus={}",
            layout.version,
            layout.packing.name(),
            layout.cpus
        );
        for buffer in &layout.buffers {
            let (name, clock) = (one_line(&buffer.name), one_line(&buffer.clock));
            let _always = writeln!(
                self.out,
                "# buffer: {} clock: {clock} cpus-with-events: {}",
                if name.is_empty() { "-" } else { &name },
                buffer.cpus.len()
            );
        }
        for option in &layout.not_applied {
            let _always = writeln!(self.out, "# not applied: {option}");
        }
    }

    /// Makes more text; at the end what the statistics say.
    fn more(&mut self) -> io::Result<()> {
        self.out.clear();
        self.at = 0;
        while self.out.len() < BLOCK {
            match self.merge.next()? {
                Some(met) => self.line(&met),
                None => {
                    self.ended = true;
                    self.lost_by_statistics();
                    break;
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, met: &Met) {
        self.gap(met);
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
        let out = &mut self.out;
        if !buffer.name.is_empty() {
            push_line(out, &buffer.name);
            out.push_str(": ");
        }
        let task = match pid {
            0 => "<idle>",
            _ => layout.tasks.get(&pid).map_or("<...>", |t| t),
        };
        out.extend(std::iter::repeat_n(' ', 16usize.saturating_sub(task.len())));
        push_line(out, task);
        let _always = write!(out, "-{pid:<7} [{:03}] ", met.cpu);
        push_flags(out, flags, depth);
        let time = met.time.wrapping_add_signed(layout.time_offset);
        let _always = if self.units[met.buffer] {
            let (s, ns) = (time / 1_000_000_000, time % 1_000_000_000);
            write!(out, " {s}.{ns:09}: ")
        } else {
            write!(out, " {time}: ")
        };
        push_line(out, format.map_or("unknown", |f| &f.name));
        out.push_str(": ");
        push_line(out, self.text.trim_end());
        out.push('\n');
    }

    /// Events that are missing before this one.
    fn gap(&mut self, met: &Met) {
        let reported = self.reported.entry((met.buffer, met.cpu)).or_default();
        let _always = match met.missing {
            Missing::None => Ok(()),
            Missing::Some => writeln!(self.out, "CPU:{} [LOST EVENTS]", met.cpu),
            Missing::Number(n) => {
                *reported = reported.saturating_add(n);
                writeln!(self.out, "CPU:{} [LOST {n} EVENTS]", met.cpu)
            }
        };
    }

    /// What the statistics count and no page reported.
    fn lost_by_statistics(&mut self) {
        let mut all: Vec<_> = self.layout.dropped.iter().collect();
        all.sort_unstable();
        for ((name, cpu), lost) in all {
            let buffer = self.layout.buffers.iter().position(|b| b.name == *name);
            let reported = buffer.and_then(|b| self.reported.get(&(b, *cpu)));
            let rest = lost.saturating_sub(reported.copied().unwrap_or(0));
            if rest > 0 {
                let _always = writeln!(self.out, "CPU:{cpu} [LOST {rest} EVENTS]");
            }
        }
    }
}

impl BufRead for Dat {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if let Some((kind, text)) = &self.failed
            && self.at == self.out.len()
        {
            return Err(io::Error::new(*kind, text.clone()));
        }
        if self.at == self.out.len() && !self.ended {
            // What was made before it failed is given first.
            if let Err(e) = self.more() {
                self.failed = Some((e.kind(), e.to_string()));
                if self.out.is_empty() {
                    return Err(e);
                }
            }
        }
        Ok(&self.out.as_bytes()[self.at..])
    }

    fn consume(&mut self, amount: usize) {
        self.at = (self.at + amount).min(self.out.len());
    }
}

impl Read for Dat {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut from = self.fill_buf()?;
        let read = from.read(into)?;
        self.consume(read);
        Ok(read)
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

/// The irq-info column: bits as in the kernel's `trace` file.
fn push_flags(out: &mut String, flags: u8, depth: u8) {
    let has = |bit: u8| flags & bit != 0;
    out.push(match (has(0x01), has(0x80)) {
        (true, true) => 'D',
        (true, false) => 'd',
        (false, true) => 'b',
        (false, false) => '.',
    });
    // Bit 1 is a lazy wish to reschedule, on kernels that have it.
    out.push(match (has(0x04), has(0x20), has(0x02)) {
        (true, true, true) => 'B',
        (true, true, false) => 'N',
        (true, false, true) => 'b',
        (true, false, false) => 'n',
        (false, true, true) => 'L',
        (false, true, false) => 'p',
        (false, false, true) => 'l',
        (false, false, false) => '.',
    });
    out.push(match (has(0x40), has(0x08), has(0x10)) {
        (true, true, _) => 'Z',
        (true, false, _) => 'z',
        (false, true, true) => 'H',
        (false, true, false) => 'h',
        (false, false, true) => 's',
        (false, false, false) => '.',
    });
    for depth in [depth & 15, depth >> 4] {
        out.push(match depth {
            0 => '.',
            depth => char::from_digit(depth.into(), 16).unwrap_or('?'),
        });
    }
}

/// Appends text of which nothing may end the line.
fn push_line(out: &mut String, text: &str) {
    if text.bytes().any(|b| b.is_ascii_control()) {
        out.extend(
            text.chars()
                .map(|c| if c.is_ascii_control() { ' ' } else { c }),
        );
    } else {
        out.push_str(text);
    }
}

fn one_line(text: &str) -> String {
    let mut line = String::new();
    push_line(&mut line, text);
    line
}
