//! Traits of the standard library.

use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};

use quiescent::{Guard, Handle};

use super::RcuHashMap;

impl<K, V, S> Default for RcuHashMap<K, V, S>
where
    K: Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: Default,
{
    fn default() -> RcuHashMap<K, V, S> {
        RcuHashMap::with_hasher(S::default())
    }
}

impl<K, V, S> FromIterator<(K, V)> for RcuHashMap<K, V, S>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher + Default + Sync,
{
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> RcuHashMap<K, V, S> {
        let entries = entries.into_iter();
        let mut map = RcuHashMap::with_capacity_and_hasher(entries.size_hint().0, S::default());
        map.extend(entries);
        map
    }
}

impl<K, V, const N: usize> From<[(K, V); N]> for RcuHashMap<K, V, RandomState>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    fn from(entries: [(K, V); N]) -> RcuHashMap<K, V, RandomState> {
        entries.into_iter().collect()
    }
}

impl<K, V, S, D> Extend<(K, V)> for RcuHashMap<K, V, S, D>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher + Sync,
    D: Handle,
{
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        (&*self).extend(entries);
    }
}

/// Each entry is inserted in a section of its own, so `next` of the iterator runs in none.
impl<K, V, S, D> Extend<(K, V)> for &RcuHashMap<K, V, S, D>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher + Sync,
    D: Handle,
{
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.pin().insert(key, value);
        }
    }
}

/// Equal if both have the same keys with equal values. Of maps that change meanwhile it says nothing.
impl<K, V, S, D> PartialEq for RcuHashMap<K, V, S, D>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: PartialEq + Send + Sync + 'static,
    S: BuildHasher + Sync,
    D: Handle,
{
    fn eq(&self, other: &RcuHashMap<K, V, S, D>) -> bool {
        if self.len() != other.len() {
            return false;
        }
        let (one, other) = (self.pin(), other.pin());
        one.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<K, V, S, D> Eq for RcuHashMap<K, V, S, D>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Eq + Send + Sync + 'static,
    S: BuildHasher + Sync,
    D: Handle,
{
}

impl<K, V, S, D> fmt::Debug for RcuHashMap<K, V, S, D>
where
    K: Hash + Eq + fmt::Debug + Send + Sync + 'static,
    V: fmt::Debug + Send + Sync + 'static,
    S: BuildHasher + Sync,
    D: Handle,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guard = Guard::new_in(self.domain().clone());
        f.debug_map().entries(self.iter(&guard)).finish()
    }
}
