//! The size of a batch, which follows what fences cost (rule R7).
//!
//! A grace period for deferred work needs a fence, and a fence that interrupts running CPUs takes as long as
//! some hundred retirements. So the host reports how long each such fence took, and when it ended. The engine
//! keeps a moving average, and changes the batch at every fence:
//!
//! | time since the fence before | batch |
//! |---|---|
//! | below `SHARE` averages | × 5/4: more than 1/50 of the time went into fences |
//! | else | × 7/8 |
//!
//! The batch stays between [`Defer::batch`](crate::config::Defer::batch) and
//! [`Defer::growth`](crate::config::Defer::growth) times that. In a *flood*, when threads hold more than four
//! of the largest batches each, it may grow by twice as much. Its limit in bytes grows with its number.
//! Fences of waiters do not count: they are not issued for a batch.
//!
//! # Invariants
//! * A full batch requests a grace period at once, whatever the average: only the next batch changes.
//! * A batch never exceeds what the budget lends to an owner for a lane, so that its credit lasts for it.
//! * Without reports of fences (a sole thread) the batch is the smallest.

use crate::cblist::Held;
use crate::global::{Global, Level};
use crate::host::Lane;

/// Fences may take one part in so many of the time before the batch grows.
const SHARE: u64 = 50;

/// A new fence has the weight of one in so many in the average.
const WEIGHT: u32 = 8;

/// Large values own more than this on average. A batch of them ends at one part in so many of the bytes: the
/// thread drops them while its processor's caches still have them, which saves more than the grace periods
/// cost.
const LARGE: u64 = 16 << 10;
const LARGE_PART: u64 = 8;

/// A thread that holds more than so many of the largest batches is in a flood.
const FLOOD: u64 = 4;

impl Held {
    /// Is the mean one large?
    pub(crate) fn is_large(self) -> bool {
        self.bytes > self.count.saturating_mul(LARGE)
    }
}

impl Global {
    /// A fence for deferred work took `took_ns`, and ended at `now_ns`: an input of the host. (Of a fence for
    /// several domains each gets its part of the time.)
    pub fn fence_ended(&mut self, took_ns: u64, now_ns: u64) {
        let most = self.most_batch();
        let least = self.config.defer.batch;
        let fences = &mut self.fences;
        let since = now_ns
            .saturating_sub(took_ns)
            .saturating_sub(fences.ended_ns);
        let took_ns = u32::try_from(took_ns).unwrap_or(u32::MAX);
        fences.average_ns = match fences.average_ns {
            0 => took_ns,
            average => average - average / WEIGHT + took_ns / WEIGHT,
        };
        fences.ended_ns = fences.ended_ns.max(now_ns);
        let often = since < u64::from(fences.average_ns) * SHARE;
        let now = least.saturating_add(u64::from(fences.more));
        let wanted = match often {
            true => now.saturating_add(now.div_ceil(4)),
            false => now - now / 8,
        };
        fences.more = u32::try_from(wanted.clamp(least, most) - least).unwrap_or(u32::MAX);
    }

    /// The moving average of the time that a fence takes, in nanoseconds.
    pub fn fence_average_ns(&self) -> u64 {
        u64::from(self.fences.average_ns)
    }

    /// So many callbacks of a lane, or so many bytes of them, make a batch now. `large`: those of the owner
    /// are.
    pub fn batch_of(&self, lane: Lane, large: bool) -> Held {
        let defer = self.config.defer;
        let count = defer.batch.saturating_add(u64::from(self.fences.more));
        let bytes = match lane {
            Lane::Plain => defer.batch_bytes,
            Lane::Own if large => defer.code_batch_bytes / LARGE_PART,
            Lane::Own | Lane::Code | Lane::Head => defer.code_batch_bytes,
        };
        Held {
            count,
            bytes: scaled(bytes, count, defer.batch),
        }
    }

