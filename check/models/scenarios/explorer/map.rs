//! The hash map: a table that grows from two buckets to eight, or shrinks to two, beside calls of other
//! threads. It moves in two units.
//!
//! A value is ten times its key, so that a reader sees when it finds another entry than that of its key.

use std::rc::Rc;

use crate::common::{World, check, join_all};
use crate::in_order::{InOrder, Key};
use quiescent_collections::RcuHashMap;
use quiescent_models::explorer::{JoinHandle, branching};
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;

type Map = RcuHashMap<Key, u64, InOrder>;

/// The map is leaked, as the domain is: a failing execution frees nothing.
struct Scene {
    world: Rc<World>,
    map: &'static Map,
}

/// A world with a map of these keys, each with a value ten times as large.
fn scene(keys: impl IntoIterator<Item = u64>) -> Scene {
    let world = World::new(Domain::new());
    world.domain.enter();
    let map: &'static Map = Box::leak(Box::new(RcuHashMap::with_hasher(InOrder)));
    for key in keys {
        map.pin().insert(Key(key), 10 * key);
    }
    Scene { world, map }
}

impl Scene {
    fn thread(&self, body: impl FnOnce(&'static Map) + 'static) -> JoinHandle<()> {
        let map = self.map;
        self.world.registered(move |_| body(map))
    }

    /// Other threads have ended: the map has these entries.
    fn end<const N: usize>(self, threads: [JoinHandle<()>; N], entries: &[(u64, u64)]) {
        join_all(threads);
        branching(false);
        assert_eq!(visit(self.map), entries);
        assert_eq!(self.map.len(), entries.len());
        let map = std::ptr::from_ref(self.map).cast_mut();
        // SAFETY: from a box, and no thread is left that uses it.
        drop(unsafe { Box::from_raw(map) });
        self.world.domain.drain();
        self.world.domain.leave();
    }
}

fn grow(map: &Map) {
    map.reserve(60, &rcu::read_lock());
}

fn shrink(map: &Map) {
    map.shrink_to_fit(&rcu::read_lock());
}

/// All entries, in the order of their keys.
fn visit(map: &Map) -> Vec<(u64, u64)> {
    let guard = rcu::read_lock();
    let mut all: Vec<_> = map
        .iter(&guard)
        .map(|(key, value)| (key.0, *value))
        .collect();
    all.sort_unstable();
    all
}

fn found(map: &Map, key: u64) -> Option<u64> {
    map.get(&Key(key), &rcu::read_lock()).copied()
}

const FOUR: [(u64, u64); 4] = [(0, 0), (1, 10), (4, 40), (5, 50)];
const KEYS: [u64; 4] = [0, 1, 4, 5];

/// A table that grows, beside another thread; it has these entries at the end.
fn growing(other: fn(&Map), entries: &[(u64, u64)]) {
    let scene = scene(KEYS);
    let other = scene.thread(other);
    scene.world.begin(1);
    grow(scene.map);
    scene.end([other], entries);
}

/// The same with a table that shrinks.
fn shrinking(other: fn(&Map), entries: &[(u64, u64)]) {
    let scene = scene(KEYS);
    grow(scene.map);
    let other = scene.thread(other);
    scene.world.begin(1);
    shrink(scene.map);
    scene.end([other], entries);
}

fn visits_four(map: &Map) {
    assert_eq!(visit(map), FOUR);
}

#[test]
fn growth_against_reads() {
    check("growth and reads", 2, 1, || {
        let reads = |map: &Map| {
            assert_eq!(found(map, 5), Some(50));
            assert_eq!(found(map, 1), Some(10));
        };
        growing(reads, &FOUR);
    });
}

#[test]
fn shrinking_against_reads() {
    check("shrinking and reads", 2, 1, || {
        let reads = |map: &Map| {
            assert_eq!(found(map, 5), Some(50));
            assert_eq!(found(map, 0), Some(0));
        };
        shrinking(reads, &FOUR);
    });
}

#[test]
fn growth_against_iteration() {
    check("growth and iteration", 2, 1, || {
        growing(visits_four, &FOUR);
    });
}

#[test]
fn shrinking_against_iteration() {
    check("shrinking and iteration", 2, 1, || {
        shrinking(visits_four, &FOUR);
    });
}

#[test]
fn growth_against_an_insertion_and_a_removal() {
    check("growth and writes", 1, 1, || {
        let writes = |map: &Map| {
            assert_eq!(map.pin().insert(Key(2), 20), None);
            assert_eq!(found(map, 2), Some(20));
            assert_eq!(map.pin().remove(&Key(4)), Some(&40));
            assert_eq!(found(map, 4), None);
        };
        growing(writes, &[(0, 0), (1, 10), (2, 20), (5, 50)]);
    });
}

#[test]
fn shrinking_against_a_replacement_and_a_removal() {
    check("shrinking and writes", 1, 1, || {
        let writes = |map: &Map| {
            assert_eq!(map.pin().insert(Key(1), 11), Some(&10));
            assert_eq!(found(map, 1), Some(11));
            assert_eq!(map.pin().remove(&Key(5)), Some(&50));
            assert_eq!(found(map, 5), None);
        };
        shrinking(writes, &[(0, 0), (1, 11), (4, 40)]);
    });
}

/// Neither addition is lost.
#[test]
fn two_updates_of_a_key() {
    check("updates", 1, 1, || {
        let scene = scene([0, 1]);
        let writer = scene.thread(|map| {
            assert!(map.pin().update(Key(1), |value| value + 1).is_some());
        });
        scene.world.begin(1);
        let new = scene.map.pin().update(Key(1), |value| value + 2).copied();
        assert!(matches!(new, Some(12 | 13)));
        scene.end([writer], &[(0, 0), (1, 13)]);
    });
}

/// One of both makes the value, and the table is moved meanwhile.
#[test]
fn two_insertions_of_a_key() {
    check("insertions", 1, 1, || {
        let scene = scene([0, 1]);
        grow(scene.map);
        let insert = |map: &Map| map.pin().try_insert(Key(4), 40).is_ok();
        let other = scene.thread(move |map| {
            let (here, seen) = (insert(map), found(map, 4));
            assert_eq!(seen, Some(40), "inserted: {here}");
        });
        scene.world.begin(1);
        shrink(scene.map);
        insert(scene.map);
        assert_eq!(found(scene.map, 4), Some(40));
        scene.end([other], &[(0, 0), (1, 10), (4, 40)]);
    });
}

/// The thirteenth entry of a bucket makes an overflow bucket, to which the twelfth moves; the removal of both
/// unlinks it.
#[test]
fn an_overflow_bucket_against_reads() {
    const TWELVE: u64 = 12;
    check("overflow", 1, 2, || {
        // Multiples of 8 are in the first bucket of all tables.
        let scene = scene((0..TWELVE).map(|key| 8 * key));
        let reader = scene.thread(|map| {
            assert_eq!(found(map, 88), Some(880));
            assert!(matches!(found(map, 96), None | Some(960)));
        });
        scene.world.begin(1);
        assert_eq!(scene.map.pin().insert(Key(96), 960), None);
        assert_eq!(scene.map.pin().remove(&Key(96)), Some(&960));
        let all: Vec<_> = (0..TWELVE).map(|key| (8 * key, 80 * key)).collect();
        scene.end([reader], &all);
    });
}
