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
pub use crate::base::waiting::WAITING_MOST;
pub(crate) use crate::base::waiting::Waiting;
use std::hash::Hash;

/// Different names of tasks and functions.
pub const NAMES_MOST: usize = 4096;

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

/// The row of a name; that of [`OTHERS`] if it is a new one and there is no room.
pub(crate) fn named<K: Eq + Hash + From<&'static str>, V: Default>(
    table: &mut Map<K, V>,
    name: K,
) -> &mut V {
    let room = table.len() < NAMES_MOST || table.contains_key(&name);
    let name = if room { name } else { OTHERS.into() };
    table.entry(name).or_default()
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
