//! dashmap: locked shards. It writes in place.

use crate::maps::{Family, Hasher, Map, Stored};
use ::dashmap::DashMap;
use std::borrow::Borrow;

pub(super) struct Dashmap;

impl Family for Dashmap {
    type Of<T: Stored, S: Hasher> = DashMap<T::Key, T::Value, S>;
}

impl<T: Stored, S: Hasher> Map<T> for DashMap<T::Key, T::Value, S> {
    fn empty() -> Self {
        DashMap::with_hasher(S::default())
    }

    #[inline(always)]
    fn get(&self, number: u64) -> bool {
        let found = DashMap::get(self, T::query(number).borrow());
        found.is_some_and(|value| T::is_of(&value, number))
    }

    fn insert(&self, number: u64) -> bool {
        DashMap::insert(self, T::key(number), T::value(number)).is_none()
    }

    fn update(&self, number: u64) -> bool {
        let found = self.get_mut(T::query(number).borrow());
        found.map(|mut it| *it = T::value(number)).is_some()
    }

    fn remove(&self, number: u64) -> bool {
        DashMap::remove(self, T::query(number).borrow()).is_some()
    }

    fn entries(&self) -> usize {
        DashMap::len(self)
    }
}
