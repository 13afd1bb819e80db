//! arc-swap: no section at all; `empty` is `load()` and drop, or `load_full()`, an `Arc` of one's own, and
//! drop, or a look into a `Cache`, which keeps the value that the thread saw last.

use super::Subject;
use super::loops::{self, Peer, VALUE, Value};
use arc_swap::cache::Cache;
use arc_swap::{ArcSwap, Guard};
use std::cell::RefCell;
use std::sync::{Arc, LazyLock};

static POINTER: LazyLock<ArcSwap<Value>> = LazyLock::new(|| ArcSwap::from_pointee(VALUE));

pub(super) struct Swap(&'static ArcSwap<Value>);

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
}

/// An `Arc` that is counted up and down: what a task holds across an `await` that must not keep one of the
/// thread's few debts.
pub(super) struct Full(&'static ArcSwap<Value>);

impl Peer for Full {
    type Held = Arc<Value>;

    fn new() -> Self {
        Full(&POINTER)
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        self.0.load_full()
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        held.0
    }
}

/// A cache of the thread's own. What it gives is good until the next look, so nothing is held but the
/// address.
pub(super) struct Cached(RefCell<Cache<&'static ArcSwap<Value>, Arc<Value>>>);

impl Peer for Cached {
    type Held = *const Value;

    fn new() -> Self {
        Cached(RefCell::new(Cache::new(&*POINTER)))
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        Arc::as_ptr(self.0.borrow_mut().load())
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        // SAFETY: the value is never replaced.
        unsafe { (**held).0 }
    }
}

pub(super) fn cache() -> Subject {
    loops::subject::<Cached>("arc-swap-cache")
}

pub(super) fn full() -> Subject {
    loops::subject::<Full>("arc-swap-full")
}

pub(super) fn subject() -> Subject {
    loops::subject::<Swap>("arc-swap")
}
