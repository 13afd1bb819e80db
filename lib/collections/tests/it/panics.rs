//! Code of the program that panics leaves the map usable.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::counted::{Count, barriers_until};
use quiescent_collections::RcuHashMap;

thread_local! {
    /// So many calls from now, the code panics.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

fn may_panic() {
    let left = LEFT.get();
    LEFT.set(left.wrapping_sub(1));
    assert_ne!(left, 0, "as planned");
}

/// A key whose `Hash` and `Eq` panic when it is their time. Its hash has few values.
#[derive(Clone, Debug)]
struct Key(u64);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        may_panic();
        (self.0 % 50).hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        may_panic();
        self.0 == other.0
    }
}

impl Eq for Key {}

#[test]
fn a_panic_in_hash_or_eq_changes_nothing() {
    let count = Count::default();
    let map = RcuHashMap::new();
    let mut expected = std::collections::BTreeSet::new();
    for n in 0..1500_u64 {
        LEFT.set(n % 41);
        let adds = n % 3 != 0;
        let done = catch_unwind(AssertUnwindSafe(|| {
            let map = map.pin();
            match adds {
                true => map.insert(Key(n % 400), count.value(n)).is_some(),
                false => map.remove(&Key((n * 7) % 400)).is_some(),
            }
        }));
        LEFT.set(u64::MAX);
        // A panic in a resize comes before the change.
        let _ = match (done.is_ok(), adds) {
            (true, true) => expected.insert(n % 400),
            (true, false) => expected.remove(&((n * 7) % 400)),
            (false, _) => false,
        };
        let key = if adds { n % 400 } else { (n * 7) % 400 };
        let is_there = map.pin().contains_key(&Key(key));
        if is_there != expected.contains(&key) {
            // The change was made, and the panic came after it, when the next resize was begun.
            assert!(done.is_err() && is_there == adds, "{n}");
            if adds {
                expected.insert(key)
            } else {
                expected.remove(&key)
            };
        }
    }
    assert_eq!(map.len(), expected.len());
    for n in 0..400 {
        assert_eq!(
            map.pin().contains_key(&Key(n)),
            expected.contains(&n),
            "{n}"
        );
    }
    drop(map);
    assert_eq!(count.now(), 0);
}

/// The units that have moved are counted, whatever the next one's keys do.
#[test]
fn a_panic_in_hash_does_not_keep_a_resize_from_its_end() {
    let map = Arc::new(RcuHashMap::new());
    (0..400).for_each(|n| assert!(map.pin().insert(Key(n), n).is_none()));
    let panics_at = |at, change: &dyn Fn()| {
        LEFT.set(at);
        let caught = catch_unwind(AssertUnwindSafe(change)).is_err();
        LEFT.set(u64::MAX);
        caught
    };
    for at in 0..40 {
        // Again if it was the worker that moved all units, at another test's barrier.
        let begun = (0..100).any(|_| {
            map.pin().shrink_to_fit();
            panics_at(0, &|| map.pin().reserve(50_000))
        });
        assert!(begun, "no call moves a unit");
        panics_at(at, &|| assert!(map.pin().try_insert(Key(at), 0).is_err()));
        panics_at(at, &|| map.pin().reserve(50_000));
        let (send, ended) = channel();
        let map = map.clone();
        std::thread::spawn(move || {
            map.pin().reserve(50_000);
            send.send(())
        });
        let ended = ended.recv_timeout(Duration::from_secs(100));
        assert!(ended.is_ok(), "the resize does not end");
    }
}

/// What was removed before its weight was asked for is freed.
#[test]
fn a_weight_that_panics() {
    let count = Count::default();
    let map = RcuHashMap::new().with_weight(|_, _| panic!("as planned"));
    map.pin().insert(1, count.value(1));
    let caught = catch_unwind(AssertUnwindSafe(|| map.pin().remove(&1).is_some()));
    assert!(caught.is_err() && map.is_empty());
    for _ in 0..256 {
        map.pin().insert(2, count.value(2));
        let _ = catch_unwind(AssertUnwindSafe(|| map.pin().remove(&2).is_some()));
    }
    barriers_until(|| count.now() < 10);
    assert!(count.now() < 10, "{}", count.now());
}

