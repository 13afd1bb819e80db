//! Exact distributions, and their percentiles.
//!
//! Values are counted, not listed: a trace's clock has microseconds, so that the memory is bounded by the
//! number of different durations and not by the number of events. The percentile `p` of `n` values is the one
//! at place `floor(n*p/100)` in their order, from 0: the same rule as in `data/kernel-measurements.json`.

use serde::Serialize;
use std::collections::BTreeMap;

/// Durations, or other sizes, each with how often it occurred.
///
/// ```
/// use quiescent_trace::Distribution;
///
/// let mut d = Distribution::default();
/// (1..=10).for_each(|ms| d.add(ms * 1_000_000));
/// let p = d.percentiles().unwrap();
/// assert_eq!((p.n, p.min, p.p50, p.max), (10, 1_000_000, 6_000_000, 10_000_000));
/// assert_eq!(p.mean, 5_500_000.0);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distribution {
    counts: BTreeMap<u64, u64>,
    n: u64,
    sum: u128,
}

/// A distribution in ten numbers; times are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names of the percentiles say it")]
pub struct Percentiles {
    /// How many values.
    pub n: u64,
    /// Their mean.
    pub mean: f64,
    /// The smallest.
    pub min: u64,
    /// The largest.
    pub max: u64,
    pub p10: u64,
    pub p25: u64,
    pub p50: u64,
    pub p75: u64,
    pub p90: u64,
    pub p99: u64,
}

impl Distribution {
    /// One more value.
    pub fn add(&mut self, value: u64) {
        *self.counts.entry(value).or_insert(0) += 1;
        self.n += 1;
        self.sum += u128::from(value);
    }

    /// How many values.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Each value with how often it occurred, in order.
    pub fn counts(&self) -> &BTreeMap<u64, u64> {
        &self.counts
    }

    /// Its summary; `None` without values.
    pub fn percentiles(&self) -> Option<Percentiles> {
        let (min, max) = (self.counts.keys().next()?, self.counts.keys().next_back()?);
        let at = |p| percentile(&self.counts, self.n, p).unwrap_or(0);
        Some(Percentiles {
            n: self.n,
            mean: self.sum as f64 / self.n as f64,
            min: *min,
            max: *max,
            p10: at(10),
            p25: at(25),
            p50: at(50),
            p75: at(75),
            p90: at(90),
            p99: at(99),
        })
    }
}

/// The percentile `p` of `n` values, counted, in their order; `None` without values.
pub(crate) fn percentile<'a>(
    counts: impl IntoIterator<Item = (&'a u64, &'a u64)>,
    n: u64,
    p: u64,
) -> Option<u64> {
    let place = u128::from(n) * u128::from(p) / 100;
    let mut before = 0u128;
    let found = counts.into_iter().find(|(_, count)| {
        before += u128::from(**count);
        before > place
    });
    found.map(|(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counted_values_give_the_percentiles_of_listed_ones(
            mut values in prop::collection::vec(0u64..50, 1..200),
        ) {
            let mut d = Distribution::default();
            values.iter().for_each(|v| d.add(*v));
            values.sort_unstable();
            let p = d.percentiles().expect("has values");
            let listed = |percent: usize| values[values.len() * percent / 100];
            prop_assert_eq!([p.p10, p.p50, p.p99], [listed(10), listed(50), listed(99)]);
            prop_assert_eq!([p.min, p.max], [values[0], values[values.len() - 1]]);
        }
    }

    #[test]
    fn nothing_has_no_percentiles() {
        assert_eq!(Distribution::default().percentiles(), None);
    }

    #[test]
    fn each_value_is_there_as_often_as_it_was_added() {
        let mut d = Distribution::default();
        [7, 3, 7, 9].into_iter().for_each(|value| d.add(value));
        assert_eq!(
            (d.n(), d.counts()),
            (4, &BTreeMap::from([(3, 1), (7, 2), (9, 1)]))
        );
    }
}
