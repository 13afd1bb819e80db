//! Memory of a map: with all its entries, and after most of them were removed.

use super::work::filled;
use super::{Family, Hasher, Map, Stored, short};
use crate::measure::figures::Figures;
use crate::measure::once::Said;
use crate::measure::process;
use std::time::Duration;

/// What the allocator has given out above the entries' own bytes, by entry. With a time: of the newest tenth,
/// so long after the others were removed; nothing calls the map meanwhile.
pub(super) fn bytes<F: Family, T: Stored, S: Hasher>(entries: u64, rest: Option<Duration>) -> Said {
    // What a library, and the allocator for its threads, has once is no memory of a map.
    let first = used::<F, T, S>(1_000, 0)?;
    first.settle();
    drop(first);
    let before = process::allocated_bytes();
    let (left, name) = match rest {
        None => (entries, "full"),
        Some(_) => ((entries / 10).max(1), "emptied"),
    };
    let map = used::<F, T, S>(entries, left)?;
    match rest {
        None => map.settle(),
        Some(rest) => std::thread::sleep(rest),
    }
    let payload = size_of::<(T::Key, T::Value)>() as f64;
    let now = process::allocated_bytes().zip(before);
    let each = now.map(|(now, before)| (now as f64 - before as f64) / left as f64 - payload);
    let mut figures = Figures::of(format!("{} {} {name}", T::NAME, short(entries)));
    figures.add("bytes_an_entry", "bytes/entry", each);
    Ok(figures.all)
}

/// A map that has had so many entries, and has the newest of them.
fn used<F: Family, T: Stored, S: Hasher>(entries: u64, left: u64) -> Result<F::Of<T, S>, String> {
    let map = F::Of::<T, S>::empty();
    let mut keys = filled(&map, 1, entries)?.swap_remove(0);
    while keys.len() > left {
        if !keys.remove(&map) {
            return Err("this map is wrong: it has lost an entry; do not use it".into());
        }
    }
    Ok(map)
}
