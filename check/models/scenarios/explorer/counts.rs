//! The reference count without shared writes: a kill beside clones and drops.

use std::rc::Rc;

use crate::common::{World, check, join_all};
use quiescent_collections::{RcuArc, RcuOwner};
use quiescent_models::explorer::Ordering::Relaxed;
use quiescent_models::explorer::{AtomicU32, JoinHandle, branching};
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;

/// An object that says when it is dropped.
struct Object(&'static AtomicU32);

impl Drop for Object {
    fn drop(&mut self) {
        assert_eq!(self.0.swap(1, Relaxed), 0, "dropped twice");
    }
}

impl Object {
    /// By a thread that has a reference.
    fn use_it(&self) {
        assert_eq!(self.0.load(Relaxed), 0, "dropped under a reference");
    }
}

struct Scene {
    world: Rc<World>,
    dropped: &'static AtomicU32,
    owner: RcuOwner<Object>,
}

fn scene() -> Scene {
    let world = World::new(Domain::deferring(1));
    world.domain.enter();
    let dropped: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
    let owner = RcuOwner::new(Object(dropped));
    Scene {
        world,
        dropped,
        owner,
    }
}

impl Scene {
    /// A thread with a reference that another thread has counted.
    fn thread(&self, body: impl FnOnce(RcuArc<Object>) + 'static) -> JoinHandle<()> {
        let reference = self.owner.try_get().expect("it lives");
        self.world.registered(move |_| body(reference))
    }

    /// The object is killed while the threads run, beside a worker, and is dropped when all is done.
    fn kill<const N: usize>(self, threads: [JoinHandle<()>; N]) {
        let (world, owner) = (self.world, self.owner);
        world.begin(N as u32);
        let worker = world.worker(1);
        assert!(owner.kill());
        assert!(owner.try_get().is_none(), "a reference after the kill");
        owner.use_it();
        drop(owner);
        join_all(threads);
        worker.join();
        branching(false);
        world.domain.drain();
        assert_eq!(self.dropped.load(Relaxed), 1, "never dropped");
        world.domain.leave();
    }
}

/// The clone is counted by another thread than the reference that it is made from.
#[test]
fn a_kill_against_a_clone() {
    check("kill and clone", 1, 1, || {
        let scene = scene();
        let thread = scene.thread(|reference| {
            let clone = reference.clone();
            drop(reference);
            clone.use_it();
        });
        scene.kill([thread]);
    });
}

#[test]
fn a_kill_against_what_is_got() {
    check("kill and get", 1, 1, || {
        let scene = scene();
        let thread = scene.thread(|reference| {
            let other = RcuArc::try_get(&reference);
            drop(reference);
            if let Some(other) = other {
                other.use_it();
            }
        });
        scene.kill([thread]);
    });
}

/// The last of them runs the destructor.
#[test]
fn a_kill_against_two_drops() {
    check("kill and drops", 1, 1, || {
        let scene = scene();
        let drops = |reference: RcuArc<Object>| {
            reference.use_it();
            drop(reference);
        };
        let threads = [scene.thread(drops), scene.thread(drops)];
        scene.kill(threads);
    });
}
