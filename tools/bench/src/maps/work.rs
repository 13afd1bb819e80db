//! CPU time of operations: in a map of some size, and while a map grows.

use super::load::{GROW, Keys, MIXES, Mix, RAPID};
use super::{Family, Hasher, Map, Stored, short};
use crate::measure::once::Said;
use crate::measure::threads::{self, Member};
use quiescent_report::rows::Figure;
use std::marker::PhantomData;

/// The library asks nothing of a thread; what was removed is freed within the measurement.
struct Threads<'a, T, M>(&'a M, PhantomData<fn() -> T>);

impl<T: Stored, M: Map<T>> Member for Threads<'_, T, M> {
    fn settle(&self) {
        self.0.settle();
    }
}

/// Has the threads do so many operations in all, each with its keys: CPU time of the process an operation.
pub(super) fn timed<T: Stored>(
    map: &impl Map<T>,
    keys: &mut Vec<Keys>,
    mix: &Mix,
    turns: u64,
) -> Result<f64, String> {
    let (members, first) = (keys.len() as u64, turns % keys.len() as u64);
    let work = |thread: usize, mut keys: Keys| {
        let more = u64::from((thread as u64) < first);
        let wrong = keys.turns(map, mix, turns / members + more);
        (keys, wrong)
    };
    let prepare = |thread: usize| keys[thread].clone();
    let ran = threads::run(&Threads(map, PhantomData), keys.len(), prepare, work, || ())?;
    let (now, wrong): (Vec<Keys>, Vec<u64>) = ran.results.into_iter().unzip();
    *keys = now;
    let (wrong, len) = (wrong.iter().sum::<u64>(), map.entries() as u64);
    let expected: u64 = keys.iter().map(Keys::len).sum();
    match wrong == 0 && len == expected {
        true => Ok(ran.cpu_ns as f64 / turns as f64),
        false => Err(format!(
            "this map is wrong: {wrong} answers of `{}`, and {len} entries where {expected} should be; \
             do not use it",
            mix.name
        )),
    }
}

/// So many entries, put in by as many threads as work with them.
pub(super) fn filled<T: Stored>(
    map: &impl Map<T>,
    threads: u64,
    entries: u64,
) -> Result<Vec<Keys>, String> {
    let mut keys = (0..threads).map(Keys::of).collect();
    timed(map, &mut keys, &GROW, entries)?;
    Ok(keys)
}

/// The same as a figure, in a map of so many entries.
fn figure<T: Stored>(
    map: &impl Map<T>,
    keys: &mut Vec<Keys>,
    entries: u64,
    mix: &Mix,
    turns: u64,
) -> Result<Figure, String> {
    let (of, threads) = (T::NAME, keys.len());
    let case = format!("{of} {} {threads}t {}", short(entries), mix.name);
    let ns = timed(map, keys, mix, turns)?;
    Ok(Figure::new(&case, "cpu_ns", "ns/operation", ns))
}

/// Each mix, one after the other, in a map of so many entries.
pub(super) fn mixes<F: Family, T: Stored, S: Hasher>(
    entries: u64,
    threads: u64,
    turns: u64,
) -> Said {
    let map = F::Of::<T, S>::empty();
    let mut keys = filled(&map, threads, entries)?;
    let mixes = MIXES.iter();
    mixes
        .map(|mix| figure(&map, &mut keys, entries, mix, turns))
        .collect()
}

/// An empty map to so many entries.
pub(super) fn growth<F: Family, T: Stored, S: Hasher>(entries: u64, threads: u64) -> Said {
    let grown = |mix| {
        let map = F::Of::<T, S>::empty();
        let mut keys = (0..threads).map(Keys::of).collect();
        figure(&map, &mut keys, entries, mix, entries)
    };
    [GROW, RAPID].iter().map(grown).collect()
}
