//! seize: a collector of its own, `enter()` and `protect()`.

use super::loops::{Peer, VALUE, Value, loops};
use super::{Language, Subject, nothing};
use seize::{Collector, Guard as _, LocalGuard};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, Ordering};

static COLLECTOR: LazyLock<Collector> = LazyLock::new(Collector::new);
static POINTER: LazyLock<AtomicPtr<Value>> =
    LazyLock::new(|| AtomicPtr::new(Box::into_raw(Box::new(VALUE))));

struct Seize(&'static Collector, &'static AtomicPtr<Value>);

impl Peer for Seize {
    type Held = LocalGuard<'static>;

    fn new() -> Self {
        Seize(&COLLECTOR, &POINTER)
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        self.0.enter()
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        // SAFETY: the pointer came from a `Box` that is never freed, and the guard is held.
        unsafe { (*held.protect(self.1, Ordering::Acquire)).0 }
    }

    #[inline(always)]
    fn repin(&self, mut held: Self::Held) -> Self::Held {
        held.refresh();
        held
    }
}

pub(super) fn subject() -> Subject {
    Subject {
        name: "seize",
        language: Language::Rust,
        attach: nothing,
        detach: nothing,
        loops: loops::<Seize>(),
        waiting: None,
    }
}
