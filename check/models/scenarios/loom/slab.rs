//! The slab under C11, by itself, in membarrier mode.

use std::sync::Arc;

use crate::common::watched::Watched;
use crate::common::{check_unfenced, join, start, thread_of};
use quiescent_collections::check::{Full, Slab, Unit};
use quiescent_models::loom::AtomicU32;
use quiescent_models::loom::Ordering::{Acquire, Relaxed, Release};
use quiescent_on_loom as rcu;
use rcu::check::Model as Domain;

/// Loom checks that it is complete when it is read.
struct Item(Watched);

/// A batch: more than the scenarios remove.
const BATCH: usize = 16;
/// So many items are in the chunks of the first directory.
const FIRST: u32 = 4 << Item::SHIFT;

impl Unit for Item {
    const SHIFT: u32 = 6;
    const BATCH: usize = BATCH;
    const READY: usize = 0;
}

struct Scene {
    domain: Domain,
    slab: Slab<Item>,
    published: AtomicU32,
}

fn scene() -> Arc<Scene> {
    let domain = Domain::deferring(1).leaves(2);
    domain.enter();
    Arc::new(Scene {
        domain,
        slab: Slab::new(),
        published: AtomicU32::new(0),
    })
}

impl Scene {
    /// Takes an index, of which the item contains it.
    fn take(&self) -> u32 {
        let _guard = rcu::read_lock();
        let index = self.slab.take(self.slab.magazines().desk());
        // SAFETY: the index is ours.
        unsafe { self.slab.at(index).write(Item(Watched::new(index.into()))) };
        index
    }

    /// Puts an index to the thread's batch.
    fn remove(&self, index: u32) {
        let _guard = rcu::read_lock();
        let mine = self.slab.magazines().desk().mine();
        mine.remove(index, 0, BATCH);
    }

    /// Takes what other threads have removed, as the callback of a map.
    fn seal(&self) -> Vec<Full> {
        let mut sealed = Vec::new();
        let magazines = self.slab.magazines();
        if magazines.ask() {
            rcu::synchronize();
            magazines.asked(&mut |mine| sealed.push(mine.seal().0));
        }
        sealed
    }
}

/// `[MAP-1]`: a reader that finds the larger directory sees what it contains.
#[test]
fn a_larger_directory_against_a_read() {
    check_unfenced("slab: directory", 3, || {
        let scene = scene();
        (0..FIRST).for_each(|_| scene.published.store(scene.take(), Release));
        let reader = start(&scene, |scene| {
            let index = scene.published.load(Acquire);
            // SAFETY: taken above or below, and published.
            let item = unsafe { &*scene.slab.at(index) };
            assert_eq!(item.0.get(), index.into());
        });
        scene.published.store(scene.take(), Release);
        assert_eq!(scene.published.load(Acquire), FIRST, "a chunk was added");
        join(reader);
    });
}

/// `[MAP-12]`: two threads whose lists are made together.
#[test]
fn two_threads_with_lists_in_one_leaf() {
    check_unfenced("slab: lists", 2, || {
        let scene = scene();
        scene.take(); // by the thread with the first index, which has a leaf by itself
        let take = |it: &Scene| it.published.store(it.take(), Relaxed);
        let threads = [(); 2].map(|()| thread_of(scene.domain, &scene, take));
        threads.into_iter().for_each(join);
        assert!(scene.published.load(Relaxed) > 0);
    });
}

/// `[MAP-3]`: each index is taken once, by the thread that asks or by the owner of the list; what the owner
/// does after the list was taken, it does to the list that is there then.
#[test]
fn sealing_against_the_owner() {
    check_unfenced("slab: sealing", 3, || {
        let scene = scene();
        scene.remove(0);
        let sealer = thread_of(scene.domain, &scene, Scene::seal);
        scene.remove(1);
        scene.remove(2);
        let sealed = join(sealer);
        let left = scene.slab.magazines().take_all();
        let all = sealed.iter().chain(&left).flat_map(Full::indexes);
        let mut all: Vec<u32> = all.copied().collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
    });
}
