//! What the worker's thread does between sleeps, and draining in a thread of the program.
//!
//! The worker is started by whoever first needs it, and sleeps on the [`alarm`](crate::inner::prim::alarm) while
//! nothing is due: a program whose queues are empty has a thread that never wakes (rule R5). Awake, it makes
//! [passes](crate::inner::domain::pass) over all domains until nothing is due any more. It never waits for a reader.

use quiescent_engine::Interest;
use quiescent_engine::credit::Cause;

use crate::error::SyncError;
use crate::inner::defer::sweep::Until;
use crate::inner::domain::counters::count;
#[cfg(not(quiescent_model))]
use crate::inner::domain::env::Env;
use crate::inner::domain::state::State;
use crate::inner::gp::driver::How;
#[cfg(not(quiescent_model))]
use crate::inner::prim::alarm::Woken;
use crate::inner::prim::{self, Ordering};

#[cfg(not(quiescent_model))]
impl Env {
    /// The worker has slept, and this woke it.
    pub(crate) fn woken(&'static self, by: Woken) {
        let counters = &self.state.counters;
        match by {
            Woken { pressure: true, .. } => count(&counters.woken_pressure),
            Woken { kick: true, .. } => count(&counters.woken_kick),
            Woken { timer: true, .. } => count(&counters.woken_timer),
            _ => {} // by a signal
        }
        if by.low {
            count(&counters.pressure_events);
            self.states().for_each(State::memory_low);
        }
    }
}

impl State {
    /// Empties the domain in this thread, as far as that goes before the deadline.
    /// Returns how much it has run and freed.
    pub(crate) fn drain(&'static self, until: Until) -> u64 {
        let mut ran = 0;
        if self.drain_passes(until, &mut ran).is_err() {
            count(&self.counters.worker_errors);
        }
        self.rearm(false);
        self.env().set_alarm();
        // What was taken over and has to wait is the worker's now: no timer stands for it.
        let taken = self.taken_waits() || self.taken_is_ready();
        if (taken || self.env().alarm.is_armed()) && !self.env().start_worker() {
            self.lock().disarm(); // the next thread that queues tries again
        }
        if taken {
            self.call();
        }
        ran
    }

    /// Frees and runs what a dropped domain has left, also inside a callback; what its callbacks queue in turn, and
    /// what a reader is in the way of, is the worker's.
    pub(crate) fn empty(&'static self) {
        let until = Until { deadline: None };
        let rounds = self.held().0;
        let mut ran = 0;
        while ran < rounds {
            let swept = self.sweep(|core| (!core.is_idle()).then_some(Cause::Drain), |_| ());
            if swept.is_err() {
                break;
            }
            if self.taken_waits() {
                let core = self.lock();
                self.drive_once(core, None, Interest::Poller);
            }
            let now = self.run_left(rounds - ran, until);
            if now == 0 {
                break;
            }
            ran += now;
        }
        self.rearm(false);
        if self.held().0 > 0 {
            self.kick_worker();
        }
    }

    fn drain_passes(&'static self, until: Until, ran: &mut u64) -> Result<(), SyncError> {
        let can_wait =
            !crate::inner::reader::word::in_section() && !crate::inner::defer::run::in_callback();
        loop {
            self.sweep(|core| (!core.is_idle()).then_some(Cause::Drain), |_| ())?;
            let now = self.run_ready(until, true);
            *ran += now;
            let waits = self.taken_waits();
            if until.is_over() || (!can_wait && now == 0) {
                return Ok(());
            }
            if waits && can_wait {
                let how = How {
                    deadline: until.deadline,
                    ..How::default()
                };
                match self.synchronize(how) {
                    Err(SyncError::TimedOut { .. }) => return Ok(()),
                    other => other?,
                }
                *ran += self.run_ready(until, true);
            } else if now == 0 && self.held().0 == 0 {
                return Ok(());
            } else if now == 0 {
                self.wait_for_others(until);
            }
        }
    }

    /// Waits until some of what others are running has returned; a moment, if there is nothing.
    fn wait_for_others(&'static self, until: Until) {
        self.drainers.fetch_add(1, Ordering::Relaxed);
        let word = self.drain_word.load(Ordering::Relaxed);
        // Who reports to a queue after this look at it sees us, and changes the word (by its lock).
        let others = self.queues().any(|queue| {
            let core = queue.lock();
            core.cpu.lists().iter().any(|list| list.out() > 0)
        });
        if others {
            prim::futex_wait(&self.drain_word, word, until.left());
        } else {
            // Somebody is in the middle of a push, and may be so for long: it has no processor, perhaps because of us.
            prim::doze();
        }
        self.drainers.fetch_sub(1, Ordering::Relaxed);
    }
}
