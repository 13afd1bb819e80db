//! Records that are made out of something else than text: of a `trace.dat`, of a trace of Perfetto's.
//!
//! A [`Maker`] adds records to a [`Draft`], which is a block in the making: it says the columns of a record
//! and the fields of its event. What stands between records (losses, buffers, damage) counts as a line, as
//! it is one in text.
//!
//! What was made before an error is handed out first; then the error comes, and then the end.

use super::reader::Summary;
use super::reader::block::PlacedRecord;
use super::{CPUS_MOST, Line, Places, Unit};
use crate::Fault;
use crate::base::made::{push_flags, push_line};
use crate::event::{Fields, Span};
use std::io;

/// Bytes of text of a block.
const BLOCK: usize = 64 << 10;

/// Records of a block.
const RECORDS: usize = 2048;

/// What makes records.
pub(crate) trait Maker: Send {
    /// What stands in front of the records.
    fn header(&self, out: &mut Draft);
    /// Adds a few; false at the end.
    fn more(&mut self, out: &mut Draft) -> io::Result<bool>;
}

/// What stands in front of an event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub(crate) task: &'a [u8],
    pub(crate) pid: u32,
    pub(crate) cpu: u32,
    /// The irq-info column.
    pub(crate) flags: Option<u8>,
    pub(crate) time: u64,
    pub(crate) unit: Unit,
}

/// A block in the making.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(super) text: Vec<u8>,
    pub(super) entries: Vec<PlacedRecord>,
    /// Of each record's event.
    pub(super) fields: Vec<Fields>,
    pub(super) met: Summary,
    /// The last task, and where its name stands; and the last flags.
    task: (u32, Span),
    flags: (Option<u8>, Span),
}

impl Draft {
    /// A block, in the memory of another one.
    pub(super) fn new(
        mut text: Vec<u8>,
        mut entries: Vec<PlacedRecord>,
        mut fields: Vec<Fields>,
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

    /// What is no record.
    pub(crate) fn line(&mut self, line: Line<'_>) {
        self.met.lines += 1;
        self.met.note_header(line);
    }

    /// What could not be read.
    pub(crate) fn fault(&mut self, fault: Fault) {
        self.met.lines += 1;
        self.met.malformed.add(self.met.lines, fault);
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

    /// A text of these fields.
    pub(crate) fn text(&self, fields: &Fields, place: usize) -> Option<&[u8]> {
        self.text.get(Span::range(fields.at(place)?))
    }

    /// A record; nothing in the event's name may end a line.
    #[inline]
    pub(crate) fn record(&mut self, columns: &Columns<'_>, event: &[u8], fields: Fields) {
        if columns.cpu >= CPUS_MOST {
            return self.fault(Fault::Cpu);
        }
        self.met.lines += 1;
        let Span(from, to) = self.task.1;
        if self.task.0 != columns.pid || self.text[from as usize..to as usize] != *columns.task {
            self.task = (columns.pid, self.span(columns.task));
        }
        if self.flags.0 != columns.flags {
            let span = match columns.flags {
                None => Span(0, 0),
                Some(flags) => self.span_of(|out| push_flags(out, flags)),
            };
            self.flags = (columns.flags, span);
        }
        let event = self.span_of(|out| out.extend_from_slice(event));
        let pair = |Span(from, to)| (from, to);
        self.entries.push(PlacedRecord {
            start: 0,
            line: self.met.lines as u32,
            places: Places {
                pid: columns.pid,
                cpu: columns.cpu,
                time_ns: columns.time,
                unit: columns.unit,
                task: pair(self.task.1),
                flags: pair(self.flags.1),
                event: pair(event),
                text: (0, 0),
            },
        });
        self.fields.push(fields);
    }
}

/// A maker, and how far it is.
pub(super) struct Made {
    maker: Box<dyn Maker>,
    started: bool,
    ended: bool,
    /// What ended it, for later calls.
    failed: Option<io::Error>,
}

impl Made {
    pub(super) fn new(maker: impl Maker + 'static) -> Self {
        Made {
            maker: Box::new(maker),
            started: false,
            ended: false,
            failed: None,
        }
    }

    /// Fills a block; false if it is the last one.
    pub(super) fn fill(&mut self, out: &mut Draft) -> io::Result<bool> {
        if !std::mem::replace(&mut self.started, true) {
            self.maker.header(out);
        }
        while !self.ended && !out.is_full() {
            if self.failed.is_some() && out.met.lines > 0 {
                break;
            }
            if let Some(why) = self.failed.take() {
                self.ended = true;
                return Err(why);
            }
            match self.maker.more(out) {
                Ok(more) => self.ended = !more,
                Err(e) => self.failed = Some(e),
            }
        }
        Ok(!self.ended)
    }
}
