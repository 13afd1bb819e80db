//! Records that are made out of something else than text: of a `trace.dat`, of a trace of Perfetto's.
//!
//! A [`Maker`] adds records to a [`Draft`], which is a block in the making. It says the columns of a record,
//! and then either the fields of an event (`fields`) or its text. What stands between records (losses,
//! buffers, damage) is said in the lines that text has for it.
//!
//! **As lines.** The same maker can write the lines of text that the kernel would have written ([`Lines`]):
//! then every event has its text and none its fields. Tests hold both against each other, record by record.
//!
//! What was made before an error is handed out first; then the same error comes at each call.

use super::fields::{Fields, Shape, Span};
use super::reader::Summary;
use super::reader::block::PlacedRecord;
use super::{CPUS_MOST, Line, Places, Unit, any};
use crate::Fault;
use crate::base::made::{push_columns, push_flags, push_line};
use std::fmt::Arguments;
use std::io::{self, BufRead, Read, Write};

/// Bytes of text of a block.
const BLOCK: usize = 64 << 10;

/// Records of a block.
const RECORDS: usize = 2048;

/// What makes records.
pub(crate) trait Maker: Send {
    /// Adds a few; false at the end.
    fn more(&mut self, out: &mut Draft) -> io::Result<bool>;
}

/// What stands in front of an event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns<'a> {
    /// The name of its buffer, if it is not the first one.
    pub(crate) instance: &'a [u8],
    pub(crate) task: &'a [u8],
    pub(crate) pid: u32,
    pub(crate) cpu: u32,
    /// The irq-info column, and how deep preemption is off.
    pub(crate) flags: Option<(u8, u8)>,
    pub(crate) time: u64,
    /// Whether the time is nanoseconds.
    pub(crate) seconds: bool,
}

/// A block in the making.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(super) text: Vec<u8>,
    pub(super) entries: Vec<PlacedRecord>,
    /// For each record, if its event has them.
    pub(super) fields: Vec<Option<Fields>>,
    pub(super) met: Summary,
    as_lines: bool,
    /// The last task, and where its name stands; and the last flags.
    task: (u32, Span),
    flags: (Option<(u8, u8)>, Span),
}

impl Draft {
    /// A block, in the memory of another one.
    pub(super) fn new(
        mut text: Vec<u8>,
        mut entries: Vec<PlacedRecord>,
        mut fields: Vec<Option<Fields>>,
    ) -> Self {
        text.clear();
        entries.clear();
        fields.clear();
        Draft {
            text,
            entries,
            fields,
            ..Draft::default()
        }
    }

    fn is_full(&self) -> bool {
        self.text.len() >= BLOCK || self.entries.len() >= RECORDS
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.met.lines == 0
    }

