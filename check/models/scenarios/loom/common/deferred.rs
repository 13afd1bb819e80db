//! Retired objects: filling one, using it and freeing it must be ordered by happens-before.

use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::Arc;

use quiescent_on_loom as rcu;
use rcu::check::{Model as Domain, observe_frees};

use super::{FREED, NEW, WHOLE, World, join};

std::thread_local! {
    /// The world of this execution. Model threads are fibers on one OS thread.
    static WORLD: RefCell<Option<Arc<World>>> = const { RefCell::new(None) };
}

/// A world in which the library frees objects, and the calling thread retires them.
pub fn reclaiming(domain: Domain) -> Arc<World> {
    let world = World::new(domain);
    WORLD.replace(Some(world.clone()));
    observe_frees(freed);
    world.domain.enter();
    world
}

/// The library frees an object: the one with this number, plus one.
fn freed(object: *mut u8) {
    assert!(!object.is_null(), "an empty place was freed");
    let world = WORLD.with_borrow(|world| world.clone().expect("made before"));
    world.free(object.addr() - 1);
}

/// The owner of a queue pushes beside a taker.
pub fn push_beside_a_taker(domain: Domain) {
    let world = reclaiming(domain);
    world.retire_hurry(0);
    let worker = world.thread(|w| w.domain.work());
    world.retire(1);
    world.retire(2);
    join(worker);
    world.finish([0, 1, 2]);
}

/// An owner frees in passing beside a reader of the object that it replaces.
pub fn free_beside(domain: Domain, reader: fn(&World)) {
    let world = reclaiming(domain);
    world.retire_hurry(2);
    world.domain.work();
    let reader = world.thread(reader);
    world.publish(1);
    world.retire(0);
    world.retire(3);
    join(reader);
    world.finish([0, 2, 3]);
}

impl World {
    /// Fills the object, if it was not published before, and returns its address, which is only compared and
    /// counted, never followed.
    fn fill(&self, object: usize) -> NonNull<u8> {
        if object != 0 {
            self.change(object, NEW, WHOLE);
        }
        NonNull::new(std::ptr::without_provenance_mut(object + 1)).expect("not null")
    }

    /// Retires an object.
    pub fn retire(&self, object: usize) {
        // SAFETY: only the observer frees it, and finds it by its address.
        unsafe { rcu::Retired::from_raw(self.fill(object)).retire() };
    }

    /// Retires an object, hurried.
    pub fn retire_hurry(&self, object: usize) {
        // SAFETY: as in `retire`.
        unsafe { rcu::Retired::from_raw(self.fill(object)).retire_hurry() };
    }

    /// Every thread becomes quiet: these objects are freed, once.
    pub fn finish(&self, objects: impl IntoIterator<Item = usize>) {
        self.domain.settle();
        for object in objects {
            self.change(object, FREED, FREED);
        }
        let held = self.domain.held();
        assert_eq!(held, 0, "all objects are freed, but still counted");
        WORLD.take();
    }
}
