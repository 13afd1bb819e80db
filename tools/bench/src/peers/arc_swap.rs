//! arc-swap: no section at all; `empty` is `load()` and drop, or `load_full()`, an `Arc` of one's own, and
//! drop, or a look into a `Cache`, which keeps the value that the thread saw last. Updates are
//! `ArcSwap::store`: the value before is dropped at once, or by the last reader that holds it.

use super::Peers;
use crate::deferral::Deferring;
use crate::deferral::loops::{Block, Defer, Owning, all_in, deferring};
use crate::deferral::swap::{Library, Swap, Swaps, Value, shared};
use crate::subjects::loops::{self, Peer, Word};
use arc_swap::cache::Cache;
use arc_swap::{ArcSwap, Guard};
use std::cell::RefCell;
use std::sync::Arc;

/// A cell at hand, read by `load()`.
struct Loaded<T: 'static>(&'static ArcSwap<T>);

impl<T: Value> Peer for Loaded<T> {
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
}

impl<T: Value> Swap for Loaded<T> {
    type Value = T;

    #[inline(always)]
    fn replace(&self, value: T) {
        self.0.store(Arc::new(value));
    }
}

/// Puts objects into the places of others.
impl<T: Value> Defer<T> for Loaded<T> {
    fn new() -> Self {
        Peer::new()
    }

    #[inline(always)]
    fn make(object: T) -> *mut T {
        Arc::into_raw(Arc::new(object)).cast_mut()
    }

    #[inline(always)]
    unsafe fn retire(&self, object: *mut T) {
        // SAFETY: of `make`; the caller gives each once.
        self.0.store(unsafe { Arc::from_raw(object) });
    }
}

/// See [`Loaded`].
struct Loads;

impl Library for Loads {
    type Cell<T: Value> = Loaded<T>;
}

/// An `Arc` that is counted up and down: what a task holds across an `await` that must not keep one of the
/// thread's few debts.
struct Full(&'static ArcSwap<Word>);

impl Peer for Full {
    type Held = Arc<Word>;

    fn new() -> Self {
        Full(<Loaded<Word> as Peer>::new().0)
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

/// A cell at hand, read through a cache of the thread's own. What that gives is good until its next look, so
/// nothing is held but the address.
struct Cached<T: 'static>(RefCell<Cache<&'static ArcSwap<T>, Arc<T>>>);

impl<T: Value> Peer for Cached<T> {
    type Held = *const T;

    fn new() -> Self {
        Cached(RefCell::new(Cache::new(<Loaded<T> as Peer>::new().0)))
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        Arc::as_ptr(self.0.borrow_mut().load())
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        // SAFETY: the cache keeps the value that it saw last, and has not looked since.
        unsafe { (**held).read() }
    }
}

impl<T: Value> Swap for Cached<T> {
    type Value = T;

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

pub(super) fn peers() -> Peers {
    let stored = Deferring {
        owning: Some(all_in::<Loaded<Owning>, Owning>),
        swaps: Swaps::of::<Loads>(),
        ..deferring::<Loaded<Block>, Block>("arc-swap")
    };
    let cached = Deferring {
        swaps: Swaps::of::<Caches>(),
        ..deferring::<Loaded<Block>, Block>("arc-swap-cache")
    };
    type Load = Loaded<Word>;
    Peers {
        reading: vec![
            loops::subject::<Load>("arc-swap").handed::<Load>(),
            loops::subject::<Cached<Word>>("arc-swap-cache"),
            loops::subject::<Full>("arc-swap-full").handed::<Full>(),
        ],
        deferring: vec![stored, cached],
    }
}
