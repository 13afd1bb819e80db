//! The map for the crate `rayon`.

use quiescent::{Global, Handle, Reads};
use rayon::iter::plumbing::{Folder, UnindexedConsumer, UnindexedProducer, bridge_unindexed};
use rayon::iter::{FromParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator};

use super::{Iter, Pinned, RcuHashMap};
use crate::bounds::{Hashes, Key, Stored};

/// The entries of a map, for all threads of `rayon`.
pub struct ParIter<'g, K, V, S, D = Global>(Iter<'g, K, V, S, D>);

/// The entries, as [`iter`](RcuHashMap::iter) finds them: a key that is in the map all the time is visited
/// exactly once, by one of the threads. All of them read in the section of `self`, which lasts until the
/// last one has finished. While its thread waits for the others, `rayon` may run other jobs on it, in this
/// section: they must not wait for a grace period.
///
/// ```
/// use quiescent_collections::RcuHashMap;
/// use rayon::prelude::*;
///
/// let map: RcuHashMap<u64, u64> = (0..10_000).into_par_iter().map(|n| (n, 2 * n)).collect();
/// let sum: u64 = map.pin().par_iter().map(|(_, value)| value).sum();
/// assert_eq!(sum, 9_999 * 10_000);
/// ```
impl<'g, K: Key, V: Stored, S: Hashes, D: Handle + Sync + 'static, E: Handle + Reads<D::Brand>>
    IntoParallelIterator for &'g Pinned<'_, K, V, S, D, E>
{
    type Iter = ParIter<'g, K, V, S, D>;
    type Item = (&'g K, &'g V);

    fn into_par_iter(self) -> Self::Iter {
        ParIter(self.iter())
    }
}

impl<'g, K: Key, V: Stored, S: Hashes, D: Handle + Sync + 'static> ParallelIterator
    for ParIter<'g, K, V, S, D>
{
    type Item = (&'g K, &'g V);

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge_unindexed(self, consumer)
    }
}

impl<'g, K: Key, V: Stored, S: Hashes, D: Handle + Sync + 'static> UnindexedProducer
    for ParIter<'g, K, V, S, D>
{
    type Item = (&'g K, &'g V);

    fn split(mut self) -> (Self, Option<Self>) {
        let other = self.0.split().map(ParIter);
        (self, other)
    }

    fn fold_with<F: Folder<Self::Item>>(self, folder: F) -> F {
        folder.consume_iter(self.0)
    }
}

/// Each entry is inserted in a section of its own. Of a key that is there twice, either value.
impl<K: Key, V: Stored, S: Hashes + Send, D: Handle + Send + Sync + 'static> ParallelExtend<(K, V)>
    for &RcuHashMap<K, V, S, D>
{
    fn par_extend<I: IntoParallelIterator<Item = (K, V)>>(&mut self, entries: I) {
        let map = *self;
        let insert = |(key, value)| {
            map.pin().insert(key, value);
        };
        entries.into_par_iter().for_each(insert);
    }
}

impl<K: Key, V: Stored, S: Hashes + Send, D: Handle + Send + Sync + 'static> ParallelExtend<(K, V)>
    for RcuHashMap<K, V, S, D>
{
    fn par_extend<I: IntoParallelIterator<Item = (K, V)>>(&mut self, entries: I) {
        (&*self).par_extend(entries);
    }
}

impl<K: Key, V: Stored, S: Hashes + Send + Default> FromParallelIterator<(K, V)>
    for RcuHashMap<K, V, S>
{
    fn from_par_iter<I: IntoParallelIterator<Item = (K, V)>>(entries: I) -> RcuHashMap<K, V, S> {
        let mut map = RcuHashMap::default();
        map.par_extend(entries);
        map
    }
}
