//! arc-swap: `ArcSwap` with its default strategy, its `Cache`, and `load_full()`, which gives an `Arc` of
//! one's own.

use super::Peers;
use super::arcs::{self, Arcs, Loaded};
use crate::deferral::swap::Value;
use crate::subjects::loops::{self, Peer, Word};
use ::arc_swap::cache::Cache;
use ::arc_swap::{ArcSwap, Guard};
use std::sync::Arc;

struct Swapped;

impl Arcs for Swapped {
    type Cell<T: Value> = ArcSwap<T>;
    type Held<T: Value> = Guard<Arc<T>>;
    type Cache<T: Value> = Cache<&'static ArcSwap<T>, Arc<T>>;

    fn cell<T: Value>(value: Arc<T>) -> ArcSwap<T> {
        ArcSwap::new(value)
    }

    #[inline(always)]
    fn load<T: Value>(cell: &ArcSwap<T>) -> Guard<Arc<T>> {
        cell.load()
    }

    #[inline(always)]
    fn store<T: Value>(cell: &ArcSwap<T>, value: Arc<T>) {
        cell.store(value);
    }

    fn cache<T: Value>(cell: &'static ArcSwap<T>) -> Self::Cache<T> {
        Cache::new(cell)
    }

    #[inline(always)]
    fn look<T: Value>(cache: &mut Self::Cache<T>) -> &Arc<T> {
        cache.load()
    }
}

/// An `Arc` that is counted up and down: what a task holds across an `await` that must not keep one of the
/// thread's few debts.
struct Full(Loaded<Swapped, Word>);

impl Peer for Full {
    type Held = Arc<Word>;

    fn new() -> Self {
        Full(Peer::new())
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        self.0.0.load_full()
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        held.0
    }
}

pub(super) fn peers() -> Peers {
    let mut peers = arcs::peers::<Swapped>("arc-swap", "arc-swap-cache");
    let full = loops::subject::<Full>("arc-swap-full").handed::<Full>();
    peers.reading.push(full);
    peers
}
