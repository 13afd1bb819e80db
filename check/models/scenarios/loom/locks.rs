//! The library's lock under C11: `prim/lock.rs`.

use std::sync::Arc;

use crate::common::{check, join};
use quiescent_core::prim::lock::{FREE, release, take};
use quiescent_models::loom::{AtomicU32, UnsafeCell, thread};

/// What the lock protects; loom checks that accesses are ordered.
struct Locked {
    word: AtomicU32,
    value: UnsafeCell<u32>,
}

// SAFETY: accesses that are not ordered fail the model.
unsafe impl Sync for Locked {}
// SAFETY: as above.
unsafe impl Send for Locked {}

impl Locked {
    fn add(&self) {
        take(&self.word);
        // SAFETY: this thread has the lock.
        self.value.with_mut(|value| unsafe { *value += 1 });
        release(&self.word);
    }
}

#[test]
fn holders_follow_one_another() {
    check("locks: two holders", 3, || {
        let locked = Arc::new(Locked {
            word: AtomicU32::new(FREE),
            value: UnsafeCell::new(0),
        });
        let other = locked.clone();
        let other = thread::spawn(move || other.add());
        locked.add();
        join(other);
        // SAFETY: the other thread has ended.
        assert_eq!(locked.value.with(|value| unsafe { *value }), 2);
    });
}
