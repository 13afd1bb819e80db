//! Memory of a map: with all its entries, and after most of them were removed.

use super::work::filled;
use super::{Family, Hasher, Map, Stored, short};
use crate::measure::figures::Figures;
use crate::measure::once::Said;
use crate::measure::process;
use std::time::Duration;

/// What the allocator has given out above the entries' own bytes, by entry, once `before` was.
fn above<T: Stored>(figures: &mut Figures, before: Option<u64>, entries: u64) {
    let payload = size_of::<(T::Key, T::Value)>() as f64;
    let now = process::allocated_bytes().zip(before);
    let each = now.map(|(now, before)| (now as f64 - before as f64) / entries as f64 - payload);
    figures.add("bytes_an_entry", "bytes/entry", each);
}

/// With so many entries.
pub(super) fn full<F: Family, T: Stored, S: Hasher>(entries: u64) -> Said {
    let before = warm::<F, T, S>()?;
    let map = F::Of::<T, S>::empty();
    filled(&map, 1, entries)?;
    map.settle();
    let mut figures = Figures::of(format!("{} {} full", T::NAME, short(entries)));
    above::<T>(&mut figures, before, entries);
    Ok(figures.all)
}

/// With the newest tenth of so many left, this time later: nothing calls the map meanwhile.
pub(super) fn emptied<F: Family, T: Stored, S: Hasher>(entries: u64, rest: Duration) -> Said {
    let before = warm::<F, T, S>()?;
    let map = F::Of::<T, S>::empty();
    let mut keys = filled(&map, 1, entries)?;
    let left = (entries / 10).max(1);
    for _ in left..entries {
        if !keys[0].remove(&map) {
            return Err("this map has lost an entry; do not use it".into());
        }
    }
    std::thread::sleep(rest);
    let mut figures = Figures::of(format!("{} {} emptied", T::NAME, short(entries)));
    above::<T>(&mut figures, before, left);
    Ok(figures.all)
}

/// What a library, and the allocator for its threads, has once is no memory of a map: the bytes that are
/// given out after another map was used and dropped.
fn warm<F: Family, T: Stored, S: Hasher>() -> Result<Option<u64>, String> {
    let map = F::Of::<T, S>::empty();
    let mut keys = filled(&map, 1, 1_000)?;
    while keys[0].len() > 0 {
        keys[0].remove(&map);
    }
    map.settle();
    drop(map);
    Ok(process::allocated_bytes())
}