    /// Whether an event of this shape is to be given by its fields.
    pub(crate) fn takes(&self, shape: Option<&'static Shape>) -> Option<&'static Shape> {
        shape.filter(|_| !self.as_lines)
    }

    /// A line that is no record.
    pub(crate) fn line(&mut self, line: Arguments<'_>) {
        let start = self.text.len();
        let _always = self.text.write_fmt(line);
        if self.as_lines {
            return self.text.push(b'\n');
        }
        self.met.lines += 1;
        let line = String::from_utf8_lossy(&self.text[start..]);
        match any(&line) {
            Ok(Line::Record(_)) => self.met.malformed.add(self.met.lines, Fault::Shape),
            Ok(other) => self.met.note_header(other),
            Err(fault) => self.met.malformed.add(self.met.lines, fault),
        }
        self.text.truncate(start);
    }

    /// A record whose event is its fields.
    #[inline]
    pub(crate) fn with_fields(&mut self, columns: &Columns<'_>, fields: Fields) {
        let none = Span(0, 0);
        self.record(columns, (none, none), Some(fields));
    }

    /// A record whose event is its text.
    pub(crate) fn with_text(
        &mut self,
        columns: &Columns<'_>,
        event: &[u8],
        text: impl FnOnce(&mut Vec<u8>),
    ) {
        if self.as_lines {
            let out = &mut self.text;
            if !columns.instance.is_empty() {
                push_line(out, columns.instance);
                out.extend_from_slice(b": ");
            }
            let who = (columns.task, columns.pid, columns.cpu);
            push_columns(out, who, columns.flags, (columns.time, columns.seconds));
            push_line(out, event);
            out.extend_from_slice(b": ");
            text(out);
            let end = out.trim_ascii_end().len();
            out.truncate(end);
            return out.push(b'\n');
        }
        let event = self.span(event);
        let start = self.text.len();
        text(&mut self.text);
        let (from, to) = trimmed(&self.text, start);
        self.text.push(b' ');
        self.record(columns, (event, Span(from, to)), None);
    }

    /// Text of a field.
    #[inline]
    pub(crate) fn span(&mut self, text: &[u8]) -> Span {
        self.span_of(|out| push_line(out, text))
    }

    /// The same, as it is written.
    #[inline]
    pub(crate) fn span_of(&mut self, text: impl FnOnce(&mut Vec<u8>)) -> Span {
        let start = self.text.len() as u32;
        text(&mut self.text);
        let end = self.text.len() as u32;
        // Bytes of two pieces never make a letter.
        self.text.push(b' ');
        Span(start, end)
    }

    #[inline]
    fn record(
        &mut self,
        columns: &Columns<'_>,
        (event, text): (Span, Span),
        fields: Option<Fields>,
    ) {
        self.met.lines += 1;
        if columns.cpu >= CPUS_MOST {
            return self.met.malformed.add(self.met.lines, Fault::Cpu);
        }
        let Span(from, to) = self.task.1;
        if self.task.0 != columns.pid || self.text[from as usize..to as usize] != *columns.task {
            self.task = (columns.pid, self.span(columns.task));
        }
        if self.flags.0 != columns.flags {
            let span = match columns.flags {
                None => Span(0, 0),
                Some((flags, depth)) => self.span_of(|out| push_flags(out, flags, depth)),
            };
            self.flags = (columns.flags, span);
        }
        let pair = |Span(from, to)| (from, to);
        self.entries.push(PlacedRecord {
            start: 0,
            line: self.met.lines as u32,
            places: Places {
                pid: columns.pid,
                cpu: columns.cpu,
                time_ns: columns.time,
                unit: match columns.seconds {
                    true => Unit::Seconds,
                    false => Unit::None,
                },
                task: pair(self.task.1),
                flags: pair(self.flags.1),
                event: pair(event),
                text: pair(text),
            },
        });
        self.fields.push(fields);
    }
}

fn trimmed(text: &[u8], start: usize) -> (u32, u32) {
    let piece = &text[start..];
    let end = start + piece.trim_ascii_end().len();
    let from = end - text[start..end].trim_ascii_start().len();
    (from as u32, end as u32)
}

/// A maker, and what it says first.
#[allow(missing_debug_implementations)]
pub struct Made {
    maker: Box<dyn Maker>,
    head: Vec<u8>,
    ended: bool,
    /// What ended it, for later calls.
    failed: Option<(io::ErrorKind, String)>,
}

impl Made {
    /// `head` are lines in front of what is made.
    pub(crate) fn new(maker: impl Maker + 'static, head: Vec<u8>) -> Self {
        Made {
            maker: Box::new(maker),
            head,
            ended: false,
            failed: None,
        }
    }

    /// Fills a block; false if it is the last one.
    pub(super) fn fill(&mut self, out: &mut Draft) -> io::Result<bool> {
        for line in String::from_utf8_lossy(&std::mem::take(&mut self.head)).lines() {
            out.line(format_args!("{line}"));
        }
        while !self.ended && !out.is_full() {
            if let Some((kind, why)) = &self.failed {
                return match out.is_empty() {
                    true => Err(io::Error::new(*kind, why.clone())),
                    false => Ok(true),
                };
            }
            match self.maker.more(out) {
                Ok(more) => self.ended = !more,
                Err(e) => self.failed = Some((e.kind(), e.to_string())),
            }
        }
        Ok(!self.ended)
    }
}

/// The text that a maker's records stand for.
pub(crate) struct Text {
    made: Made,
    out: Draft,
    at: usize,
}

impl Text {
    pub(crate) fn new(made: Made) -> Self {
        let out = Draft {
            as_lines: true,
            ..Draft::default()
        };
        Text { made, out, at: 0 }
    }
}

impl BufRead for Text {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at == self.out.text.len() && !self.made.ended {
            self.out.text.clear();
            self.at = 0;
            self.made.fill(&mut self.out)?;
        }
        Ok(&self.out.text[self.at..])
    }

    fn consume(&mut self, amount: usize) {
        self.at = (self.at + amount).min(self.out.text.len());
    }
}

impl Read for Text {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut from = self.fill_buf()?;
        let read = from.read(into)?;
        self.consume(read);
        Ok(read)
    }
}
