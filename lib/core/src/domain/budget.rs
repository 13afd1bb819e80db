//! The budget of what is queued: retiring with a limit, and the behaviour near the limit.
//!
//! The engine counts and decides ([its module](quiescent_engine::budget) has the rules); this file executes
//! its decisions. Three operations differ when the budget is used up:
//!
//! | operation | effect |
//! |---|---|
//! | `retire` | queues anyway; the program gets a report ([`Report::OverBudget`]) |
//! | `try_retire` | returns the object |
//! | `retire_wait` | waits for grace periods, frees memory, and tries again, up to a deadline |
//!
//! # Far from the budget
//! Here the operations are the same. `try_retire` loads one word, the level that the engine computed last,
//! and then does what `retire` does. The engine has lent the amount that may be queued this way, and counts
//! it as queued in its checks. The word is written under the domain's lock and read without it: it is a hint,
//! and a stale value is harmless.
//!
//! # Near the budget
//! `try_retire` takes the lock for each object. Before it refuses it makes one attempt: it reports to the
//! engine what this thread has freed, drives the grace period as far as possible without waiting, frees a
//! batch of what the thread itself has retired, destructors included, and asks the engine again.
//!
//! `retire_wait` makes the same attempt, then waits as any `synchronize` caller does, that is, it drives the
//! grace period if there is no driver. It then frees plain memory: its own, and what was taken over. Of the
//! program's code it runs what `retire` runs, destructors of what the thread itself has retired, and no
//! other, because its caller may hold any lock. So it may have to wait for the worker, which runs the rest;
//! it checks again whenever a callback has been run, and every 10 ms, since memory that owners free
//! themselves causes no notification.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use quiescent_engine::budget::Held;

use crate::domain::driver::How;
use crate::domain::enqueue::Terms;
use crate::domain::error::{Fullness, Refusal, SyncError};
use crate::domain::report::Report;
use crate::domain::state::{Core, OVER_BUDGET, State, TASKS_WAIT};
use crate::domain::sweep::Until;
use crate::prim::counters::{count, value};
use crate::prim::{self, MAX_EXTRACT, MutexGuard, Ordering};
use crate::queue::chain::Garbage;
use crate::queue::kind::{OWN, PLAIN};
use crate::queue::lane::Entry;
use crate::queue::parcel::Parcel;
use crate::queue::per_thread::{Queue, QueueCore};

/// Interval between two checks of a caller that waits for room.
pub const CHECK_INTERVAL: Duration = Duration::from_millis(10);

impl State {
    /// Publishes the level for readers without the lock. Called under the domain's lock, after every call
    /// that may have changed it.
    pub fn show_level(&self, core: &Core) {
        let level = core.engine.level() as u64;
        if value(&self.level) != level {
            self.level.store(level, Ordering::Relaxed);
        }
    }

    /// Queues an entry if it fits, in at most two attempts.
    #[cold]
    #[inline(never)]
    pub fn try_deliver(
        &'static self,
        lane: usize,
        entry: Entry,
        bytes: u64,
    ) -> Result<(), Refusal> {
        let offer = || self.offer(lane, entry, bytes);
        let again = |_: Fullness| {
            self.drive_in_passing();
            self.free_own(1, Until { deadline: None });
            offer()
        };
        offer().or_else(again).map_err(Refusal::Full)
    }

    fn offer(&'static self, lane: usize, entry: Entry, bytes: u64) -> Result<(), Fullness> {
        self.deliver_if(Parcel::Entry(lane, entry, bytes), Terms::LAZY, true)
    }

    /// Asks the engine whether an entry fits into the budget; if not, returns what is queued.
    pub(super) fn admit(
        &self,
        queue: &Queue,
        core: &mut MutexGuard<'_, QueueCore>,
        parcel: &Parcel,
    ) -> Result<(), Fullness> {
        let Parcel::Entry(_, _, bytes) = *parcel else {
            return Ok(());
        };
        let hands_off = core.hands_off; // as of the last refill
        let queued = queue.report(core, hands_off);
        let now = prim::coarse_ns();
        let mut global = self.lock();
        let fits = (core.cpu).admit(&mut global.engine, &queued, bytes, State::now(now));
        self.show_level(&global);
        if fits { Ok(()) } else { Err(global.fullness()) }
    }

    /// Waits for room, then queues the entry.
    pub fn deliver_when_room(
        &'static self,
        lane: usize,
        entry: Entry,
        bytes: u64,
        until: Until,
    ) -> Result<(), Refusal> {
        loop {
            let how = How {
                deadline: until.deadline,
                expedited: false,
            };
            let holdouts = match self.synchronize(how) {
                Ok(()) => Vec::new(),
                Err(SyncError::TimedOut { holdouts }) => holdouts,
                Err(error) => return Err(Refusal::CannotWait(error)),
            };
            let mut freed = self.free_own(u64::MAX, until);
            if self.offer(lane, entry, bytes).is_ok() {
                return Ok(());
            }
            freed += self.free_taken(until);
            let Err(full) = self.offer(lane, entry, bytes) else {
                return Ok(());
            };
            if until.is_over(self.env()) {
                return Err(Refusal::TimedOut { full, holdouts });
            }
            if freed == 0 {
                self.wait_for_progress(until);
            }
        }
    }

