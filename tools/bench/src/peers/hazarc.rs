//! hazarc: `AtomicArc` with its default domain and policy (stores may be concurrent), and its `Cache`.

use super::Peers;
use super::arcs::{self, Arcs};
use crate::deferral::swap::Value;
use ::hazarc::{ArcBorrow, AtomicArc, Cache};
use std::sync::Arc;

struct Hazarc;

impl Arcs for Hazarc {
    type Cell<T: Value> = AtomicArc<T>;
    type Held<T: Value> = ArcBorrow<T>;
    type Cache<T: Value> = Cache<&'static AtomicArc<T>>;

    fn cell<T: Value>(value: Arc<T>) -> AtomicArc<T> {
        AtomicArc::new(value)
    }

    #[inline(always)]
    fn load<T: Value>(cell: &AtomicArc<T>) -> ArcBorrow<T> {
        cell.load()
    }

    #[inline(always)]
    fn store<T: Value>(cell: &AtomicArc<T>, value: Arc<T>) {
        cell.store(value);
    }

    fn cache<T: Value>(cell: &'static AtomicArc<T>) -> Self::Cache<T> {
        Cache::new(cell)
    }

    #[inline(always)]
    fn look<T: Value>(cache: &mut Self::Cache<T>) -> &Arc<T> {
        cache.load()
    }
}

pub(super) fn peers() -> Peers {
    arcs::peers::<Hazarc>("hazarc", "hazarc-cache")
}
