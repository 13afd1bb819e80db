//! [`Pinned`]: a map with a guard.

use std::borrow::Borrow;
use std::hash::Hash;

use quiescent::{Global, Guard, Handle, Reads};

use super::{Change, Iter, Occupied, RcuHashMap};
use crate::bounds::{Hashes, Key, Stored};

/// A map together with a guard: the methods are those of [`RcuHashMap`], without the guard. What they return
/// lives as long as this is borrowed. The section ends when it is dropped.
///
/// ```
/// use quiescent_collections::RcuHashMap;
///
/// let map = RcuHashMap::from([(1, "one"), (2, "two")]);
/// let pinned = map.pin();
/// assert_eq!(pinned.get(&1), Some(&"one"));
/// assert_eq!(pinned.remove(&1), Some(&"one"));
/// assert_eq!(pinned.iter().count(), 1);
/// ```
pub struct Pinned<'m, K, V, S, D: Handle = Global, E: Handle = D> {
    pub(super) map: &'m RcuHashMap<K, V, S, D>,
    pub(super) guard: Guard<E>,
}

impl<K: Key, V: Stored, S: Hashes, D: Handle + 'static, E: Handle + Reads<D::Brand>>
    Pinned<'_, K, V, S, D, E>
{
    /// See [`RcuHashMap::get`].
    #[inline(always)]
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.map.get(key, &self.guard)
    }

    /// See [`RcuHashMap::get_key_value`].
    #[inline(always)]
    pub fn get_key_value<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        self.map.get_key_value(key, &self.guard)
    }

    /// See [`RcuHashMap::contains_key`].
    #[inline(always)]
    pub fn contains_key<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.map.contains_key(key, &self.guard)
    }

    /// See [`RcuHashMap::get_many`].
    pub fn get_many<Q: Hash + Eq + ?Sized, const N: usize>(&self, keys: [&Q; N]) -> [Option<&V>; N]
    where
        K: Borrow<Q>,
    {
        self.map.get_many(keys, &self.guard)
    }

    /// See [`RcuHashMap::insert`].
    pub fn insert(&self, key: K, value: V) -> Option<&V> {
        self.map.insert(key, value, &self.guard)
    }

    /// See [`RcuHashMap::try_insert`].
    pub fn try_insert(&self, key: K, value: V) -> Result<&V, Occupied<'_, K, V>> {
        self.map.try_insert(key, value, &self.guard)
    }

    /// See [`RcuHashMap::replace`].
    pub fn replace(&self, key: K, value: V) -> Option<&V> {
        self.map.replace(key, value, &self.guard)
    }

    /// See [`RcuHashMap::get_or_insert_with`].
    pub fn get_or_insert_with(&self, key: K, value: impl FnOnce() -> V) -> &V {
        self.map.get_or_insert_with(key, value, &self.guard)
    }

    /// See [`RcuHashMap::update`].
    pub fn update(&self, key: K, f: impl FnMut(&V) -> V) -> Option<&V> {
        self.map.update(key, f, &self.guard)
    }

    /// See [`RcuHashMap::compute`].
    pub fn compute(
        &self,
        key: K,
        f: impl FnMut(Option<&V>) -> Change<V>,
    ) -> (Option<&V>, Option<&V>) {
        self.map.compute(key, f, &self.guard)
    }

    /// See [`RcuHashMap::remove`].
    pub fn remove<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.map.remove(key, &self.guard)
    }

    /// See [`RcuHashMap::remove_entry`].
    pub fn remove_entry<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        self.map.remove_entry(key, &self.guard)
    }

    /// See [`RcuHashMap::remove_if`].
    pub fn remove_if<Q: Hash + Eq + ?Sized>(
        &self,
        key: &Q,
        condition: impl FnMut(&K, &V) -> bool,
    ) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.map.remove_if(key, condition, &self.guard)
    }

    /// See [`RcuHashMap::iter`].
    pub fn iter(&self) -> Iter<'_, K, V, S, D> {
        self.map.iter(&self.guard)
    }

    /// See [`RcuHashMap::keys`].
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.map.keys(&self.guard)
    }

    /// See [`RcuHashMap::values`].
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.map.values(&self.guard)
    }

    /// See [`RcuHashMap::retain`].
    pub fn retain(&self, keep: impl FnMut(&K, &V) -> bool) {
        self.map.retain(keep, &self.guard);
    }

    /// See [`RcuHashMap::clear`].
    pub fn clear(&self) {
        self.map.clear(&self.guard);
    }

    /// See [`RcuHashMap::reserve`].
    pub fn reserve(&self, additional: usize) {
        self.map.reserve(additional, &self.guard);
    }

    /// See [`RcuHashMap::shrink_to_fit`].
    pub fn shrink_to_fit(&self) {
        self.map.shrink_to_fit(&self.guard);
    }

    /// Lets a waiting grace period proceed: see [`Guard::repin`]. What was found before may no longer be
    /// used.
    pub fn repin(&mut self) {
        self.guard.repin();
    }

    /// The guard.
    pub fn guard(&self) -> &Guard<E> {
        &self.guard
    }

    /// The map.
    pub fn map(&self) -> &RcuHashMap<K, V, S, D> {
        self.map
    }
}
