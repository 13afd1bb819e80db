//! Record after record out of any amount of text, in the memory of a block of it.
//!
//! `lines` takes blocks of whole lines from the input, `block` reads all lines of one and hands out its
//! records, here or in a thread of its own (`ahead`). Nothing is allocated or copied for a line. Bytes that
//! are no UTF-8 (a task may name itself as it likes) become `?`. What cannot be read is counted in the
//! [`Summary`] with its line number, and reading goes on; only the input itself can end it with an error.
//!
//! A record borrows the reader, so `Iterator` cannot be implemented; the loop is
//! `while let Some(record) = reader.next_record()? { … }`.

use super::source::Input;
use crate::line::{CPUS_MOST, Line, Unit};
use crate::{CpuSet, Error, Faults, LINE_MOST, Record};
use ahead::Ahead;
use block::{Block, PlacedRecord};
use lines::Lines;
use serde::Serialize;

/// Buffers that are listed.
const BUFFERS_MOST: usize = 256;

/// Options that are listed.
const OPTIONS_MOST: usize = 8;

/// A buffer of a trace.dat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Buffer {
    /// The name of its instance; empty for the first one.
    pub name: String,
    /// Its clock.
    pub clock: String,
}

/// What was met on the way, other than the records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The name of the input, for messages.
    pub name: String,
    /// Lines read, of every kind.
    pub lines: u64,
    /// Records among them.
    pub records: u64,
    /// Lines that could not be read.
    pub malformed: Faults,
    /// CPUs of the machine, if a header says it.
    pub cpus_stated: Option<u32>,
    /// The highest CPU number that wrote an event.
    pub cpu_highest: Option<u32>,
    /// Events that the kernel dropped, as headers, `LOST` lines and the statistics of a trace.dat tell.
    pub lost: u64,
    /// Places where events are missing and the trace does not say how many.
    pub lost_untold: u64,
    /// Buffers of a trace.dat: name (empty for the first one) and clock.
    pub buffers: Vec<Buffer>,
    /// Options of a trace.dat that change times and are not followed: `TIME_SHIFT`, `TSC2NSEC`.
    pub not_applied: Vec<String>,
    /// Records with an earlier time than the one before.
    pub backwards: u64,
    /// The line of the first of them.
    pub backwards_at: Option<u64>,
    /// Records whose time has no unit: their order is known, no duration is.
    pub unitless: u64,
    /// The line of the first header, and of the second: another trace begins there.
    pub headers_at: (Option<u64>, Option<u64>),
    /// CPUs whose buffer is said to have lost what was written before their first record.
    pub started: CpuSet,
    /// CPUs whose buffer may have: any buffer has lost events.
    pub marked: CpuSet,
    /// Time of the first record.
    pub first_ns: Option<u64>,
    /// Time of the last record.
    pub last_ns: Option<u64>,
}

impl Summary {
    /// CPUs of the machine: as a header says, or as many as are needed for the highest number.
    pub fn cpus(&self) -> u32 {
        let seen = self.cpu_highest.map_or(0, |cpu| cpu + 1);
        self.cpus_stated.unwrap_or(0).min(1 << 16).max(seen)
    }
}

/// Reads records.
///
/// ```
/// use quiescent_trace::Reader;
///
/// let text = "\
/// ## tracer: nop
///           <idle>-0       [005] d.s2.     1.430013: softirq_raise: vec=9 [action=RCU]
/// what is this?
/// opt cgu.08-21143   [001] dNs4.  1150.804017: sched_wakeup: comm=rcu_preempt pid=15 prio=120 target_cpu=001
/// ";
/// let mut reader = Reader::new("example", text.as_bytes());
/// let record = reader.next_record()?.expect("a record");
/// assert_eq!((record.task(), record.pid, record.cpu), ("<idle>", 0, 5));
/// assert_eq!((record.time_ns, record.event()), (1_430_013_000, "softirq_raise"));
/// assert!(record.flags().softirq());
/// assert_eq!(reader.next_record()?.expect("another").task(), "opt cgu.08");
/// assert!(reader.next_record()?.is_none());
/// assert_eq!(reader.summary().malformed.first()[0].line, 3);
/// # Ok::<(), quiescent_trace::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader<'a> {
    source: LineSource<'a>,
    block: Block,
    summary: Summary,
}

/// The thread that reads the lines.
#[derive(Debug)]
enum LineSource<'a> {
    /// The caller's side.
    Here(Lines<'a>),
    /// A thread.
    Ahead(Ahead),
}

impl<'a> Reader<'a> {
    /// A reader at the start of `input`; `name` is for messages.
    pub fn new(name: &str, input: impl Into<Input<'a>>) -> Self {
        Reader::with(name, LineSource::Here(Lines::new(name, input)))
    }

