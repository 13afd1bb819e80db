//! Draining: emptying a domain in a thread of the program.

use quiescent_engine::Interest;
use quiescent_engine::credit::Cause;

use crate::domain::driver::How;
use crate::domain::error::SyncError;
use crate::domain::life::Domain;
use crate::domain::state::State;
use crate::domain::sweep::Until;
use crate::prim::counters::count;
use crate::prim::{self, Ordering};

impl State {
    /// Empties the domain in this thread, as far as possible before the deadline. Returns the number of
    /// callbacks run and objects freed.
    pub fn drain(&'static self, until: Until) -> u64 {
        let mut ran = 0;
        if self.drain_passes(until, &mut ran).is_err() {
            count(&self.counters.worker_errors);
        }
        self.rearm(false);
        self.env().set_alarm();
        // The worker handles what was taken over and has to wait: no timer covers it.
        let taken = self.taken_waits() || self.taken_is_ready();
        if (taken || self.env().alarm.is_armed()) && !self.env().host.start_worker() {
            self.lock().engine.disarm(); // the next thread that queues tries again
        }
        if taken {
            self.call();
        }
        ran
    }

    /// Frees and runs what a dropped domain has left, also inside a callback. The worker handles what its
    /// callbacks queue, and what a reader blocks.
    pub fn empty(&'static self) {
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
        let can_wait = !self.in_section() && !self.in_callback();
        loop {
            self.sweep(|core| (!core.is_idle()).then_some(Cause::Drain), |_| ())?;
            let now = self.run_some(u64::MAX, until);
            *ran += now;
            let waits = self.taken_waits();
            if until.is_over(self.env()) || (!can_wait && now == 0) {
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
                *ran += self.run_some(u64::MAX, until);
            } else if now == 0 && self.held().0 == 0 && !self.is_left_with_work() {
                return Ok(());
            } else if now == 0 {
                self.wait_for_others(until);
            }
        }
    }

    /// True while a dropped domain has left something that another thread runs or is about to run. (The
    /// callback that covers it, which ran here, found that thread at work, and did not wait for it.)
    fn is_left_with_work(&'static self) -> bool {
        let env = self.env();
        std::ptr::eq(self, &env.state) && env.registry.domains.iter().any(Domain::is_left_with_work)
    }

    /// Waits until another thread's callback has returned; sleeps briefly if none is running.
    fn wait_for_others(&'static self, until: Until) {
        self.drainers.fetch_add(1, Ordering::Relaxed);
        let word = self.drain_word.load(Ordering::Relaxed);
        // A thread that reports to a queue after this check (under its lock) sees `drainers`, and changes the
        // word.
        let others = self.queues().any(|queue| {
            let core = queue.lock();
            core.cpu.lists().iter().any(|list| list.out() > 0)
        });
        if others {
            prim::futex_wait(&self.drain_word, word, until.left());
        } else {
            // A thread is in the middle of a push, possibly for long: it may have no CPU, perhaps because of
            // us.
            prim::doze();
        }
        self.drainers.fetch_sub(1, Ordering::Relaxed);
    }
}
