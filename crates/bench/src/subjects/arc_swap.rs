//! arc-swap: no section at all; `empty` is `load()` and drop.

use super::loops::{Peer, VALUE, Value, loops};
use super::{Language, Subject, nothing};
use arc_swap::{ArcSwap, Guard};
use std::sync::{Arc, LazyLock};

static POINTER: LazyLock<ArcSwap<Value>> = LazyLock::new(|| ArcSwap::from_pointee(VALUE));

struct Swap(&'static ArcSwap<Value>);

impl Peer for Swap {
    type Held = Guard<Arc<Value>>;

    fn new() -> Self {
        Swap(&POINTER)
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        self.0.load()
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        held.0
    }

    #[inline(always)]
    fn repin(&self, held: Self::Held) -> Self::Held {
        drop(held);
        self.0.load()
    }
}

pub(super) fn subject() -> Subject {
    Subject {
        name: "arc-swap",
        language: Language::Rust,
        attach: nothing,
        detach: nothing,
        loops: loops::<Swap>(),
        waiting: None,
    }
}
