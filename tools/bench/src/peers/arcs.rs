//! Libraries whose cell has an `Arc`: no section at all. `empty` is `load()` and drop, or a look into a
//! `Cache`. Updates are `store`: the value before is dropped at once, or by the last reader that holds it.
//!
//! A cache has another contract than the rest: what it gives may be old until the thread looks again, and it
//! keeps the value that it gave last, for as long as it takes. So each has a row of its own.

use super::Peers;
use crate::deferral::Deferring;
use crate::deferral::loops::{Block, Defer, Owning, all_in, deferring};
use crate::deferral::swap::{Library, Swap, Swaps, Value, shared};
use crate::subjects::loops::{self, Peer, Word};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

/// Such a library.
pub(super) trait Arcs: Sized + 'static {
    type Cell<T: Value>: Send + Sync + 'static;
    /// What `load` gives.
    type Held<T: Value>: Deref<Target = Arc<T>> + Send + 'static;
    type Cache<T: Value>;

    fn cell<T: Value>(value: Arc<T>) -> Self::Cell<T>;
    fn load<T: Value>(cell: &Self::Cell<T>) -> Self::Held<T>;
    fn store<T: Value>(cell: &Self::Cell<T>, value: Arc<T>);
    fn cache<T: Value>(cell: &'static Self::Cell<T>) -> Self::Cache<T>;
    /// What the cache gives: good until it is looked into again.
    fn look<T: Value>(cache: &mut Self::Cache<T>) -> &Arc<T>;
}

/// A cell at hand, read by `load()`.
pub(super) struct Loaded<L: Arcs, T: Value>(pub(super) &'static L::Cell<T>);

impl<L: Arcs, T: Value> Peer for Loaded<L, T> {
    type Held = L::Held<T>;

    fn new() -> Self {
        Loaded(shared(|| L::cell(Arc::new(T::new(0)))))
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        L::load(self.0)
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        held.read()
    }
}

impl<L: Arcs, T: Value> Swap for Loaded<L, T> {
    type Value = T;

    #[inline(always)]
    fn replace(&self, value: T) {
        L::store(self.0, Arc::new(value));
    }
}

/// Puts objects into the places of others.
impl<L: Arcs, T: Value> Defer<T> for Loaded<L, T> {
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
        L::store(self.0, unsafe { Arc::from_raw(object) });
    }
}

/// See [`Loaded`].
struct Loads<L>(PhantomData<L>);

impl<L: Arcs> Library for Loads<L> {
    type Cell<T: Value> = Loaded<L, T>;
}

/// A cell at hand, read through a cache of the thread's own. What that gives is good until its next look, so
/// nothing is held but the address.
struct Cached<L: Arcs, T: Value>(Loaded<L, T>, RefCell<L::Cache<T>>);

impl<L: Arcs, T: Value> Peer for Cached<L, T> {
    type Held = *const T;

    fn new() -> Self {
        let cell: Loaded<L, T> = Peer::new();
        let cache = RefCell::new(L::cache(cell.0));
        Cached(cell, cache)
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        Arc::as_ptr(L::look(&mut self.1.borrow_mut()))
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        // SAFETY: the cache keeps the value that it saw last, and has not looked since.
        unsafe { (**held).read() }
    }
}

impl<L: Arcs, T: Value> Swap for Cached<L, T> {
    type Value = T;

    #[inline(always)]
    fn replace(&self, value: T) {
        self.0.replace(value);
    }
}

/// See [`Cached`].
struct Caches<L>(PhantomData<L>);

impl<L: Arcs> Library for Caches<L> {
    type Cell<T: Value> = Cached<L, T>;
}

/// The subjects of such a library, and of its cache.
pub(super) fn peers<L: Arcs>(name: &'static str, cache: &'static str) -> Peers {
    let stored = Deferring {
        owning: Some(all_in::<Loaded<L, Owning>, Owning>),
        swaps: Swaps::of::<Loads<L>>(),
        ..deferring::<Loaded<L, Block>, Block>(name)
    };
    let cached = Deferring {
        swaps: Swaps::of::<Caches<L>>(),
        ..deferring::<Loaded<L, Block>, Block>(cache)
    };
    Peers {
        reading: vec![
            loops::subject::<Loaded<L, Word>>(name).handed::<Loaded<L, Word>>(),
            loops::subject::<Cached<L, Word>>(cache),
        ],
        deferring: vec![stored, cached],
    }
}
