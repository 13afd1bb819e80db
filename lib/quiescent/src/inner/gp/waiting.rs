//! Waiting for one's turn: what a caller of `synchronize` does until it is satisfied.
//!
//! It drives if nobody does ([`drive`](crate::inner::gp::driver)), and else sleeps on a word of its own. From time to time it wakes up by
//! itself and looks at the driver ([`quiescent_engine::takeover`]): one that is stopped, or starved, loses its
//! role, and is found at its old place in the list when it comes back. A look also finds what such a driver did
//! not come to say: that the caller is satisfied, or that nobody drives since somebody else was asked to
//! and does not run.
//!
//! Nobody looks where nobody waits (rule R5): the looks are time-outs of waiters, not a timer.

use std::time::Duration;

use quiescent_engine::{CpuId, Interest, Look, Pos};

use crate::error::SyncError;
use crate::inner::domain::state::{Core, SLEEPER_NOBODY, State};
use crate::inner::gp::driver::{Drive, How, Turn};
use crate::inner::gp::waiters::{DONE, Waiter};
use crate::inner::prim::{self, LEAF_SLOTS, MutexGuard, Ordering, full_fence};
use crate::inner::reader::word;

impl State {
    /// Waits for a full grace period.
    pub(crate) fn synchronize(&'static self, how: How) -> Result<(), SyncError> {
        if word::in_section() || self.is_inside() {
            return Err(SyncError::InsideSection);
        }
        if crate::inner::defer::run::in_callback() {
            return Err(SyncError::InsideCallback);
        }
        full_fence(); // [SNAP-1]
        let cpu = self.own_cpu();
        let leaf = cpu.map_or(0, |cpu| cpu as usize / LEAF_SLOTS);
        let mut core = self.lock();
        let ticket = core.wait_for_gp(self.readers(), leaf, how.expedited);
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

    /// Takes the role if it is free, or if its driver has gone silent.
    pub(crate) fn take_role(
        &self,
        core: &mut Core,
        cpu: Option<CpuId>,
        interest: Interest,
    ) -> Look {
        if core.try_drive(cpu, interest) {
            return Look::Yours;
        }
        let sleeping = self.sleeper.load(Ordering::Acquire) != SLEEPER_NOBODY;
        core.take_over(cpu, interest, prim::now_ns(), sleeping)
    }

    /// Sleeps until satisfied (`None`), asked to drive or it is time to `look` (the lock), or the deadline.
    fn wait_turn<'a>(
        &'a self,
        mut core: MutexGuard<'a, Core>,
        waiter: &Waiter,
        look: u64,
        deadline: Option<u64>,
    ) -> Result<Option<MutexGuard<'a, Core>>, SyncError> {
        // SAFETY: it stays on the caller's stack, which it leaves only unlinked: after DONE, or below.
        // One that was asked to drive and came too late is still in its place: tickets ascend.
        unsafe { core.waiters.link(waiter) };
        drop(core);
        let looks = Some(look).filter(|&look| look != u64::MAX);
        let end = looks.into_iter().chain(deadline).min();
        loop {
            let now = end.map_or(0, |_| prim::now_ns());
            if deadline.is_some_and(|deadline| now >= deadline) {
                break;
            }
            if now >= look {
                // What it was asked for meanwhile, or whether it is satisfied, is seen there.
                let core = self.lock();
                waiter.take_drive();
                return Ok(Some(core));
            }
            match waiter.sleep(end.map(|end| Duration::from_nanos(end - now))) {
                DONE => return Ok(None),
                crate::inner::gp::waiters::DRIVE => {
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
            // Asked to drive, but leaving: pass it on.
            Turn::begin(self, core, Look::Yours).leave();
        }
        Err(SyncError::TimedOut { holdouts })
    }
}

/// Drives for the waiter `ticket`, who has the role, and leaves. `None`: the role was lost, or given up for a report,
/// and the waiter has to go on waiting.
fn drive_for(turn: &mut Turn<'static>, ticket: Pos, how: How) -> Option<Result<(), SyncError>> {
    let end = turn.drive(Interest::Waiter(ticket), how.deadline);
    if let Drive::Stalled(stalled) = end {
        turn.tell(stalled);
        return None;
    }
    // While the engine still knows them:
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
        Drive::Usurped => None,
        _ => Some(Err(SyncError::TimedOut { holdouts })),
    }
}
