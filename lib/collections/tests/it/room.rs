//! Room that is asked for, up to more than there can be.

use std::hash::RandomState;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::alone::alone;
use quiescent_collections::{RcuHashMap, RcuHashSet};

/// The most entries that a map can have.
const MOST: usize = 1 << 31;

/// What the call says when it panics.
#[track_caller]
fn refused(call: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(call)).expect_err("it is refused");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("a text")).to_owned(),
    }
}

#[test]
fn more_than_a_map_can_have_is_refused_before_anything_is_allocated() {
    for capacity in [MOST + 1, usize::MAX] {
        let said = refused(|| drop(RcuHashMap::<u64, u64>::with_capacity(capacity)));
        assert!(said.contains("2^31"), "{said}");
    }
    let map = RcuHashMap::from([(1, 1), (2, 2)]);
    for additional in [MOST - 1, usize::MAX] {
        let said = refused(|| map.pin().reserve(additional));
        assert!(said.contains("2^31"), "{said}");
    }
    let set = RcuHashSet::from([1]);
    refused(|| set.as_map().pin().reserve(MOST));
    // As before, also its size: it does not keep room that it has not made.
    assert_eq!(map.pin().insert(3, 3), None);
    assert_eq!((map.len(), map.pin().get(&1)), (3, Some(&1)));
    // An iterator that promises too much.
    refused(|| drop((0..u64::MAX).map(|n| (n, n)).collect::<RcuHashMap<_, _>>()));
}

/// A table of 128 MiB is made, of which one page is used, or a few.
#[test]
#[cfg(target_os = "linux")]
fn room_is_not_written_before_it_is_used() {
    use crate::quiet::page_faults;
    const MANY: usize = 1 << 24;
    alone(|| {
        RcuHashMap::from([(0, 0)]).pin().insert(1, 1); // the library's own memory
        let before = page_faults();
        let planned = RcuHashMap::with_capacity_and_hasher(MANY, RandomState::new());
        planned.pin().insert(1, 1);
        let faults = page_faults() - before;
        assert!(faults < 100, "{faults} pages are used for one entry");

        let later = RcuHashMap::from([(1, 1), (2, 2)]);
        let before = page_faults();
        later.pin().reserve(MANY);
        let faults = page_faults() - before;
        assert!(faults < 100, "{faults} pages are used for two entries");
        assert_eq!(later.pin().get(&2), Some(&2));
    });
}
