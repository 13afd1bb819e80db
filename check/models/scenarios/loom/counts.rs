//! The reference count without shared writes under C11, in membarrier mode: a kill, and the switch to a
//! shared count, beside clones and drops (the explorer has more of these: `scenarios/explorer/counts.rs`),
//! and the blocks and pages of counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64 as RealU64, Ordering::Relaxed as RealRelaxed};

use crate::common::watched::Dropping;
use crate::common::{check_unfenced, join, thread_of};
use quiescent_collections::{RcuArc, RcuOwner};
use quiescent_models::loom::thread::JoinHandle;
use quiescent_on_loom::check::Model as Domain;

/// One execution's domain, and how many objects were dropped.
struct Scene {
    domain: Domain,
    dropped: Arc<RealU64>,
}

fn scene() -> Arc<Scene> {
    let domain = Domain::deferring(1);
    domain.enter();
    let dropped = Arc::default();
    Arc::new(Scene { domain, dropped })
}

impl Scene {
    fn object(&self) -> RcuOwner<Dropping> {
        RcuOwner::new(Dropping::new(0, &self.dropped))
    }

    fn thread(self: &Arc<Scene>, body: impl FnOnce(&Scene) + 'static) -> JoinHandle<()> {
        thread_of(self.domain, self, body)
    }

    /// Kills an object, which is dropped by its last reference.
    fn kill(&self, owner: RcuOwner<Dropping>) {
        assert!(owner.kill());
        owner.get();
        drop(owner);
        self.domain.work();
    }

    /// Other threads have ended: all of so many objects were dropped.
    fn end<const N: usize>(&self, threads: [JoinHandle<()>; N], objects: u64) {
        threads.into_iter().for_each(join);
        self.domain.settle();
        let dropped = self.dropped.load(RealRelaxed);
        assert_eq!(dropped, objects, "one is never dropped");
    }
}

fn got(owner: &RcuOwner<Dropping>) -> RcuArc<Dropping> {
    owner.try_get().expect("it lives")
}

/// `[ARC-1]`: the sum has what sections counted; `[ARC-3]`: the last reference is dropped after the use of
/// the others. The clone is counted by another thread than the reference that it is made from.
#[test]
fn a_kill_against_a_clone() {
    check_unfenced("counts: kill and clone", 2, || {
        let scene = scene();
        let owner = scene.object();
        let reference = got(&owner);
        let thread = scene.thread(move |_| {
            let clone = reference.clone();
            drop(reference);
            clone.get();
        });
        scene.kill(owner);
        scene.end([thread], 1);
    });
}

/// `[ARC-3]`: after the switch.
#[test]
fn two_drops_after_the_switch() {
    check_unfenced("counts: drops", 3, || {
        let scene = scene();
        let owner = scene.object();
        let references = [got(&owner), got(&owner)];
        scene.kill(owner);
        let threads = references.map(|reference| {
            scene.thread(move |_| {
                reference.get();
                drop(reference);
            })
        });
        scene.end(threads, 1);
    });
}

/// `[ARC-2]`: an object begins with counts of zero, also on the pages of threads that have counted the one
/// that had its column before.
#[test]
fn a_column_that_is_used_again() {
    check_unfenced("counts: column", 1, || {
        let scene = scene();
        let owner = scene.object();
        let other = got(&owner); // counted here, dropped there
        let killer = scene.thread(move |it| {
            it.kill(owner);
            drop(other);
        });
        let next = scene.object();
        drop(got(&next).clone());
        scene.kill(next);
        scene.end([killer], 2);
    });
}

/// `[ARC-4]`: a block is complete when another thread finds it.
#[test]
fn two_first_objects() {
    check_unfenced("counts: blocks", 1, || {
        let scene = scene();
        let thread = scene.thread(|it| {
            let owner = it.object();
            drop(got(&owner));
            it.kill(owner);
        });
        let owner = scene.object();
        drop(got(&owner));
        scene.kill(owner);
        scene.end([thread], 2);
    });
}

/// `[ARC-4]`: a page that is made for another object is complete when the sum is taken.
#[test]
fn a_kill_against_a_new_page() {
    check_unfenced("counts: page", 2, || {
        let scene = scene();
        let [owner, other] = [(); 2].map(|()| scene.object());
        let thread = scene.thread(move |it| {
            it.domain.register();
            drop(got(&other));
            std::mem::forget(other);
        });
        scene.kill(owner);
        scene.end([thread], 1);
    });
}
