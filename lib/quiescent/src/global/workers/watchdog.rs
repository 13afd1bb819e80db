//! The watchdog: a callback of the worker that never returns does not stop the others.
//!
//! Before the first callback of a round the worker sets a timer that only the *stand-by* waits for, and stops
//! it after the round: two system calls a round, and no wake-up. If the timer fires, the stand-by looks at
//! the callback, and looks again as long as it may become [stuck](super::roles). If it is, the
//! stand-by has the worker's role.
//!
//! The stand-by is created before the first callback runs, because later no thread might be available.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::global::env;
use crate::global::workers::WORKERS;
use crate::global::workers::overflow::Overflow;
use crate::global::workers::roles::{Role, STUCK, Stuck, WATCHED, WORKER};
use crate::watch::report::{self, Report};
use quiescent_core::domain::run::turn_of_worker;
use quiescent_core::domain::state::State;
use quiescent_core::os::Timer;
use quiescent_core::prim;
use quiescent_core::prim::counters::count;
use quiescent_core::prim::teller::Teller;

/// The most stuck callbacks at a time that keep a thread each; with more, the other callbacks wait.
const MOST: u32 = 16;

/// There is no stand-by, and no attempt to start one.
const NO_STAND_BY: u32 = 0;
const STANDING_BY: u32 = 1;

/// The worker, and the stand-by that watches it.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) role: Role,
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
            role: Role::new(&WORKER),
            armed: AtomicU32::new(0),
            timer: Timer::new(),
            standby: AtomicU32::new(NO_STAND_BY),
            stuck: AtomicU64::new(0),
            away: AtomicU32::new(0),
            telling: Teller::new(),
            overflow: Overflow::new(),
        }
    }

    /// In the child of a fork there is no worker and no stand-by.
    #[cfg(feature = "fork")]
    pub(crate) fn forked(&self) {
        let Watch {
            role,
            armed,
            timer,
            standby,
            stuck,
            away,
            telling,
            overflow,
        } = self;
        timer.close();
        role.forked();
        armed.store(0, Ordering::Relaxed);
        standby.store(NO_STAND_BY, Ordering::Relaxed);
        stuck.store(0, Ordering::Relaxed);
        let dismissed = u32::from(WORKER.get() != 0 || super::roles::OVERFLOW.get() != 0);
        overflow.forked();
        away.store(dismissed, Ordering::Relaxed);
        telling.end();
    }

    /// Whether the calling thread is a worker that was replaced, or the overflow worker, which is to end: the
    /// program may queue faster than it runs, so it would never rest.
    pub(crate) fn is_dismissed(&self) -> bool {
        let (role, overflow) = (&self.role, &self.overflow.role);
        let ends = || overflow.is_mine() && WORKERS.has_ended();
        // The worker has no other role.
        !role.is_mine() && (role.is_dismissed() || overflow.is_dismissed() || ends())
    }

    /// A callback is about to run in this thread.
    pub(crate) fn begin(&self, name: fn() -> &'static str) {
        let Some(now) = self.role.begin(name) else {
            let by_worker = self.overflow.role.begin(name).map_or(0, |_| 2);
            return WATCHED.set(by_worker);
        };
        WATCHED.set(1);
        if self.armed.load(Ordering::Relaxed) == 0 {
            self.stand_by();
            self.armed.store(1, Ordering::Relaxed);
            self.timer.set(now + STUCK);
        }
    }

    /// The callback has returned. One that has run others inside (what a dropped domain left) counts as over
    /// when the last of those is.
    pub(crate) fn end(&self) {
        match WATCHED.replace(0) {
            1 => self.role.end(),
            2 => self.overflow.role.end(),
            _ => {}
        }
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
        if self.role.is_mine() && self.armed.load(Ordering::Relaxed) != 0 {
            self.armed.store(0, Ordering::Relaxed);
            self.timer.set(0);
        }
    }

    /// Callbacks found stuck so far.
    pub(crate) fn stuck(&self) -> u64 {
        self.stuck.load(Ordering::Relaxed)
    }

    /// Starts the stand-by if there is none; counts an error if that fails.
    fn stand_by(&self) {
        if self.standby.load(Ordering::Relaxed) != NO_STAND_BY || self.is_full() {
            return;
        }
        let has_timer = {
            let _known_to_forks = env().alarm.timer();
            self.timer.open()
        };
        let watch = || WORKERS.watch.watch();
        let started = has_timer && WORKERS.spawn(c"quiescent-2", watch).is_ok();
        if started {
            self.standby.store(STANDING_BY, Ordering::Relaxed);
        } else {
            count(&env().state.counters.worker_errors);
        }
    }

    /// The stand-by: sleeps until the timer fires and a callback has run for too long; then it becomes the
    /// worker.
    fn watch(&'static self) -> bool {
        let Some(stuck) = self.claim() else {
            let ends = WORKERS.has_ended();
            if !ends {
                // The program has closed the timer. The next round starts with another one.
                self.timer.forget();
                count(&env().state.counters.worker_errors);
            }
            self.standby.store(NO_STAND_BY, Ordering::Release);
            WORKERS.leave(ends);
            return ends;
        };
        self.note_stuck();
        self.armed.store(0, Ordering::Relaxed);
        self.standby.store(NO_STAND_BY, Ordering::Relaxed);
        let role = stuck.number + 1;
        self.role.take(role);
        env().end_turns(turn_of_worker(stuck.number));
        self.tell(&stuck);
        // The callback may wait for a thread that waits for itself.
        env().states().for_each(State::look_at_owners);
        WORKERS.serve(role)
    }

    /// The worker has ended: so do its stand-by and the overflow worker.
    pub(crate) fn end_others(&self) {
        if self.standby.load(Ordering::Acquire) == STANDING_BY {
            self.timer.set(1); // it has expired
        }
        self.overflow.call();
    }

    /// All of them have ended.
    pub(crate) fn close(&self) {
        self.armed.store(0, Ordering::Relaxed);
        let _known_to_forks = env().alarm.timer();
        self.timer.close();
    }

    /// Reports a stuck callback. The reporter is the program's code, and is watched like a callback, because
    /// it may wait for the lock that the stuck one holds. While it runs, no other report is made.
    pub(crate) fn tell(&'static self, stuck: &Stuck) {
        if !self.telling.begin() {
            return;
        }
        self.begin(|| "the reporter");
        report::report(
            env(),
            &Report::Stuck {
                name: stuck.name,
                running: Duration::from_nanos(stuck.running),
            },
        );
        self.end();
        self.telling.end();
    }

    /// Waits until a callback is stuck, and its worker has lost the role. `None` if the timer is gone, or
    /// this thread is to end.
    fn claim(&self) -> Option<Stuck> {
        while self.timer.wait() && !WORKERS.has_ended() {
            let stuck = self.role.look();
            if stuck.is_some() {
                return stuck;
            }
            if self.armed.load(Ordering::Relaxed) != 0 {
                self.timer.set(prim::now_ns() + self.role.left());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
