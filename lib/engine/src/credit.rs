//! The policy for callbacks: when they are stamped, how far their owner may go alone, and when
//! another thread has to act.
//!
//! # Division of work
//! The owner of a queue (a registered thread) pushes and pops with plain stores as long as its [`Credit`]
//! lasts, and then calls [`refill`](Cpu::refill). Each refill stamps new entries, because a stamp is free and
//! any later grace period then serves them. A callback without hurry is *lazy*: no grace period is requested
//! for it until there is a batch. Three things end laziness: the batch is full (count or bytes), a caller
//! hurries, or the oldest entry's time has passed. In the last case the owner may never return: the
//! worker's timer fires, it takes the queue over and calls [`taken`](Cpu::taken), which requests a grace
//! period for all of it.
//!
//! So threads that retire at the same time share grace periods: the first to fill a batch requests one, and
//! it serves all of them.
//!
//! # Invariants
//! * A queue that holds something, or whose owner may push without a report, has a deadline, and the worker's
//!   timer is armed no later than that (rule R6). A caller that queues the first callback while no timer is
//!   armed has no credit, so it calls the engine.
//! * An empty queue without credit has no deadline, and requests nothing (rule R5).
//! * A stamp is a snapshot of `gp_seq` taken after everything it covers was queued, by a caller that
//!   has executed a full fence in between (`[SNAP-1]` of the host).
//! * The snapshot is taken before the number used for advancing is read. (Both under one lock here; the
//!   order matters to hosts that read them separately: an edge in between could strand `NEXT`.)
//!
//! Complexity: every call is O(lanes).

use core::num::NonZeroU64;

use crate::cblist::{CbList, Held};
pub use crate::config::Defer;
use crate::cpu::{Cpu, moment};
pub use crate::global::{Cause, Flushes};
use crate::global::{Global, Level};
use crate::host::{LANES, Lane, Now, Pos};
use crate::seq::Seq;

/// A refill's report about a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Queued {
    /// Everything below this is queued.
    pub end: Pos,
    /// Bytes queued since the last call.
    pub bytes: u64,
    /// The owner has consumed done callbacks below this; `None` where another thread consumes.
    pub freed_to: Option<Pos>,
    /// Of those, so many are still being run, and were not reported so before. They count as
    /// out until [`ran`](Cpu::ran). (Only where a taker found them: [`taken`](Cpu::taken).)
    pub running: u64,
    /// There is an owner that queues within its credit, without saying so at once. (For
    /// [`taken`](Cpu::taken): it was faster than the taker.)
    pub credit: bool,
    /// The process has grown while these wait: a grace period is worth it, and the owner runs two at a time.
    pub grown: bool,
    /// Its owner is about to run some of it: at the end of its section.
    pub owes: bool,
    /// Its owner is not to reclaim: it starts no grace period, and others consume.
    pub offload: bool,
    /// If its credit lasts, the owner may queue this number before it calls again, and checks the bytes of
    /// its credit after every [`look`](crate::budget::Budget::look) entries. Smaller values count as `look`.
    pub reach: u64,
}

/// How urgent the newest callback is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Urgency {
    /// It may wait until a grace period starts for another reason, or until its flush time.
    #[default]
    Lazy,
    /// It may wait a little.
    Prompt,
    /// It may not wait.
    Hurry,
}

/// How far the owner of a lane may go alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Credit {
    /// It calls again when its end reaches this.
    pub until: Pos,
    /// … or when this many more bytes are queued.
    pub bytes: u64,
    /// Callbacks below this are done.
    pub done: Pos,
    /// More than two batches are done and not consumed, or the budget is near: hurry up.
    pub behind: bool,
    /// The size of a batch now: room for so many is worth keeping.
    pub batch: u64,
}

/// The result of a refill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "a deadline that is not armed, or a worker that is not woken, leaves callbacks behind"]
pub struct Refill {
    /// For the owner.
    pub credit: [Credit; LANES],
    /// Set the worker's timer to this (monotonic nanoseconds).
    pub arm: Option<u64>,
    /// Wake the worker.
    pub kick: bool,
    /// Wake the second worker, too ([`pool`](crate::pool)).
    pub second: bool,
    /// Some callbacks wait for a grace period without a driver: drive it, as far as that needs no waiting.
    pub drive: bool,
    /// Prompt callbacks queued from now on are covered by a deadline already.
    pub prompt: bool,
    /// The [budget](crate::budget) is near: free this many done ones here and now, if they are the caller's.
    pub help: u64,
    /// The budget is near, and other threads free or run something that is queued here; or the budget is
    /// exceeded, and a grace period that frees something may need a reader that has no processor. Yield it.
    pub give_way: bool,
    /// The budget is exceeded: report it to the program.
    pub over: bool,
}

