//! The hash map under C11, in membarrier mode: then sections have no fences that order what they must not.
//! The explorer checks the logic in more cases (`scenarios/explorer/map.rs`); these models check the
//! orderings.
//!
//! Values are loom's cells: a value that is read before it is published, or dropped before its readers have
//! ended, fails the model, and so does an atomic that is used before it is published.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64 as RealU64, Ordering::Relaxed as RealRelaxed};

use crate::common::watched::Dropping;
use crate::common::{check_unfenced, join, thread_of};
use crate::in_order::{InOrder, Key};
use quiescent_collections::RcuHashMap;
use quiescent_models::loom::thread::JoinHandle;
use quiescent_on_loom::check::Model as Domain;

struct Scene {
    domain: Domain,
    map: RcuHashMap<Key, Dropping, InOrder>,
    dropped: Arc<RealU64>,
}

/// A map with these keys, each with a value ten times as large. The calling thread has made them.
fn scene(domain: Domain, keys: impl IntoIterator<Item = u64>) -> Arc<Scene> {
    weighed(domain, keys, |_, _| 0)
}

fn weighed(
    domain: Domain,
    keys: impl IntoIterator<Item = u64>,
    weight: fn(&Key, &Dropping) -> usize,
) -> Arc<Scene> {
    domain.enter();
    let scene = Arc::new(Scene {
        domain,
        map: RcuHashMap::with_hasher(InOrder).with_weight(weight),
        dropped: Arc::default(),
    });
    keys.into_iter().for_each(|key| assert!(scene.insert(key)));
    scene
}

impl Scene {
    fn thread(self: &Arc<Scene>, body: impl FnOnce(&Scene) + 'static) -> JoinHandle<()> {
        thread_of(self.domain, self, body)
    }

    /// Returns whether the key is new.
    fn insert(&self, key: u64) -> bool {
        let value = Dropping::new(10 * key, &self.dropped);
        self.map.pin().insert(Key(key), value).is_none()
    }

    fn remove(&self, key: u64) {
        assert!(self.map.pin().remove(&Key(key)).is_some());
    }

    /// Whether the key is found, with its value.
    fn finds(&self, key: u64) -> bool {
        let pinned = self.map.pin();
        let value = pinned.get(&Key(key)).map(Dropping::get);
        assert!(value.is_none_or(|value| value == 10 * key), "{value:?}");
        value.is_some()
    }

    fn grow(&self) {
        self.map.pin().reserve(20); // four buckets
    }

    /// The worker's: it asks for batches, takes them, and frees them, if no section stays open.
    fn work(&self) {
        (0..3).for_each(|_| self.domain.work());
    }

    /// Other threads have ended, and so many values were made, of which these are still in the map.
    fn end<const N: usize>(
        self: Arc<Scene>,
        threads: [JoinHandle<()>; N],
        made: u64,
        keys: &[u64],
    ) {
        threads.into_iter().for_each(join);
        assert_eq!(self.map.len(), keys.len());
        keys.iter()
            .for_each(|&key| assert!(self.finds(key), "{key} is lost"));
        self.domain.settle();
        let removed = made - keys.len() as u64;
        let Scene { map, dropped, .. } = Arc::into_inner(self).expect("no other thread has it");
        assert_eq!(dropped.load(RealRelaxed), removed, "what was removed stays");
        drop(map);
        assert_eq!(dropped.load(RealRelaxed), made);
    }
}

/// `[MAP-11]`, and MAP-1 and MAP-4: the first entry is complete when it is found, with all that leads to it.
#[test]
fn a_first_insertion_against_a_read() {
    check_unfenced("map: first insertion", 2, || {
        let scene = scene(Domain::deferring(1), []);
        let reader = scene.thread(|it| {
            it.finds(1);
        });
        assert!(scene.insert(1));
        scene.end([reader], 1, &[1]);
    });
}

