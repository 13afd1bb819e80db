//! A thread's queue: lanes, the engine's side of it, and who consumes.
//!
//! The twin of the library's `queue.rs`, whose text says why a take-over is right. Here every piece of work is done at once, so what
//! is modelled is the order of its steps, with everything that others may do in between.

use std::ops::Range;

use quiescent_engine::cpu::LANES;
use quiescent_engine::credit::{Cause, Credit, Queued};
use quiescent_engine::owner::{BLOCK, more_ahead};
use quiescent_engine::{Cpu, CpuId, Lane as Which, Pos};

use super::lane::{Item, Lane, Popped, end_of_block};

/// The lane of memory.
pub(super) const PLAIN: usize = Which::Plain as usize;
/// The lane of code.
pub(super) const CODE: usize = Which::Code as usize;
/// Lanes of a queue. (The library's third, of intrusive heads, behaves as the second.)
const BOTH: usize = 2;

/// A queue.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// The engine's side of it.
    pub cpu: Cpu,
    pub lanes: [Lane; BOTH],
    /// A thread works on the lanes' words without the lock.
    pub owned: bool,
    /// A take-over has begun.
    pub revoking: bool,
    /// Chosen by the sweep under way, for this.
    pub chosen: Option<Cause>,
    /// The owner does not reclaim, as of the last report.
    pub hands_off: bool,
}

impl Queue {
    pub fn new(cpu: CpuId) -> Queue {
        Queue {
            cpu: Cpu::new(cpu),
            lanes: Default::default(),
            owned: false,
            revoking: false,
            chosen: None,
            hands_off: false,
        }
    }

    /// The owner is about to come for the lock: if it has used up all that it was given, it gets more from here on.
    pub fn prepare(&mut self, lane: usize) {
        let words = &mut self.lanes[lane];
        if words.end == words.reach {
            words.ahead = more_ahead(words.ahead);
        }
    }

    /// What was popped and is truly the owner's: all of it, unless it was taken over before.
    pub fn keep(&mut self, lane: usize, popped: Popped) -> Vec<Item> {
        let words = &mut self.lanes[lane];
        match words.taken && popped.at >= words.seen {
            true => Vec::new(),
            false => words.free(popped),
        }
    }

    /// What the owner has done since the last look.
    pub fn report(&mut self, hands_off: bool) -> [Queued; LANES] {
        self.hands_off = hands_off;
        let mut queued = [Queued::default(); LANES];
        for (words, queued) in self.lanes.iter_mut().zip(&mut queued) {
            *queued = Queued {
                end: words.end,
                bytes: words.spent(),
                freed_to: (!words.taken).then_some(words.head),
                credit: self.owned,
                offload: hands_off,
                reach: (u64::from(words.ahead) + 1) * BLOCK as u64,
            };
        }
        queued
    }

    /// The engine has looked: new credit. `waits`: the owner looks again at the end of its block.
    pub fn settle(&mut self, credit: &[Credit; LANES], waits: bool) {
        let hurried = self.cpu.is_hurried();
        for (lane, words) in self.lanes.iter_mut().enumerate() {
            let credit = &credit[lane];
            let head = self.cpu.list(Which::ALL[lane]).head();
            words.taken = !self.owned || hurried || self.hands_off || lane == CODE;
            if words.taken {
                words.seen = head;
                words.until = 0;
            } else {
                words.head = head;
                words.done = credit.done;
                words.until = credit.done.min(end_of_block(head));
            }
            words.step = 1 + u64::from(credit.behind);
            words.left = credit.bytes;
            words.given = credit.bytes;
            let ahead = u64::from(words.ahead) * BLOCK as u64;
            let reach = (end_of_block(words.end) + ahead).min(credit.until);
            let reach = if self.owned { reach } else { 0 };
            words.limit = reach.min(end_of_block(words.end));
            words.reach = if waits { words.limit } else { reach };
        }
    }

    /// Step 1 of a take-over. False: there is no owner.
    pub fn revoke(&mut self) -> bool {
        if self.owned {
            self.revoking = true;
            for words in &mut self.lanes {
                words.limit = 0;
            }
        }
        self.owned
    }

    /// Step 3: what is queued, all of it taken. None: the owner consumes again.
    pub fn take(&mut self) -> Option<[Queued; LANES]> {
        let mut queued = [Queued::default(); LANES];
        let revoking = std::mem::take(&mut self.revoking);
        if self.owned && !revoking {
            // The owner came for the lock. What it had queued by then is known to the engine.
            for (lane, queued) in queued.iter_mut().enumerate().take(BOTH) {
                queued.end = self.cpu.list(Which::ALL[lane]).end();
                queued.credit = true;
            }
            return self.lanes.iter().all(|it| it.taken).then_some(queued);
        }
        for (lane, queued) in queued.iter_mut().enumerate().take(BOTH) {
            let words = &mut self.lanes[lane];
            let mut freed_to = None;
            if !words.taken {
                words.taken = true;
                words.seen = words.head;
                freed_to = Some(words.seen);
            }
            if words.end - self.cpu.list(Which::ALL[lane]).head() <= BLOCK as u64 {
                words.ahead = 0; // a quiet one
            }
            *queued = Queued {
                end: words.end,
                bytes: words.spent(),
                freed_to,
                ..Queued::default()
            };
        }
        Some(queued)
    }

    /// Takes done ones out, up to so many, where they are not their owner's.
    pub fn extract(&mut self, lane: usize, most: u64) -> (Range<Pos>, Vec<Item>) {
        let words = &mut self.lanes[lane];
        if !words.taken {
            return (0..0, Vec::new());
        }
        let range = self.cpu.extract(Which::ALL[lane], most);
        let items = range.clone().map(|at| words.remove(at)).collect();
        (range, items)
    }

    /// Is there nothing to take: nobody pushes, and nothing is queued?
    pub fn is_idle(&self) -> bool {
        !self.owned && self.cpu.is_empty()
    }
}
