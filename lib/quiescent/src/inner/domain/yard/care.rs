//! The caretaker: one thread that looks after what is queued in all yards, and after futures that wait there.
//!
//! It is started when it is first needed, and sleeps on an [`Alarm`] as the worker does: until the earliest deadline of any yard, or a
//! kick. It never waits for a reader. Where one is in the way it leaves with the wake flags set, and says that it is *interested*:
//! whoever ends the last section, or has waited for a grace period himself, kicks it then. So a section of one yard that does not
//! end holds up what waits for it, and nothing else.
//!
//! A callback that does not return holds up those of all yards, though: they run here, one after the other.
//!
//! Yards with something due at the same time are looked after together, so that they share their fences: [`rounds`](super::rounds).

use quiescent_engine::credit::Cause;
use quiescent_engine::{Interest, Look, Pace};

use super::Yard;
use crate::error::SyncError;
use crate::inner::defer::barrier::Barriers as _;
use crate::inner::domain::counters::count;
use crate::inner::domain::process::Process;
use crate::inner::gp::driven::Driven as _;
use crate::inner::gp::driver::{Drive, Turn};
use crate::inner::gp::waiting::Waits as _;
use crate::inner::prim::alarm::Alarm;
use crate::inner::prim::{self, Ordering};
use crate::inner::queue::per_thread::Core;

/// After so many nanoseconds the caretaker tries again what failed for want of memory.
const RETRY: u64 = 1_000_000_000;

impl Yard {
    /// Is there something to be done here? If not: when to look on this yard's account, beside its deadline. No look at a yard that has
    /// not called and has nothing due: a wake-up is on account of one of them, and a look at one that waits for readers costs a fence.
    pub(super) fn is_due(&self) -> Result<(), Option<u64>> {
        let look_at = Some(self.look_at.load(Ordering::Relaxed)).filter(|&at| at != 0);
        let called = self.called.swap(0, Ordering::AcqRel) != 0;
        let armed = self.lock().engine.armed();
        let now = prim::now_ns();
        if !called && armed.into_iter().chain(look_at).all(|at| at > now) {
            return Err(look_at);
        }
        count(&self.counters.worker_passes);
        Ok(())
    }

    /// Nothing is left to be done here, or not before some time at which it is tried again. When to look on this yard's account.
    pub(super) fn is_done(&self, blocked: Option<u64>) -> Option<u64> {
        // From here on whoever queues sets the timer; what was queued before is seen below.
        self.lock().disarm();
        let deadline = self.queue.lock().cpu.deadline();
        match deadline {
            _ if blocked.is_some() => {} // its deadlines have passed
            Some(deadline) => self.lock().arm(deadline),
            None => self.lock().calm(),
        }
        let look_at = blocked.or_else(|| self.next_report());
        self.look_at.store(look_at.unwrap_or(0), Ordering::Relaxed);
        look_at
    }

    /// Something is left to be done here, after the others.
    pub(super) fn put_off(&self) -> Option<u64> {
        self.call();
        self.is_done(None)
    }

    /// While readers are in the way: when that may have to be reported.
    fn next_report(&self) -> Option<u64> {
        if self.interested.load(Ordering::Relaxed) == 0 {
            return None;
        }
        match self.lock().engine.config().pace {
            Pace::Direct { stall_ns, .. } if stall_ns > 0 => {
                Some(prim::now_ns().saturating_add(stall_ns))
            }
            _ => None,
        }
    }

    /// Nothing may be freed now. It is held, and counted; if there is hope, it is tried again later.
    pub(super) fn give_up(&self, error: &SyncError) -> Option<u64> {
        count(&self.counters.worker_errors);
        self.tell_all();
        match *error {
            SyncError::FenceRefused { errno } if errno != libc::ENOMEM => None,
            _ => Some(prim::now_ns() + RETRY),
        }
    }

    /// Whoever waits for the caretaker looks for himself.
    fn tell_all(&self) {
        self.give_up_barrier();
        #[cfg(not(quiescent_model))]
        self.tasks.wake();
    }

    /// A pass begins: what is due is sent on its way, and what is done is run. False if there was nothing of either.
    pub(super) fn begin_pass(&'static self) -> bool {
        let time = prim::now_ns();
        let mut core = self.lock();
        core.expire(time);
        let low = core.take_pressure(time);
        let all = core.sweeps_all(); // the budget is near
        let woken = core.gate.take_due();
        drop(core);
        if woken {
            self.wakers.wake();
        }
        let due = |core: &Core| {
            let whole = || (all && !core.is_idle()).then_some(Cause::Budget);
            core.cpu.due(Process::now(time), low).or_else(whole)
        };
        let taken = self.take(due, |_| ());
        taken | self.run_done()
    }

    /// Frees and runs what is done, but for code that the program runs itself. False if nothing was.
    pub(super) fn run_done(&'static self) -> bool {
        self.run_round(self.runs_code()) > 0
    }

    /// Is the code that is queued here the caretaker's?
    fn runs_code(&self) -> bool {
        self.drained.load(Ordering::Relaxed) == 0
    }

