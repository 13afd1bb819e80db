//! The watchdog: a callback of the worker that never returns does not stop the others.
//!
//! Before the first callback of a round the worker sets a timer that only the *stand-by* waits for, and stops
//! it after the round: two system calls a round, and no wake-up. If the timer fires, the stand-by checks how
//! long the callback has been running. What has run for [`STUCK`], and still runs at a second look a tenth of
//! that later, is stuck: the stand-by takes over the worker's role by incrementing the role number. A worker
//! that returns later finds another number, and ends. (At the first look alone every callback would be stuck
//! after the process, or the machine, was stopped for a second.)
//!
//! The stand-by is created before the first callback runs, because later no thread might be available.

use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::watch::report::{Report, report};
use crate::workers::Workers;
use crate::workers::overflow::Overflow;
use crate::workers::roles::{WATCHED, WORKER, is_ours};
use quiescent_core::defer::turns::turn_of_worker;
use quiescent_core::os::Timer;
use quiescent_core::prim;
use quiescent_core::prim::counters::{count, uncount};
use quiescent_core::prim::teller::Teller;

/// A callback that runs for longer counts as stuck, in nanoseconds.
pub(crate) const STUCK: u64 = 1_000_000_000;
/// The most stuck callbacks at a time that keep a thread each; with more, the other callbacks wait.
const MOST: u32 = 16;
/// The role number of a worker that was replaced.
const DISMISSED: usize = usize::MAX;

/// There is no stand-by, and no attempt to start one.
const NO_STAND_BY: u32 = 0;
const STANDING_BY: u32 = 1;

/// What the stand-by has found.
enum Look {
    /// The role is its own; the callback has been running for so long.
    Stuck(u64),
    /// It has to look again after this time.
    Again(u64),
}

/// The state of the callback that the worker runs.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The role number of the current worker, incremented with every change.
    role: AtomicU32,
    /// When the callback began; 0 if none runs.
    since: AtomicU64,
    /// The function that returns its name.
    name: AtomicPtr<()>,
    /// Whether the timer is set.
    armed: AtomicU32,
    timer: Timer,
    standby: AtomicU32,
    /// Callbacks found stuck so far.
    stuck: AtomicU64,
    /// Those of them that have not returned.
    away: AtomicU32,
    /// Held while the reporter runs for one of them.
    pub(crate) telling: Teller,
    /// The overflow worker, which the worker watches.
    pub(crate) overflow: Overflow,
}

impl Watch {
    pub(crate) const fn new() -> Watch {
        Watch {
            role: AtomicU32::new(1),
            since: AtomicU64::new(0),
            name: AtomicPtr::new(std::ptr::null_mut()),
            armed: AtomicU32::new(0),
            timer: Timer::new(),
            standby: AtomicU32::new(NO_STAND_BY),
            stuck: AtomicU64::new(0),
            away: AtomicU32::new(0),
            telling: Teller::new(),
            overflow: Overflow::new(),
        }
    }

    /// The role number of the current worker, or of the next one to start.
    pub(crate) fn role(&self) -> u32 {
        self.role.load(Ordering::Relaxed)
    }

    /// Makes the calling thread the worker.
    pub(crate) fn take_role(&self, role: u32) {
        WORKER.set(role as usize);
    }

    /// The calling thread is no longer a worker.
    pub(crate) fn leave(&self) {
        WORKER.set(0);
    }

    /// In the child of a fork there is no worker and no stand-by. If the thread that forked is a worker (in a
    /// callback), it continues as one that was replaced.
    pub(crate) fn forked(&self) {
        let Watch {
            role,
            since,
            name: _, // has a meaning only with `since`
            armed,
            timer,
            standby,
            stuck,
            away,
            telling,
            overflow,
        } = self;
        timer.forked();
        role.fetch_add(1, Ordering::Relaxed);
        since.store(0, Ordering::Relaxed);
        armed.store(0, Ordering::Relaxed);
        standby.store(NO_STAND_BY, Ordering::Relaxed);
        stuck.store(0, Ordering::Relaxed);
        let dismissed = u32::from(is_ours());
        overflow.forked();
        away.store(dismissed, Ordering::Relaxed);
        telling.end();
    }

    /// Whether the calling thread is a worker that was replaced.
    pub(crate) fn is_dismissed(&self) -> bool {
        let role = WORKER.get();
        (role != 0 && role != self.role.load(Ordering::Acquire) as usize)
            || self.overflow.is_dismissed()
    }

    pub(crate) fn is_worker(&self) -> bool {
        WORKER.get() == self.role.load(Ordering::Relaxed) as usize
    }

    /// A callback is about to run in this thread.
    pub(crate) fn begin(&self, workers: &'static Workers, name: fn() -> &'static str) {
        if !self.is_worker() {
            return;
        }
        WATCHED.set(1);
        let now = prim::coarse_ns();
        self.name.store(name as *mut (), Ordering::Relaxed);
        self.since.store(now, Ordering::Release);
        if self.armed.load(Ordering::Relaxed) == 0 {
            self.stand_by(workers);
            self.armed.store(1, Ordering::Relaxed);
            self.timer.set(now + STUCK);
        }
    }

