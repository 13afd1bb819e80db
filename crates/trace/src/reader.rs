//! Record after record out of any amount of text, in the memory of a block of it.
//!
//! The reader takes a block of at most 128 KiB from the input, and hands out the lines in it; the piece of a line at its
//! end (at most [`LINE_MOST`] bytes) is carried on to the next. Nothing is allocated or copied for a line. A line that is
//! longer is skipped to its end without being stored. Bytes that are no UTF-8 (a task may name itself as it likes) become `?`.
//! What cannot be read is counted in the [`Summary`] with its line number, and reading goes on; only the input itself
//! can end it with an error.
//!
//! A record borrows the reader, so `Iterator` cannot be implemented; the loop is
//! `while let Some(record) = reader.next_record()? { … }`.

use crate::line::{self, Line, Met, Places, Unit};
use crate::{Error, Fault, Faults, Record};
use serde::Serialize;
use std::io::BufRead;
use std::mem;
use std::ops::Range;

/// Bytes that a line may have.
pub const LINE_MOST: usize = 64 * 1024;

/// Bytes taken from the input at a time.
const BLOCK: usize = 128 * 1024;

/// Buffers that are listed.
const BUFFERS_MOST: usize = 256;

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
    /// Records with an earlier time than the one before.
    pub backwards: u64,
    /// Records whose time has no unit: their order is known, no duration is.
    pub unitless: u64,
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

/// Reads records out of `R`.
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
/// assert_eq!((record.task, record.pid, record.cpu), ("<idle>", 0, 5));
/// assert_eq!((record.time_ns, record.event), (1_430_013_000, "softirq_raise"));
/// assert!(record.flags.softirq());
/// assert_eq!(reader.next_record()?.expect("another").task, "opt cgu.08");
/// assert!(reader.next_record()?.is_none());
/// assert_eq!(reader.summary().malformed.first()[0].line, 3);
/// # Ok::<(), quiescent_trace::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    name: String,
    input: R,
    /// Whole lines.
    block: String,
    /// Where the next of them starts.
    at: usize,
    /// The start of the line after them.
    carried: Vec<u8>,
    /// In a line that is too long.
    skipping: bool,
    summary: Summary,
}

impl<R: BufRead> Reader<R> {
    /// A reader at the start of `input`; `name` is for messages.
    pub fn new(name: &str, input: R) -> Self {
        Reader {
            name: name.to_owned(),
            input,
            block: String::new(),
            at: 0,
            carried: Vec::new(),
            skipping: false,
            summary: Summary::default(),
        }
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Input`] when the input cannot be read on: it names the input and the line.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, Error> {
        loop {
            let Some(range) = self.next_line()? else {
                return Ok(None);
            };
            let number = self.summary.lines;
            let places = match line::places(&self.block[range.clone()]) {
                Ok(Met::Record(places)) => places,
                Ok(Met::Other(Line::Nothing)) => continue,
                Ok(Met::Other(other)) => {
                    self.summary.note_header(other);
                    continue;
                }
                Err(fault) => {
                    self.summary.malformed.add(number, fault);
                    continue;
                }
            };
            self.summary.note(&places);
            return Ok(Some(places.on(&self.block[range], number)));
        }
    }

    /// What was met so far.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The name given to [`Reader::new`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the next line that is short enough stands in the block, without its end; `None` at the end of the input.
    fn next_line(&mut self) -> Result<Option<Range<usize>>, Error> {
        loop {
            if self.at == self.block.len() && !self.next_block()? {
                return Ok(None);
            }
            let start = self.at;
            let rest = &self.block.as_bytes()[start..];
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            self.at = (start + length + 1).min(self.block.len());
            self.summary.lines += 1;
            if length <= LINE_MOST {
                return Ok(Some(start..start + length));
            }
            self.summary.malformed.add(self.summary.lines, Fault::Long);
        }
    }

    /// The next block of whole lines; false at the end of the input.
    fn next_block(&mut self) -> Result<bool, Error> {
        let mut bytes = mem::take(&mut self.block).into_bytes();
        bytes.clear();
        bytes.append(&mut self.carried);
        self.at = 0;
        loop {
            let part = match self.input.fill_buf() {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                part => part.map_err(|source| Error::Input {
                    name: format!("{}, after line {}", self.name, self.summary.lines),
                    source,
                    remedy: "the file is cut short or damaged: copy or record it again",
                })?,
            };
            let part = &part[..part.len().min(BLOCK)];
            let used = part.len();
            if used == 0 {
                self.skipping = false;
                self.block = text(bytes);
                return Ok(!self.block.is_empty());
            }
            let mut part = part;
            if self.skipping
                && let Some(end) = memchr::memchr(b'\n', part)
            {
                part = &part[end + 1..];
                self.skipping = false;
            }
            if self.skipping {
                self.input.consume(used);
                continue;
            }
            let whole = memchr::memrchr(b'\n', part).map_or(0, |end| end + 1);
            let (lines, rest) = part.split_at(whole);
            if whole > 0 {
                bytes.extend_from_slice(lines);
                self.carried.extend_from_slice(rest);
            } else {
                bytes.extend_from_slice(rest);
            }
            self.input.consume(used);
            if whole > 0 {
                self.block = text(bytes);
                return Ok(true);
            }
            if bytes.len() > LINE_MOST {
                bytes.clear();
                self.skipping = true;
                self.summary.lines += 1;
                self.summary.malformed.add(self.summary.lines, Fault::Long);
            }
        }
    }
}

impl Summary {
    #[inline(always)]
    fn note(&mut self, record: &Places) {
        self.records += 1;
        self.cpu_highest = self.cpu_highest.max(Some(record.cpu));
        self.unitless += u64::from(record.unit == Unit::None);
        self.backwards += u64::from(self.last_ns.is_some_and(|last| record.time_ns < last));
        self.first_ns.get_or_insert(record.time_ns);
        self.last_ns = Some(record.time_ns);
    }

    fn note_header(&mut self, line: Line<'_>) {
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
            Line::Buffer { .. } | Line::Record(_) | Line::Nothing => {}
        }
    }
}

/// The same bytes as text; what is no UTF-8 becomes `?`.
fn text(bytes: Vec<u8>) -> String {
    let mut bytes = match String::from_utf8(bytes) {
        Ok(text) => return text,
        Err(e) => e.into_bytes(),
    };
    let mut from = 0;
    while let Err(e) = std::str::from_utf8(&bytes[from..]) {
        from += e.valid_up_to();
        bytes[from] = b'?';
    }
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests;
