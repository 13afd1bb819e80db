//! [`RcuHashSet`]: a map without values.

mod pinned;
mod traits;

pub use pinned::PinnedSet;

use std::borrow::Borrow;
use std::hash::{Hash, RandomState};

use quiescent::{Global, Guard, Handle, Reads};

use crate::bounds::{Hashes, Key};
use crate::map::{Entry, RcuHashMap};
use crate::prim::const_new;

/// A hash set whose readers take no lock, execute no fence, and write to no shared memory.
///
/// It is an [`RcuHashMap`] with the values `()`, which take no memory. What that promises of progress,
/// memory, domains, and bad input is promised here. Calls take a [`Guard`], or the set is
/// [pinned](RcuHashSet::pin); an element that is found lives as long as the guard.
///
/// ```
/// use quiescent_collections::RcuHashSet;
///
/// let blocked = RcuHashSet::from(["10.0.0.1".to_string()]);
/// let set = blocked.pin();
/// assert!(set.contains("10.0.0.1")); // no lock, no fence
/// assert!(set.insert("10.0.0.2".to_string()));
/// assert!(!set.insert("10.0.0.2".to_string())); // it is there
/// assert!(set.remove("10.0.0.1"));
/// assert_eq!(set.iter().collect::<Vec<_>>(), ["10.0.0.2"]);
/// ```
///
/// Other constructors than these are those of the map: a set of weighed elements is
/// `RcuHashSet::from_map(RcuHashMap::new().weighed())`.
pub struct RcuHashSet<T, S = RandomState, D = Global> {
    map: RcuHashMap<T, (), S, D>,
}

impl<T> RcuHashSet<T> {
    /// An empty set. Allocates nothing.
    pub fn new() -> RcuHashSet<T> {
        RcuHashSet::from_map(RcuHashMap::new())
    }
}

impl<T, S> RcuHashSet<T, S> {
    const_new! {
    /// An empty set with this hasher. Allocates nothing.
    pub fn with_hasher(hasher: S) -> RcuHashSet<T, S> {
        RcuHashSet::from_map(RcuHashMap::with_hasher(hasher))
    }
    }
}

impl<T, D> RcuHashSet<T, RandomState, D> {
    /// An empty set that is read under sections of `domain`: see [`RcuHashMap::new_in`].
    pub fn new_in(domain: D) -> RcuHashSet<T, RandomState, D> {
        RcuHashSet::from_map(RcuHashMap::new_in(domain))
    }
}

impl<T, S, D> RcuHashSet<T, S, D> {
    /// The keys of a map, as a set.
    pub const fn from_map(map: RcuHashMap<T, (), S, D>) -> RcuHashSet<T, S, D> {
        RcuHashSet { map }
    }

    /// The map whose keys are the elements: for the calls that only the map has.
    pub const fn as_map(&self) -> &RcuHashMap<T, (), S, D> {
        &self.map
    }

    /// The number of elements: see [`RcuHashMap::len`].
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether [`len`](RcuHashSet::len) is 0.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}