/// Near the budget an owner frees so many of its own with each push.
const HELP: u64 = 10;

impl Cpu {
    /// The owner reports queued and consumed entries, and gets new credit.
    pub fn refill(
        &mut self,
        global: &mut Global,
        queued: &[Queued; LANES],
        urgency: Urgency,
        now: Now,
    ) -> Refill {
        let defer = global.config.defer;
        let stamp = global.gp_seq.snap();
        let own = queued[Lane::Own as usize];
        let ignored = self.ignores(&own, defer.batch);
        self.account(global, queued, now.ns);
        self.tell(global);
        global.press();
        let near = global.level() != Level::Easy;
        if urgency == Urgency::Hurry {
            self.hurry();
        }
        if urgency == Urgency::Prompt {
            self.prompt = self.prompt.or_else(|| moment(global.prompt_by(now.ns)));
        }
        // Stamps are free. Any later grace period serves all stamped entries.
        self.stamp_all(stamp);
        let idle = self.idle(global);
        let values = idle[Lane::Own as usize];
        if values.count > 0 {
            self.large = values.is_large();
        }
        let batches = Lane::ALL.map(|lane| global.batch_of(lane, self.large));
        let full = idle
            .iter()
            .zip(batches)
            .any(|(idle, batch)| idle.fills(batch));
        let code_done = Held {
            count: self.ready_code(),
            ..self.list(Lane::Code).done()
        };
        let is_code_batch = code_done.fills(batches[Lane::Code as usize]);
        let cause = match urgency {
            Urgency::Hurry => Some(Cause::Hurry),
            _ if full || own.grown => Some(Cause::Batch),
            _ if near => Some(Cause::Budget),
            _ => None,
        };
        let idle = match cause {
            Some(cause) => {
                self.flush(global, cause);
                self.idle(global)
            }
            None => idle,
        };
        let offload = queued[Lane::Plain as usize].offload;
        let plain_done = self.list(Lane::Plain).done();
        let plain_ready = plain_done.fills(batches[Lane::Plain as usize]);
        let others = (offload && (full || plain_ready)) || ignored;
        if others {
            self.hurry(); // the thread that is woken waits for these, and consumes them
        }
        self.owner_runs = own.credit && !own.offload && !self.is_hurried();
        // The first one after nothing is reported at once, unless a timer is going to fire anyway.
        let owned = queued.iter().any(|lane| lane.credit);
        // So is each one past the budget where other threads free or run what is queued.
        let by_others = offload || self.has_code_for_others(queued);
        let outruns = by_others && global.level() == Level::Over;
        self.tight = !owned || outruns || (self.is_empty() && global.armed().is_none());
        let arm = self.set_deadline(global, now.ns);
        let mut credit = Lane::ALL.map(|lane| {
            let (idle, batch) = (idle[lane as usize], batches[lane as usize]);
            self.new_credit(lane, near || (own.grown && lane == Lane::Own), idle, batch)
        });
        self.lend(global, queued, &mut credit);
        Refill {
            credit,
            arm,
            kick: global.budget.take_kick()
                || urgency == Urgency::Hurry
                || others
                || (is_code_batch && !defer.drained),
            second: global.calls_overflow(),
            drive: !offload && self.waits(global) && !global.is_driven(),
            prompt: self.prompt.is_some(),
            help: if near && !offload { HELP } else { 0 },
            give_way: (near && by_others) || global.level() == Level::Over,
            over: global.take_news(now.ns),
        }
    }