    fn with(name: &str, source: LineSource<'a>) -> Self {
        Reader {
            source,
            block: Block::default(),
            summary: Summary {
                name: name.to_owned(),
                ..Summary::default()
            },
        }
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Input`] when the input cannot be read on: it names the input and the line.
    // Always: a record is seven words and more, which would otherwise be copied on its way out, twice.
    #[inline(always)]
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, Error> {
        while self.block.is_done() {
            if self.block.last {
                return Ok(None);
            }
            self.next_block()?;
        }
        Ok(self.block.next_record())
    }

    #[cold]
    fn next_block(&mut self) -> Result<(), Error> {
        match &mut self.source {
            LineSource::Here(lines) => self.block.read(lines)?,
            LineSource::Ahead(ahead) => ahead.next_block(&mut self.block)?,
        }
        self.block.before = self.summary.lines;
        self.summary.add(self.block.met());
        Ok(())
    }

    /// What was met so far, up to the end of a block: 128 KiB of lines, or 2048 records that have no lines.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// As [`Reader::new`], and a thread of its own reads and parses lines ahead, at most six blocks of 128
    /// KiB: of two cores one reads and one looks at what was read. Records, their order, and the summary at
    /// the end are the same. Without a thread to be had the first record is an error.
    ///
    /// ```
    /// use quiescent_trace::Reader;
    ///
    /// let text = "a-1 [000] d..2. 1.0: sched_wakeup: comm=b pid=9 prio=120 target_cpu=000\n".repeat(10_000);
    /// let mut reader = Reader::ahead("example", std::io::Cursor::new(text));
    /// let mut records = 0;
    /// while reader.next_record()?.is_some() {
    ///     records += 1;
    /// }
    /// assert_eq!((records, reader.summary().lines), (10_000, 10_000));
    /// # Ok::<(), quiescent_trace::Error>(())
    /// ```
    pub fn ahead(name: &str, input: impl Into<Input<'static>>) -> Self {
        let lines = Lines::new(name, input);
        Reader::with(name, LineSource::Ahead(Ahead::start(lines)))
    }
}

impl Summary {
    /// Counts the records of a block; `last` is the time of the record in front of them.
    fn note(&mut self, entries: &[PlacedRecord], last: &mut u64) {
        self.records = entries.len() as u64;
        self.first_ns = entries.first().map(|it| it.places.time_ns);
        self.cpu_highest = entries.iter().map(|it| it.places.cpu).max();
        for PlacedRecord { line, places, .. } in entries {
            self.unitless += u64::from(places.unit == Unit::None);
            if places.time_ns < *last {
                self.backwards += 1;
                self.backwards_at.get_or_insert((*line).into());
            }
            *last = places.time_ns;
        }
        self.last_ns = entries.last().map(|it| it.places.time_ns);
    }

    /// Counts the next block.
    fn add(&mut self, met: Summary) {
        let at = met.backwards_at.map(|line| self.lines + line);
        self.backwards_at = self.backwards_at.or(at);
        self.backwards += met.backwards;
        self.first_ns = self.first_ns.or(met.first_ns);
        self.last_ns = met.last_ns.or(self.last_ns);
        self.records += met.records;
        self.cpu_highest = self.cpu_highest.max(met.cpu_highest);
        self.unitless += met.unitless;
        self.malformed.join(self.lines, &met.malformed);
        for line in [met.headers_at.0, met.headers_at.1].into_iter().flatten() {
            self.note_header_at(self.lines + line);
        }
        met.started.iter().for_each(|cpu| self.started.insert(cpu));
        met.marked.iter().for_each(|cpu| self.marked.insert(cpu));
        self.lines += met.lines;
        self.cpus_stated = met.cpus_stated.or(self.cpus_stated);
        self.lost = self.lost.saturating_add(met.lost);
        self.lost_untold += met.lost_untold;
        met.not_applied
            .into_iter()
            .for_each(|option| self.is_not_applied(option));
        let room = BUFFERS_MOST.saturating_sub(self.buffers.len());
        self.buffers.extend(met.buffers.into_iter().take(room));
    }

    fn is_not_applied(&mut self, option: String) {
        if self.not_applied.len() < OPTIONS_MOST && !self.not_applied.contains(&option) {
            self.not_applied.push(option);
        }
    }

    fn note_header_at(&mut self, line: u64) {
        let (first, second) = &mut self.headers_at;
        match first {
            Some(_) => second.get_or_insert(line),
            None => first.get_or_insert(line),
        };
    }

    pub(super) fn note_header(&mut self, line: Line<'_>) {
        match line {
            Line::Entries {
                kept,
                written,
                cpus,
            } => {
                self.lost = self.lost.saturating_add(written.saturating_sub(kept));
                self.cpus_stated = cpus.or(self.cpus_stated);
            }
            Line::Cpus(cpus) => self.cpus_stated = Some(cpus),
            Line::Lost(Some(lost)) => self.lost = self.lost.saturating_add(lost),
            Line::Lost(None) => self.lost_untold += 1,
            Line::Buffer { name, clock } if self.buffers.len() < BUFFERS_MOST => {
                self.buffers.push(Buffer {
                    name: name.to_owned(),
                    clock: clock.to_owned(),
                });
            }
            Line::NotApplied(option) => self.is_not_applied(option.to_owned()),
            Line::Begins => self.note_header_at(self.lines),
            Line::Started(cpu) if cpu < CPUS_MOST => self.started.insert(cpu),
            Line::Marked(cpu) if cpu < CPUS_MOST => self.marked.insert(cpu),
            Line::Started(_) | Line::Marked(_) | Line::Buffer { .. } => {}
            Line::Record(_) | Line::Frame | Line::Nothing => {}
        }
    }
}

mod ahead;
pub(super) mod block;
mod lines;
#[cfg(test)]
mod tests;
