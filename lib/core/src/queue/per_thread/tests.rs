//! A queue's steps under its lock, one by one: the tests act as its owner, its takers, and the engine's
//! caller.

mod credit;
mod own;
mod room;
mod takers;

use quiescent_engine::credit::Urgency;
use quiescent_engine::{Config, Global, Interest, Next, Now};

use super::*;
use crate::prim::AtomicU64;
use crate::reader::bitmap::UnderLock;
use crate::reader::counted::Counted;
use crate::reader::set::{DomainReaders, ReaderSet, View};
use crate::testing::program;

const N: u64 = BLOCK as u64;

fn queue() -> &'static Queue {
    crate::testing::queue(3)
}

fn set(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::Relaxed);
}

fn get(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

fn entry(number: u64) -> Entry {
    Entry {
        object: ptr::null_mut(),
        what: number,
    }
}

/// The number of spare blocks of a lane. Frees them.
fn spares(queue: &Queue, lane: usize) -> usize {
    let mut garbage = Garbage::new();
    queue.spares[lane].trim(0, &mut garbage);
    count(&mut garbage)
}

/// The number of blocks in `garbage`. Frees them.
fn count(garbage: &mut Garbage) -> usize {
    let mut all = Garbage::new();
    let mut count = 0;
    while let Some(block) = garbage.pop() {
        all.push(block);
        count += 1;
    }
    count
}

fn credit(until: u64) -> Credit {
    Credit {
        until,
        batch: u64::MAX,
        ..Credit::default()
    }
}

/// New credit up to `until` in all lanes; returns the removed blocks.
fn settle(queue: &Queue, core: &mut QueueCore, until: u64) -> Garbage {
    let mut garbage = Garbage::new();
    queue.settle(core, &[credit(until); LANES], false, &mut garbage);
    garbage
}

/// A queue whose owner has pushed `end` entries and has no limit yet, with `blocks` blocks ahead, and one
/// spare block.
fn owned(end: u64, blocks: u32) -> &'static Queue {
    let queue = queue();
    let mut core = queue.lock();
    core.owned = true;
    for lane in 0..BLOCK_LANES {
        for at in 0..end {
            if at.is_multiple_of(N) {
                queue.provide(lane);
            }
            assert!(queue.put(&mut core, lane, entry(at), 0));
        }
        let words = &queue.lanes[lane];
        words.ahead.store(blocks, Ordering::Relaxed);
        for _ in 0..=blocks {
            queue.spares[lane].add(crate::queue::chain::new_block());
        }
    }
    drop(core);
    queue
}

/// The end of the last block of a lane when the engine was last called.
fn linked_to(queue: &Queue, lane: usize) -> u64 {
    queue.linked[lane].load(std::sync::atomic::Ordering::Relaxed)
}

/// An engine without readers, and its calls on behalf of a queue.
struct Engine {
    global: Global,
    no_readers: View<'static>,
}

const NOW: Now = Now { ns: 1 };

impl Engine {
    fn new() -> Engine {
        Engine {
            global: Global::new(Config::threads()),
            no_readers: ReaderSet(
                Box::leak(Box::new(DomainReaders::Counted(Counted::new()))),
                &program().env.threads,
            )
            .under(Box::leak(Box::new(UnderLock::new()))),
        }
    }

    /// A grace period passes for what the queue reports.
    fn done(&mut self, queue: &Queue, core: &mut QueueCore) {
        let (queued, view) = (queue.report(core, false), &self.no_readers);
        let Engine { global, .. } = self;
        let cpu = &mut core.cpu;
        let _ = cpu.refill(global, &queued, Urgency::Lazy, NOW);
        let _ = global.start_poll();
        for _ in 0..3 {
            if global.try_drive(None, Interest::Poller) {
                let mut next = Next::Again;
                loop {
                    next = match next {
                        Next::Again => global.step(NOW, view, 1),
                        Next::Fence(_) => global.fenced(),
                        Next::Grow(cpus) => {
                            let tree = Global::new_leaves(global.config(), cpus);
                            let grown = global.grow(tree.expect("memory for a test"));
                            assert!(grown.is_ok());
                            Next::Again
                        }
                        Next::Done | Next::HandOver => break,
                        other => panic!("no reader blocks the grace period: {other:?}"),
                    };
                }
                let _ = global.leave();
            }
        }
        cpu.advance(global);
    }
}
