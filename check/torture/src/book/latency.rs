//! Histograms of times that any thread may add to: four buckets to each power of two, so a percentile is at
//! most a quarter too large.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const BUCKETS: usize = 252;

/// A histogram of times.
pub struct Histogram([AtomicU64; BUCKETS]);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram([const { AtomicU64::new(0) }; BUCKETS])
    }
}

/// The bucket of a time: below 4 it is the number itself.
fn bucket(ns: u64) -> usize {
    let Some(shift) = ns.checked_ilog2().filter(|log| *log >= 2) else {
        return ns as usize;
    };
    ((shift - 1) * 4) as usize + ((ns >> (shift - 2)) & 3) as usize
}

/// The largest time of a bucket.
fn most(bucket: usize) -> u64 {
    if bucket < 4 {
        return bucket as u64;
    }
    let (shift, quarter) = (bucket as u32 / 4 + 1, bucket as u64 % 4);
    // In 128 bits: the last bucket ends at the largest number.
    ((u128::from(5 + quarter) << (shift - 2)) - 1) as u64
}

impl Histogram {
    /// Adds a time.
    pub fn add(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0[bucket(ns)].fetch_add(1, Ordering::Relaxed);
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        Counts(self.0.iter().map(|it| it.load(Ordering::Relaxed)).collect())
    }
}

/// The counts of a histogram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts(Vec<u64>);

impl Default for Counts {
    fn default() -> Counts {
        Counts(vec![0; BUCKETS])
    }
}

impl Counts {
    /// The number of times.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds the counts of another histogram.
    pub fn add(&mut self, other: &Counts) {
        for (sum, more) in self.0.iter_mut().zip(&other.0) {
            *sum += more;
        }
    }

    /// The time, in nanoseconds, that so many thousandths of the times do not exceed. `None` without times.
    pub fn at(&self, thousandths: u64) -> Option<u64> {
        let total = self.total();
        let wanted = (total * thousandths).div_ceil(1000).max(1);
        let mut seen = 0;
        let reached = |count: &u64| {
            seen += count;
            seen >= wanted
        };
        let found = self.0.iter().position(reached);
        found.filter(|_| total > 0).map(most)
    }

    /// The powers of two (in nanoseconds, lower end) that have times, and the number of times of each.
    pub fn powers(&self) -> Vec<(u64, u64)> {
        let low = self.0[..4].iter().sum();
        let rest = self.0[4..].chunks(4).zip(2u32..);
        std::iter::once((0, low))
            .chain(rest.map(|(four, power)| (1 << power, four.iter().sum())))
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_a_bucket_that_is_not_too_wide() {
        let powers = (0..64).map(|power| 1u64 << power);
        let times = powers.flat_map(|it| [it - 1, it, it + it / 3, it + (it - 1)]);
        for ns in times.chain(0..100) {
            let most = most(bucket(ns));
            assert!(most >= ns && most - ns <= ns / 4, "{ns} is at most {most}");
            assert!(bucket(ns) == 0 || super::most(bucket(ns) - 1) < ns);
        }
        assert_eq!(
            (bucket(u64::MAX), most(BUCKETS - 1)),
            (BUCKETS - 1, u64::MAX)
        );
    }

    #[test]
    fn percentiles() {
        let histogram = Histogram::default();
        assert_eq!(histogram.counts().at(500), None);
        for ns in 1..=100 {
            histogram.add(Duration::from_nanos(ns));
        }
        let mut counts = histogram.counts();
        assert_eq!((counts.at(1), counts.at(500)), (Some(1), Some(55)));
        assert_eq!(counts.at(1000), Some(111));
        counts.add(&histogram.counts());
        assert_eq!(counts.total(), 200);
        let powers = counts.powers();
        assert_eq!((powers[0], powers[1]), ((0, 6), (4, 8)));
    }
}
