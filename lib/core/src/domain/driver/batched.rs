//! Interrupted turns: for a report, and for batched fences, which several drivers in one thread share.
//!
//! * Code of the program (a report) is called without the role.
//! * A driver with batched fences returns where it needs one ([`Drive::Fence`]), with the role and without
//!   any lock. Its caller issues one fence for all drivers that have returned, and lets each continue. A
//!   fence later than the request is equally valid; and if the role was lost meanwhile, that is detected as
//!   after a driver's own fence.

use quiescent_engine::stall::Stalled;
use quiescent_engine::{Interest, Look, Next};

use super::{Drive, Turn};
use crate::domain::env::Fenced;
use crate::domain::error::SyncError;
use crate::domain::state::{Core, State};
use crate::prim::{self, MutexGuard};

impl Turn<'_> {
    /// The fence that the driver requested was issued, by any thread, or refused; returns the next action.
    pub(super) fn fenced(&mut self, fenced: Fenced) -> Result<Next, SyncError> {
        let time = fenced.map_err(|errno| SyncError::FenceRefused { errno })?;
        if !self.is_driver() {
            return Ok(Next::Done); // the fence may precede a later grace period
        }
        self.core().fence_ended(time);
        Ok(self.core().engine.fenced())
    }
}

impl Turn<'static> {
    /// As [`begin`](Turn::begin), for a driver that returns where it needs a fence.
    pub fn begin_batched(
        state: &'static State,
        core: MutexGuard<'static, Core>,
        taken: Look,
    ) -> Self {
        let mut turn = Turn::begin(state, core, taken);
        turn.batched = true;
        turn
    }

    /// The fence for which it has returned was issued, or refused: continues driving.
    pub fn drive_fenced(&mut self, fenced: Fenced, interest: Interest) -> Drive {
        match self.fenced(fenced) {
            Ok(_) if self.lost => Drive::Replaced,
            Ok(next) => self.drive_on(next, prim::coarse_ns(), interest, None),
            Err(error) => Drive::Failed(error),
        }
    }

    /// Reports a stall. Gives the role up first: other threads may drive while the reporter runs.
    pub fn report(&mut self, stalled: Stalled) {
        self.leave();
        self.state.report_stall(stalled);
    }
}
