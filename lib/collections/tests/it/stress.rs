//! Threads that use one map: keys that stay are always found, and visited once.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use quiescent::{Domain, Guard, Handle, Srcu};
use quiescent_collections::{Hashes, Key, RcuHashMap};

/// So many keys stay.
const STAY: u64 = 500;

/// Two writers grow and shrink the map, with keys of their own; two readers look for the keys that stay.
fn grow_and_shrink<K, D>(domain: D, key: impl Fn(u64) -> K + Sync, up_to: u64, rounds: u64)
where
    K: Key + Ord,
    D: Handle + Send + Sync + 'static,
{
    let map: RcuHashMap<K, Box<u64>, _, D> = RcuHashMap::new_in(domain);
    for n in 0..STAY {
        map.pin().insert(key(n), Box::new(n));
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (1..3)
            .map(|who| {
                let (map, key) = (&map, &key);
                scope.spawn(move || {
                    let own = who << 40;
                    for _ in 0..rounds {
                        for n in own..own + up_to {
                            assert!(map.pin().insert(key(n), Box::new(n)).is_none());
                        }
                        // Values of the keys that stay are replaced.
                        for n in (who..STAY).step_by(7) {
                            assert!(map.pin().insert(key(n), Box::new(n)).is_some());
                        }
                        for n in own..own + up_to {
                            assert_eq!(map.pin().remove(&key(n)).map(|it| **it), Some(n));
                        }
                    }
                })
            })
            .collect();
        for reader in 0..2 {
            let (map, key, stop) = (&map, &key, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let view = map.pin();
                    for n in 0..STAY {
                        assert_eq!(view.get(&key(n)).map(|it| **it), Some(n));
                    }
                    if reader == 1 {
                        visit_all(map);
                    }
                }
            });
        }
        for writer in writers {
            writer.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(map.len() as u64, STAY);
    visit_all(&map);
}

fn visit_all<K: Key, D: Handle + 'static>(map: &RcuHashMap<K, Box<u64>, impl Hashes, D>) {
    let guard = Guard::new_in(map.domain().clone());
    let mut seen = HashSet::new();
    for (_, value) in map.iter(&guard).filter(|it| **it.1 < STAY) {
        assert!(seen.insert(**value), "{value} was visited twice");
    }
    assert_eq!(seen.len() as u64, STAY);
}

#[test]
fn numbers() {
    grow_and_shrink(quiescent::Global, |n| n, 20_000, 3);
}

#[test]
fn strings_in_a_domain() {
    let domain = Domain::new();
    grow_and_shrink(domain, |n| n.to_string(), 5000, 3);
}

#[test]
fn keys_of_a_program_in_an_srcu() {
    #[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
    struct Key(u64);
    grow_and_shrink(Srcu::new(), Key, 5000, 3);
}

/// Each thread adds to the same keys; no addition is lost.
#[test]
fn computed_values_are_exact() {
    const KEYS: u64 = 4;
    const EACH: u64 = 150_000;
    let map = RcuHashMap::new();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for n in 0..EACH {
                    map.pin().compute(n % KEYS, |it| {
                        quiescent_collections::Change::Put(it.map_or(1, |it| it + 1))
                    });
                }
            });
        }
    });
    assert_eq!(map.pin().values().sum::<u64>(), 4 * EACH);
    assert_eq!(map.len() as u64, KEYS);
}

/// Of threads that insert and remove the same keys, one succeeds each time.
fn insert_and_remove_the_same<K: Key>(make: impl Fn(u64) -> K + Sync) {
    let map = RcuHashMap::new();
    let balance: isize = thread::scope(|scope| {
        let threads: Vec<_> = (0..4_u64)
            .map(|who| {
                let (map, make) = (&map, &make);
                scope.spawn(move || {
                    let mut balance = 0;
                    for n in 0..40_000_u64 {
                        let key = make((n * 7 + who * 13) % 97);
                        match (n ^ who) & 1 {
                            0 => balance += isize::from(map.pin().try_insert(key, n).is_ok()),
                            _ => balance -= isize::from(map.pin().remove(&key).is_some()),
                        }
                    }
                    balance
                })
            })
            .collect();
        threads.into_iter().map(|it| it.join().unwrap()).sum()
    });
    assert_eq!(map.pin().iter().count() as isize, balance);
    assert_eq!(map.len() as isize, balance);
}

#[test]
fn each_number_is_inserted_and_removed_once() {
    insert_and_remove_the_same(|n| n);
}

#[test]
fn each_key_of_a_program_is_inserted_and_removed_once() {
    #[derive(PartialEq, Eq, Hash)]
    struct Key(u64);
    insert_and_remove_the_same(Key);
}