    /// Another thread has taken the queue over, for this `cause`: everything is stamped.
    ///
    /// True if some of it waits for a grace period. (Entries that found no free segment are stamped by
    /// another call after that.)
    pub fn taken(
        &mut self,
        global: &mut Global,
        queued: &[Queued; LANES],
        cause: Cause,
        now: Now,
    ) -> bool {
        let stamp = global.gp_seq.snap();
        self.account(global, queued, now.ns);
        self.tell(global);
        if queued.iter().any(|lane| lane.credit) {
            // Entries that the owner queues within its credit need a deadline.
            let _ = self.set_deadline(global, now.ns);
        } else {
            self.give_back(global);
            self.owner_runs = false;
            self.tight = true;
            self.prompt = None;
            self.deadline = None;
        }
        self.hurry();
        self.stamp_all(stamp);
        self.flush(global, cause);
        if cause == Cause::Prompt {
            global.end_prompt_round(now.ns);
        }
        self.lists.iter().any(CbList::pending)
    }

    /// A grace period may have ended: more may be done.
    pub fn advance(&mut self, global: &Global) {
        let seq = global.gp_seq;
        for list in &mut self.lists {
            list.advance(seq);
        }
        self.drained = global.config.defer.drained;
        self.settle();
    }

    /// No reader is left, and none comes before the host has taken out what is queued now: everything queued
    /// may run, although its grace period has not ended.
    pub fn finish(&mut self) {
        self.lists.iter_mut().for_each(CbList::finish);
        self.settle();
    }

    /// Takes up to `max` done callbacks of a lane out, to be invoked. They count as queued until
    /// [`ran`](Cpu::ran).
    pub fn extract(&mut self, lane: Lane, max: u64) -> core::ops::Range<Pos> {
        let range = self.lists[lane as usize].extract_done(max);
        self.settle();
        range
    }

    /// These, extracted before, have been invoked. True if that completes this CPU's share of the
    /// barrier in flight.
    pub fn ran(&mut self, lane: Lane, range: core::ops::Range<Pos>) -> bool {
        self.lists[lane as usize].ran(range);
        self.settle();
        self.barrier_share_done()
    }

    /// Is a time set by which prompt callbacks are stamped?
    pub fn is_prompt(&self) -> bool {
        self.prompt.is_some()
    }

    /// The deadline for another thread's visit of this queue.
    pub fn deadline(&self) -> Option<u64> {
        self.deadline.map(NonZeroU64::get)
    }

    /// Everything queued now is to go through without delay.
    pub fn hurry(&mut self) {
        self.hurried = core::array::from_fn(|lane| self.lists[lane].end());
        self.is_hurried = true;
        self.settle();
    }

    /// Does the owner run the code of its own lane itself, as of the last call? If not, a worker does.
    pub fn owner_runs(&self) -> bool {
        self.owner_runs
    }

    /// Has the owner queued code of its own and run none of the batch that is done? Then it is always inside
    /// sections or callbacks when it queues, and the worker has to run it.
    fn ignores(&self, own: &Queued, batch: u64) -> bool {
        let list = &self.lists[Lane::Own as usize];
        self.owner_runs
            && !own.owes
            && list.ready() >= batch
            && own.freed_to == Some(list.head())
            && own.end.wrapping_sub(list.end()) > batch / 16
    }

    /// Is a queued entry hurried?
    pub fn is_hurried(&self) -> bool {
        self.is_hurried
    }

    /// Callbacks of a lane that are queued or being invoked.
    pub fn queued(&self, lane: Lane) -> u64 {
        self.lists[lane as usize].len()
    }

    /// The list of a lane.
    pub fn list(&self, lane: Lane) -> &CbList {
        &self.lists[lane as usize]
    }

    /// Nothing queued, nothing being invoked.
    pub fn is_empty(&self) -> bool {
        self.lists.iter().all(CbList::is_empty)
    }

    /// Does an entry wait for a requested grace period?
    fn waits(&self, global: &Global) -> bool {
        let mut next = self.lists.iter().filter_map(CbList::next_gp);
        next.any(|stamp| global.is_coming(stamp))
    }

    /// For each list, the number and weight of entries without a requested grace period.
    fn idle(&self, global: &Global) -> [Held; LANES] {
        core::array::from_fn(|lane| self.lists[lane].idle(|stamp| global.is_coming(stamp)))
    }

    pub(crate) fn account(&mut self, global: &Global, queued: &[Queued; LANES], now_ns: u64) {
        let since = if self.tight { now_ns } else { self.looked };
        for (list, queued) in self.lists.iter_mut().zip(queued) {
            if let Some(head) = queued.freed_to {
                list.freed_to(head);
            }
            list.reopen(queued.running, now_ns);
            list.enqueue_to(queued.end, queued.bytes, since);
        }
        self.looked = self.looked.max(now_ns);
        self.settle();
        self.advance(global);
    }

