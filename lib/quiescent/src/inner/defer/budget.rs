//! The budget of what is queued: retiring with a limit, and what happens near it.
//!
//! The engine counts, and says what to do ([its module](quiescent_engine::budget) has the rules); this
//! file carries it out. Three verbs, which differ when the budget is used up:
//!
//! | verb | it does |
//! |---|---|
//! | `retire` | queues all the same; the program is told ([`Report::OverBudget`]) |
//! | [`try_retire`](crate::Retired::try_retire) | gives the object back |
//! | [`retire_wait`](crate::Retired::retire_wait) | waits for grace periods, frees memory, and tries again, up to a time |
//!
//! # Far from the budget they are the same
//! `try_retire` looks at one word, the level that the engine found last, and then is `retire`. What it may
//! queue so, the engine has lent, and counts as held when it is asked.
//! The word is written under the domain's lock and read without: it is advice, nothing hangs on its age.
//!
//! # Near it
//! `try_retire` goes to the lock with each object. Before it says no it makes one attempt: the engine is
//! told what this thread has freed meanwhile, the grace period is driven as far as that needs no waiting, a
//! batch is freed, and the engine is asked again.
//!
//! `retire_wait` waits as any `synchronize` caller does, which means to drive the grace period if nobody
//! does, and then frees plain memory: its own, and what was taken over. It runs no code of the program:
//! its caller may hold any lock. So it may have to wait for the worker, which runs code; it looks again
//! whenever something has been run, and a hundred times a second, since memory that owners free themselves
//! announces itself to nobody.

use std::time::Duration;

use quiescent_engine::budget::Level;

use crate::error::SyncError;
use crate::inner::defer::enqueue::{Parcel, Terms};
use crate::inner::defer::sweep::Until;
use crate::inner::domain::counters::{count, value};
use crate::inner::domain::process::{Core, Process};
use crate::inner::gp::driver::{Drives as _, How};
use crate::inner::gp::waiting::Waits as _;
use crate::inner::prim::{self, Counter, MAX_EXTRACT, Ordering};
use crate::inner::queue::chain::Garbage;
use crate::inner::queue::lane::Entry;
use crate::inner::queue::per_thread::{PLAIN, Queue};
use crate::refused::{Fullness, Refusal};
use crate::report::{Report, report};

/// Whoever waits for room looks again after this long.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The program is to be told that the budget is passed.
const OVER_BUDGET: u32 = 1;
/// Its tasks are to be told that a barrier has ended.
pub(crate) const TASKS_WAIT: u32 = 2;

/// The level that the engine found last, for a look without the lock.
#[derive(Debug)]
pub(crate) struct LevelWord(Counter);

impl LevelWord {
    pub(crate) const fn new() -> LevelWord {
        LevelWord(Counter::new(Level::Easy as u64))
    }

    pub(crate) fn is_easy(&self) -> bool {
        value(&self.0) == Level::Easy as u64
    }
}

impl Process {
    /// Shows the level to those who have no lock. Under the domain's lock, after every call that may have
    /// changed it.
    pub(crate) fn show_level(&self, core: &Core) {
        let level = core.engine.level() as u64;
        if value(&self.level.0) != level {
            self.level.0.store(level, Ordering::Relaxed);
        }
    }

    /// Queues an entry if it fits; one more attempt if not.
    #[cold]
    #[inline(never)]
    pub(crate) fn try_deliver(
        &'static self,
        lane: usize,
        entry: Entry,
        bytes: u64,
    ) -> Result<(), Refusal> {
        for _ in 0..2 {
            if self.offer(lane, entry, bytes) {
                return Ok(());
            }
        }
        Err(Refusal::Full(self.fullness()))
    }

    fn offer(&'static self, lane: usize, entry: Entry, bytes: u64) -> bool {
        self.deliver_if(Parcel::Entry(lane, entry, bytes), Terms::LAZY, true)
    }