impl<T: Key, S: Hashes, D: Handle + 'static> RcuHashSet<T, S, D> {
    /// Opens a section, and returns the set together with its guard: see [`RcuHashMap::pin`].
    #[inline(always)]
    pub fn pin(&self) -> PinnedSet<'_, T, S, D> {
        let guard = Guard::new_in(self.map.domain().clone());
        PinnedSet { set: self, guard }
    }

    /// The set together with a guard, also of another handle to its domain.
    ///
    /// # Panics
    /// With the first call, if the guard is of another domain with the same tag.
    #[inline(always)]
    pub fn with_guard<E: Handle + Reads<D::Brand>>(
        &self,
        guard: Guard<E>,
    ) -> PinnedSet<'_, T, S, D, E> {
        PinnedSet { set: self, guard }
    }

    /// The element that equals this one. Wait-free: see [`RcuHashMap::get`].
    #[inline(always)]
    #[track_caller]
    pub fn get<'g, Q: Hash + Eq + ?Sized>(
        &'g self,
        element: &Q,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> Option<&'g T>
    where
        T: Borrow<Q>,
    {
        Some(self.map.get_key_value(element, guard)?.0)
    }

    /// Whether the set has this element. Wait-free: see [`RcuHashMap::get`].
    #[inline(always)]
    #[track_caller]
    pub fn contains<Q: Hash + Eq + ?Sized>(
        &self,
        element: &Q,
        guard: &Guard<impl Handle + Reads<D::Brand>>,
    ) -> bool
    where
        T: Borrow<Q>,
    {
        self.map.contains_key(element, guard)
    }

    /// Adds an element. Returns false if the set has an equal one, which stays. Waits, and panics, as
    /// [`RcuHashMap::insert`].
    #[track_caller]
    pub fn insert(&self, element: T, guard: &Guard<impl Handle + Reads<D::Brand>>) -> bool {
        self.put(element, guard).1
    }

    /// The element that equals this one; if there is none, this one, which is added. If two threads add equal
    /// ones, both return the same.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// let names = quiescent_collections::RcuHashSet::<Arc<str>>::new();
    /// let names = names.pin();
    /// let first = names.get_or_insert("Ada".into());
    /// assert!(Arc::ptr_eq(first, names.get_or_insert("Ada".into())));
    /// ```
    #[track_caller]
    pub fn get_or_insert<'g>(
        &'g self,
        element: T,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> &'g T {
        match self.get(&element, guard) {
            Some(element) => element,
            None => self.put(element, guard).0,
        }
    }

    /// The element that the set has then, and whether it is this one.
    #[track_caller]
    fn put<'g>(&'g self, key: T, guard: &'g Guard<impl Handle + Reads<D::Brand>>) -> (&'g T, bool) {
        let (entry, refused) = self.map.find_or_put(Entry { key, value: () }, guard);
        (&entry.key, refused.is_none())
    }

    /// Removes an element, and returns it. It stays until the sections end that are open now.
    #[track_caller]
    pub fn take<'g, Q: Hash + Eq + ?Sized>(
        &'g self,
        element: &Q,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> Option<&'g T>
    where
        T: Borrow<Q>,
    {
        Some(self.map.remove_entry(element, guard)?.0)
    }

    /// As [`take`](RcuHashSet::take); returns whether the set had it.
    #[track_caller]
    pub fn remove<Q: Hash + Eq + ?Sized>(
        &self,
        element: &Q,
        guard: &Guard<impl Handle + Reads<D::Brand>>,
    ) -> bool
    where
        T: Borrow<Q>,
    {
        self.take(element, guard).is_some()
    }

    /// The elements, in no certain order; one that is there all the time exactly once: see
    /// [`RcuHashMap::iter`].
    #[track_caller]
    pub fn iter<'g>(
        &'g self,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> impl Iterator<Item = &'g T> {
        self.map.keys(guard)
    }

    /// Removes the elements of which `keep` returns false: see [`RcuHashMap::retain`].
    #[track_caller]
    pub fn retain(
        &self,
        mut keep: impl FnMut(&T) -> bool,
        guard: &Guard<impl Handle + Reads<D::Brand>>,
    ) {
        self.map.retain(|element, ()| keep(element), guard);
    }

    /// Removes all elements that are in the set all the time: see [`RcuHashMap::clear`].
    #[track_caller]
    pub fn clear(&self, guard: &Guard<impl Handle + Reads<D::Brand>>) {
        self.map.clear(guard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_takes_its_own_memory_only() {
        assert_eq!(size_of::<Entry<u64, ()>>(), size_of::<u64>());
        assert_eq!(size_of::<Entry<String, ()>>(), size_of::<String>());
        assert_eq!(size_of::<Entry<[u8; 3], ()>>(), 3);
    }
}