#[test]
fn a_closure_that_panics_changes_nothing() {
    let map = RcuHashMap::from([(1, 1)]);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        map.pin().update(1, |_| panic!("as planned"));
    }));
    assert!(caught.is_err());
    assert_eq!(map.pin().get(&1), Some(&1));
    assert_eq!(map.pin().insert(1, 2), Some(&1));
}

#[test]
fn a_destructor_that_panics_spares_the_others() {
    struct Value(
        u64,
        #[expect(dead_code, reason = "it counts")] crate::counted::Counted,
    );
    impl Drop for Value {
        fn drop(&mut self) {
            assert_ne!(self.0, 5, "as planned");
        }
    }
    let count = Count::default();
    let map = RcuHashMap::new();
    for n in 0..600 {
        map.pin().insert(n, Value(n, count.value(n)));
    }
    for n in 0..300 {
        map.pin().remove(&n);
    }
    barriers_until(|| count.now() == 300);
    assert_eq!(count.now(), 300);
    drop(map);
    assert_eq!(count.now(), 0);
    // Also those that are taken out of the map meanwhile.
    let map: RcuHashMap<_, _> = (0..100).map(|n| (n, Value(n, count.value(n)))).collect();
    map.pin().remove(&5);
    assert!(catch_unwind(AssertUnwindSafe(|| map.into_iter().len())).is_err());
    assert_eq!(count.now(), 0);
}

thread_local! {
    /// What a thread's lies are drawn from.
    static RANDOM: Cell<u64> = const { Cell::new(1) };
}

fn random() -> u64 {
    RANDOM.set(RANDOM.get().wrapping_mul(0x5851_F42D_4C95_7F2D) + 1);
    RANDOM.get()
}

/// Keys that are equal now and then: entries may be there twice, or be taken for another, and nothing else.
#[test]
fn a_comparison_that_lies() {
    struct Liar(u64, crate::counted::Counted);
    impl PartialEq for Liar {
        fn eq(&self, other: &Liar) -> bool {
            assert_eq!(
                (self.0, other.0),
                (self.1.0, other.1.0),
                "a key that was dropped"
            );
            random() >> 62 == 0
        }
    }
    impl Eq for Liar {}
    impl Hash for Liar {
        fn hash<H: Hasher>(&self, state: &mut H) {
            (self.0 % 100).hash(state);
        }
    }
    let count = Count::default();
    let map = RcuHashMap::new();
    std::thread::scope(|scope| {
        for who in 0..2 {
            let (map, count) = (&map, &count);
            scope.spawn(move || {
                RANDOM.set(who + 1);
                let key = |n: u64| Liar(n % 700, count.value(n % 700));
                for n in 0..10_000 {
                    map.pin().insert(key(n), n);
                    map.pin().remove(&key(n * 7));
                    map.pin().update(key(n * 3), |n| n + 1);
                    map.pin().remove_if(&key(n * 5), |_, n| n % 2 == 0);
                    if n % 2500 == 2499 {
                        map.pin().shrink_to_fit();
                    }
                }
            });
        }
    });
    assert_eq!(map.pin().iter().count(), map.len());
    drop(map);
    assert_eq!(count.now(), 0);
}

/// A hash that is another one at each call: entries may be lost, and nothing else.
#[test]
fn a_hash_that_lies() {
    #[derive(PartialEq, Eq)]
    struct Liar(u64);
    impl Hash for Liar {
        fn hash<H: Hasher>(&self, state: &mut H) {
            state.write_u64(random());
        }
    }
    let count = Count::default();
    let map = RcuHashMap::new();
    std::thread::scope(|scope| {
        for who in 0..2 {
            let (map, count) = (&map, &count);
            scope.spawn(move || {
                RANDOM.set(who + 1);
                for n in 0..20_000 {
                    map.pin().insert(Liar(n % 3000), count.value(n));
                    map.pin().remove(&Liar(n % 1000));
                    if n % 5000 == 4999 {
                        map.pin().clear();
                        map.pin().shrink_to_fit();
                    }
                }
            });
        }
    });
    drop(map);
    assert_eq!(count.now(), 0);
}