    /// The callback has returned. If the stand-by was faster, it has the role now, or is about to take it.
    pub(crate) fn end(&self) {
        let watched = WATCHED.get() != 0;
        WATCHED.set(0);
        if watched && self.is_worker() && self.since.swap(0, Ordering::AcqRel) == 0 {
            WORKER.set(DISMISSED);
        }
    }

    /// The calling thread ends inside the program's code. If it is the worker, it loses the role; returns the
    /// role number for its successor.
    pub(crate) fn resign(&self) -> Option<u32> {
        self.end();
        // The stand-by cannot take the role now, because no callback is running.
        self.is_worker()
            .then(|| self.role.fetch_add(1, Ordering::AcqRel) + 1)
    }

    /// A replaced worker has finished its callback, and ends.
    pub(crate) fn come_back(&self) {
        self.away.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts a stuck callback: its thread is not available until the callback returns.
    pub(crate) fn note_stuck(&self) {
        self.stuck.fetch_add(1, Ordering::Relaxed);
        self.away.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the limit of stuck callbacks is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.away.load(Ordering::Relaxed) >= MOST
    }

    /// The round is over.
    pub(crate) fn rest(&self) {
        if self.is_worker() && self.armed.load(Ordering::Relaxed) != 0 {
            self.armed.store(0, Ordering::Relaxed);
            self.timer.set(0);
        }
    }

    /// Callbacks found stuck so far.
    pub(crate) fn stuck(&self) -> u64 {
        self.stuck.load(Ordering::Relaxed)
    }

    /// Starts the stand-by if there is none; counts an error if that fails.
    fn stand_by(&self, workers: &'static Workers) {
        if self.standby.load(Ordering::Relaxed) != NO_STAND_BY || self.is_full() {
            return;
        }
        let has_timer = {
            let _known_to_forks = workers.env().alarm.timer();
            self.timer.open()
        };
        let watch = move || workers.watch.watch(workers);
        let started = has_timer && workers.spawn(c"quiescent-2", watch).is_ok();
        if started {
            self.standby.store(STANDING_BY, Ordering::Relaxed);
        } else {
            count(&workers.env().state.counters.worker_errors);
        }
    }

    /// The stand-by: sleeps until the timer fires and a callback has run for too long; then it becomes the
    /// worker.
    fn watch(&'static self, workers: &'static Workers) {
        let Some(running) = self.claim() else {
            // The program has closed the timer. The next round starts with another one.
            self.timer.forget();
            self.standby.store(NO_STAND_BY, Ordering::Release);
            count(&workers.env().state.counters.worker_errors);
            uncount(&workers.env().state.counters.helpers);
            return;
        };
        let name = self.name.load(Ordering::Relaxed);
        self.note_stuck();
        self.armed.store(0, Ordering::Relaxed);
        self.standby.store(NO_STAND_BY, Ordering::Relaxed);
        let role = self.role.fetch_add(1, Ordering::AcqRel) + 1;
        self.take_role(role);
        workers.env().end_turns(turn_of_worker(role - 1));
        // SAFETY: `begin` stored a function of this type before it stored `since`.
        let name = unsafe { std::mem::transmute::<*mut (), fn() -> &'static str>(name) };
        self.tell(workers, name(), running);
        workers.serve(role);
    }

    /// Reports a stuck callback. The reporter is the program's code, and is watched like a callback, because
    /// it may wait for the lock that the stuck one holds. While it runs, no other report is made.
    pub(crate) fn tell(&'static self, workers: &'static Workers, name: &'static str, running: u64) {
        if !self.telling.begin() {
            return;
        }
        self.begin(workers, || "the reporter");
        report(
            workers.env(),
            Report::Stuck {
                name,
                running: Duration::from_nanos(running),
            },
        );
        self.end();
        self.telling.end();
    }

    /// Waits until a callback is stuck, and takes the role of the worker that runs it. Returns the running
    /// time; `None` if the timer is gone.
    fn claim(&self) -> Option<u64> {
        let mut seen = 0;
        while self.timer.wait() {
            match self.look(&mut seen) {
                Look::Stuck(running) => return Some(running),
                Look::Again(left) if self.armed.load(Ordering::Relaxed) != 0 => {
                    self.timer.set(prim::now_ns() + left);
                }
                Look::Again(_) => {}
            }
        }
        None
    }

    /// Looks at the callback that runs. `seen` is the beginning of one that had run for too long at the last
    /// look. If it still runs, the first of the two threads to clear `since` has the role.
    fn look(&self, seen: &mut u64) -> Look {
        let since = self.since.load(Ordering::Acquire);
        if since == 0 {
            *seen = 0;
            return Look::Again(STUCK); // between two callbacks
        }
        // Uses the same clock as `begin`: the other clock may be hours ahead of it after a virtual machine
        // was stopped.
        let running = prim::coarse_ns().saturating_sub(since);
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        if running >= STUCK
            && since == *seen
            && self
                .since
                .compare_exchange(since, 0, order.0, order.1)
                .is_ok()
        {
            return Look::Stuck(running);
        }
        *seen = if running >= STUCK { since } else { 0 };
        Look::Again(STUCK.saturating_sub(running).max(STUCK / 10))
    }
}

#[cfg(test)]
mod tests;
