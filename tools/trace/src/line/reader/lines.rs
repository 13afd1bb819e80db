//! Blocks of whole lines out of an input.
//!
//! At most 128 KiB are taken at a time; the piece of a line at the end (at most [`LINE_MOST`] bytes) is
//! carried on to the next block. A line that is longer is skipped to its end without being stored. What is
//! there is handed out: a pipe that has a line now is not waited for until a block is full.

use super::{LINE_MOST, Summary};
use crate::base::CUT;
use crate::line::STACKS;
use crate::line::source::{Input, Of};
use crate::{Error, Fault};
use std::io;

/// Bytes taken from the input at a time.
pub(super) const BLOCK: usize = 128 * 1024;

#[derive(Debug)]
pub(super) struct Lines<'a> {
    name: String,
    pub(super) input: Input<'a>,
    /// The start of the line after the last block.
    carried: Vec<u8>,
    /// In a line that is too long.
    skipping: bool,
    /// Lines of all blocks so far.
    pub(super) read: u64,
    /// The time of their last record.
    pub(super) last_ns: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(name: &str, input: impl Into<Input<'a>>) -> Self {
        Lines {
            name: name.to_owned(),
            input: input.into(),
            carried: Vec::new(),
            skipping: false,
            read: 0,
            last_ns: 0,
        }
    }

    /// The next block of whole lines into `bytes`; false at the end of the input. A line that is too long
    /// counts as the first of the block that follows it.
    pub(super) fn next_block(
        &mut self,
        bytes: &mut Vec<u8>,
        met: &mut Summary,
    ) -> Result<bool, Error> {
        // Bytes that belong to the block. What was in it is written over by the input itself: nothing is
        // copied or cleared before.
        let mut kept = self.carried.len();
        bytes.resize(kept + BLOCK, 0);
        bytes[..kept].copy_from_slice(&self.carried);
        self.carried.clear();
        loop {
            let read = match &mut self.input.0 {
                Of::Text(text) => text.read(&mut bytes[kept..]),
                Of::Made(_) => Ok(0),
            };
            let used = match read {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                used => used.map_err(|source| self.failed(met.lines, source))?,
            };
            if used == 0 {
                self.skipping = false;
                bytes.truncate(kept);
                return Ok(kept > 0);
            }
            let mut end = kept + used;
            if self.skipping {
                // Nothing is kept of such a line.
                let Some(rest) = memchr::memchr(b'\n', &bytes[..end]).map(|at| at + 1) else {
                    continue;
                };
                bytes.copy_within(rest..end, 0);
                end -= rest;
                self.skipping = false;
            }
            if let Some(last) = memchr::memrchr(b'\n', &bytes[kept..end]) {
                let whole = before_stack(&bytes[..kept + last + 1]);
                self.carried.extend_from_slice(&bytes[whole..end]);
                bytes.truncate(whole);
                return Ok(true);
            }
            kept = end;
            if kept > LINE_MOST {
                kept = 0;
                self.skipping = true;
                met.lines += 1;
                met.malformed.add(met.lines, Fault::Long);
            }
            bytes.resize(kept + BLOCK, 0);
        }
    }

    /// The input cannot be read on, behind so many lines of this block.
    pub(super) fn failed(&self, lines: u64, source: io::Error) -> Error {
        Error::Input {
            name: format!("{}, after line {}", self.name, self.read + lines),
            source,
            remedy: CUT,
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.carried.capacity()
    }
}

/// Where the last lines begin that are a stack, which may go on in the next block: all of it is to be in one.
/// The end, if there is none, or if nothing is in front of it.
fn before_stack(lines: &[u8]) -> usize {
    let mut end = lines.len();
    while end > 0 {
        let start = memchr::memrchr(b'\n', &lines[..end - 1]).map_or(0, |at| at + 1);
        let line = lines[start..end].trim_ascii();
        if line.starts_with(b"=> ") {
            end = start;
            continue;
        }
        let begins = STACKS
            .iter()
            .any(|it| memchr::memmem::find(line, it.as_bytes()).is_some());
        return match begins {
            true if start > 0 => start,
            _ => lines.len(),
        };
    }
    lines.len()
}
