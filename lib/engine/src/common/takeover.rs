//! Taking the driver role from a driver that does not run.
//!
//! A driver is a thread of the program: a scheduler may starve it, a debugger may stop it, a signal handler may
//! keep it. Those who wait behind it look at it now and then, and after a while one of them drives.
//!
//! ```text
//!   look ── nobody drives ──────────────────────────────────────────► the caller's, at once
//!     │     the driver sleeps, and no reader has woken it ──────────► look again, after some of these times
//!     │     it has made a call since the last look ─────────────────► look again, after one
//!     └──── silent since a look at least `takeover_after_ns` ago ──────► the caller's: the *driver epoch* is incremented
//! ```
//!
//! * A driver that runs proves it by its calls, which wipe the suspicion out; it needs no clock for that. So a
//!   take-over needs two looks, one `takeover_after_ns` after the other, and no call in between: a bound in looks.
//! * Where everything is slow, so that no fence is over in that time, each driver would lose the role before its fence has ended, and no
//!   grace period would ever end. So the patience doubles with each driver in a row that has lost the role, up to 64 times, and is what it was
//!   as soon as one has come back from a fence in time. (The machine of threads found that, `quiescent-sim`.)
//! * Each driver remembers the epoch it took the role in. Whenever it has taken the host's lock again it asks
//!   [`resume`](Global::resume) first; if that says no it makes no other call. Its fence, its tree, its leaving are of another
//!   epoch: a fence that began before a later grace period started must not pass for that one's.
//!
//! # Why it is right
//! To take the role is what [`leave`](Global::leave) by the old driver and [`try_drive`](Global::try_drive) by the new one would
//! be, both at the moment at which the old driver dropped the host's lock: it has made no call since then, and makes none
//! later. Whoever drives next resumes in the middle of the phase, and repeats what the old one was asked for. What the old
//! one does meanwhile without a call is a fence, a spin, a wake-up too many: harmless.
//!
//! A driver that is stopped while it *holds* the host's lock cannot be helped: what it was changing is half done.

use crate::common::fqs::Wait;
use crate::common::global::{Driver, Global, Interest, Phase};
use crate::common::host::CpuId;

/// A driver that sleeps for its holdouts is looked at after so many times the usual wait, and after this time at least.
const RESTING: u64 = 8;
const RESTING_LEAST: u64 = 1_000_000;

/// The patience doubles so many times at most.
const MOST_DOUBLED: u8 = 6;

/// What became of a look at the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Look {
    /// Nobody drove: the caller drives from now on.
    Yours,
    /// The caller drives from now on, and somebody else believes that it does. If that one sleeps it is to be woken
    /// before this one sleeps, so that whoever wakes a driver wakes the right one.
    TakenOver,
    /// Somebody drives: look again at this time, in nanoseconds, unless satisfied by then.
    At(u64),
}

impl Global {
    /// Somebody who waits looks whether there is a driver at work, and takes the role if not. `now_ns` is the time.
    ///
    /// `sleeping` is what the host knows of a driver that was told to sleep: it declared itself asleep, and nobody
    /// has woken it since. (Once it is woken it has to come back.)
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

    /// The driver that took the role in this epoch has taken the host's lock again. False: somebody else has the role
    /// since, and nothing of what it was asked for counts any more.
    pub fn resume(&mut self, epoch: u32) -> bool {
        let resumed = self.driver_epoch == epoch;
        if resumed {
            self.silent_since = None;
        }
        resumed
    }

    /// How often the role was taken from a driver so far: who gets it now remembers this.
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
    fn where_nobody_comes_back_in_time_everybody_has_longer() {
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
            "the last one has had the time"
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
        // In any other phase it was not told to sleep, whatever its host believes.
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
    fn a_kernel_has_a_thread_for_it_and_nobody_takes_its_role() {
        let mut engine = Global::new(Config::kernel_6_12(4, 1000));
        assert!(engine.try_drive(None, Interest::GpThread));
        for now in [0, u64::MAX / 2, u64::MAX] {
            assert_eq!(engine.take_over(None, YOU, now, false), Look::At(u64::MAX));
        }
    }
}