    /// Frees what is ready in this thread's queue, as `retire` does, in so many batches at most. Returns how
    /// many objects.
    pub(super) fn free_own(&'static self, batches: u64, until: Until) -> u64 {
        let queue = self.own_queue_or_new();
        let Some(queue) = queue else { return 0 };
        let mut garbage = Garbage::new();
        prim::full_fence(); // [SNAP-1]
        let mut core = queue.lock();
        self.attach(queue, &mut core); // only then it may run its destructors
        let refill = self.refill(queue, &mut core, Terms::LAZY, &mut garbage);
        drop(core);
        self.arm_and_kick(refill);
        let mut freed = 0;
        for _ in 0..batches {
            if until.is_over(self.env()) {
                break;
            }
            match self.help_along(queue, MAX_EXTRACT as u64) + self.run_own(queue, until) {
                0 => break,
                some => freed += some,
            }
        }
        freed
    }

    /// Runs a batch of the destructors that are ready in this thread's queue, if it may. Returns how many.
    fn run_own(&'static self, queue: &'static Queue, until: Until) -> u64 {
        let mut ran = 0;
        while ran < MAX_EXTRACT as u64
            && self.may_run(&self.env().local())
            && !until.is_over(self.env())
        {
            let popped = queue.pop_own(&queue.lock());
            match popped.iter().flatten().count() {
                0 => break,
                some => ran += some as u64,
            }
            self.consume(queue, OWN, popped);
        }
        ran
    }

    /// Sleeps until a callback was run, or for [`CHECK_INTERVAL`] at most.
    fn wait_for_progress(&'static self, until: Until) {
        let left = until
            .left()
            .map_or(CHECK_INTERVAL, |left| left.min(CHECK_INTERVAL));
        self.drainers.fetch_add(1, Ordering::Relaxed);
        let word = self.drain_word.load(Ordering::Relaxed);
        prim::futex_wait(&self.drain_word, word, Some(left));
        self.drainers.fetch_sub(1, Ordering::Relaxed);
    }

    /// The calling thread owns this queue: it frees up to `most` plain objects in it that are ready. Returns
    /// how many.
    pub fn help_along(&'static self, queue: &'static Queue, most: u64) -> u64 {
        let mut places = [const { Entry::NONE }; MAX_EXTRACT];
        let most = most.min(MAX_EXTRACT as u64) as usize;
        let mut garbage = Garbage::new();
        let mut core = queue.lock();
        // Under the lock no take-over can intervene: what is popped here stays popped. A take-over may have
        // happened before, unknown to the owner's words.
        let popped = match core.is_taken() {
            true => 0,
            false => queue.lanes[PLAIN].pop_many(&mut places[..most]),
        };
        if popped == 0 {
            let range = queue.extract(&mut core, PLAIN, &mut places[..most], &mut garbage);
            drop(core);
            let freed = range.end - range.start;
            self.free_extracted(queue, &places, range);
            return freed;
        }
        drop(core);
        for entry in &places[..popped] {
            // SAFETY: done, and popped by their owner.
            unsafe { entry.free() };
        }
        popped as u64
    }

    /// The calling thread has queued callbacks faster than they are run: it yields its CPU once. This is no
    /// wait: it continues if no other thread is runnable. Inside a section of any domain, which would only
    /// last longer, it does so at the end; in a callback it does not.
    #[cold]
    #[inline(never)]
    pub fn give_way(&'static self) {
        let local = self.env().local();
        if local.in_callback() {
            return;
        }
        if self.env().threads.in_any_section(&local) {
            if let Some(word) = local.noted_section() {
                word.owe();
                local.gives_way.store(true, Relaxed);
            }
            return;
        }
        count(&self.counters.gave_way);
        #[cfg(not(quiescent_model))]
        std::thread::yield_now();
    }

    /// Requests that the worker report `what`, since this call may be in a `retire` of the program, under any
    /// locks that it holds. Called with no lock held.
    #[cold]
    pub fn request_report(&'static self, what: u32) {
        self.unreported.fetch_or(what, Ordering::Release);
        self.kick_worker();
    }

    /// Delivers all pending reports. Called on the worker, with no lock held and no driver's role.
    pub fn deliver_reports(&'static self) {
        let news = self.unreported.swap(0, Ordering::Acquire);
        if news & TASKS_WAIT != 0 {
            self.env().watched(
                || "the waker of a task",
                || self.wake_tasks(&|awaits| awaits.is_none()),
            );
        }
        if news & OVER_BUDGET == 0 {
            return;
        }
        // The queue may be empty by now. (There is no amount in the child of a fork that came between.)
        let core = self.lock();
        let Some(full) = core.exceeded() else {
            return;
        };
        let holdouts = core.engine.holdouts().count() as u32;
        drop(core);
        self.env().host.tell(Report::OverBudget {
            full,
            holdouts,
            domain: self.name(),
        });
    }
}

impl Core {
    /// As the engine counts it now. Who says why something was refused takes it in the same hold of the lock.
    pub fn fullness(&self) -> Fullness {
        let budget = self.engine.budget();
        let budget = Held {
            count: budget.count,
            bytes: budget.bytes,
        };
        Fullness::new(self.engine.held(), budget)
    }

    /// What it was when the budget was exceeded last.
    pub fn exceeded(&self) -> Option<Fullness> {
        let (held, budget) = self.engine.exceeded()?;
        Some(Fullness::new(held, budget))
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
