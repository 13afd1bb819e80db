//! crossbeam-epoch: `pin()` on the default collector.

use super::loops::{Peer, VALUE, Value, loops};
use super::{Language, Subject, nothing};
use crossbeam_epoch::{Atomic, Guard, pin};
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

static POINTER: LazyLock<Atomic<Value>> = LazyLock::new(|| Atomic::new(VALUE));

struct Crossbeam(&'static Atomic<Value>);

impl Peer for Crossbeam {
    type Held = Guard;

    fn new() -> Self {
        Crossbeam(&POINTER)
    }

    #[inline(always)]
    fn enter(&self) -> Guard {
        pin()
    }

    #[inline(always)]
    fn read(&self, held: &mut Guard) -> u64 {
        // SAFETY: the pointer was initialised with a value, is never replaced, and the guard is held.
        unsafe { self.0.load(Ordering::Acquire, held).deref().0 }
    }

    #[inline(always)]
    fn repin(&self, mut held: Guard) -> Guard {
        held.repin();
        held
    }
}

pub(super) fn subject() -> Subject {
    Subject {
        name: "crossbeam-epoch",
        language: Language::Rust,
        attach: nothing,
        detach: nothing,
        loops: loops::<Crossbeam>(),
        waiting: None,
    }
}
