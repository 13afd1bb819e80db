//! sdd: `Guard::new()` and an `AtomicShared`.

use super::Subject;
use super::loops::{self, Peer, VALUE, Value};
use sdd::{AtomicShared, Guard};
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

static POINTER: LazyLock<AtomicShared<Value>> = LazyLock::new(|| AtomicShared::new(VALUE));

struct Sdd(&'static AtomicShared<Value>);

impl Peer for Sdd {
    type Held = Guard;

    fn new() -> Self {
        Sdd(&POINTER)
    }

    #[inline(always)]
    fn enter(&self) -> Guard {
        Guard::new()
    }

    #[inline(always)]
    fn read(&self, held: &mut Guard) -> u64 {
        self.0
            .load(Ordering::Acquire, held)
            .as_ref()
            .map_or(0, |value| value.0)
    }
}

pub(super) fn subject() -> Subject {
    loops::subject::<Sdd>("sdd")
}
