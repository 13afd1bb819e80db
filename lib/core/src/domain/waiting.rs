//! Waiting for a grace period: the actions of a `synchronize` caller until it is satisfied.
//!
//! A caller that is the only registered thread passes its grace period in one call of the engine
//! ([`sole_gp`](quiescent_engine::Global::sole_gp)). Any other drives if there is no driver
//! ([`driver`](crate::domain::driver)), and otherwise sleeps on its own word. At times it wakes up by
//! itself and checks the driver ([`quiescent_engine::driver`]): one that is stopped, or starved, loses
//! its role, and continues at its old place in the list when it returns. The check also finds what such a
//! driver did not announce: that the caller is satisfied, or that there is no driver because a waiter was
//! asked to drive and does not run.
//!
//! Only waiters check whether the driver is alive (rule R5): the checks are time-outs of waiters, not a
//! timer.

use std::time::Duration;

use quiescent_engine::{CpuId, Interest, Look, Pos};

use crate::domain::driver::{Drive, How, Turn};
use crate::domain::error::SyncError;
use crate::domain::state::{Core, NO_SLEEPER, State};
use crate::domain::waiters::{DONE, DRIVE, Waiter};
use crate::prim::counters::count;
use crate::prim::{self, MutexGuard, Ordering, full_fence};

impl State {
    /// Waits for a full grace period.
    pub fn synchronize(&'static self, how: How) -> Result<(), SyncError> {
        let local = self.env().local();
        if self.in_section_of(&local) {
            return Err(SyncError::InsideSection);
        }
        // (Foreign callbacks may: a worker that runs them has no role.)
        if local.in_callback() && self.readers().0.foreign().is_none() {
            return Err(SyncError::InsideCallback);
        }
        full_fence(); // [SNAP-1]
        let cpu = self.own_cpu(&local);
        let mut core = self.lock();
        let (engine, view) = core.beside(self.readers());
        if !engine.sole_gp(cpu, &view) {
            return self.wait_or_drive(core, cpu, how);
        }
        self.publish(core.engine.published());
        drop(core);
        self.gp_ended();
        Ok(())
    }

    /// Waits for a full grace period, with other threads or for them.
    #[inline(never)]
    fn wait_or_drive(
        &'static self,
        mut core: MutexGuard<'static, Core>,
        cpu: Option<CpuId>,
        how: How,
    ) -> Result<(), SyncError> {
        let ticket = core.engine.wait_for_gp(how.expedited);
        let interest = Interest::Waiter(ticket);
        let waiter = Waiter::new(ticket);
        loop {
            if ticket < core.engine.waiters().done() {
                core.waiters.unlink(&waiter);
                return Ok(());
            }
            core = match self.take_role(&mut core, cpu, interest) {
                Look::At(look) => match self.wait_turn(core, &waiter, look, how.deadline)? {
                    Some(core) => core,
                    None => return Ok(()),
                },
                taken => {
                    core.waiters.unlink(&waiter);
                    let mut turn = Turn::begin(self, core, taken);
                    match drive_for(&mut turn, ticket, how) {
                        Some(result) => return result,
                        None => self.lock(),
                    }
                }
            };
        }
    }

    /// Takes the role if it is free, or if its driver has made no progress.
    pub fn take_role(&self, core: &mut Core, cpu: Option<CpuId>, interest: Interest) -> Look {
        if core.engine.try_drive(cpu, interest) {
            return Look::Yours;
        }
        let sleeping = self.sleeper.load(Ordering::Acquire) != NO_SLEEPER;
        core.engine
            .take_over(cpu, interest, prim::now_ns(), sleeping)
    }

    /// Sleeps until satisfied (`None`); until asked to drive, or the time `look` (returns the lock); or until
    /// the deadline.
    pub(super) fn wait_turn<'a>(
        &'a self,
        mut core: MutexGuard<'a, Core>,
        waiter: &Waiter,
        look: u64,
        deadline: Option<u64>,
    ) -> Result<Option<MutexGuard<'a, Core>>, SyncError> {
        // SAFETY: the waiter stays on the caller's stack, which is left only after it is unlinked: after
        // DONE, or below. One that was asked to drive and came too late is still in its place: tickets
        // ascend.
        unsafe { core.waiters.link(waiter) };
        drop(core);
        let check = Some(look).filter(|&look| look != u64::MAX);
        let end = check.into_iter().chain(deadline).min();
        loop {
            let now = end.map_or(0, |_| prim::now_ns());
            if deadline.is_some_and(|deadline| now >= deadline) {
                break;
            }
            if now >= look {
                // The caller then finds a request to drive, or that it is satisfied; or a free role
                // that was not offered to it.
                let core = self.lock();
                let satisfied = waiter.ticket < core.engine.waiters().done();
                if !waiter.take_drive() && !satisfied && !core.engine.is_driven() {
                    count(&self.counters.found_free);
                }
                return Ok(Some(core));
            }
            let (state, late) = waiter.sleep(end.map(|end| Duration::from_nanos(end - now)));
            if late {
                count(&self.env().state.counters.late_wakeups);
            }
            match state {
                DONE => return Ok(None),
                DRIVE => {
                    let core = self.lock();
                    waiter.take_drive();
                    return Ok(Some(core));
                }
                _ => {}
            }
        }
        let holdouts = self.holdouts();
        let mut core = self.lock();
        if waiter.ticket < core.engine.waiters().done() {
            core.waiters.unlink(waiter);
            return Ok(None);
        }
        core.waiters.unlink(waiter);
        if waiter.take_drive() && !core.engine.is_driven() {
            // Asked to drive, but leaving: pass the request on.
            Turn::begin(self, core, Look::Yours).leave();
        }
        Err(SyncError::TimedOut { holdouts })
    }
}

/// Drives for the waiter `ticket`, which has the role, and leaves. `None`: the role was lost, or given up for
/// a report, and the waiter has to wait again.
fn drive_for(turn: &mut Turn<'static>, ticket: Pos, how: How) -> Option<Result<(), SyncError>> {
    let end = turn.drive(Interest::Waiter(ticket), how.deadline);
    if let Drive::Stalled(stalled) = end {
        turn.report(stalled);
        return None;
    }
    // While the engine still has the holdouts:
    let timed_out = end == Drive::GaveUp;
    let satisfied = ticket < turn.core().engine.waiters().done();
    let holdouts = if timed_out && !satisfied {
        turn.unlocked(State::holdouts)
    } else {
        Vec::new()
    };
    turn.leave();
    debug_assert!(satisfied || end != Drive::Home, "sent home unsatisfied");
    match end {
        _ if satisfied => Some(Ok(())),
        Drive::Failed(error) => Some(Err(error)),
        Drive::Replaced => None,
        _ => Some(Err(SyncError::TimedOut { holdouts })),
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
