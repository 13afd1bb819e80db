//! The overflow worker: runs callbacks beside the worker during a backlog, and does nothing else.
//!
//! The engine ([`pool`](quiescent_engine::pool)) decides when it runs and when it rests. It is started at the
//! first backlog, and sleeps between backlogs on a word of its own: a program without backlogs has no such
//! thread, and after a backlog it never wakes. It makes no sweep, sets no timer, and waits for no grace
//! period. The worker does all that, and runs what the overflow worker leaves.
//!
//! # A callback that does not return
//! The stand-by ([`watch`](super::watchdog)) watches the worker's callbacks; the worker watches those of the
//! overflow worker. While the overflow worker runs, the worker looks at it at least once in the time after
//! which a callback may be [stuck](super::roles), and again a tenth of that later. If one is stuck, the
//! worker takes the role away and ends the turn, as a stand-by would. A worker that waits for a grace period
//! looks after that.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::global::env;
use crate::global::workers::Workers;
use crate::global::workers::roles::{OVERFLOW, Role, STUCK};
use quiescent_core::domain::run::turn_of_overflow;
use quiescent_core::domain::state::State;
use quiescent_core::os;
use quiescent_core::prim;
use quiescent_core::prim::counters::count;

/// There is no such thread.
const NONE: u32 = 0;
const STARTED: u32 = 1;

/// The overflow worker.
#[derive(Debug)]
pub(crate) struct Overflow {
    pub(crate) role: Role,
    state: AtomicU32,
    /// The number of calls; the word that it sleeps on.
    calls: AtomicU32,
}

impl Overflow {
    pub(crate) const fn new() -> Overflow {
        Overflow {
            role: Role::new(&OVERFLOW),
            state: AtomicU32::new(NONE),
            calls: AtomicU32::new(0),
        }
    }

    /// Wakes it, if there is one.
    pub(crate) fn call(&self) {
        self.calls.fetch_add(1, Ordering::Release);
        prim::futex_wake(&self.calls);
    }

    /// In the child of a fork there is none.
    #[cfg(feature = "fork")]
    pub(crate) fn forked(&self) {
        self.role.forked();
        self.state.store(NONE, Ordering::Relaxed); // `calls` has a meaning only with it
    }
}

impl Workers {
    /// A worker starts: it assumes that there may be an overflow worker.
    pub(crate) fn hope_for_overflow(&'static self) {
        env()
            .states()
            .for_each(|state| state.lock().engine.set_workers(2));
    }

    /// Wakes the overflow worker for a domain. The domain's engine requests this once, and not again before
    /// the overflow worker rests.
    #[cold]
    pub(crate) fn call_overflow(&'static self, state: &'static State) {
        let overflow = &self.watch.overflow;
        // The worker must check it periodically, also while it sleeps.
        state.arm_alarm(prim::now_ns() + STUCK);
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        let starts = (overflow.state).compare_exchange(NONE, STARTED, order.0, order.1);
        if starts.is_err() {
            return overflow.call();
        }
        let role = overflow.role.number();
        let body = move || self.serve_as_overflow(role);
        let full = self.watch.is_full() || self.has_ended();
        let alone = os::has_one_processor();
        let refused = !full && !alone && self.spawn(c"quiescent-3", body).is_err();
        if full || alone || refused {
            overflow.state.store(NONE, Ordering::Release);
            let mut core = state.lock();
            core.engine.stand_down(true);
            if alone || refused {
                core.engine.set_workers(1); // there is no processor for it, or no thread to be had
            }
            if refused {
                count(&state.counters.worker_errors);
            }
        }
    }

    fn serve_as_overflow(&'static self, role: u32) -> bool {
        let overflow = &self.watch.overflow;
        overflow.role.take(role);
        loop {
            let calls = overflow.calls.load(Ordering::Acquire);
            if self.has_ended() {
                overflow.state.store(NONE, Ordering::Release);
                all_stand_down(); // it may have left a backlog
                break self.leave(true);
            }
            env().relieve(turn_of_overflow(role));
            if overflow.role.is_dismissed() {
                self.watch.come_back();
                break self.leave(false);
            }
            while overflow.calls.load(Ordering::Acquire) == calls {
                prim::futex_wait(&overflow.calls, calls, None);
            }
        }
    }

    /// The overflow worker that had the role with this number is gone: the worker runs everything until
    /// another one is started.
    fn stand_all_down(&'static self, number: u32) {
        self.watch.overflow.state.store(NONE, Ordering::Release);
        env().end_turns(turn_of_overflow(number));
        all_stand_down();
        env().states().for_each(State::call); // what it leaves is ours
    }

    /// The worker looks whether the overflow worker is stuck.
    pub(crate) fn look_at_overflow(&'static self) {
        if let Some(stuck) = self.watch.overflow.role.look() {
            self.watch.note_stuck();
            self.stand_all_down(stuck.number);
            self.watch.tell(&stuck);
        }
    }

    /// When the worker must look again. Threads that drain ask, too, and do not look.
    pub(crate) fn overflow_look(&'static self) -> Option<u64> {
        let on_duty = |state: &State| state.lock().engine.overflow_is_on_duty();
        env()
            .states()
            .any(on_duty)
            .then(|| prim::now_ns() + self.watch.overflow.role.left())
    }
}

/// No overflow worker is on duty.
fn all_stand_down() {
    env()
        .states()
        .for_each(|state| _ = state.lock().engine.stand_down(true));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::workers::WORKERS;

    /// A callback of a dropped domain ends inside the callback that emptied it, and the end of the outer one
    /// is none of a callback.
    #[test]
    fn a_callback_that_ran_others_inside_does_not_cost_the_role() {
        let role = &WORKERS.watch.overflow.role;
        role.take(role.number());
        let watch = &WORKERS.watch;
        let begin = || watch.begin(|| "a callback");
        begin();
        begin();
        assert_ne!(role.since(), 0, "it is watched");
        watch.end();
        watch.end();
        assert!(!role.is_dismissed(), "it counts as replaced");
        // Replaced it is if another thread has cleared the time before its end.
        begin();
        role.set_since(0);
        watch.end();
        assert!(role.is_dismissed());
        role.leave();
    }

    #[test]
    fn in_the_child_of_a_fork_there_is_none() {
        let overflow = Overflow::new();
        overflow.state.store(STARTED, Ordering::Relaxed);
        overflow.role.take(overflow.role.number());
        overflow.forked();
        assert!(overflow.role.is_dismissed());
        assert_eq!(overflow.state.load(Ordering::Relaxed), NONE);
        overflow.role.leave();
    }
}
