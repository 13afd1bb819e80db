//! Looks of a queue's owner at the resident memory of its process.
//!
//! What a value with a destructor owns is not visible to the library: a few old values may hold hundreds of
//! megabytes before a batch is full. So the owner looks whether the process has grown while values wait here,
//! and asks for a grace period if it has. It never counts what it sees: the budget, its levels and reports
//! count what is declared.
//!
//! The owner *stops* at a queue position that is a few entries on: the limit of its lane. At a stop it reads
//! the clock, and finds the pace. The next stop is a quarter of a millisecond on, at least one entry and at
//! most [`FARTHEST`], so that a thread that was fast and becomes slow notices it soon. Looks are
//! `APART_NS` apart; while they find no growth, each distance is twice the one before, up to
//! `FARTHEST_NS`. There is no timer and no thread: a thread that queues nothing looks at nothing.
//!
//! # Growth
//! The *base* is what was resident when at most `FEW` values were held here, or less if it ever was less:
//! growth while values are held may be theirs, growth that stays when they are gone is not. Growth divided by
//! the values held beyond those is an estimate of what one takes, and from then on the owner asks when what
//! is held takes `HELD_MOST` by that. An allocator keeps what is freed, so the process does not grow again
//! while as many values are held as before; so the estimate is trusted for a while, and if it is found again
//! soon after that, for twice as long. Where the system does not say what is resident, each look asks, and
//! they are `BLIND_NS` apart.
//!
//! # Cost
//! A stop takes about 100 instructions, once in [`FARTHEST`] entries at full speed; a look opens and reads a
//! file of `/proc`, some microseconds. Owner only: plain words.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::prim;

/// Most entries between two stops.
pub const FARTHEST: u64 = 32;
/// The time between two stops at a slower pace, in nanoseconds.
const STOPS_NS: u64 = 250_000;
/// An owner that queues an entry in less than this (nanoseconds) reads the coarse clock at its stops.
const FAST_NS: u64 = 1000;
/// The time between two looks.
const APART_NS: u64 = 1_000_000;
/// The longest time between two looks.
const FARTHEST_NS: u64 = 16_000_000;
/// The time between two looks that see nothing, for want of a system that says what is resident.
const BLIND_NS: u64 = 64_000_000;
/// Growth that is looked into, in bytes.
const GROWTH: u64 = 2 << 20;
/// Bytes held that are worth a grace period.
const HELD_MOST: u64 = 4 << 20;
/// How long an estimate is trusted, at first and at the most.
const TRUST_NS: u64 = 1_000_000_000;
const LONGEST_TRUST_NS: u64 = 1024 * TRUST_NS;
/// So many values held are next to none.
const FEW: u64 = 2;
/// With more of them done than this, which its owner would take `LONG_NS` to run, the worker runs them.
const MANY: u64 = 64;
const LONG_NS: u64 = 100_000_000;

/// What a stop has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing: go on.
    Nothing,
    /// Much seems to be held: a grace period is worth it.
    Growth,
    /// Much is held, and the owner is too slow for what is done: others are to run it.
    Backlog,
}

/// The state of the looks of an owner.
#[derive(Debug, Default)]
pub struct Look {
    /// Entries to the next stop, less one.
    stride: AtomicU64,
    /// The position and the time (nanoseconds) of the last stop, and the coarse time.
    end: AtomicU64,
    at: AtomicU64,
    coarse: AtomicU64,
    /// Nanoseconds an entry.
    gap: AtomicU64,
    /// The time of the next look, and the distance to it.
    next: AtomicU64,
    apart: AtomicU64,
    /// Resident bytes when next to nothing was held; 0: not known.
    base: AtomicU64,
    /// What a value seems to take, in bytes, and the time until which that is trusted, and for how long; 0:
    /// not known.
    weight: AtomicU64,
    until: AtomicU64,
    trust: AtomicU64,
    /// Much has been held since next to nothing was: 1.
    grown: AtomicU64,
    /// Entries below this position are gone, as of the last call of the engine.
    gone: AtomicU64,
}

