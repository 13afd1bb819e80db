//! Takeover of the driver role from a driver that does not run.
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
//!   lost the role, up to 64 times, and is reset as soon as a driver has returned from a fence in time. (The
//!   machine of threads in `quiescent-sim` found that case.)
//! * Each driver stores the epoch in which it took the role. Whenever it has taken the host's lock again it
//!   first calls [`resume`](Global::resume); if that refuses, it makes no other call. Its fence, its tree and
//!   its leave belong to another epoch: a fence that began before a later grace period started must not count
//!   for that one.
//!
//! # Correctness
//! A takeover is equivalent to [`leave`](Global::leave) by the old driver and
//! [`try_drive`](Global::try_drive) by the new one, both at the moment at which the old driver dropped the
//! host's lock: it has made no call since then, and makes none later. The next driver resumes in the middle
//! of the phase, and repeats the old one's pending action. Without a call the old one can only issue an extra
//! fence, spin or wake-up, which are harmless.
//!
//! A driver that is stopped while it *holds* the host's lock cannot be replaced: its changes are incomplete.

use crate::common::fqs::Wait;
use crate::common::global::{Driver, Global, Interest, Phase};
use crate::common::host::CpuId;

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
        let Some(patience) = self.config.takeover_after_ns else {
            return Look::At(u64::MAX);
        };
        if sleeping && self.phase == Phase::Wait(Wait::Asleep) {
            self.silent_since = None;
            let rest = patience.saturating_mul(RESTING).max(RESTING_LEAST);
            return Look::At(now.saturating_add(rest));
        }
        let since = *self.silent_since.get_or_insert(now);
        let due = since.saturating_add(patience.saturating_mul(1 << self.lost_in_row));
        if now < due {
            return Look::At(due);
        }
        self.silent_since = None;
        self.lost_in_row = (self.lost_in_row + 1).min(MOST_DOUBLED);
        self.driver_epoch = self.driver_epoch.wrapping_add(1);
        self.counts.takeovers += 1;
        self.driver = Some(Driver { cpu, interest });
        Look::TakenOver
    }

    /// The driver that took the role in this epoch has taken the host's lock again. False: another thread has
    /// the role since, and the old driver's pending action is void.
    pub fn resume(&mut self, epoch: u32) -> bool {
        let resumed = self.driver_epoch == epoch;
        if resumed {
            self.silent_since = None;
        }
        resumed
    }

    /// The driver epoch: the number of takeovers so far. A new driver remembers it.
    pub fn driver_epoch(&self) -> u32 {
        self.driver_epoch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::config::Config;

    const PATIENCE: u64 = 100_000_000;
    const ME: Interest = Interest::Waiter(0);
    const YOU: Interest = Interest::Waiter(1);

    fn driven() -> Global {
        let mut engine = Global::new(Config::threads());
        assert_eq!(engine.config.takeover_after_ns, Some(PATIENCE));
        assert!(engine.try_drive(None, ME));
        engine
    }

    #[test]
    fn a_free_role_is_taken_at_the_first_look() {
        let mut engine = Global::new(Config::threads());
        assert_eq!(engine.take_over(None, YOU, 5, false), Look::Yours);
        assert_eq!((engine.counts.takeovers, engine.driver_epoch()), (0, 0));
    }

    #[test]
    fn two_looks_with_silence_between_them_are_enough_and_one_is_not() {
        let mut engine = driven();
        let epoch = engine.driver_epoch();
        let first = 7 * PATIENCE;
        assert_eq!(
            engine.take_over(None, YOU, first, false),
            Look::At(first + PATIENCE)
        );
        let early = first + PATIENCE - 1;
        assert_eq!(
            engine.take_over(None, YOU, early, false),
            Look::At(first + PATIENCE)
        );
        assert_eq!(
            engine.take_over(None, YOU, first + PATIENCE, false),
            Look::TakenOver
        );
        assert_eq!(engine.counts.takeovers, 1);
        assert!(!engine.resume(epoch), "the old driver has lost the role");
        assert!(engine.resume(engine.driver_epoch()), "the new one has it");
    }

    #[test]
    fn where_no_driver_returns_in_time_every_driver_has_longer() {
        let mut engine = driven();
        let mut now = 0;
        for turn in 0..10 {
            let patience = PATIENCE << turn.min(MOST_DOUBLED);
            let due = now + patience;
            assert_eq!(engine.take_over(None, YOU, now, false), Look::At(due));
            assert_eq!(engine.take_over(None, YOU, due - 1, false), Look::At(due));
            assert_eq!(engine.take_over(None, YOU, due, false), Look::TakenOver);
            now = due;
        }
        assert!(
            engine.resume(engine.driver_epoch()),
            "the last driver has had the time"
        );
        engine.phase = Phase::Fence;
        let _ = engine.fenced();
        let due = now + PATIENCE;
        assert_eq!(engine.take_over(None, YOU, now, false), Look::At(due));
    }

    #[test]
    fn a_driver_that_runs_is_left_alone() {
        let mut engine = driven();
        let epoch = engine.driver_epoch();
        for turn in 1..50 {
            let now = turn * PATIENCE;
            assert_eq!(
                engine.take_over(None, YOU, now, false),
                Look::At(now + PATIENCE)
            );
            assert!(engine.resume(epoch));
        }
        assert_eq!(engine.counts.takeovers, 0);
    }

    #[test]
    fn a_driver_that_sleeps_is_left_alone_until_it_is_woken() {
        let mut engine = driven();
        engine.phase = Phase::Wait(Wait::Asleep);
        for turn in 1..50 {
            let now = turn * PATIENCE;
            assert_eq!(
                engine.take_over(None, YOU, now, true),
                Look::At(now + RESTING * PATIENCE)
            );
        }
        let woken = 50 * PATIENCE;
        assert_eq!(
            engine.take_over(None, YOU, woken, false),
            Look::At(woken + PATIENCE)
        );
        assert_eq!(
            engine.take_over(None, YOU, woken + PATIENCE, false),
            Look::TakenOver
        );
        // In any other phase the engine has not asked it to sleep, whatever `sleeping` says.
        let mut engine = driven();
        assert_eq!(engine.take_over(None, YOU, 0, true), Look::At(PATIENCE));
        assert_eq!(engine.take_over(None, YOU, PATIENCE, true), Look::TakenOver);
    }

    #[test]
    fn who_takes_a_role_that_was_left_does_not_inherit_the_suspicion() {
        let mut engine = driven();
        assert_eq!(
            engine.take_over(None, YOU, 1, false),
            Look::At(1 + PATIENCE)
        );
        let _ = engine.leave();
        assert!(engine.try_drive(None, ME));
        let now = 3 * PATIENCE;
        assert_eq!(
            engine.take_over(None, YOU, now, false),
            Look::At(now + PATIENCE)
        );
    }

    #[test]
    fn a_kernels_thread_keeps_its_role() {
        let mut engine = Global::new(Config::kernel_6_12(4, 1000));
        assert!(engine.try_drive(None, Interest::GpThread));
        for now in [0, u64::MAX / 2, u64::MAX] {
            assert_eq!(engine.take_over(None, YOU, now, false), Look::At(u64::MAX));
        }
    }
}
