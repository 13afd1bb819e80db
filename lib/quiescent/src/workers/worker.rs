//! The worker: looks after queues whose owners do not come back, and runs callbacks.
//!
//! It is started by whoever first needs it, and sleeps on the [`alarm`](crate::inner::prim::alarm) while nothing is
//! due: a program whose queues are empty has a thread that never wakes (rule R5). Awake, it repeats a
//! *pass* until nothing is due any more:
//!
//! 1. sweep: take over the queues that the engine calls due (a deadline, a hurry, code that is ready), or
//!    all, if it says so because the budget is near;
//! 2. run what is done already;
//! 3. if what was taken waits for a grace period: wait for one as any `synchronize` caller does, which
//!    means to drive it if nobody does; run what that made ready;
//! 4. set the timer to the earliest deadline that is left, or stop it.
//!
//! While it waits for a grace period it is not in `epoll`. Nothing is lost by that: nothing can become
//! ready before that grace period ends, and what is queued or kicked meanwhile is found by the next
//! pass.

use quiescent_engine::credit::Cause;

use crate::error::SyncError;
use crate::inner::defer::sweep::Until;
use crate::inner::domain::counters::count;
use crate::inner::domain::process::Process;
use crate::inner::gp::driver::How;
use crate::inner::gp::waiting::Waits as _;
#[cfg(not(quiescent_model))]
use crate::inner::prim::alarm::Woken;
use crate::inner::prim::{self, Ordering};
use crate::inner::queue::per_thread::Core;
use crate::report;
use crate::watch::telemetry;

/// After so many nanoseconds the worker tries again what failed for want of memory.
const RETRY: u64 = 1_000_000_000;

impl Process {
    /// Works until nothing is due. `until` stops it early.
    pub(crate) fn work(&'static self, until: Until) {
        match self.passes(until) {
            Err(error) => self.give_up(&error),
            Ok(()) if self.watch.is_dismissed() => {} // whoever has the role now does that
            Ok(()) => self.set_alarm(),
        }
        telemetry::publish_if_on();
    }

    /// Pass after pass, until nothing is due.
    fn passes(&'static self, until: Until) -> Result<(), SyncError> {
        while !until.is_over() && self.pass(until)? {}
        Ok(())
    }

    /// Nothing may be freed now. It is held, and said; if there is hope, the worker tries again later.
    /// (The deadlines that are left have passed: a timer set to them would never rest.)
    fn give_up(&'static self, error: &SyncError) {
        let refused = self.refuse(error);
        self.lock().disarm();
        if !refused {
            let retry = prim::now_ns() + RETRY;
            self.lock().arm(retry);
        }
        // Nobody listens for low memory either, if there is nothing to be done about it.
        self.alarm.follow(|| self.lock().engine.armed());
    }

    /// One pass; false if there was nothing to do.
    fn pass(&'static self, until: Until) -> Result<bool, SyncError> {
        if self.untold.load(Ordering::Acquire) != 0 {
            self.tell_news();
        }
        self.look_at_second();
        let now = prim::now_ns();
        let mut core = self.lock();
        core.expire(now);
        let low = core.take_pressure(now);
        let all = core.sweeps_all(); // the budget is near
        drop(core);
        let due = |core: &Core| {
            let whole = || (all && !core.is_idle()).then_some(Cause::Budget);
            core.cpu.due(Process::now(now), low).or_else(whole)
        };
        let swept = self.sweep(due, |_| ())?;
        let code = !self.is_drained();
        let mut ran = self.run_as_worker(until, code);
        if self.taken_waits() {
            self.watch.rest(); // readers may take their time, and nobody is to wake up for it
            self.synchronize(How::default())?;
            ran += self.run_as_worker(until, code);
        }
        if !code && self.code_is_ready() {
            report::ready();
        }
        // What became done just now, by somebody else's grace period, announces itself to nobody.
        Ok(swept.chosen > 0 || ran > 0 || self.taken_is_ready())
    }

    /// The worker has slept, and this woke it.
    #[cfg(not(quiescent_model))]
    pub(crate) fn woken(&'static self, by: Woken) {
        let counters = &self.counters;
        match by {
            Woken { pressure: true, .. } => count(&counters.woken_pressure),
            Woken { kick: true, .. } => count(&counters.woken_kick),
            Woken { timer: true, .. } => count(&counters.woken_timer),
            _ => {} // by a signal
        }
        if by.low {
            count(&counters.pressure_events);
            // It is up already; what has to wait for its time is left to the timer, which it sets before it sleeps.
            let _ = self.lock().memory_low(prim::now_ns());
        }
    }

    /// Sets the timer to the earliest deadline there is.
    pub(crate) fn set_alarm(&'static self) {
        // From here on whoever queues sets the timer; what was queued before is seen below.
        self.lock().disarm();
        let deadlines = self
            .queues()
            .filter_map(|queue| queue.lock().cpu.deadline())
            .chain(self.second_look());
        if let Some(earliest) = deadlines.min() {
            self.lock().arm(earliest);
        } else {
            self.lock().calm();
        }
        self.alarm.follow(|| self.lock().engine.armed());
    }

    /// Empties the domain in this thread, as far as that goes before the deadline.
    /// Returns how much it has run and freed.
    pub(crate) fn drain(&'static self, until: Until) -> u64 {
        let mut ran = 0;
        if self.drain_passes(until, &mut ran).is_err() {
            count(&self.counters.worker_errors);
        }
        self.set_alarm();
        // What was taken over and has to wait is the worker's now: no timer stands for it.
        let taken = self.taken_waits() || self.taken_is_ready();
        if (taken || self.alarm.is_armed()) && !self.start_worker() {
            self.lock().disarm(); // whoever queues next tries again
        }
        if taken {
            self.alarm.kick();
        }
        ran
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
