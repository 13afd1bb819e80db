//! A large map whose values know their age: a reader never sees one that was dropped, nor an older one than
//! it has seen before, and finds each key that stays.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use quiescent_collections::RcuHashMap;

/// Set in a value that was dropped; its memory stays, as the map keeps it.
const DROPPED: u64 = 1 << 63;

/// A value, with the number of the round in which it was written.
struct Aged(AtomicU64);

impl Aged {
    fn new(age: u64) -> Aged {
        Aged(AtomicU64::new(age))
    }

    fn age(&self) -> u64 {
        let age = self.0.load(Ordering::Relaxed);
        assert_eq!(age & DROPPED, 0, "dropped under a reader");
        age
    }
}

impl Drop for Aged {
    fn drop(&mut self) {
        let before = self.0.fetch_or(DROPPED, Ordering::Relaxed);
        assert_eq!(before & DROPPED, 0, "dropped twice");
    }
}

/// Keys below this one stay; so many others come and go.
const STAY: u64 = 20_000;
const PASS: u64 = 60_000;
const ROUNDS: u64 = 10;

/// Keys that a reader looks up in one section, and then looks at once more.
const HELD: u64 = 64;

fn read(map: &RcuHashMap<u64, Aged>, stop: &AtomicBool, mut key: u64) {
    let mut seen = vec![0; STAY as usize];
    while !stop.load(Ordering::Relaxed) {
        let view = map.pin();
        let mut held = Vec::new();
        for _ in 0..HELD {
            key = (key + 7919) % STAY;
            let value = view.get(&key).expect("a key that stays");
            let age = value.age();
            assert!(age >= seen[key as usize], "{key}: an older value");
            seen[key as usize] = age;
            held.push((value, age));
            held.extend(view.get(&(STAY + key)).map(|it| (it, it.age())));
        }
        thread::yield_now();
        for (value, age) in held {
            assert_eq!(value.age(), age, "another value in its place");
        }
    }
}

#[test]
fn no_reader_sees_a_value_that_was_dropped() {
    let map = RcuHashMap::new();
    for key in 0..STAY {
        map.pin().insert(key, Aged::new(0));
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for reader in 0..2 {
            let (map, stop) = (&map, &stop);
            scope.spawn(move || read(map, stop, reader));
        }
        let writer = scope.spawn(|| {
            for round in 1..=ROUNDS {
                for key in STAY..STAY + PASS {
                    map.pin().insert(key, Aged::new(round));
                    map.pin().insert(key % STAY, Aged::new(round));
                }
                for key in STAY..STAY + PASS {
                    assert!(map.pin().remove(&key).is_some_and(|it| it.age() == round));
                }
            }
        });
        let written = writer.join();
        stop.store(true, Ordering::Relaxed);
        written.unwrap();
    });
    assert_eq!(map.len() as u64, STAY);
}
