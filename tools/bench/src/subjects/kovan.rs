//! kovan: `pin()` and `Atomic::load`, on the one collector that there is. (`Atom::load` is both.)

use super::Subject;
use super::loops::{self, Peer, VALUE, Value};
use ::kovan::{Atomic, Guard, pin};
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

static POINTER: LazyLock<Atomic<Value>> =
    LazyLock::new(|| Atomic::new(Box::into_raw(Box::new(VALUE))));

struct Kovan(&'static Atomic<Value>);

impl Peer for Kovan {
    type Held = Guard;

    fn new() -> Self {
        Kovan(&POINTER)
    }

    #[inline(always)]
    fn enter(&self) -> Guard {
        pin()
    }

    #[inline(always)]
    fn read(&self, held: &mut Guard) -> u64 {
        // SAFETY: the pointer came from a `Box` that is never freed, and the guard is held.
        unsafe { self.0.load(Ordering::Acquire, held).deref().0 }
    }
}

pub(super) fn subject() -> Subject {
    loops::subject::<Kovan>("kovan")
}
