//! When updates are due: as fast as possible, so many a second, or so many in all.
//!
//! The loops of updates, in Rust and in C (`shims/retire.h`), ask how many to do next; 0 ends them. Ahead of
//! a rate the thread spins, so that it stays on its CPU; it sleeps where the next update is `WORTH_A_SLEEP`
//! away. Behind a rate it does what is due in portions, so that it also hears when to stop.

use super::TURNS_A_LOOK;
use crate::measure::clock;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Waiting for so long, a thread sleeps.
const WORTH_A_SLEEP: u64 = 200_000;
/// The longest sleep, since a sleeping thread does not see the stop flag.
const MOST_SLEEP: u64 = 5_000_000;

static NEVER: AtomicU32 = AtomicU32::new(0);

/// In the place of a rate: as fast as possible.
const FULL_SPEED: u64 = u64::MAX;

/// See above. Laid out as in C, through whose loops a pointer to it goes.
#[derive(Debug)]
#[repr(C)]
pub struct Pace<'a> {
    stop: &'a AtomicU32,
    most: u64,
    per_second: u64,
    begin_ns: u64,
    done: u64,
}

impl<'a> Pace<'a> {
    /// Until `stop` is not 0: so many a second, or as fast as possible.
    pub fn new(stop: &'a AtomicU32, per_second: Option<u64>) -> Self {
        Pace {
            stop,
            most: u64::MAX,
            per_second: per_second.unwrap_or(FULL_SPEED),
            begin_ns: clock::monotonic_ns(),
            done: 0,
        }
    }

    /// How many were due so far.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// How many to do now, at most [`TURNS_A_LOOK`]; 0: that was all.
    pub fn due(&mut self) -> u64 {
        let due = match self.per_second {
            _ if self.stop.load(Relaxed) != 0 => 0,
            FULL_SPEED => TURNS_A_LOOK,
            0 => self.idle(),
            rate => self.wait(rate),
        };
        let due = due.min(self.most - self.done);
        self.done += due;
        due
    }

    fn idle(&self) -> u64 {
        while self.stop.load(Relaxed) == 0 {
            std::thread::sleep(Duration::from_nanos(MOST_SLEEP));
        }
        0
    }

    fn wait(&self, rate: u64) -> u64 {
        let at = |n: u64| self.begin_ns + (n as f64 * 1e9 / rate as f64) as u64;
        loop {
            let now = clock::monotonic_ns();
            let until_now = now.saturating_sub(self.begin_ns) as f64 * rate as f64 / 1e9;
            let due = (until_now as u64).saturating_sub(self.done);
            if due > 0 {
                return due.min(TURNS_A_LOOK);
            }
            match at(self.done + 1).saturating_sub(now) {
                left if left > WORTH_A_SLEEP => {
                    clock::sleep_until(now + left.min(MOST_SLEEP));
                }
                _ => std::hint::spin_loop(),
            }
            if self.stop.load(Relaxed) != 0 {
                return 0;
            }
        }
    }
}

impl Pace<'static> {
    /// So many, as fast as possible.
    pub fn count(most: u64) -> Self {
        Pace {
            most,
            ..Pace::new(&NEVER, None)
        }
    }
}

/// [`Pace::due`] for the loops in C.
#[cfg(have_c)]
pub(crate) extern "C" fn due(pace: &mut Pace<'_>) -> u64 {
    pace.due()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_ends_by_itself() {
        let mut pace = Pace::count(100);
        let turns: Vec<u64> = (0..3).map(|_| pace.due()).collect();
        assert_eq!((turns, pace.done()), (vec![64, 36, 0], 100));
    }

    #[test]
    fn a_rate_is_kept_and_what_is_late_is_caught_up_with() {
        let stop = AtomicU32::new(0);
        let mut pace = Pace::new(&stop, Some(1_000));
        std::thread::sleep(Duration::from_millis(5));
        assert!(pace.due() >= 5, "five were due already");
        while pace.done() < 8 {
            assert!(pace.due() > 0);
        }
        assert!(clock::monotonic_ns() - pace.begin_ns >= 8_000_000);
        stop.store(1, Relaxed);
        assert_eq!(pace.due(), 0);
    }

    #[test]
    fn a_stopped_pace_does_nothing() {
        for rate in [None, Some(0), Some(1)] {
            assert_eq!(Pace::new(&AtomicU32::new(1), rate).due(), 0);
        }
    }
}
