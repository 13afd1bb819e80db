//! What analyses remember, in bounded memory.
//!
//! A trace may have any number of names, of callbacks that are never invoked, of different durations. Each store here has
//! a bound that is a constant, says what it gave up when the bound was met, and never more than that: up to the bound
//! results are exact.
//!
//! | store | bound | beyond it |
//! |---|---|---|
//! | [`Names`] | [`NAMES_MOST`] names | further ones are one name, `(others)`; how many times is counted |
//! | [`Waiting`] | [`WAITING_MOST`] entries | the oldest one goes; counted |
//! | [`Spread`] | [`DISTINCT_MOST`] different values | values are kept to seven bits after the first: a percentile may be up to 1/128 too low |

use crate::dist::percentile;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;

/// A table without order, as all of them are: what is shown is sorted first.
pub(crate) type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Different names of tasks and functions.
pub const NAMES_MOST: usize = 4096;

/// Things that began and have not ended, each kind for itself.
pub const WAITING_MOST: usize = 1 << 17;

/// Different durations of one row that are kept exactly.
pub const DISTINCT_MOST: usize = 4096;

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
    /// Durations whose end was before their start: clocks of CPUs that disagree. They are left out.
    pub(crate) negative: u64,
}

impl Spread {
    pub(crate) fn add(&mut self, value: u64) {
        self.min = if self.n == 0 {
            value
        } else {
            self.min.min(value)
        };
        self.max = self.max.max(value);
        self.n += 1;
        self.sum += u128::from(value);
        let kept = if self.coarse { rounded(value) } else { value };
        *self.counts.entry(kept).or_insert(0) += 1;
        if !self.coarse && self.counts.len() > DISTINCT_MOST {
            self.coarse = true;
            for (value, n) in std::mem::take(&mut self.counts) {
                *self.counts.entry(rounded(value)).or_insert(0) += n;
            }
        }
    }

    /// A duration; one that ends before it starts is counted and left out.
    pub(crate) fn between(&mut self, from: u64, to: u64) {
        match to.checked_sub(from) {
            Some(duration) => self.add(duration),
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
        self.coarse
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
        let mut spread = Spread::default();
        let mut listed = Vec::new();
        for n in 0..50_000u64 {
            let value = n * 7919 % 1_000_003;
            spread.add(value);
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
    fn a_duration_that_ends_before_it_starts_is_counted_and_left_out() {
        let mut spread = Spread::default();
        spread.between(5, 3);
        spread.between(3, 5);
        assert_eq!(
            (spread.n, spread.negative, spread.mean()),
            (1, 1, Some(2.0))
        );
        assert_eq!(Spread::default().percentile(50), None);
    }
}