impl Look {
    /// Of an owner that has not looked.
    pub const fn new() -> Look {
        Look {
            stride: AtomicU64::new(0),
            end: AtomicU64::new(0),
            at: AtomicU64::new(0),
            coarse: AtomicU64::new(0),
            gap: AtomicU64::new(0),
            next: AtomicU64::new(0),
            apart: AtomicU64::new(APART_NS),
            base: AtomicU64::new(0),
            weight: AtomicU64::new(0),
            until: AtomicU64::new(0),
            trust: AtomicU64::new(0),
            grown: AtomicU64::new(0),
            gone: AtomicU64::new(0),
        }
    }

    /// Entries to the next stop.
    pub fn stride(&self) -> u64 {
        self.stride.load(Relaxed) + 1
    }

    /// Much has been held, and is being run.
    pub fn has_grown(&self) -> bool {
        self.grown.load(Relaxed) != 0
    }

    /// Entries below this position are gone, by any thread.
    pub fn set_gone(&self, to: u64) {
        self.gone.store(to, Relaxed);
    }

    /// The owner stops at `end`. It has run what is below `head`, and `done` ones are its own to run.
    /// `resident` says what the process takes.
    pub fn stop(
        &self,
        end: u64,
        head: u64,
        done: u64,
        resident: impl FnOnce() -> Option<u64>,
    ) -> Found {
        let fast = self.stride() == FARTHEST && self.gap.load(Relaxed) < FAST_NS;
        if fast {
            let coarse = prim::coarse_ns();
            if self.coarse.swap(coarse, Relaxed) == coarse {
                self.end.store(end, Relaxed);
                self.at.store(coarse, Relaxed); // or somewhat later: the pace is not less than what it finds
                return Found::Nothing;
            }
        }
        let now = prim::now_ns();
        self.pace(end, now);
        if now < self.next.load(Relaxed) {
            return Found::Nothing;
        }
        let held = end - head.max(self.gone.load(Relaxed));
        let (grown, apart) = self.look(held, resident(), now);
        if grown || held <= FEW {
            self.grown.store(u64::from(grown), Relaxed);
        }
        self.apart.store(apart, Relaxed);
        self.next.store(now + apart, Relaxed);
        match grown {
            false => Found::Nothing,
            // (The pace that a fast owner's stop finds may be that of a whole tick.)
            true if !fast
                && done > MANY
                && done.saturating_mul(self.gap.load(Relaxed)) > LONG_NS =>
            {
                Found::Backlog
            }
            true => Found::Growth,
        }
    }

    /// Finds the pace since the last stop, and the next one.
    fn pace(&self, end: u64, now: u64) {
        let entries = end.wrapping_sub(self.end.swap(end, Relaxed)).max(1);
        let gap = (now - self.at.swap(now, Relaxed).min(now)) / entries;
        let most = (2 * self.stride()).min(FARTHEST);
        let stride = (STOPS_NS / gap.max(1)).clamp(1, most);
        self.gap.store(gap, Relaxed);
        self.stride.store(stride - 1, Relaxed);
    }

    /// Whether much is held, and the time to the next look.
    fn look(&self, held: u64, resident: Option<u64>, now: u64) -> (bool, u64) {
        let Some(resident) = resident else {
            return (held > FEW, BLIND_NS);
        };
        if now >= self.until.load(Relaxed) && self.weight.swap(0, Relaxed) != 0 {
            self.base.store(resident, Relaxed);
        }
        let base = self.base.load(Relaxed);
        let is_little = held <= FEW && self.weight.load(Relaxed) == 0;
        if base == 0 || resident < base || is_little {
            self.base.store(resident, Relaxed);
        } else if held > FEW && resident >= base + GROWTH {
            self.base.store(resident, Relaxed);
            self.estimate((resident - base) / (held - FEW), now);
        }
        match self.weight.load(Relaxed) {
            0 => (false, (2 * self.apart.load(Relaxed)).min(FARTHEST_NS)),
            weight => (
                held > FEW && weight.saturating_mul(held) >= HELD_MOST,
                APART_NS,
            ),
        }
    }

