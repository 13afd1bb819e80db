//! What was seen without a lock is confirmed under it.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use quiescent_collections::{Change, RcuHashMap};

/// A key that is compared without a lock. All have one hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key(u32);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        0_u32.hash(state);
    }
}

#[test]
fn a_key_that_was_inserted_meanwhile_is_seen() {
    let map = RcuHashMap::new();
    let pinned = map.pin();
    for others in [0, 1, 30] {
        pinned.clear();
        (0..others).for_each(|n| assert!(pinned.insert(Key(n + 10), 0).is_none()));
        let mut calls = Vec::new();
        let (old, new) = pinned.compute(Key(1), |seen| {
            calls.push(seen.copied());
            if calls.len() == 1 {
                pinned.insert(Key(1), 5);
            }
            Change::Put(seen.map_or(1, |it| it + 1))
        });
        assert_eq!((old, new), (Some(&5), Some(&6)));
        assert_eq!(calls, [None, Some(5)]);
        assert_eq!(map.len(), others as usize + 1);
    }
}

static MAP: LazyLock<RcuHashMap<Busy, u32>> = LazyLock::new(RcuHashMap::new);

thread_local! {
    static INSERTS: Cell<bool> = const { Cell::new(false) };
}

/// A key whose comparison inserts a key, if this thread says so.
struct Busy(u32);

impl Hash for Busy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        0_u32.hash(state);
    }
}

impl PartialEq for Busy {
    fn eq(&self, other: &Busy) -> bool {
        if INSERTS.take() {
            assert_eq!(MAP.pin().insert(Busy(1), 5), None);
        }
        self.0 == other.0
    }
}

impl Eq for Busy {}

#[test]
fn a_key_that_was_inserted_while_others_were_compared_is_seen() {
    let pinned = MAP.pin();
    pinned.insert(Busy(10), 0);
    INSERTS.set(true);
    assert_eq!(pinned.insert(Busy(1), 6), Some(&5));
    assert_eq!((pinned.get(&Busy(1)), MAP.len()), (Some(&6), 2));
}

#[test]
fn a_value_that_was_replaced_or_removed_meanwhile_is_not_changed() {
    let map = RcuHashMap::new();
    let pinned = map.pin();
    (0..20).for_each(|n| assert!(pinned.insert(Key(n), 0).is_none()));
    for key in [3, 15] {
        let mut calls = 0;
        let removed = pinned.remove_if(&Key(key), |_, value| {
            calls += 1;
            if calls == 1 {
                pinned.insert(Key(key), 7);
            }
            *value == 0
        });
        assert_eq!((removed, calls), (None, 2));
        let removed = pinned.remove_if(&Key(key), |_, _| {
            pinned.remove(&Key(key));
            true
        });
        assert_eq!(removed, None);
    }
    assert_eq!(map.len(), 18);
}

#[test]
fn another_size_meanwhile_is_noticed() {
    let map = RcuHashMap::new();
    let pinned = map.pin();
    pinned.insert(1_000_000, 0);
    let mut calls = 0;
    pinned.compute(1_000_000, |value| {
        calls += 1;
        if calls == 1 {
            (0..500).for_each(|n| assert!(pinned.insert(n, 0).is_none()));
        }
        Change::Put(value.map_or(0, |it| it + 1))
    });
    assert_eq!((calls, pinned.get(&1_000_000)), (2, Some(&1)));
}

/// A chain of thousands needs no stack.
#[test]
fn many_keys_with_one_hash() {
    let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(|| {
        let map = RcuHashMap::new();
        let pinned = map.pin();
        (0..3000).for_each(|n| assert!(pinned.insert(Key(n), n).is_none()));
        assert!((0..3000).all(|n| pinned.get(&Key(n)) == Some(&n)));
        (0..3000).for_each(|n| assert!(pinned.remove(&Key(n)).is_some()));
        assert!(map.is_empty() && pinned.iter().next().is_none());
    });
    thread.unwrap().join().unwrap();
}

/// A destructor of a thread-local runs when the thread's index may have been given back.
#[test]
fn a_thread_that_ends_uses_the_map() {
    use std::sync::Arc;
    struct AtEnd(Arc<RcuHashMap<u64, u64>>, u64);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            let first = self.1 * 1000;
            (first..first + 600).for_each(|n| assert!(self.0.pin().insert(n, n).is_none()));
            (first..first + 500).for_each(|n| assert!(self.0.pin().remove(&n).is_some()));
        }
    }
    thread_local!(static AT_END: std::cell::RefCell<Option<AtEnd>> = const { std::cell::RefCell::new(None) });
    let map = Arc::new(RcuHashMap::new());
    for round in 0..5 {
        std::thread::scope(|scope| {
            for n in 0..4 {
                let map = map.clone();
                scope.spawn(move || AT_END.set(Some(AtEnd(map, round * 4 + n))));
            }
        });
    }
    // A scope does not wait for destructors of thread-locals.
    while Arc::strong_count(&map) > 1 {
        std::thread::yield_now();
    }
    assert_eq!(map.len(), 2000);
    assert_eq!(map.pin().iter().count(), 2000);
}

#[test]
fn removing_one_key_of_a_chain_leaves_the_others() {
    for gone in 0..30 {
        let map = RcuHashMap::new();
        let pinned = map.pin();
        (0..30).for_each(|n| assert!(pinned.insert(Key(n), n).is_none()));
        assert_eq!(pinned.remove(&Key(gone)), Some(&gone));
        for n in 0..30 {
            assert_eq!(
                pinned.get(&Key(n)),
                (n != gone).then_some(&n),
                "{n} without {gone}"
            );
        }
    }
}
