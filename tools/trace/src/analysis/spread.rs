//! Distributions of values, in bounded memory.
//!
//! A row keeps every different value with its count, so percentiles are exact for up to [`DISTINCT_MOST`]
//! values; beyond, values are rounded to seven bits after the first. All rows of an analysis share a [`Room`]
//! of [`VALUES_MOST`] values: a row that needs more is rounded, and drops its percentiles if that is not
//! enough. Count, sum, minimum and maximum are always exact.

use crate::base::dist::percentile;
use crate::base::map::Map;

/// Different durations of one row that are kept exactly.
pub const DISTINCT_MOST: usize = 4096;

/// Different durations of all rows of an analysis together.
pub const VALUES_MOST: usize = 1 << 18;

/// A distribution: count, sum, minimum and maximum are exact, percentiles as described above.
///
/// The percentile `p` of `n` values is the one at place `floor(n*p/100)` in their order, from 0, as
/// everywhere in this crate.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spread {
    /// Values with how often they occurred. Added to at every event and sorted once, at the end: no tree.
    counts: Map<u64, u64>,
    pub(crate) n: u64,
    sum: u128,
    min: u64,
    max: u64,
    coarse: bool,
    apart: bool,
    /// There was no room for its values.
    given_up: bool,
}

impl Spread {
    /// For the row of sums: it shares no room with the others.
    pub(crate) fn apart() -> Self {
        Spread {
            apart: true,
            ..Spread::default()
        }
    }

    pub(crate) fn add(&mut self, value: u64, room: &mut Room) {
        let mut own = Room { left: 1 }; // always for one more
        let room = if self.apart { &mut own } else { room };
        self.tally(value);
        if self.given_up {
            return;
        }
        if room.left == 0 && !self.coarse && !self.counts.contains_key(&value) {
            self.round(room);
        }
        let kept = if self.coarse { rounded(value) } else { value };
        if let Some(n) = self.counts.get_mut(&kept) {
            *n += 1;
            return;
        }
        if room.left == 0 {
            room.left += self.counts.len();
            self.counts = Map::default();
            self.given_up = true;
            return;
        }
        room.left -= 1;
        self.counts.insert(kept, 1);
        if !self.coarse && self.counts.len() > DISTINCT_MOST {
            self.round(room);
        }
    }

    /// A value of which no percentile will be asked for.
    pub(crate) fn tally(&mut self, value: u64) {
        if self.n == 0 || value < self.min {
            self.min = value;
        }
        self.max = self.max.max(value);
        self.n += 1;
        self.sum += u128::from(value);
    }

    /// As [`between`](Spread::between), without percentiles.
    pub(crate) fn span(&mut self, from: u64, to: u64) {
        self.tally(to.saturating_sub(from));
    }

    fn round(&mut self, room: &mut Room) {
        self.coarse = true;
        let exact = std::mem::take(&mut self.counts);
        room.left += exact.len();
        for (value, n) in exact {
            *self.counts.entry(rounded(value)).or_insert(0) += n;
        }
        room.left -= self.counts.len();
    }

    /// A duration. None ends before it starts: a trace whose records are not in order has no tables.
    pub(crate) fn between(&mut self, from: u64, to: u64, room: &mut Room) {
        self.add(to.saturating_sub(from), room);
    }

    pub(crate) fn min(&self) -> Option<f64> {
        (self.n > 0).then_some(self.min as f64)
    }

    pub(crate) fn max(&self) -> Option<f64> {
        (self.n > 0).then_some(self.max as f64)
    }

    pub(crate) fn sum(&self) -> f64 {
        self.sum as f64
    }

    pub(crate) fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum as f64 / self.n as f64)
    }

    /// Those percentiles; the values are sorted once for all of them.
    pub(crate) fn percentiles<const N: usize>(&self, wanted: [u64; N]) -> [Option<f64>; N] {
        let mut sorted: Vec<(&u64, &u64)> = self.counts.iter().collect();
        sorted.sort_unstable();
        wanted.map(|p| {
            let found = percentile(sorted.iter().copied(), self.n, p);
            found.map(|value| value.clamp(self.min, self.max) as f64)
        })
    }

    pub(crate) fn median(&self) -> Option<f64> {
        let [median] = self.percentiles([50]);
        median
    }

    /// Whether percentiles are rounded.
    pub(crate) fn is_coarse(&self) -> bool {
        self.coarse && !self.given_up
    }

    /// Whether there are no percentiles for want of room.
    pub(crate) fn is_given_up(&self) -> bool {
        self.given_up
    }
}

