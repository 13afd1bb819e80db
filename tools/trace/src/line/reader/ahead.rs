//! A thread that reads lines while the caller processes the records before them.
//!
//! Blocks go over in their order and come back to be filled again, four at most on the way; the last one says
//! so, and an error is sent like a block. The records, their order and every count are those of one thread,
//! for it is the same code that reads. When the reader is dropped the thread ends at its next block; one that
//! waits for a pipe ends with the process.

use super::{block::Block, lines::Lines};
use crate::Error;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread;

/// Blocks on the way.
const BLOCKS: usize = 4;

#[derive(Debug)]
pub(super) struct Ahead {
    full: Receiver<Result<Block, Error>>,
    /// Blocks whose records have been processed.
    done: Sender<Block>,
}

impl Ahead {
    /// Starts the thread; without one the first block is an error.
    pub(super) fn start(mut lines: Lines<'static>) -> Self {
        let (send, full) = sync_channel(BLOCKS);
        let (done, again) = channel::<Block>();
        let reading = move || {
            loop {
                let mut block = again.try_recv().unwrap_or_default();
                let met = block.read(&mut lines).map(|()| block);
                let last = met.as_ref().map_or(true, |block| block.last);
                if send.send(met).is_err() || last {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("trace lines".to_owned());
        let _without = thread.spawn(reading);
        Ahead { full, done }
    }

    /// The next block in the place of one that has been looked at.
    pub(super) fn next_block(&mut self, block: &mut Block) -> Result<(), Error> {
        let gone = || Error::Input {
            name: "the thread that reads lines".to_owned(),
            source: std::io::Error::other("is not there"),
            remedy: "is there room for a thread? if so, report it as a mistake of quiescent",
        };
        let next = self.full.recv().map_err(|_| gone())??;
        // There is no thread to fill it again: it was the last.
        let _gone = self.done.send(std::mem::replace(block, next));
        Ok(())
    }
}
