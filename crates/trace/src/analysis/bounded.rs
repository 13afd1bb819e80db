//! What analyses remember, in bounded memory.
//!
//! A trace may have any number of names, of callbacks that are never invoked, of different durations. Each store here has
//! a bound that is a constant, says what it gave up when the bound was met, and never more than that: up to the bound
//! results are exact.
//!
//! | store | bound | beyond it |
//! |---|---|---|
//! | [`Names`] | [`NAMES_MOST`] names, of [`NAME_BYTES`](crate::names::NAME_BYTES) | further ones are one name, `(others)`; how many times is counted |
//! | [`Waiting`] | [`WAITING_MOST`] entries | the oldest one goes; counted |
//! | [`Spread`] | [`DISTINCT_MOST`] different values | values are kept to seven bits after the first: a percentile may be up to 1/128 too low |
//! | [`Room`], for all rows of an analysis | [`VALUES_MOST`] different values | the row that wants one more is rounded as above, and without room even then its percentiles are given up; counted |
//! | [`ByCpu`] | [`CPUS_MOST`] CPUs | events of higher numbers are counted |
//!
//! What that takes at most, by the sizes of the tables: 10 MB for values (a tree's node may be half empty), 16 MB for what waits, and 1 to
//! 12 MB for rows and names. `tests/memory.rs` measures it with a trace that meets every bound.

use crate::dist::percentile;
use crate::names::short;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;

/// A table without order, as all of them are: what is shown is sorted first.
pub(crate) type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Different names of tasks and functions.
pub const NAMES_MOST: usize = 4096;

/// Things that began and have not ended, each kind for itself. As many as a hash table of 2^17 places takes before it doubles.
pub const WAITING_MOST: usize = 7 << 14;

/// Different durations of one row that are kept exactly.
pub const DISTINCT_MOST: usize = 4096;

/// Different durations of all rows of an analysis together.
pub const VALUES_MOST: usize = 1 << 18;

/// CPUs that are followed one by one: no kernel has more.
const CPUS_MOST: u32 = 1 << 13;

/// What stands for all names beyond the bound.
pub(crate) const OTHERS: &str = "(others)";

/// Names by number.
#[derive(Debug, Default)]
pub(crate) struct Names {
    numbers: Map<String, u32>,
    names: Vec<String>,
    /// Uses of names beyond the bound.
    pub(crate) refused: u64,
}

impl Names {
    /// The number of a name; allocates for the first of it only.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        let name = short(name);
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        if self.names.len() >= NAMES_MOST && name != OTHERS {
            self.refused += 1;
            return self.number(OTHERS);
        }
        let next = self.names.len() as u32;
        self.numbers.insert(name.to_owned(), next);
        self.names.push(name.to_owned());
        next
    }

    pub(crate) fn name(&self, number: u32) -> &str {
        self.names
            .get(number as usize)
            .map_or(OTHERS, String::as_str)
    }
}

/// The row of a key in a table of at most so many; none if it is a new one and there is no room.
pub(crate) fn row<K: Eq + Hash, V: Default>(
    table: &mut Map<K, V>,
    most: usize,
    key: K,
) -> Option<&mut V> {
    let room = table.len() < most || table.contains_key(&key);
    room.then(|| table.entry(key).or_default())
}

/// What began and has not ended.
#[derive(Debug)]
pub(crate) struct Waiting<K, V> {
    entries: Map<K, (u64, V)>,
    /// Keys with the number of their entry, oldest first; those that have ended are still in it.
    order: VecDeque<(K, u64)>,
    next: u64,
    most: usize,
    /// Entries that were given up.
    pub(crate) evicted: u64,
}

/// What is no longer there after an entry was added.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Gone<V> {
    pub(crate) replaced: Option<V>,
    pub(crate) evicted: Option<V>,
}

impl<K: Copy + Eq + Hash, V> Default for Waiting<K, V> {
    fn default() -> Self {
        Waiting::new(WAITING_MOST)
    }
}

impl<K: Copy + Eq + Hash, V> Waiting<K, V> {
    pub(crate) fn new(most: usize) -> Self {
        Waiting {
            entries: Map::default(),
            order: VecDeque::new(),
            next: 0,
            most,
            evicted: 0,
        }
    }

    /// Adds an entry; gives back the one with the same key, which it replaces, and the oldest one if that made room.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Gone<V> {
        let number = self.next;
        self.next += 1;
        let before = self.entries.insert(key, (number, value));
        self.order.push_back((key, number));
        let mut evicted = None;
        while self.entries.len() > self.most {
            let Some((key, number)) = self.order.pop_front() else {
                break;
            };
            if self.entries.get(&key).is_some_and(|(n, _)| *n == number) {
                evicted = self.remove(&key);
                self.evicted += 1;
            }
        }
        if self.order.len() > 2 * self.entries.len() + 1024 {
            let entries = &self.entries;
            self.order
                .retain(|(key, number)| entries.get(key).is_some_and(|(n, _)| n == number));
        }
        let replaced = before.map(|(_, value)| value);
        Gone { replaced, evicted }
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.entries.remove(key).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key).map(|(_, value)| value)
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(_, value)| value)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values().map(|(_, value)| value)
    }
}

