//! The driver role, and its takeover from a driver that does not run.
//!
//! At most one caller drives: it calls [`step`](Global::step) until [`Next`] says otherwise. Between two
//! steps the lock may be dropped and every other call may be made. The engine asks a satisfied driver to
//! leave ([`Next::HandOver`], [`Next::Done`]); a driver that reaches a deadline leaves by itself, and the
//! next driver continues in the middle of the phase.
//!
//! A driver is a thread of the program: a scheduler may starve it, a debugger may stop it, a signal handler
//! may delay it. The waiters behind it inspect it from time to time, and after a while one of them takes the
//! role.
//!
//! ```text
//!   inspect ─┬ no driver ─────────────────────────────────────────► the caller drives, at once
//!            ├ the driver sleeps, and no reader has woken it ─────► inspect again, after several times
//!            ├ it has made a call since the last inspection ──────► inspect again, after one time
//!            └ no call since an inspection `takeover_after_ns` ago ► the caller drives: the *driver epoch*
//!                                                                   is incremented
//! ```
//!
//! * A running driver makes calls, and each call resets the suspicion; it needs no clock for that. So a
//!   takeover needs two inspections, `takeover_after_ns` apart, and no call in between: a bound in
//!   inspections.
//! * On a machine so slow that no fence ends in that time, each driver would lose the role before its fence
//!   has ended, and no grace period would ever end. So the time doubles with each successive driver that has
//!   lost the role, up to 64 times, and is reset as soon as a driver has returned from a fence in time.
//! * Each driver stores the epoch in which it took the role. Whenever it has taken the host's lock again it
//!   first calls [`resume`](Global::resume); if that refuses, it makes no other call. Its fence, its leaves
//!   and its leave belong to another epoch: a fence that began before a later grace period started must not
//!   count for that one.
//!
//! # Correctness
//! A takeover is equivalent to [`leave`](Global::leave) by the old driver and
//! [`try_drive`](Global::try_drive) by the new one, both at the moment at which the old driver dropped the
//! host's lock: it has made no call since then, and makes none later. The next driver resumes in the middle
//! of the phase, and repeats the old one's pending action. Without a call the old one can only issue an extra
//! fence, spin or wake-up, which are harmless.
//!
//! A driver that is stopped while it *holds* the host's lock cannot be replaced: its changes are incomplete.

use crate::global::{Driver, Global, Interest, NOT_SILENT, Phase, Role, Wait};
use crate::host::{CpuId, Next};

/// A driver that sleeps for its holdouts is inspected after this multiple of the usual time, and after this
/// time at least.
const RESTING: u64 = 8;
const RESTING_LEAST: u64 = 1_000_000;

/// The largest number of doublings.
const MOST_DOUBLED: u8 = 6;

/// The result of an inspection of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Look {
    /// There was no driver: the caller drives from now on.
    Yours,
    /// The caller drives from now on, and another thread believes that it does. If that thread sleeps it has
    /// to be woken before the caller sleeps, so that a waking reader wakes the right one.
    TakenOver,
    /// There is a driver: inspect again at this time, in nanoseconds, unless satisfied by then.
    At(u64),
}

impl Global {
    /// Is there a driver?
    #[inline]
    pub fn is_driven(&self) -> bool {
        self.role.driver.is_some()
    }

    /// Is this why the driver drives?
    pub(crate) fn is_driven_for(&self, interest: Interest) -> bool {
        self.role
            .driver
            .is_some_and(|driver| driver.interest == interest)
    }

    /// Takes the driver role if it is free. `cpu` is the CPU the caller runs on, if it takes part.
    #[inline]
    pub fn try_drive(&mut self, cpu: Option<CpuId>, interest: Interest) -> bool {
        let free = !self.is_driven();
        if free {
            self.role = Role {
                driver: Some(Driver { cpu, interest }),
                epoch: self.role.epoch,
                ..Role::FREE
            };
        }
        free
    }

    /// Gives up the driver role, at any point but one: a driver that has set wake flags for
    /// [`Next::FlagHoldouts`] calls [`flagged`](Global::flagged) first. [`Next::HandOver`] if other waiters
    /// remain and one of them has to drive, otherwise [`Next::Done`].
    #[inline]
    pub fn leave(&mut self) -> Next {
        self.role.driver = None;
        self.hand_over_or_done()
    }

    /// A waiter inspects the driver, and takes the role if there is no driver or it does not run. `now_ns` is
    /// the time.
    ///
    /// `sleeping`: the driver has declared itself asleep on the engine's request, and no reader has woken it
    /// since. (A woken driver has to make a call.)
    pub fn take_over(
        &mut self,
        cpu: Option<CpuId>,
        interest: Interest,
        now_ns: u64,
        sleeping: bool,
    ) -> Look {
        self.now.ns = self.now.ns.max(now_ns);
        let now = self.now.ns;
        if self.try_drive(cpu, interest) {
            return Look::Yours;
        }
        let patience = self.config.takeover_after_ns;
        if patience == u64::MAX {
            return Look::At(u64::MAX);
        }
        if sleeping && self.phase == Phase::Wait(Wait::Asleep) {
            self.role.silent_since = NOT_SILENT;
            let rest = patience.saturating_mul(RESTING).max(RESTING_LEAST);
            return Look::At(now.saturating_add(rest));
        }
        let since = self.role.silent_since.min(now);
        self.role.silent_since = since;
        let due = since.saturating_add(patience.saturating_mul(1 << self.role.lost_in_row));
        if now < due {
            return Look::At(due);
        }
        self.counts.takeovers += 1;
        self.role = Role {
            driver: Some(Driver { cpu, interest }),
            epoch: self.role.epoch.wrapping_add(1),
            lost_in_row: (self.role.lost_in_row + 1).min(MOST_DOUBLED),
            silent_since: NOT_SILENT,
        };
        Look::TakenOver
    }

    /// The driver that took the role in this epoch has taken the host's lock again. False: another thread has
    /// the role since, and the old driver's pending action is void.
    #[inline]
    pub fn resume(&mut self, epoch: u32) -> bool {
        let resumed = self.role.epoch == epoch;
        if resumed {
            self.role.silent_since = NOT_SILENT;
        }
        resumed
    }

    /// The driver epoch: the number of takeovers so far. A new driver remembers it.
    #[inline]
    pub fn driver_epoch(&self) -> u32 {
        self.role.epoch
    }
}
