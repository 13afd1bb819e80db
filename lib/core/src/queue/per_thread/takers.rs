//! Takers of a queue: the steps of a take-over, and taking done entries out (the table in
//! [`per_thread`](crate::queue::per_thread)).

use std::ops::Range;
use std::ptr;

use quiescent_engine::Pos;
use quiescent_engine::cpu::{LANES, Lane};
use quiescent_engine::credit::Queued;

use super::{NOTHING_OWED, Queue, QueueCore};
use crate::prim::{BLOCK, Ordering};
use crate::queue::chain::{Garbage, end_of_block};
use crate::queue::kind::{BLOCK_LANES, OWN};
use crate::queue::lane::{Block, Entry};

impl Queue {
    /// Step 1 of a take-over. False: there is no owner, the lock is enough.
    pub fn revoke(&self, core: &mut QueueCore) -> bool {
        if core.owned {
            core.revoking = true;
            self.lower_limits(); // [RET-2] [RET-3]
            self.lanes[OWN].asks.store(1, Ordering::Relaxed); // [RUN-1]
        }
        core.owned
    }

    /// Step 3: takes everything that is queued. `None`: the owner consumes again; the take-over has to be
    /// repeated. Blocks that were linked ahead are removed.
    pub fn take(
        &self,
        core: &mut QueueCore,
        mut garbage: Option<&mut Garbage>,
    ) -> Option<[Queued; LANES]> {
        let heads = core.heads.report();
        let mut queued = [heads; LANES];
        let revoking = std::mem::take(&mut core.revoking);
        if core.owned && !revoking {
            // The owner took the lock meanwhile. The engine knows what it had queued by then.
            for (queued, lane) in queued.iter_mut().zip(Lane::ALL).take(BLOCK_LANES) {
                queued.end = core.cpu.list(lane).end();
                queued.bytes = 0;
                queued.credit = true;
            }
            if !core.chains.iter().all(|chain| chain.taken) {
                return None;
            }
            queued[OWN].running = self.found_running(core);
            return Some(queued);
        }
        for (lane, queued) in queued.iter_mut().enumerate().take(BLOCK_LANES) {
            let (words, chain) = (&self.lanes[lane], &mut core.chains[lane]);
            let mut freed_to = None;
            if !chain.taken {
                chain.taken = true;
                chain.seen = words.head.load(Ordering::Acquire); // [RET-2] [RUN-1]
                freed_to = Some(chain.seen);
            }
            // A push into the dummy block, because of a missing block, does not count: its owner is about to
            // take the lock with the entry.
            let known = core.cpu.list(Lane::ALL[lane]).end();
            let room = if chain.last.is_null() {
                known
            } else {
                chain.end()
            };
            let end = words.end.load(Ordering::Acquire).min(room); // [RET-1] [RET-2]
            if let Some(garbage) = garbage.as_deref_mut() {
                chain.cut(end, garbage);
                self.spares[lane].trim(1, garbage);
                self.linked[lane].store(chain.end(), std::sync::atomic::Ordering::Relaxed);
            }
            if end - core.cpu.list(Lane::ALL[lane]).head() <= BLOCK as u64 {
                words.ahead.store(0, Ordering::Relaxed); // little is queued
            }
            *queued = Queued {
                end,
                // The owner counts an entry's bytes before it stores the new end.
                bytes: if end == known { 0 } else { chain.spent(words) },
                freed_to,
                ..Queued::default()
            };
        }
        queued[OWN].running = self.found_running(core);
        (core.cursor).update(self.meter(), &core.cpu, &core.chains, &queued);
        (0..BLOCK_LANES).for_each(|lane| core.cursor.credit(self.meter(), lane, false));
        Some(queued)
    }

    /// In the child of a fork: takes from an owner that does not exist here, or has to attach again. The fork
    /// acts as the fence. `own`: the thread that forked is the owner. It continues with what it is running;
    /// what other threads were running is the parent's. Spare blocks, totals, and what the next owner
    /// reports are kept.
    #[cfg(feature = "fork")]
    pub fn forked(&self, core: &mut QueueCore, run_code: bool, own: bool) -> [Queued; LANES] {
        self.ask_soon();
        core.revoking = core.owned;
        let queued = self.take(core, None).unwrap_or_default(); // what is being revoked can be taken
        if !own {
            self.undo_pushes_into_the_dummy_block(core, &queued);
        }
        self.answer(core);
        if !(own && run_code) {
            self.lanes[OWN].end_running(); // of two that it has popped it runs no other
        }
        core.owned = false;
        core.offload = None;
        core.chosen = None;
        self.owed
            .store(NOTHING_OWED, std::sync::atomic::Ordering::Relaxed);
        if !run_code {
            core.heads.abandon();
        }
        queued
    }

    /// In the child of a fork: pushes that their owner was about to undo. It had reported all others.
    fn undo_pushes_into_the_dummy_block(&self, core: &mut QueueCore, queued: &[Queued; LANES]) {
        let lanes = self.lanes.iter().zip(&mut core.chains);
        for ((words, chain), queued) in lanes.zip(queued) {
            if words.end.load(Ordering::Relaxed) != queued.end {
                words.end.store(queued.end, Ordering::Release);
                chain.spent(words); // not reported
            }
        }
    }

    /// Takes done entries out, as many as there are places; returns their positions.
    pub fn extract(
        &self,
        core: &mut QueueCore,
        lane: usize,
        places: &mut [Entry],
        garbage: &mut Garbage,
    ) -> Range<Pos> {
        let chain = &mut core.chains[lane];
        if !chain.taken {
            return 0..0;
        }
        let range = core.cpu.extract(Lane::ALL[lane], places.len() as u64);
        let mut block: *mut Block = ptr::null_mut();
        for (place, at) in places.iter_mut().zip(range.clone()) {
            if block.is_null() || at.is_multiple_of(BLOCK as u64) {
                block = chain.block_of(at);
            }
            // SAFETY: queued entries are in a block of the chain.
            *place = unsafe { (*block).get(at) };
        }
        let what = |at: Pos| places[(at - range.start) as usize].what;
        (core.cursor).extracted(self.meter(), &core.cpu, lane, &range, what);
        let empty = range.end == core.cpu.list(Lane::ALL[lane]).end();
        if !empty && end_of_block(range.start) > range.end {
            return range; // inside of a block: there is no other to free
        }
        let pin = (core.owned && chain.seen > 0).then(|| chain.seen - 1);
        chain.trim(range.end, pin, garbage);
        if core.owned {
            let ahead = u64::from(self.lanes[lane].ahead.load(Ordering::Relaxed));
            let keep = if empty { 1 } else { ahead.max(1) };
            self.keep_spares(lane, keep, garbage);
            self.spares[lane].trim(keep, garbage);
        }
        range
    }
}