    /// The hurried entries are done; an empty queue whose owner has no credit needs no deadline.
    fn settle(&mut self) {
        let is_through = |&lane: &Lane| {
            let list = &self.lists[lane as usize];
            let gone = match self.is_drained(lane) {
                true => list.done_end(), // the rest is left to the program, which drains
                false => list.head(),
            };
            self.hurried[lane as usize].wrapping_sub(gone) as i64 <= 0
        };
        self.is_hurried = self.is_hurried && !Lane::ALL.iter().all(is_through);
        if self.tight && self.is_empty() {
            self.deadline = None;
            self.prompt = None;
        }
    }

    /// Does the program run these itself, when it drains?
    pub(crate) fn is_drained(&self, lane: Lane) -> bool {
        let by_owner = lane == Lane::Plain || (lane == Lane::Own && self.owner_runs);
        self.drained && !by_owner
    }

    /// Does code queued here wait for other threads, which run it? (And for a grace period, which they may be
    /// driving.)
    fn has_code_for_others(&self, queued: &[Queued; LANES]) -> bool {
        [Lane::Code, Lane::Own, Lane::Head].into_iter().any(|lane| {
            let entries = self.lists[lane as usize].len();
            queued[lane as usize].freed_to.is_none() && entries != 0 && !self.is_drained(lane)
        })
    }

    /// Stamps unstamped entries, in every lane, as far as there are free segments.
    fn stamp_all(&mut self, stamp: Seq) {
        for list in &mut self.lists {
            list.accelerate(stamp);
        }
    }

    #[inline(never)]
    fn new_credit(&self, lane: Lane, near: bool, idle: Held, batch: Held) -> Credit {
        let list = &self.lists[lane as usize];
        let left = batch.count.saturating_sub(idle.count);
        let free = match (self.tight, left) {
            (true, _) => 0,
            (false, 0) => batch.count, // no free segment: after another batch we know more
            (false, left) => left,
        };
        Credit {
            until: list.end().wrapping_add(free),
            bytes: match batch.bytes.saturating_sub(idle.bytes) {
                0 => batch.bytes,
                left => left,
            },
            done: list.done_end(),
            behind: near || list.ready() > 2 * batch.count,
            batch: batch.count,
        }
    }

    /// Requests the grace period of all stamps given so far, or an earlier one.
    fn flush(&mut self, global: &mut Global, cause: Cause) {
        if self.lists.iter().any(CbList::pending) {
            global.request();
            global.counts.flushes.0[cause as usize] += 1;
        }
    }

    /// In the child of a fork. The queue has no owner any more; `queued` is what had been queued and consumed
    /// at the fork. Entries that were out belong to another process. Without `run_code` the callbacks that
    /// run code of the program are forgotten: the parent has them too, and runs them. Returns the number of
    /// callbacks that this process will not run.
    ///
    /// The rest waits as in any queue without an owner: it has a deadline, but no timer is set for it before
    /// a caller in this process needs the worker.
    pub fn forked(
        &mut self,
        global: &mut Global,
        queued: &[Queued; LANES],
        run_code: bool,
        now: Now,
    ) -> u64 {
        self.account(global, queued, now.ns);
        let mut dropped = 0;
        for (list, lane) in self.lists.iter_mut().zip(Lane::ALL) {
            let out = list.forked();
            if lane != Lane::Plain {
                dropped += out;
                dropped += if run_code { 0 } else { list.abandon() };
            }
        }
        self.barrier.forked();
        self.holder = None;
        self.owner_runs = false;
        self.tight = true;
        if !run_code {
            self.prompt = None; // only code is prompt
        }
        self.deadline = self.next_deadline(global, now.ns).and_then(moment);
        self.settle();
        self.give_back(global);
        self.tell(global);
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_hurried_and_has_no_stamp_is_due() {
        let (mut cpu, now) = (Cpu::new(1), Now::default());
        cpu.lists[Lane::Plain as usize].enqueue_to(1, 8, 0);
        assert_eq!(cpu.due(now, false), None, "nothing is hurried");
        cpu.hurry();
        assert_eq!(cpu.due(now, false), Some(Cause::Hurry));
    }
}