/// Room for the different values of all rows of an analysis.
#[derive(Debug)]
pub(crate) struct Room {
    left: usize,
}

impl Default for Room {
    fn default() -> Self {
        Room { left: VALUES_MOST }
    }
}

#[cfg(test)]
impl Room {
    /// No room: only a row that shares none keeps values.
    pub(crate) fn none() -> Self {
        Room { left: 0 }
    }
}

/// The eight highest bits of a value.
fn rounded(value: u64) -> u64 {
    let bits = u64::BITS - value.leading_zeros();
    let drop = bits.saturating_sub(8);
    value >> drop << drop
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_values_are_rounded_down_by_less_than_a_percent() {
        let (mut spread, mut room) = (Spread::default(), Room::default());
        let mut listed = Vec::new();
        for n in 0..50_000u64 {
            let value = n * 7919 % 1_000_003;
            spread.add(value, &mut room);
            listed.push(value);
        }
        listed.sort_unstable();
        assert!(spread.is_coarse() && spread.counts.len() < 2 * DISTINCT_MOST);
        for (p, ours) in [1, 50, 99].into_iter().zip(spread.percentiles([1, 50, 99])) {
            let (exact, ours) = (listed[500 * p] as f64, ours.unwrap());
            assert!(
                ours <= exact && ours >= exact * 127.0 / 128.0 - 1.0,
                "{p}: {ours} {exact}"
            );
        }
        assert_eq!(spread.max(), Some(*listed.last().unwrap() as f64));
        assert_eq!(
            spread.mean(),
            Some(listed.iter().sum::<u64>() as f64 / 50_000.0)
        );
    }

    #[test]
    fn rows_share_their_room_and_say_what_they_gave_up() {
        let mut room = Room::default();
        let mut rows: Vec<Spread> = Vec::new();
        rows.resize_with(200, Spread::default);
        for value in 0..3000u64 {
            for (place, row) in rows.iter_mut().enumerate() {
                row.add(1_000_000 + value * 7919 + place as u64, &mut room);
            }
        }
        let kept: usize = rows.iter().map(|row| row.counts.len()).sum();
        assert_eq!(kept + room.left, VALUES_MOST);
        assert!(rows.iter().any(Spread::is_coarse));
        for row in &rows {
            assert_eq!(row.n, 3000);
            assert_eq!(row.median().is_none(), row.is_given_up());
        }
        // One that is there already needs none.
        let mut none = Room::none();
        let mut row = Spread::default();
        row.add(5, &mut Room { left: 1 });
        row.add(5, &mut none);
        assert_eq!((row.median(), row.is_coarse()), (Some(5.0), false));
        row.add(6, &mut none);
        assert_eq!((row.median(), row.mean()), (None, Some(16.0 / 3.0)));
    }

    #[test]
    fn durations_are_ends_less_starts() {
        let (mut spread, mut room) = (Spread::default(), Room::default());
        spread.between(3, 5, &mut room);
        assert_eq!((spread.n, spread.median()), (1, Some(2.0)));
        spread.span(3, 7);
        assert_eq!((spread.n, spread.mean()), (2, Some(3.0)));
        assert_eq!(Spread::default().median(), None);
    }

    #[test]
    fn values_are_exact_up_to_the_bound_and_a_row_of_sums_has_no_other() {
        for mut spread in [Spread::default(), Spread::apart()] {
            let room = &mut Room::default();
            (0..DISTINCT_MOST as u64).for_each(|n| spread.add(1_000_001 * (n + 1), room));
            assert!(!spread.is_coarse());
            let [half] = spread.percentiles([50]);
            assert_eq!(half, Some(1_000_001.0 * (DISTINCT_MOST as f64 / 2.0 + 1.0)));
            spread.add(7, room);
            assert!(spread.is_coarse());
            (0..40_000).for_each(|n| spread.add(n << 20, room));
            assert!(spread.is_coarse() && spread.median().is_some());
        }
    }
}
