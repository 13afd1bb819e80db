//! Traits of the standard library.

use std::fmt;
use std::hash::RandomState;

use quiescent::{Guard, Handle};

use super::RcuHashMap;
use crate::bounds::{Hashes, Key, Stored};

impl<K: Stored, V: Stored, S: Default> Default for RcuHashMap<K, V, S> {
    fn default() -> RcuHashMap<K, V, S> {
        RcuHashMap::with_hasher(S::default())
    }
}

impl<K: Key, V: Stored, S: Hashes + Default> FromIterator<(K, V)> for RcuHashMap<K, V, S> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> RcuHashMap<K, V, S> {
        let entries = entries.into_iter();
        let mut map = RcuHashMap::with_capacity_and_hasher(entries.size_hint().0, S::default());
        map.extend(entries);
        map
    }
}

impl<K: Key, V: Stored, const N: usize> From<[(K, V); N]> for RcuHashMap<K, V, RandomState> {
    fn from(entries: [(K, V); N]) -> RcuHashMap<K, V, RandomState> {
        entries.into_iter().collect()
    }
}

impl<K: Key, V: Stored, S: Hashes, D: Handle + 'static> Extend<(K, V)> for RcuHashMap<K, V, S, D> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        (&*self).extend(entries);
    }
}

/// Each entry is inserted in a section of its own, so `next` of the iterator runs in none.
impl<K: Key, V: Stored, S: Hashes, D: Handle + 'static> Extend<(K, V)> for &RcuHashMap<K, V, S, D> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.pin().insert(key, value);
        }
    }
}

/// Equal if both have the same keys with equal values. Of maps that change meanwhile it says nothing.
impl<K: Key, V: PartialEq + Send + Sync + 'static, S: Hashes, D: Handle + 'static> PartialEq
    for RcuHashMap<K, V, S, D>
{
    fn eq(&self, other: &RcuHashMap<K, V, S, D>) -> bool {
        if self.len() != other.len() {
            return false;
        }
        let (one, other) = (self.pin(), other.pin());
        one.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<K: Key, V, S: Hashes, D: Handle + 'static> Eq for RcuHashMap<K, V, S, D> where
    V: Eq + Send + Sync + 'static
{
}

impl<K: Key + fmt::Debug, V: fmt::Debug + Send + Sync + 'static, S: Hashes, D: Handle + 'static>
    fmt::Debug for RcuHashMap<K, V, S, D>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guard = Guard::new_in(self.domain().clone());
        f.debug_map().entries(self.iter(&guard)).finish()
    }
}
