//! A block of whole lines, and what they are: records as places in it, all others already counted.
//!
//! A block is read at once and handed out record by record, so that reading it and looking at it can be the
//! work of two threads. All its memory is used again for the next one. Records of a block are fewer than its
//! bytes by a factor of ten, as the shortest one has twenty; of other lines nothing is kept but a count, and
//! the first few faults.

use super::{Summary, lines::Lines};
use crate::event::Fields;
use crate::line::made::Draft;
use crate::line::source::Of;
use crate::line::{self, Before, Line, Places};
use crate::{Error, Record};
use std::mem;

/// Whole lines, read.
#[derive(Debug, Default)]
pub(super) struct Block {
    text: String,
    entries: Vec<PlacedRecord>,
    /// The fields of each record's event, if the input is no text.
    fields: Vec<Fields>,
    /// The next record.
    next: usize,
    /// Lines before this block: set by the thread that takes it.
    pub(super) before: u64,
    /// What was met in its lines.
    met: Summary,
    /// The input has ended with it.
    pub(super) last: bool,
}

/// A record in the text.
#[derive(Debug)]
pub(in crate::line) struct PlacedRecord {
    /// Where its line starts.
    pub(in crate::line) start: u32,
    /// The number of that line in the block, from 1.
    pub(in crate::line) line: u32,
    pub(in crate::line) places: Places,
}

impl Block {
    /// Reads the next block of `lines`. What was in it goes.
    pub(super) fn read(&mut self, lines: &mut Lines<'_>) -> Result<(), Error> {
        let mut bytes = mem::take(&mut self.text).into_bytes();
        self.next = 0;
        match &mut lines.input.0 {
            Of::Text(_) => {
                self.entries.clear();
                self.met = Summary::default();
                self.last = !lines.next_block(&mut bytes, &mut self.met)?;
                self.text = text(bytes);
                self.split();
            }
            Of::Made(made) => {
                let entries = mem::take(&mut self.entries);
                let mut draft = Draft::new(bytes, entries, mem::take(&mut self.fields));
                let more = made.fill(&mut draft);
                self.last = !more.map_err(|source| lines.failed(0, source))?;
                self.text = text(draft.text);
                (self.entries, self.fields, self.met) = (draft.entries, draft.fields, draft.met);
            }
        }
        lines.read += self.met.lines;
        self.met.note(&self.entries, &mut lines.last_ns);
        Ok(())
    }

    // Never: the loop has the registers for itself.
    #[inline(never)]
    fn split(&mut self) {
        let mut line_before = Before::default();
        let mut start = 0;
        while start < self.text.len() {
            let rest = &self.text.as_bytes()[start..];
            let begun = line::start(rest, &mut line_before);
            let known = begun.as_ref().map_or(0, Places::known);
            let length = memchr::memchr(b'\n', &rest[known..]);
            let length = length.map_or(rest.len(), |at| known + at);
            let line = &rest[..length];
            self.met.lines += 1;
            match begun {
                Some(mut places) if length <= super::LINE_MOST => {
                    places.until(line);
                    self.push(start, places);
                }
                _ => self.other(start, start + length),
            }
            start += length + 1;
        }
    }

    #[inline(always)]
    fn push(&mut self, start: usize, places: Places) {
        self.entries.push(PlacedRecord {
            start: start as u32,
            line: self.met.lines as u32,
            places,
        });
    }

    /// Reads a line of any layout.
    #[inline(never)]
    fn other(&mut self, start: usize, end: usize) {
        let line = &self.text[start..end];
        if let Some(places) =
            line::plain(line.as_bytes()).filter(|_| line.len() <= super::LINE_MOST)
        {
            return self.push(start, places);
        }
        match line::any(line) {
            Ok(Line::Record(record)) => self.push(start, Places::of(line, &record)),
            // It is a part of the record before it.
            Ok(Line::Frame) => {
                if let Some(PlacedRecord { start, places, .. }) = self.entries.last_mut() {
                    let start = *start as usize;
                    places.extend(&self.text[start..], end - start);
                }
            }
            Ok(other) => self.met.note_header(other),
            Err(fault) => self.met.malformed.add(self.met.lines, fault),
        }
    }

    /// Whether all its records were handed out.
    #[inline(always)]
    pub(super) fn is_done(&self) -> bool {
        self.next == self.entries.len()
    }

    /// The next record.
    #[inline(always)]
    pub(super) fn next_record(&mut self) -> Option<Record<'_>> {
        let entry = self.entries.get(self.next)?;
        let fields = self.fields.get(self.next);
        self.next += 1;
        let places = &entry.places;
        Some(Record {
            line: self.before + u64::from(entry.line),
            pid: places.pid,
            cpu: places.cpu,
            time_ns: places.time_ns,
            unit: places.unit,
            block: &self.text,
            start: entry.start,
            places,
            fields,
        })
    }

    /// What was met in its lines; it is given once.
    pub(super) fn met(&mut self) -> Summary {
        mem::take(&mut self.met)
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.text.capacity()
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
