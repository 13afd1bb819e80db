//! Each entry is dropped once: at its time, or with the map.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::counted::{Count, barriers_until};
use quiescent::barrier;
use quiescent_collections::RcuHashMap;

#[test]
fn what_is_removed_is_dropped_after_its_readers() {
    let count = Count::default();
    let map = RcuHashMap::new();
    {
        let map = map.pin();
        for n in 0..300 {
            map.insert(n, count.value(n));
        }
        let kept = map.get(&7).unwrap();
        for n in 0..300 {
            map.remove(&n);
        }
        assert_eq!((kept.0, count.now()), (7, 300)); // in this section nothing was dropped
    }
    // The callback that seals comes with the first barrier, and again after a grace period.
    barriers_until(|| count.now() == 0);
    assert_eq!(count.now(), 0);
    drop(map);
    assert_eq!(count.now(), 0);
}

#[test]
fn a_map_that_is_dropped_frees_everything_at_once() {
    let count = Count::default();
    let map = RcuHashMap::new();
    for n in 0..3000 {
        map.pin().insert(n, count.value(n));
    }
    for n in 0..1000 {
        map.pin().insert(n, count.value(n));
    }
    for n in 500..2500 {
        map.pin().remove(&n);
    }
    quiescent::read(|_| drop(map)); // also in a section
    assert_eq!(count.now(), 0);
    barrier();
    assert_eq!(count.now(), 0);
}

/// A string stays the key of its entry, whatever replaces its value, and is freed with the last entry.
#[test]
fn a_string_stays_the_key() {
    let count = Count::default();
    let map = RcuHashMap::new();
    for n in 0..600 {
        map.pin().insert(n.to_string(), count.value(n));
    }
    let address = |key: &str| {
        let map = map.pin();
        let found = map.get_key_value(key);
        found.map(|(key, value)| (key.as_ptr() as usize, value.0))
    };
    let before = address("7").expect("it is there");
    for n in 1..1500 {
        let map = map.pin();
        let old = map.replace("7".to_string(), count.value(n)).unwrap();
        map.insert("8".to_string(), count.value(n));
        assert!(old.0 == 7 || old.0 + 1 == n);
    }
    assert_eq!(address("7"), Some((before.0, 1499)));
    for n in 0..300 {
        map.pin().remove(&n.to_string());
    }
    barriers_until(|| count.now() == 300);
    assert_eq!((count.now(), address("7")), (300, None));
    for n in 300..600 {
        map.pin().insert(n.to_string(), count.value(n)); // as above, and the map is dropped before the batch
    }
    drop(map);
    assert_eq!(count.now(), 0);
}

#[test]
fn a_map_in_a_map() {
    let count = Count::default();
    let outer = RcuHashMap::new();
    for n in 0..50 {
        let inner = RcuHashMap::new();
        inner.pin().insert(n, count.value(n));
        outer.pin().insert(n, inner);
    }
    for n in 0..25 {
        outer.pin().remove(&n);
    }
    assert_eq!(outer.pin().get(&30).unwrap().pin().get(&30).unwrap().0, 30);
    drop(outer);
    assert_eq!(count.now(), 0);
}

/// A value whose destructor uses the map that it was in.
#[test]
fn a_destructor_may_use_the_map() {
    struct Removes(u64, Arc<RcuHashMap<u64, Option<Removes>>>);
    impl Drop for Removes {
        fn drop(&mut self) {
            self.1.pin().remove(&self.0);
            self.1.pin().insert(self.0 + 1_000_000, None);
        }
    }
    let map = Arc::new(RcuHashMap::new());
    for n in 0..1000 {
        map.pin().insert(n, Some(Removes(n, map.clone())));
    }
    for n in 0..1000 {
        map.pin().remove(&n);
    }
    for _ in 0..5 {
        barrier();
    }
    let pinned = map.pin();
    assert_eq!(pinned.keys().filter(|key| **key >= 1_000_000).count(), 1000);
}

#[test]
fn owned_iteration_takes_each_entry_once() {
    let count = Count::default();
    let map = RcuHashMap::new();
    for n in 0..2000 {
        map.pin().insert(n, count.value(n));
    }
    let mut all = map.into_iter();
    assert_eq!(all.len(), 2000);
    let (key, value) = all.next().unwrap();
    assert_eq!((key, count.now()), (value.0, 2000));
    drop(all);
    assert_eq!(count.now(), 1);
    drop(value);
    assert_eq!(count.now(), 0);
}

/// Maps that are removed are freed by the library, with what they have removed themselves.
#[test]
fn a_map_that_is_removed_from_a_map() {
    let count = Count::default();
    let outer = RcuHashMap::new();
    for n in 0..40 {
        let inner = RcuHashMap::new();
        inner.pin().insert(n, count.value(n));
        outer.pin().insert(n, inner);
        let outer = outer.pin();
        let inner = outer.get(&n).unwrap().pin();
        assert_eq!(inner.insert(n, count.value(n)).unwrap().0, n); // the old one waits
    }
    {
        let outer = outer.pin();
        let kept = outer.get(&7).unwrap();
        outer.clear();
        assert!(kept.pin().insert(8, count.value(8)).is_none()); // of use until the section ends
    }
    barriers_until(|| count.now() == 0);
    assert_eq!(count.now(), 0);
}

/// Things without a size are dropped, too.
#[test]
fn things_without_a_size_are_dropped() {
    static DROPPED: AtomicU64 = AtomicU64::new(0);
    #[derive(PartialEq, Eq, Hash)]
    struct Thing;
    impl Drop for Thing {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
    let map = RcuHashMap::new();
    for _ in 0..300 {
        map.pin().insert(Thing, Thing);
    }
    assert_eq!(map.len(), 1);
    map.pin().remove(&Thing); // and one that is only looked for
    drop(map);
    assert_eq!(DROPPED.load(Ordering::Relaxed), 601);
}

#[test]
fn things_without_a_size() {
    let map = RcuHashMap::new();
    assert_eq!(map.pin().insert((), ()), None);
    assert_eq!(map.pin().insert((), ()), Some(&()));
    assert_eq!(map.len(), 1);
    assert_eq!(map.pin().remove(&()), Some(&()));
    assert!(map.is_empty());
}
