//! seize: a collector of its own, `enter()` and `protect()`; for `bench domain` also two by turns.

use super::Subject;
use super::loops::{self, Peer, Two, VALUE, Value, by_turns};
use seize::{Collector, Guard as _, LocalGuard};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, Ordering};

static COLLECTORS: [LazyLock<Collector>; 2] = [const { LazyLock::new(Collector::new) }; 2];
static POINTER: LazyLock<AtomicPtr<Value>> =
    LazyLock::new(|| AtomicPtr::new(Box::into_raw(Box::new(VALUE))));

/// On the collector of this number.
struct Seize<const NUMBER: usize>(&'static Collector, &'static AtomicPtr<Value>);

impl<const NUMBER: usize> Peer for Seize<NUMBER> {
    type Held = LocalGuard<'static>;

    fn new() -> Self {
        Seize(&COLLECTORS[NUMBER], &POINTER)
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
    loops::subject::<Seize<0>>("seize")
}

struct Both;

impl Two for Both {
    type One = Seize<0>;
    type Other = Seize<1>;
}

/// On two collectors, by turns.
pub(super) fn turns() -> Subject {
    Subject {
        name: "seize-turns",
        loops: by_turns::<Both>(),
        ..subject()
    }
}
