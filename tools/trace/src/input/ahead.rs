//! A thread that reads or decompresses ahead of the thread that opened the trace.
//!
//! Blocks go over in their order and come back to be filled again, eight at most on the way: ten blocks of
//! memory. The end and an error are sent like blocks, so that a thread that is gone without either is an
//! error and never a silent end. When the reader is dropped the thread ends at its next block; one that waits
//! for a pipe ends with the process.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread;

/// Blocks on the way.
const BLOCKS: usize = 8;

/// The input as the thread hands it over.
struct InputAhead {
    /// A block; an empty one is the end.
    full: Receiver<io::Result<Vec<u8>>>,
    /// Blocks that have been read.
    read: Sender<Vec<u8>>,
    block: Vec<u8>,
    at: usize,
    ended: bool,
}

/// Reads ahead, if a thread can be had.
pub(super) fn ahead(mut input: Box<dyn BufRead + Send>) -> Box<dyn BufRead + Send> {
    let (send, full) = sync_channel(BLOCKS);
    let (read, again) = channel::<Vec<u8>>();
    // The input goes over when the thread is there, so that it is not lost with one that is not.
    let (hand, take) = channel::<Box<dyn BufRead + Send>>();
    let reading = move || {
        let Ok(mut input) = take.recv() else {
            return;
        };
        loop {
            let mut block = again.try_recv().unwrap_or_default();
            block.clear();
            let met = match input.fill_buf() {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => Err(e),
                Ok(part) => {
                    block.extend_from_slice(part);
                    Ok(block)
                }
            };
            let used = met.as_ref().map_or(0, Vec::len);
            input.consume(used);
            if send.send(met).is_err() || used == 0 {
                return;
            }
        }
    };
    let thread = thread::Builder::new().name("trace input".to_owned());
    if thread.spawn(reading).is_err() {
        return input;
    }
    if let Err(back) = hand.send(input) {
        input = back.0;
        return input;
    }
    Box::new(InputAhead {
        full,
        read,
        block: Vec::new(),
        at: 0,
        ended: false,
    })
}

impl BufRead for InputAhead {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.block.len() && !self.ended {
            let gone = || Err(io::Error::other("the thread that reads the input is gone"));
            let next = self.full.recv().unwrap_or_else(|_| gone())?;
            self.ended = next.is_empty();
            let old = std::mem::replace(&mut self.block, next);
            self.at = 0;
            // There is no thread to fill it again: it was the last.
            let _gone = self.read.send(old);
        }
        Ok(&self.block[self.at..])
    }

    fn consume(&mut self, amount: usize) {
        self.at = (self.at + amount).min(self.block.len());
    }
}

impl Read for InputAhead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut from = self.fill_buf()?;
        let read = from.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Cursor};

    #[test]
    fn everything_comes_over_in_its_order() {
        let bytes: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        let input = BufReader::with_capacity(777, Cursor::new(bytes.clone()));
        let mut over = Vec::new();
        ahead(Box::new(input))
            .read_to_end(&mut over)
            .expect("reads");
        assert_eq!(over, bytes);
    }

    #[test]
    fn an_error_comes_after_what_was_read_before_it() {
        struct Fails(bool);
        impl Read for Fails {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                if std::mem::replace(&mut self.0, true) {
                    return Err(io::Error::other("broken"));
                }
                into[0] = 7;
                Ok(1)
            }
        }
        let mut input = ahead(Box::new(BufReader::new(Fails(false))));
        assert_eq!(input.fill_buf().expect("one byte"), [7]);
        input.consume(1);
        for why in ["broken", "gone"] {
            let error = input.fill_buf().expect_err("fails");
            assert!(error.to_string().contains(why), "{error}");
        }
    }

    #[test]
    fn a_reader_that_stops_early_is_not_waited_for() {
        let mut input = ahead(Box::new(BufReader::with_capacity(16, io::repeat(1))));
        assert_eq!(input.fill_buf().expect("reads").len(), 16);
        drop(input);
    }
}
