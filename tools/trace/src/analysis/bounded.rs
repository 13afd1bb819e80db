//! What analyses remember, in bounded memory.
//!
//! A trace may have any number of names, of callbacks that are never invoked, of different durations. Each
//! store here has a bound that is a constant, says what it gave up when the bound was met, and never more
//! than that: up to the bound results are exact.
//!
//! | store | bound | beyond it |
//! |---|---|---|
//! | [`Names`] | [`NAMES_MOST`] names, cut to `NAME_BYTES` | all others are `(others)`; counted |
//! | [`Waiting`] | [`WAITING_MOST`] entries | the oldest one goes; counted |
//! | [`Spread`](super::spread::Spread) | [`DISTINCT_MOST`](super::DISTINCT_MOST) values | rounded |
//! | [`Room`](super::spread::Room) | [`VALUES_MOST`](super::VALUES_MOST) in all rows | rounded, or none |
//! | [`ByCpu`] | [`CPUS_MOST`] CPUs | events of higher numbers are counted |
//!
//! A [`Spread`](super::spread::Spread) beyond its bound keeps seven bits after the first, so a percentile is
//! up to 1/128 too low. The row that asks a full [`Room`](super::spread::Room) for one more value is rounded
//! in the same way; if it does not fit even then, its percentiles are given up.
//!
//! What that takes at most, by the sizes of the tables: 10 MB for values (a table may be half empty), 16 MB
//! for what waits, and 1 to 12 MB for rows and names. `tests/allocations.rs` measures it with a trace that
//! meets every bound.

use crate::base::map::Map;
use crate::base::names::short;
use std::collections::VecDeque;
use std::hash::Hash;

/// Different names of tasks and functions.
pub const NAMES_MOST: usize = 4096;

/// Things that began and have not ended, each kind for itself. As many as a hash table of 2^17 places takes
/// before it doubles.
pub const WAITING_MOST: usize = 7 << 14;

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

    /// Adds an entry; gives back the one with the same key, which it replaces, and the oldest one if that
    /// made room.
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

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.values_mut().map(|(_, value)| value)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values().map(|(_, value)| value)
    }
}

/// A row for each CPU that was met.
#[derive(Debug, Default)]
pub(crate) struct ByCpu<T> {
    rows: Vec<Option<T>>,
    /// In the place of all that have no row; never shown.
    beyond: T,
    /// How often it was needed.
    pub(crate) refused: u64,
}

impl<T: Default> ByCpu<T> {
    #[inline]
    pub(crate) fn row(&mut self, cpu: u32) -> &mut T {
        if self.get(cpu).is_none() {
            self.add(cpu);
        }
        match self.rows.get_mut(cpu as usize) {
            Some(Some(row)) => row,
            _ => &mut self.beyond,
        }
    }

    /// A row for a CPU that has none, if there is to be one.
    #[cold]
    fn add(&mut self, cpu: u32) {
        if cpu >= CPUS_MOST {
            self.refused += 1;
            return;
        }
        let rows = self.rows.len().max(cpu as usize + 1);
        self.rows.resize_with(rows, || None);
        self.rows[cpu as usize] = Some(T::default());
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
        // Nor when many end at once.
        let mut waiting = Waiting::new(5000);
        (0..2000u64).for_each(|key| _ = waiting.insert(key, ()));
        assert_eq!((waiting.order.len(), waiting.evicted), (2000, 0));
        (0..2000u64).for_each(|key| _ = waiting.remove(&key));
        waiting.insert(0, ());
        assert_eq!(waiting.order.len(), 1);
    }

    #[test]
    fn the_order_is_cleaned_when_half_of_it_has_ended_and_keeps_what_waits() {
        let mut waiting = Waiting::new(5000);
        (0..3000u64).for_each(|key| _ = waiting.insert(key, key));
        (0..1500u64).for_each(|key| _ = waiting.remove(&key));
        waiting.insert(3000, 3000);
        assert_eq!(waiting.order.len(), 3001);
        (1500..2500u64).for_each(|key| _ = waiting.remove(&key));
        waiting.insert(3001, 3001);
        assert_eq!(waiting.order.len(), 502);
        // The oldest ones go first all the same.
        waiting.most = 500;
        assert_eq!(waiting.insert(3002, 3002).evicted, Some(2502));
        assert_eq!(
            (waiting.get(&2502), waiting.get(&2503)),
            (None, Some(&2503))
        );
    }

    #[test]
    fn a_table_has_no_row_beyond_its_bound() {
        let mut table = Map::default();
        for (key, there) in [(1, true), (2, true), (3, false), (2, true)] {
            let row: Option<&mut u64> = row(&mut table, 2, key);
            assert_eq!(row.is_some(), there, "{key}");
        }
        assert_eq!(table.len(), 2);
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
    fn cpus_that_no_kernel_has_share_a_row_that_is_not_shown() {
        let mut rows = ByCpu::<u64>::default();
        for cpu in [3, CPUS_MOST - 1, CPUS_MOST, 65_535] {
            *rows.row(cpu) += 1;
        }
        let shown: Vec<_> = rows.iter().map(|(cpu, n)| (cpu, *n)).collect();
        assert_eq!(shown, [(3, 1), (CPUS_MOST - 1, 1)]);
        assert_eq!((rows.refused, rows.get(CPUS_MOST)), (2, None));
    }
}
