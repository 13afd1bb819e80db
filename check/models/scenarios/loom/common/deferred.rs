//! Retired objects: loom's cells, so that using one, freeing it and filling it must be ordered by
//! happens-before.

use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::Arc;

use quiescent_models::loom::Ordering::{Acquire, Release};
use quiescent_models::loom::thread::{self, JoinHandle};
use quiescent_models::loom::{AtomicU32, UnsafeCell};
use quiescent_on_loom as rcu;
use rcu::check::{Model as Domain, observe_frees};

/// Objects of a shelf.
const OBJECTS: usize = 5;
const NEW: u32 = 0;
const WHOLE: u32 = 1;
const FREED: u32 = 2;

std::thread_local! {
    /// The shelf of this execution. Model threads are fibers on one OS thread.
    static SHELF: RefCell<Option<Arc<Shelf>>> = const { RefCell::new(None) };
}

/// One execution's domain and objects.
pub struct Shelf {
    pub domain: Domain,
    pointer: AtomicU32,
    objects: [UnsafeCell<u32>; OBJECTS],
}

// SAFETY: the cells are checked by loom: an access that is not ordered fails the model.
unsafe impl Sync for Shelf {}

/// A shelf, with its first object published.
pub fn shelf(domain: Domain) -> Arc<Shelf> {
    let shelf = Arc::new(Shelf {
        domain,
        pointer: AtomicU32::new(0),
        objects: std::array::from_fn(|_| UnsafeCell::new(NEW)),
    });
    shelf.change(0, NEW, WHOLE);
    SHELF.replace(Some(shelf.clone()));
    observe_frees(freed);
    shelf
}

/// The library frees an object: the one at this place of the shelf.
fn freed(object: *mut u8) {
    assert!(!object.is_null(), "an empty place was freed");
    let shelf = SHELF.with_borrow(|shelf| shelf.clone().expect("made before"));
    let place = object.addr() - 1;
    shelf.change(place, WHOLE, FREED);
}

impl Shelf {
    /// A thread of the domain: enters, does `body`, ends.
    pub fn thread(self: &Arc<Shelf>, body: fn(&Shelf)) -> JoinHandle<()> {
        let shelf = self.clone();
        thread::spawn(move || {
            shelf.domain.enter();
            body(&shelf);
            shelf.domain.leave();
        })
    }

    fn change(&self, place: usize, from: u32, to: u32) {
        // SAFETY: loom checks that no access is concurrent.
        let old = self.objects[place].with_mut(|value| unsafe { value.replace(to) });
        assert_eq!(old, from, "object {place}");
    }

    /// Fills the object, if it was not published before, and returns its address, which is only compared and
    /// counted, never followed.
    fn fill(&self, place: usize) -> NonNull<u8> {
        if place != 0 {
            self.change(place, NEW, WHOLE);
        }
        NonNull::new(std::ptr::without_provenance_mut(place + 1)).expect("not null")
    }

    /// Retires an object.
    pub fn retire(&self, place: usize) {
        // SAFETY: only the observer frees it, and finds it by its address.
        unsafe { rcu::Retired::from_raw(self.fill(place)).retire() };
    }

    /// Retires an object, hurried.
    pub fn retire_hurry(&self, place: usize) {
        // SAFETY: as in `retire`.
        unsafe { rcu::Retired::from_raw(self.fill(place)).retire_hurry() };
    }

    /// Fills an object and replaces the published one with it.
    pub fn publish(&self, place: usize) {
        self.change(place, NEW, WHOLE);
        self.pointer.store(place as u32, Release);
    }

    /// A section that uses the published object.
    pub fn read(&self) {
        let _guard = rcu::read_lock();
        let place = self.pointer.load(Acquire) as usize;
        // SAFETY: loom checks that no write is concurrent.
        let value = self.objects[place].with(|value| unsafe { *value });
        assert_eq!(value, WHOLE, "object {place} was freed under a reader");
    }

    /// Every thread becomes quiet: these objects are freed, once.
    pub fn finish(&self, places: impl IntoIterator<Item = usize>) {
        self.domain.settle();
        for place in places {
            self.change(place, FREED, FREED);
        }
        assert_eq!(
            self.domain.held(),
            0,
            "all objects are freed, but still counted"
        );
        SHELF.take();
    }
}
