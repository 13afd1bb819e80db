//! arc-swap: `ArcSwap::store`. The value before is dropped at once, or by the last reader that holds it.
//! Readers take `load()`, a guard, or look into a `Cache` of their own, which keeps the value that it saw
//! last.

use super::Deferring;
use super::loops::{Block, Defer, DeferOwning, Owning, deferring, owning};
use super::swap::{Library, Swap, Swaps, Value, shared};
use arc_swap::cache::Cache;
use arc_swap::{ArcSwap, Guard};
use std::cell::RefCell;
use std::sync::Arc;

/// Puts blocks and owning objects into the places of others.
struct Store(&'static ArcSwap<Block>, &'static ArcSwap<Owning>);

impl Defer for Store {
    fn new() -> Self {
        Store(
            shared(|| ArcSwap::from_pointee(Block::new(0))),
            shared(|| ArcSwap::from_pointee(Owning::new())),
        )
    }

    #[inline(always)]
    fn make(value: u64) -> *mut () {
        Arc::into_raw(Arc::new(Block::new(value))).cast_mut().cast()
    }

    #[inline(always)]
    unsafe fn retire(&self, block: *mut ()) {
        // SAFETY: of `make`; the caller gives each once.
        self.0
            .store(unsafe { Arc::from_raw(block.cast::<Block>()) });
    }
}

impl DeferOwning for Store {
    #[inline(always)]
    fn retire_owning(&self) {
        self.1.store(Arc::new(Owning::new()));
    }
}

/// A cell at hand, read by `load()`.
struct Loaded<T: 'static>(&'static ArcSwap<T>);

impl<T: Value> Swap for Loaded<T> {
    type Value = T;
    type Held = Guard<Arc<T>>;

    fn new() -> Self {
        Loaded(shared(|| ArcSwap::from_pointee(T::new(0))))
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        self.0.load()
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        held.read()
    }

    #[inline(always)]
    fn replace(&self, value: T) {
        self.0.store(Arc::new(value));
    }
}

impl Library for Store {
    type Cell<T: Value> = Loaded<T>;
}

/// A cell at hand, read through a cache of the thread's own.
struct Cached<T: 'static>(RefCell<Cache<&'static ArcSwap<T>, Arc<T>>>);

impl<T: Value> Swap for Cached<T> {
    type Value = T;
    type Held = ();

    fn new() -> Self {
        Cached(RefCell::new(Cache::new(Loaded::new().0)))
    }

    #[inline(always)]
    fn enter(&self) {}

    #[inline(always)]
    fn read(&self, (): &mut ()) -> u64 {
        self.0.borrow_mut().load().read()
    }

    #[inline(always)]
    fn replace(&self, value: T) {
        self.0.borrow().arc_swap().store(Arc::new(value));
    }
}

/// See [`Cached`].
struct Caches;

impl Library for Caches {
    type Cell<T: Value> = Cached<T>;
}

pub(super) fn subject() -> Deferring {
    Deferring {
        owning: Some(owning::<Store>),
        swaps: Swaps::of::<Store>(),
        ..deferring::<Store>("arc-swap")
    }
}

/// The same updates; another way to read.
pub(super) fn cache() -> Deferring {
    Deferring {
        swaps: Swaps::of::<Caches>(),
        ..deferring::<Store>("arc-swap-cache")
    }
}
