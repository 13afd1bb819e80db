//! haphazard: a fresh hazard slot of the global domain for every section; the case `repin` keeps one slot.

use super::loops::{Peer, VALUE, Value, loops};
use super::{Language, Subject, nothing};
use haphazard::{AtomicPtr, HazardPointer};
use std::sync::LazyLock;

static POINTER: LazyLock<AtomicPtr<Value>> = LazyLock::new(|| AtomicPtr::from(Box::new(VALUE)));

struct Haphazard(&'static AtomicPtr<Value>);

impl Peer for Haphazard {
    type Held = HazardPointer<'static>;

    fn new() -> Self {
        Haphazard(&POINTER)
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        HazardPointer::new()
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        self.0.safe_load(held).map_or(0, |value| value.0)
    }

    #[inline(always)]
    fn repin(&self, mut held: Self::Held) -> Self::Held {
        held.reset_protection();
        held
    }
}

pub(super) fn subject() -> Subject {
    Subject {
        name: "haphazard",
        language: Language::Rust,
        attach: nothing,
        detach: nothing,
        loops: loops::<Haphazard>(),
        waiting: None,
    }
}
