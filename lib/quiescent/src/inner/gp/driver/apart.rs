//! Turns that are interrupted: for a report, and for a fence that several drivers in one thread share.
//!
//! * What is the program's own (a report) is called without the role.
//! * A driver that is to share its fences returns where it needs one ([`Drive::Fence`]), with the role and without any lock. Whoever asked for
//!   that issues one fence for all who have returned, and has each of them go on. A fence that comes later than it was asked for is as
//!   good; and if the role was lost meanwhile, that is found as it is after a fence of one's own.

use quiescent_engine::stall::Stalled;
use quiescent_engine::{Interest, Look, Next};

use super::{Drive, Turn};
use crate::error::SyncError;
use crate::inner::domain::process::Core;
use crate::inner::gp::driven::Driven;
use crate::inner::prim::{self, MutexGuard};
use crate::watch::stall::StallReport;

impl<D: Driven> Turn<'_, D> {
    /// The fence that the driver asked for was issued, by whomever, or refused; what comes next.
    pub(super) fn fenced(&mut self, fenced: Result<(), i32>) -> Result<Next, SyncError> {
        fenced.map_err(|errno| SyncError::FenceRefused { errno })?;
        if !self.is_driver() {
            return Ok(Next::Done); // it may have begun before a later grace period
        }
        Ok(self.core().fenced())
    }
}

impl<D: Driven> Turn<'static, D> {
    /// As [`begin`](Turn::begin), for a driver that returns where it needs a fence.
    pub(crate) fn begin_apart(
        domain: &'static D,
        core: MutexGuard<'static, Core>,
        taken: Look,
    ) -> Self {
        let mut turn = Turn::begin(domain, core, taken);
        turn.apart = true;
        turn
    }

    /// The fence for which it has returned was issued, or refused: drives on.
    pub(crate) fn drive_fenced(&mut self, fenced: Result<(), i32>, interest: Interest) -> Drive {
        match self.fenced(fenced) {
            Ok(_) if self.lost => Drive::Usurped,
            Ok(next) => self.drive_on(next, prim::coarse_ns(), interest, None),
            Err(error) => Drive::Failed(error),
        }
    }

    /// Reports a stall. The role is given up first: others may drive while the reporter runs.
    pub(crate) fn tell(&mut self, stalled: Stalled) {
        let report = self.leave_with_report(stalled);
        self.domain.tell_stall(report);
    }

    /// Gives the role up; what is to be said about a stall.
    pub(crate) fn leave_with_report(&mut self, stalled: Stalled) -> Option<StallReport> {
        let report = self.unlocked(|domain| domain.stall_report(stalled));
        self.leave();
        report
    }
}
