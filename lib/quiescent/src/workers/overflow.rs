//! The overflow worker: runs callbacks beside the worker during a backlog, and does nothing else.
//!
//! The engine ([`pool`](quiescent_engine::pool)) decides when it runs and when it rests. It is started at the
//! first backlog, and sleeps between backlogs on a word of its own: a program without backlogs has no such
//! thread, and after a backlog it never wakes. It makes no sweep, sets no timer, and waits for no grace
//! period. The worker does all that, and runs what the overflow worker leaves.
//!
//! # A callback that does not return
//! The stand-by ([`watch`](crate::workers::watchdog)) watches the worker's callbacks; the worker watches
//! those of the overflow worker. While the overflow worker runs, the worker checks it at least once in the
//! time after which a callback counts as stuck. If one is stuck, the worker takes the role away, as a
//! stand-by would, and ends the turn: the thread that returns later finds another role number, and ends. A
//! worker that waits for a grace period checks after that.

use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::thread;

use crate::workers::Workers;
use crate::workers::roles::OVERFLOW;
use crate::workers::watchdog::STUCK;
use quiescent_core::defer::turns::turn_of_overflow;
use quiescent_core::parts::state::State;
use quiescent_core::prim;
use quiescent_core::prim::counters::{count, uncount};

/// There is no such thread.
const NONE: u32 = 0;
const STARTED: u32 = 1;
/// The role number of an overflow worker that was replaced.
const DISMISSED: usize = usize::MAX;

/// The overflow worker's role.
#[derive(Debug)]
pub(crate) struct Overflow {
    /// The current role number, incremented with every change.
    role: AtomicU32,
    state: AtomicU32,
    /// The number of calls; the word that it sleeps on.
    calls: AtomicU32,
    /// When its callback began; 0 if none runs.
    since: AtomicU64,
    /// The function that returns its name.
    name: AtomicPtr<()>,
}

/// A callback that does not return.
struct Stuck {
    name: fn() -> &'static str,
    /// Its running time, in nanoseconds.
    running: u64,
    /// The role number of its thread.
    role: u32,
}