    /// A pass ends.
    pub(super) fn end_pass(&self) {
        #[cfg(not(quiescent_model))]
        self.tasks
            .choose(|cookie| crate::inner::gp::driver::Drives::is_done(self, cookie))
            .wake();
        if !self.runs_code() && self.code_is_ready() {
            crate::report::ready();
        }
        self.tell_news_of_budget();
    }

    /// The caretaker is to be told when a grace period may go on here.
    pub(super) fn take_interest(&self) {
        self.interested.swap(1, Ordering::AcqRel); // [CT-1]
    }

    /// It need not be told.
    pub(super) fn lose_interest(&self) {
        self.interested.store(0, Ordering::Relaxed);
    }

    /// Does something wait for a grace period?
    pub(super) fn waits(&self) -> bool {
        #[cfg(not(quiescent_model))]
        if self
            .tasks
            .any(|cookie| !crate::inner::gp::driver::Drives::is_done(self, cookie))
        {
            return true;
        }
        self.pending() || self.only_wants()
    }

    /// Drives, if nobody does, until the engine would have the driver wait.
    pub(super) fn help_along(&'static self) -> Result<(), SyncError> {
        let mut core = self.lock();
        if !core.engine.busy() {
            return Ok(());
        }
        let taken = self.take_role(&mut core, None, Interest::Poller);
        if matches!(taken, Look::At(_)) {
            return Ok(()); // whoever drives tells us when it leaves
        }
        let mut turn = Turn::begin(self, core, taken);
        match turn.drive(Interest::Poller, None) {
            Drive::Stalled(stalled) => turn.tell(stalled),
            Drive::Failed(error) => {
                turn.leave();
                return Err(error);
            }
            _ => turn.leave(),
        }
        Ok(())
    }
}

#[cfg(quiescent_model)]
pub(crate) use model::{alarm, hire, is_there, start};
#[cfg(not(quiescent_model))]
pub(crate) use real::{alarm, forked, hire, is_there, start};

#[cfg(quiescent_model)]
mod model {
    use super::Alarm;
    use crate::inner::prim;

    /// In models a thread of the scenario plays the caretaker.
    pub(crate) fn start() -> bool {
        true
    }

    pub(crate) fn hire() -> bool {
        true
    }

    pub(crate) fn is_there() -> bool {
        false
    }

    pub(crate) fn alarm() -> &'static Alarm {
        &prim::domain().alarm
    }
}

#[cfg(not(quiescent_model))]
mod real {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::super::{rounds, yards};
    use super::{Alarm, Yard};
    use crate::inner::gp::driven::Driven as _;
    use crate::workers::pool;

    const NONE: u32 = 0;
    const STARTING: u32 = 1;
    const STARTED: u32 = 2;

    static STATE: AtomicU32 = AtomicU32::new(NONE);
    /// Forks so far.
    static ERA: AtomicU32 = AtomicU32::new(0);
    static ALARM: Alarm = Alarm::new();

    /// What the caretaker sleeps on.
    pub(crate) fn alarm() -> &'static Alarm {
        &ALARM
    }

    /// Sees to it that there is a caretaker, or that somebody is starting one. False: none can be started; the next who
    /// needs one tries again.
    pub(crate) fn start() -> bool {
        if is_there() {
            return true;
        }
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        if STATE
            .compare_exchange(NONE, STARTING, order.0, order.1)
            .is_err()
        {
            return true;
        }
        let started = ALARM
            .open()
            .and_then(|()| pool::spawn(c"quiescent-care", serve));
        let state = if started.is_ok() { STARTED } else { NONE };
        STATE.store(state, Ordering::Release);
        if started.is_err() {
            nobody_looks();
        }
        started.is_ok()
    }

    /// Is there one?
    pub(crate) fn is_there() -> bool {
        STATE.load(Ordering::Relaxed) == STARTED
    }

    /// As [`start`], for those who may wait: true if there is one.
    pub(crate) fn hire() -> bool {
        while start() {
            if is_there() {
                return true;
            }
            std::thread::yield_now();
        }
        false
    }

    /// There is no caretaker, though some may have relied on one that was being started: no timer counts as set any more.
    fn nobody_looks() {
        ALARM.forget();
        for yard in yards() {
            yard.lock().disarm();
            yard.tell_all();
        }
    }

    /// In the child of a fork: there is nobody, and the descriptors are the parent's.
    pub(crate) fn forked(set: &mut u64) {
        ALARM.forked(set);
        STATE.store(NONE, Ordering::Relaxed);
        ERA.fetch_add(1, Ordering::Relaxed);
    }

    /// What the caretaker does. One that has forked (in a callback) is in the child, where it is the caretaker no more.
    fn serve() {
        let era = ERA.load(Ordering::Relaxed);
        let is_home = || ERA.load(Ordering::Relaxed) != era;
        ALARM.open_sources();
        loop {
            let looks = rounds::look_after(yards());
            if is_home() {
                return;
            }
            ALARM.follow(|| {
                let armed = yards().filter_map(|yard| yard.lock().engine.armed());
                armed.chain(looks).min()
            });
            if ALARM.sleep().is_some_and(|woken| woken.low) {
                yards().for_each(Yard::memory_low);
            }
        }
    }
}
