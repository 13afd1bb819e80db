//! The library's lock under C11: `prim/lock.rs`.

use std::sync::Arc;

use crate::common::watched::Watched;
use crate::common::{check, join, start};
use quiescent_core::prim::lock::{FREE, release, take};
use quiescent_models::loom::AtomicU32;

/// What the lock protects; loom checks that accesses are ordered.
struct Locked {
    word: AtomicU32,
    value: Watched,
}

impl Locked {
    fn add(&self) {
        take(&self.word);
        self.value.replace(self.value.get() + 1);
        release(&self.word);
    }
}

#[test]
fn holders_follow_one_another() {
    check("locks: two holders", 3, || {
        let locked = Arc::new(Locked {
            word: AtomicU32::new(FREE),
            value: Watched::new(0),
        });
        let other = start(&locked, Locked::add);
        locked.add();
        join(other);
        assert_eq!(locked.value.get(), 2);
    });
}
