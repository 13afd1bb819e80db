//! Blocks of whole lines out of an input.
//!
//! At most 128 KiB are taken at a time; the piece of a line at the end (at most [`LINE_MOST`] bytes) is carried on to the next
//! block. A line that is longer is skipped to its end without being stored. What is there is handed out: a pipe that
//! has a line now is not waited for until a block is full.

use super::{LINE_MOST, Summary};
use crate::{Error, Fault};
use std::io::BufRead;

/// Bytes taken from the input at a time.
pub(super) const BLOCK: usize = 128 * 1024;

#[derive(Debug)]
pub(super) struct Lines<R> {
    name: String,
    input: R,
    /// The start of the line after the last block.
    carried: Vec<u8>,
    /// In a line that is too long.
    skipping: bool,
    /// Lines of all blocks so far.
    pub(super) read: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(name: &str, input: R) -> Self {
        Lines {
            name: name.to_owned(),
            input,
            carried: Vec::new(),
            skipping: false,
            read: 0,
        }
    }

    /// The next block of whole lines into `bytes`; false at the end of the input. A line that is too long counts as the first of
    /// the block that follows it.
    pub(super) fn next_block(
        &mut self,
        bytes: &mut Vec<u8>,
        met: &mut Summary,
    ) -> Result<bool, Error> {
        bytes.clear();
        bytes.append(&mut self.carried);
        loop {
            let part = match self.input.fill_buf() {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                part => part.map_err(|source| Error::Input {
                    name: format!("{}, after line {}", self.name, self.read + met.lines),
                    source,
                    remedy: "the file is cut short or damaged: copy or record it again",
                })?,
            };
            let part = &part[..part.len().min(BLOCK)];
            let used = part.len();
            if used == 0 {
                self.skipping = false;
                return Ok(!bytes.is_empty());
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
                return Ok(true);
            }
            if bytes.len() > LINE_MOST {
                bytes.clear();
                self.skipping = true;
                met.lines += 1;
                met.malformed.add(self.read + met.lines, Fault::Long);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.carried.capacity()
    }
}