    /// A value seems to take so many bytes.
    fn estimate(&self, bytes: u64, now: u64) {
        let before = self.weight.load(Relaxed);
        let trust = self.trust.load(Relaxed);
        if before == 0 {
            let again = now < self.until.load(Relaxed).saturating_add(trust);
            let longer = if again { 2 * trust } else { TRUST_NS };
            self.trust.store(longer.min(LONGEST_TRUST_NS), Relaxed);
        }
        self.weight.store(before.max(bytes).max(1), Relaxed);
        self.until.store(now + self.trust.load(Relaxed), Relaxed);
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    mod model;

    fn none() -> Option<u64> {
        panic!("no look is due")
    }

    /// After a stop the owner is somewhat slower than it can be.
    fn slow() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }

    #[test]
    fn a_slow_owner_stops_at_each_entry_and_a_fast_one_at_few() {
        let look = Look::new();
        assert_eq!(look.stride(), 1);
        for end in 1..20 {
            slow();
            look.stop(end, end - 1, 0, || Some(1 << 20));
            assert_eq!(look.stride(), 1);
        }
        let mut end = 20;
        for _ in 0..10 {
            end += 1 << 30; // no time at all an entry
            look.stop(end, end - 1, 0, || Some(1 << 20));
        }
        assert_eq!(look.stride(), FARTHEST);
        slow();
        slow();
        assert!(look.gap.load(Relaxed) < FAST_NS);
        look.coarse.store(0, Relaxed); // a tick is over
        look.stop(end + FARTHEST, end, 0, || Some(1 << 20));
        assert!(look.stride() < FARTHEST, "{look:?}");
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn growth_is_divided_by_what_is_held() {
        let look = Look::new();
        let seen = |held, mib: u64| look.look(held, Some(mib * MIB), 1000).0;
        assert!(!seen(50, 10), "nothing to compare with");
        assert!(!seen(50, 11), "not much");
        assert!(!seen(2, 90) && !seen(2, 95), "not of what is held");
        assert!(!seen(50, 96));
        assert!(!seen(50, 98), "3 MiB for 48");
        assert!(!seen(60, 98) && seen(100, 98), "6 MiB by that");
        assert!(!seen(2, 98));
        assert!(seen(4, 106), "8 MiB for two");
        assert!(!seen(2, 106) && seen(3, 106) && seen(40, 60));
        assert_eq!(look.look(2, None, 0), (false, BLIND_NS));
        assert_eq!(look.look(3, None, 0), (true, BLIND_NS));
    }

    /// An allocator that keeps what is freed hides as many values again.
    #[test]
    fn an_estimate_that_is_found_again_is_trusted_for_longer() {
        let look = Look::new();
        let (mut now, mut trust, mut resident) = (5, TRUST_NS, 100 * MIB);
        for _ in 0..12 {
            look.look(1, Some(resident), now);
            resident += 8 * MIB;
            assert!(look.look(4, Some(resident), now).0);
            now += trust - 1;
            assert!(look.look(9, Some(resident), now).0, "trusted");
            now += 1;
            assert!(!look.look(9, Some(resident), now).0, "no more");
            trust = (2 * trust).min(LONGEST_TRUST_NS);
        }
        now += LONGEST_TRUST_NS;
        assert!(look.look(4, Some(resident + 8 * MIB), now).0);
        assert!(
            !look.look(4, Some(resident + 8 * MIB), now + TRUST_NS).0,
            "as at first"
        );
    }

    #[test]
    fn looks_that_find_nothing_become_rare() {
        let look = Look::new();
        let mut before = APART_NS;
        for _ in 0..10 {
            let (_, apart) = look.look(9, Some(MIB), 1000);
            assert_eq!(apart, (2 * before).min(FARTHEST_NS));
            look.apart.store(apart, Relaxed);
            before = apart;
        }
        assert_eq!(look.look(9, Some(1 << 30), 1000), (true, APART_NS));
        look.next.store(u64::MAX, Relaxed);
        assert_eq!(look.stop(9, 0, 0, none), Found::Nothing);
    }

    #[test]
    fn a_slow_owner_leaves_many_to_the_worker() {
        let look = Look::new();
        look.stop(4001, 4000, 0, || Some(1 << 20));
        let found = |done| {
            look.next.store(0, Relaxed);
            slow();
            look.stop(look.end.load(Relaxed) + 1, 1, done, || Some(1 << 30))
        };
        assert_eq!(found(MANY), Found::Growth);
        assert_eq!(found(1000), Found::Backlog);
    }
}