    /// Waits for room, and queues the entry then.
    pub(crate) fn deliver_when_room(
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
            let mut freed = self.free_own(until);
            if !self.offer(lane, entry, bytes) {
                freed += self.free_taken(until);
            } else {
                return Ok(());
            }
            if self.offer(lane, entry, bytes) {
                return Ok(());
            }
            if until.is_over() {
                let full = self.fullness();
                return Err(Refusal::TimedOut { full, holdouts });
            }
            if freed == 0 {
                self.wait_for_progress(until);
            }
        }
    }

    /// Frees what is done of this thread's own.
    fn free_own(&'static self, until: Until) -> u64 {
        let queue = self.own_slot().and_then(|slot| slot.queue());
        let Some(queue) = queue else { return 0 };
        let mut garbage = Garbage::new();
        prim::full_fence(); // [SNAP-1]
        let mut core = queue.lock();
        let refill = self.refill(queue, &mut core, Terms::LAZY, &mut garbage);
        drop(core);
        self.arm_and_kick(refill);
        let mut freed = 0;
        while !until.is_over() {
            match self.help_along(queue, MAX_EXTRACT as u64) {
                0 => break,
                some => freed += some,
            }
        }
        freed
    }

    /// Sleeps until something was run, or for a while.
    fn wait_for_progress(&'static self, until: Until) {
        let left = until.left().map_or(LOOK_AGAIN, |left| left.min(LOOK_AGAIN));
        self.drainers.fetch_add(1, Ordering::Relaxed);
        let word = self.drain_word.load(Ordering::Relaxed);
        prim::futex_wait(&self.drain_word, word, Some(left));
        self.drainers.fetch_sub(1, Ordering::Relaxed);
    }

    /// The calling thread, whose queue this is, frees up to `most` plain objects of it that are done.
    /// Returns how many.
    pub(crate) fn help_along(&'static self, queue: &'static Queue, most: u64) -> u64 {
        let mut places = [const { Entry::NONE }; MAX_EXTRACT];
        let most = most.min(MAX_EXTRACT as u64) as usize;
        let mut garbage = Garbage::new();
        let mut core = queue.lock();
        // Under the lock no take-over comes in between: what is popped here stays popped. One may have come
        // before, unknown to the owner's words.
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

    /// The calling thread has queued code, and those who run it do not keep up: it gives its processor up, once, to
    /// whoever could run now. That is no wait: where nobody else could, it goes on. Not inside a section, which
    /// would only last longer, nor in a callback.
    #[cold]
    pub(crate) fn give_way(&'static self) {
        if crate::inner::reader::word::in_section() || crate::inner::defer::run::in_callback() {
            return;
        }
        count(&self.counters.gave_way);
        #[cfg(not(quiescent_model))]
        std::thread::yield_now();
    }

    /// How much is held, as far as the engine knows, and the budget.
    fn fullness(&self) -> Fullness {
        Fullness::of(&self.lock())
    }

    /// The program is to be told that the budget is passed.
    #[cold]
    pub(crate) fn over_budget(&'static self) {
        self.has_to_tell(OVER_BUDGET);
    }

    /// The program is to be told `what`: by the worker, since this may be somebody's `retire`,
    /// under whatever locks he holds. The worker may be waiting for a grace period: for the readers in question,
    /// perhaps. With no lock held.
    pub(crate) fn has_to_tell(&'static self, what: u32) {
        self.untold.fetch_or(what, Ordering::Release);
        self.kick_worker();
        // A driver that sleeps looks again; if it is the worker, it finds this.
        self.rouse_driver(false);
    }

    /// Is the calling thread to tell the program something?
    pub(crate) fn has_news(&self) -> bool {
        self.untold.load(Ordering::Acquire) != 0 && self.watch.is_worker()
    }

    /// Tells the program what there is to be told. On the worker, with no lock held.
    pub(crate) fn tell_news(&self) {
        let news = self.untold.swap(0, Ordering::Acquire);
        if news & TASKS_WAIT != 0 {
            // Watched as a callback is. And no timer runs while the worker waits for readers.
            self.watch.begin(prim::domain(), || "the waker of a task");
            self.wakers.wake();
            self.watch.end();
            self.watch.rest();
        }
        if news & OVER_BUDGET == 0 {
            return;
        }
        let full = self.fullness();
        let holdouts = self.lock().engine.holdouts().count() as u32;
        report(Report::OverBudget {
            full,
            holdouts,
            domain: None,
        });
    }

    pub(crate) fn set_budget(&'static self, bytes: u64, callbacks: u64) {
        let mut core = self.lock();
        let kick = core.set_budget(bytes, callbacks);
        self.show_level(&core);
        drop(core);
        if kick {
            self.kick_worker();
        }
    }
}
