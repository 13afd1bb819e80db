//! [`PinnedSet`]: a set with a guard.

use std::borrow::Borrow;
use std::hash::Hash;

use quiescent::{Global, Guard, Handle, Reads};

use super::RcuHashSet;
use crate::bounds::{Hashes, Key};

/// A set together with a guard: the methods are those of [`RcuHashSet`], without the guard. What they return
/// lives as long as this is borrowed. The section ends when it is dropped.
pub struct PinnedSet<'s, T, S, D: Handle = Global, E: Handle = D> {
    pub(super) set: &'s RcuHashSet<T, S, D>,
    pub(super) guard: Guard<E>,
}

impl<T: Key, S: Hashes, D: Handle + 'static, E: Handle + Reads<D::Brand>>
    PinnedSet<'_, T, S, D, E>
{
    /// See [`RcuHashSet::get`].
    #[inline(always)]
    pub fn get<Q: Hash + Eq + ?Sized>(&self, element: &Q) -> Option<&T>
    where
        T: Borrow<Q>,
    {
        self.set.get(element, &self.guard)
    }

    /// See [`RcuHashSet::contains`].
    #[inline(always)]
    pub fn contains<Q: Hash + Eq + ?Sized>(&self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.set.contains(element, &self.guard)
    }

    /// See [`RcuHashSet::insert`].
    pub fn insert(&self, element: T) -> bool {
        self.set.insert(element, &self.guard)
    }

    /// See [`RcuHashSet::get_or_insert`].
    pub fn get_or_insert(&self, element: T) -> &T {
        self.set.get_or_insert(element, &self.guard)
    }

    /// See [`RcuHashSet::take`].
    pub fn take<Q: Hash + Eq + ?Sized>(&self, element: &Q) -> Option<&T>
    where
        T: Borrow<Q>,
    {
        self.set.take(element, &self.guard)
    }

    /// See [`RcuHashSet::remove`].
    pub fn remove<Q: Hash + Eq + ?Sized>(&self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.set.remove(element, &self.guard)
    }

    /// See [`RcuHashSet::iter`].
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.set.iter(&self.guard)
    }

    /// See [`RcuHashSet::retain`].
    pub fn retain(&self, keep: impl FnMut(&T) -> bool) {
        self.set.retain(keep, &self.guard);
    }

    /// See [`RcuHashSet::clear`].
    pub fn clear(&self) {
        self.set.clear(&self.guard);
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
}