/// How values are spread: number, sum, smallest and largest are exact, percentiles as the table above says.
///
/// The percentile `p` of `n` values is the one at place `floor(n*p/100)` in their order, from 0, as everywhere in this crate.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spread {
    counts: BTreeMap<u64, u64>,
    pub(crate) n: u64,
    sum: u128,
    min: u64,
    max: u64,
    coarse: bool,
    apart: bool,
    /// There was no room for its values.
    given_up: bool,
    /// Durations whose end was before their start: clocks of CPUs that disagree. They are left out.
    pub(crate) negative: u64,
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
        let mut own = Room {
            left: 4 * DISTINCT_MOST,
        };
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
            self.counts = BTreeMap::new();
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
        self.min = if self.n == 0 {
            value
        } else {
            self.min.min(value)
        };
        self.max = self.max.max(value);
        self.n += 1;
        self.sum += u128::from(value);
    }

    /// As [`between`](Spread::between), without percentiles.
    pub(crate) fn span(&mut self, from: u64, to: u64) {
        match to.checked_sub(from) {
            Some(duration) => self.tally(duration),
            None => self.negative += 1,
        }
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

    /// A duration; one that ends before it starts is counted and left out.
    pub(crate) fn between(&mut self, from: u64, to: u64, room: &mut Room) {
        match to.checked_sub(from) {
            Some(duration) => self.add(duration, room),
            None => self.negative += 1,
        }
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

    pub(crate) fn percentile(&self, p: u64) -> Option<f64> {
        let found = percentile(&self.counts, self.n, p);
        found.map(|value| value.clamp(self.min, self.max) as f64)
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

/// A row for each CPU that was met.
#[derive(Debug, Default)]
pub(crate) struct ByCpu<T> {
    rows: Vec<Option<T>>,
    /// In the place of all that have no row; nobody sees it.
    beyond: T,
    /// How often it was needed.
    pub(crate) refused: u64,
}

impl<T: Default> ByCpu<T> {
    #[inline]
    pub(crate) fn row(&mut self, cpu: u32) -> &mut T {
        if cpu >= CPUS_MOST {
            self.refused += 1;
            return &mut self.beyond;
        }
        let place = cpu as usize;
        if place >= self.rows.len() {
            self.rows.resize_with(place + 1, || None);
        }
        self.rows[place].get_or_insert_default()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, cpu: u32) -> Option<&mut T> {
        self.rows.get_mut(cpu as usize)?.as_mut()
    }

    pub(crate) fn get(&self, cpu: u32) -> Option<&T> {
        self.rows.get(cpu as usize)?.as_ref()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let rows = (0..).zip(&self.rows);
        rows.filter_map(|(cpu, row)| row.as_ref().map(|row| (cpu, row)))
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows.iter_mut().flatten()
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
    fn the_oldest_that_waits_makes_room() {
        let mut waiting = Waiting::new(3);
        for key in 0..3 {
            assert_eq!(waiting.insert(key, key * 10).replaced, None);
        }
        assert_eq!(waiting.remove(&0), Some(0));
        waiting.insert(3, 30);
        assert_eq!(waiting.evicted, 0);
        // 1 is replaced, so that 2 is the oldest.
        assert_eq!(waiting.insert(1, 11).replaced, Some(10));
        assert_eq!(waiting.insert(4, 40).evicted, Some(20));
        assert_eq!((waiting.evicted, waiting.get(&2)), (1, None));
        assert_eq!(waiting.get(&1), Some(&11));
    }

    #[test]
    fn what_has_ended_takes_no_memory() {
        let mut waiting = Waiting::new(10);
        for key in 0..100_000u64 {
            waiting.insert(key, ());
            waiting.remove(&key);
        }
        assert!(waiting.order.len() <= 1025 && waiting.evicted == 0);
    }

    #[test]
    fn names_beyond_the_bound_are_one() {
        let mut names = Names::default();
        let first = names.number("a");
        for n in 0..2 * NAMES_MOST {
            names.number(&n.to_string());
        }
        assert_eq!((names.number("a"), names.name(first)), (first, "a"));
        let other = names.number("never seen");
        assert_eq!(names.name(other), OTHERS);
        assert!(names.names.len() == NAMES_MOST + 1 && names.refused > 0);
    }

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
        for p in [1, 50, 99] {
            let (exact, ours) = (listed[500 * p] as f64, spread.percentile(p as u64).unwrap());
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
            assert_eq!(row.percentile(50).is_none(), row.is_given_up());
        }
        // One that is there already needs none.
        let mut none = Room { left: 0 };
        let mut row = Spread::default();
        row.add(5, &mut Room { left: 1 });
        row.add(5, &mut none);
        assert_eq!((row.percentile(50), row.is_coarse()), (Some(5.0), false));
        row.add(6, &mut none);
        assert_eq!((row.percentile(50), row.mean()), (None, Some(16.0 / 3.0)));
    }

    #[test]
    fn cpus_that_no_kernel_has_share_a_row_that_is_not_shown() {
        let mut rows = ByCpu::<u64>::default();
        for cpu in [3, CPUS_MOST - 1, CPUS_MOST, 65_535] {
            *rows.row(cpu) += 1;
        }
        let shown: Vec<_> = rows.iter().map(|(cpu, n)| (cpu, *n)).collect();
        assert_eq!(shown, [(3, 1), (CPUS_MOST - 1, 1)]);
        assert_eq!((rows.refused, rows.get(CPUS_MOST)), (2, None));
    }

    #[test]
    fn a_duration_that_ends_before_it_starts_is_counted_and_left_out() {
        let (mut spread, mut room) = (Spread::default(), Room::default());
        spread.between(5, 3, &mut room);
        spread.between(3, 5, &mut room);
        assert_eq!(
            (spread.n, spread.negative, spread.mean()),
            (1, 1, Some(2.0))
        );
        assert_eq!(Spread::default().percentile(50), None);
    }
}