    /// The largest batch now.
    fn most_batch(&self) -> u64 {
        let (defer, budget) = (self.config.defer, self.config.budget);
        let borrowers = self.borrowers().max(1);
        let more = defer
            .batch
            .saturating_mul(u64::from(defer.growth.saturating_sub(1)));
        let most = defer.batch.saturating_add(more);
        let much = most.saturating_mul(FLOOD).saturating_mul(borrowers);
        let flood = self.level() == Level::Easy && self.held().count > much;
        let most = most.saturating_add(if flood { more } else { 0 });
        // The share of an owner for a lane, as it is lent; some of its bytes are for small objects.
        let share = |most: u64| most / 8 / borrowers / 3;
        let bytes =
            share(budget.bytes).saturating_sub(u64::from(budget.look) * u64::from(budget.small));
        most.min(share(budget.count))
            .min(scaled(bytes, defer.batch, defer.batch_bytes))
            .max(defer.batch)
    }
}

/// `value` × `factor` / `of`, saturating.
fn scaled(value: u64, factor: u64, of: u64) -> u64 {
    if let Some(product) = value.checked_mul(factor) {
        return product / of.max(1);
    }
    let product = u128::from(value) * u128::from(factor);
    u64::try_from(product / u128::from(of.max(1))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const BASE: Held = Held {
        count: 2048,
        bytes: 192 << 10,
    };

    /// An engine, and the time.
    struct Rig(Global, u64);

    impl Rig {
        fn new(config: Config) -> Rig {
            Rig(Global::new(config), 0)
        }

        /// Fences of this length, with so much time between two of them.
        fn fences(&mut self, times: u32, took: u64, between: u64) -> Held {
            for _ in 0..times {
                self.1 += between + took;
                self.0.fence_ended(took, self.1);
            }
            self.0.batch_of(Lane::Plain, false)
        }
    }

    #[test]
    fn batches_grow_while_fences_take_more_than_a_fiftieth_and_shrink_otherwise() {
        let mut rig = Rig::new(Config::threads());
        assert_eq!(rig.0.batch_of(Lane::Plain, false), BASE);
        assert_eq!(rig.fences(10, 15_000, 750_000), BASE, "a fiftieth");
        let more = rig.fences(1, 15_000, 749_999);
        assert_eq!((more.count, more.bytes), (2560, 240 << 10));
        let most = rig.fences(100, 15_000, 100_000);
        assert_eq!((most.count, most.bytes), (8192, 768 << 10));
        assert_eq!(rig.fences(1, 15_000, 800_000).count, 7168);
        assert_eq!(rig.fences(20, 15_000, 800_000), BASE);
        assert_eq!(rig.0.fence_average_ns(), 15_000);
    }

    #[test]
    fn cheaper_fences_bring_the_small_batch_back() {
        let mut rig = Rig::new(Config::threads());
        assert_eq!(rig.fences(20, 15_000, 50_000).count, 8192);
        assert_eq!(rig.fences(60, 500, 50_000), BASE);
    }

    #[test]
    fn a_batch_fits_into_what_is_lent() {
        let mut config = Config::threads();
        config.budget.bytes = 24 * (480 << 10); // a 24th: 128 KiB for small objects, and 352
        let mut rig = Rig::new(config);
        let batch = rig.fences(100, 15_000, 0);
        assert_eq!((batch.count, batch.bytes), (3754, 360_384));
        config.budget.bytes = 1 << 20;
        assert_eq!(Rig::new(config).fences(100, 15_000, 0), BASE);
        config.budget.bytes = 64 << 20;
        config.budget.count = 24 * 3000;
        assert_eq!(Rig::new(config).fences(100, 15_000, 0).count, 3000);
    }

    #[test]
    fn in_a_flood_batches_grow_by_twice_as_much() {
        let mut rig = Rig::new(Config::threads());
        let much = Held {
            count: 4 * 8192,
            bytes: 0,
        };
        rig.0.budget.held.change(Held::default(), much);
        assert_eq!(rig.fences(100, 15_000, 0).count, 8192);
        let one = Held { count: 1, bytes: 0 };
        rig.0.budget.held.change(Held::default(), one);
        assert_eq!(rig.fences(100, 15_000, 0).count, 14_336);
        rig.0.budget.level = Level::Near;
        assert_eq!(rig.fences(1, 15_000, 0).count, 8192, "at once");
    }
}