/// `[MAP-7]`: a reader that begins with the new table sees all of it; and MAP-5.
#[test]
fn growth_against_a_read() {
    check_unfenced("map: growth and read", 2, || {
        let scene = scene(Domain::deferring(1), [0, 4]);
        let reader = scene.thread(|it| assert!(it.finds(4)));
        scene.grow();
        scene.end([reader], 2, &[0, 4]);
    });
}

/// `[MAP-7]`: a writer that helps sees the new table.
#[test]
fn growth_against_a_writer_that_helps() {
    check_unfenced("map: growth and write", 1, || {
        let scene = scene(Domain::deferring(1), [0, 4]);
        let writer = scene.thread(|it| {
            assert!(it.insert(5));
            assert!(it.finds(0));
        });
        scene.grow();
        scene.end([writer], 3, &[0, 4, 5]);
    });
}

/// `[MAP-8]`: who counts the last unit sees what others have moved, also units that it has not looked at.
#[test]
fn the_last_unit_against_the_others() {
    check_unfenced("map: last unit", 1, || {
        let scene = scene(Domain::deferring(1), [2, 6]);
        scene.grow();
        let writer = scene.thread(|it| {
            assert!(it.insert(7)); // in the last unit of four
            assert!(it.finds(2)); // in the second
        });
        scene.map.pin().reserve(40); // eight buckets
        scene.end([writer], 3, &[2, 6, 7]);
    });
}

/// `[MAP-9]`: an overflow bucket is complete when its link is found, and so is what has moved there.
#[test]
fn an_overflow_bucket_against_a_read() {
    check_unfenced("map: overflow", 2, || {
        // Multiples of 8 are in the first bucket of all tables.
        let scene = scene(Domain::deferring(1), (0..12).map(|key| 8 * key));
        let reader = scene.thread(|it| {
            assert!(it.finds(88));
            it.finds(96);
        });
        assert!(scene.insert(96));
        let keys: Vec<u64> = (0..13).map(|key| 8 * key).collect();
        scene.end([reader], 13, &keys);
    });
}

/// `[MAP-2]`: an index is used again by another thread, while a section may have what was there. What is
/// removed is a batch by itself, as it is heavy.
#[test]
fn an_index_that_is_used_again() {
    check_unfenced("map: index used again", 1, || {
        let domain = Domain::deferring(1).leaves(2);
        let scene = weighed(domain, [0, 1], |_, _| usize::MAX);
        let reader = scene.thread(|it| {
            let pinned = it.map.pin();
            let old = pinned.get(&Key(1)).map(|value| (value, value.get()));
            let new = pinned.get(&Key(2)).map(|value| (value, value.get()));
            assert!(old.is_none_or(|(value, was)| was == 10 && value.get() == 10));
            assert!(new.is_none_or(|(value, was)| was == 20 && value.get() == 20));
        });
        let writer = scene.thread(|it| assert!(it.insert(2)));
        scene.remove(1);
        scene.work();
        scene.end([reader, writer], 3, &[0, 2]);
    });
}

/// `[MAP-3]`: a batch is taken from its thread, which goes on meanwhile.
#[test]
fn sealing_against_the_owner() {
    check_unfenced("map: sealing", 1, || {
        let scene = scene(Domain::deferring(1), [0, 1, 4]);
        scene.remove(0);
        let worker = scene.thread(Scene::work);
        scene.remove(1);
        assert!(scene.insert(2));
        scene.end([worker], 4, &[2, 4]);
    });
}

/// `[MAP-10]`: a batch that is begun while the callback ends is found by it, or arms it again.
#[test]
fn the_end_of_sealing_against_a_removal() {
    check_unfenced("map: end of sealing", 1, || {
        let scene = scene(Domain::deferring(1), [0, 1]);
        scene.remove(0);
        let other = scene.thread(|it| it.remove(1));
        scene.work();
        scene.end([other], 2, &[]);
    });
}