impl Overflow {
    pub(crate) const fn new() -> Overflow {
        Overflow {
            role: AtomicU32::new(1),
            state: AtomicU32::new(NONE),
            calls: AtomicU32::new(0),
            since: AtomicU64::new(0),
            name: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// In the child of a fork there is no overflow worker. If the thread that forked is one (in a callback),
    /// it continues as one that was replaced.
    pub(crate) fn forked(&self) {
        let Overflow {
            role,
            state,
            since,
            // Kept: they have a meaning only with the others.
            calls: _,
            name: _,
        } = self;
        role.fetch_add(1, Ordering::Relaxed);
        state.store(NONE, Ordering::Relaxed);
        since.store(0, Ordering::Relaxed);
    }

    fn is_here(&self) -> bool {
        let role = OVERFLOW.get();
        role != 0 && role == self.role.load(Ordering::Acquire) as usize
    }

    /// Whether the calling thread is an overflow worker that was replaced.
    pub(crate) fn is_dismissed(&self) -> bool {
        OVERFLOW.get() != 0 && !self.is_here()
    }

    /// A callback is about to run in this thread.
    pub(crate) fn begin(&self, name: fn() -> &'static str) {
        if self.is_here() {
            self.name.store(name as *mut (), Ordering::Relaxed);
            self.since.store(prim::coarse_ns(), Ordering::Release);
        }
    }

    /// The callback has returned. If the worker was faster, it has taken the role, or is about to.
    pub(crate) fn end(&self) {
        if self.is_here() && self.since.swap(0, Ordering::AcqRel) == 0 {
            OVERFLOW.set(DISMISSED);
        }
    }

    /// Takes the role from a thread whose callback has run for too long: the first of the two threads to
    /// clear `since` decides.
    fn claim(&self) -> Option<Stuck> {
        let since = self.since.load(Ordering::Acquire);
        let running = prim::coarse_ns().saturating_sub(since); // the clock that `begin` looked at
        if since == 0 || running < STUCK {
            return None;
        }
        let name = self.name.load(Ordering::Relaxed);
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        self.since
            .compare_exchange(since, 0, order.0, order.1)
            .ok()?;
        let role = self.role.fetch_add(1, Ordering::AcqRel);
        self.state.store(NONE, Ordering::Release);
        // SAFETY: `begin` stored a function of this type before it stored `since`.
        let name = unsafe { std::mem::transmute::<*mut (), fn() -> &'static str>(name) };
        Some(Stuck {
            name,
            running,
            role,
        })
    }
}

impl Workers {
    /// A worker starts: it assumes that there may be an overflow worker.
    pub(crate) fn hope_for_overflow(&'static self) {
        self.env()
            .states()
            .for_each(|state| state.lock().set_workers(2));
    }

    /// Wakes the overflow worker for a domain. The domain's engine requests this once, and not again before
    /// the overflow worker rests.
    #[cold]
    pub(crate) fn call_overflow(&'static self, state: &'static State) {
        let overflow = &self.watch.overflow;
        // The worker must check it periodically, also while it sleeps.
        state.arm_alarm(prim::now_ns() + STUCK);
        let first = (NONE, STARTED);
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        if overflow
            .state
            .compare_exchange(first.0, first.1, order.0, order.1)
            .is_err()
        {
            overflow.calls.fetch_add(1, Ordering::Release);
            prim::futex_wake(&overflow.calls);
            return;
        }
        let role = overflow.role.load(Ordering::Relaxed);
        let body = move || self.serve_as_overflow(role);
        let full = self.watch.is_full();
        // Determined here and not when the worker starts, because it reads files.
        let alone = !thread::available_parallelism().is_ok_and(|it| it.get() > 1);
        let refused = !full && !alone && self.spawn(c"quiescent-3", body).is_err();
        if full || alone || refused {
            overflow.state.store(NONE, Ordering::Release);
            let mut core = state.lock();
            core.stand_down(true);
            if alone || refused {
                core.set_workers(1); // there is no processor for it, or no thread to be had
            }
            if refused {
                count(&state.counters.worker_errors);
            }
        }
    }

    fn serve_as_overflow(&'static self, role: u32) {
        OVERFLOW.set(role as usize);
        let overflow = &self.watch.overflow;
        loop {
            let calls = overflow.calls.load(Ordering::Acquire);
            self.env().relieve(turn_of_overflow(role));
            if overflow.is_dismissed() {
                self.watch.come_back();
                break;
            }
            while overflow.calls.load(Ordering::Acquire) == calls {
                prim::futex_wait(&overflow.calls, calls, None);
            }
        }
        uncount(&self.env().state.counters.helpers);
    }

    /// The overflow worker is gone: the worker runs everything until another one is started.
    fn stand_all_down(&'static self) {
        self.env().states().for_each(|state| {
            state.lock().stand_down(true);
        });
    }

    /// The calling thread, which has been the overflow worker, ends inside the program's code.
    pub(crate) fn lose_overflow(&'static self) {
        let overflow = &self.watch.overflow;
        overflow.end();
        if overflow.is_dismissed() {
            self.watch.come_back();
        } else {
            let role = overflow.role.fetch_add(1, Ordering::AcqRel);
            overflow.state.store(NONE, Ordering::Release);
            self.env().end_turns(turn_of_overflow(role));
            self.stand_all_down();
            self.env().states().for_each(State::call);
        }
        OVERFLOW.set(0);
        uncount(&self.env().state.counters.helpers);
    }

    /// The worker checks whether the overflow worker is stuck.
    pub(crate) fn look_at_overflow(&'static self) {
        if let Some(stuck) = self.watch.overflow.claim() {
            self.watch.note_stuck();
            self.env().end_turns(turn_of_overflow(stuck.role));
            self.stand_all_down();
            self.env().states().for_each(State::call); // what it leaves is ours
            self.watch.tell(self, (stuck.name)(), stuck.running);
        }
    }

    /// When the worker must check it again.
    pub(crate) fn overflow_look(&'static self) -> Option<u64> {
        let on_duty = |state: &State| state.lock().engine.overflow_is_on_duty();
        self.env()
            .states()
            .any(on_duty)
            .then(|| prim::now_ns() + STUCK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::{env, process};
    use quiescent_core::parts::shell::{Shell, Taken};

    /// A callback of a dropped domain ends inside the callback that emptied it, and the end of the outer one
    /// is none of a callback.
    #[test]
    fn a_callback_that_ran_others_inside_does_not_cost_the_role() {
        let overflow = &process().workers.watch.overflow;
        OVERFLOW.set(overflow.role.load(Ordering::Relaxed) as usize);
        let begin = || {
            let taken = Taken {
                queue: &env().common.dummy,
                lane: quiescent_engine::Lane::ALL[0],
                start: 0,
                end: 1,
                era: 0,
            };
            process().begin(|| "a callback", Some(taken));
        };
        begin();
        begin();
        assert_ne!(overflow.since.load(Ordering::Relaxed), 0, "it is watched");
        process().end();
        process().end();
        assert!(!overflow.is_dismissed(), "it counts as replaced");
        // Replaced it is if another thread has cleared the time before its end.
        begin();
        overflow.since.store(0, Ordering::Relaxed);
        process().end();
        assert!(overflow.is_dismissed());
        OVERFLOW.set(0);
    }

    /// The calling thread is the overflow worker.
    fn on_duty() -> Overflow {
        let overflow = Overflow::new();
        overflow.state.store(STARTED, Ordering::Relaxed);
        OVERFLOW.set(overflow.role.load(Ordering::Relaxed) as usize);
        overflow
    }

    fn began(overflow: &Overflow, ago: u64) {
        overflow.begin(|| "its name");
        let since = prim::coarse_ns() - ago;
        overflow.since.store(since, Ordering::Relaxed);
    }

    #[test]
    fn a_callback_that_runs_for_too_long_costs_the_role() {
        let overflow = on_duty();
        let role = overflow.role.load(Ordering::Relaxed);
        assert!(overflow.claim().is_none(), "none runs");
        overflow.begin(|| "its name");
        assert!(overflow.claim().is_none(), "it has just begun");
        began(&overflow, STUCK / 10);
        assert!(overflow.claim().is_none(), "it may run for longer");
        assert_eq!(overflow.state.load(Ordering::Relaxed), STARTED);
        assert!(!overflow.is_dismissed());
        began(&overflow, 2 * STUCK);
        let stuck = overflow.claim().expect("it has run for too long");
        assert_eq!(((stuck.name)(), stuck.role), ("its name", role));
        assert!(stuck.running >= 2 * STUCK);
        assert_eq!(overflow.state.load(Ordering::Relaxed), NONE);
        assert!(overflow.is_dismissed());
        assert!(overflow.claim().is_none(), "once");
        overflow.end();
        assert!(overflow.is_dismissed());
        OVERFLOW.set(0);
    }

    #[test]
    fn a_callback_that_returns_in_time_costs_nothing() {
        let overflow = on_duty();
        began(&overflow, STUCK - 1);
        overflow.end();
        assert!(!overflow.is_dismissed());
        assert_eq!(overflow.since.load(Ordering::Relaxed), 0);
        OVERFLOW.set(0);
        assert!(!overflow.is_dismissed(), "it never was one");
    }

    #[test]
    fn callbacks_of_other_threads_are_not_watched() {
        let overflow = on_duty();
        OVERFLOW.set(0);
        overflow.begin(|| "another's");
        assert_eq!(overflow.since.load(Ordering::Relaxed), 0);
        overflow.since.store(7, Ordering::Relaxed);
        overflow.end();
        assert_eq!(overflow.since.load(Ordering::Relaxed), 7);
    }

    #[test]
    fn in_the_child_of_a_fork_there_is_none() {
        let overflow = on_duty();
        overflow.begin(|| "forks");
        overflow.forked();
        assert!(overflow.is_dismissed() && overflow.claim().is_none());
        assert_eq!(overflow.state.load(Ordering::Relaxed), NONE);
        assert_eq!(overflow.since.load(Ordering::Relaxed), 0);
        OVERFLOW.set(0);
    }
}
