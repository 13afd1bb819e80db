//! crossbeam's skip list, on crossbeam-epoch or what is put in its place: an ordered map.

use crate::maps::{Family, Hasher, Map, Stored};
use ::crossbeam_skiplist::SkipMap;
use std::borrow::Borrow;

pub(super) struct Skiplist;

impl Family for Skiplist {
    type Of<T: Stored, S: Hasher> = SkipMap<T::Key, T::Value>;
}

impl<T: Stored> Map<T> for SkipMap<T::Key, T::Value> {
    fn empty() -> Self {
        SkipMap::new()
    }

    fn get(&self, number: u64) -> bool {
        let found = SkipMap::get(self, T::query(number).borrow());
        found.is_some_and(|entry| T::is_of(entry.value(), number))
    }

    fn insert(&self, number: u64) -> bool {
        let entry = SkipMap::insert(self, T::key(number), T::value(number));
        !entry.is_removed()
    }

    fn update(&self, number: u64) -> bool {
        Map::<T>::insert(self, number)
    }

    fn remove(&self, number: u64) -> bool {
        SkipMap::remove(self, T::query(number).borrow()).is_some()
    }

    fn entries(&self) -> usize {
        self.len()
    }
}
