//! papaya's map: without locks, on seize's collector.

use crate::maps::{Family, Hasher, Map, Stored};
use ::papaya::{Guard, HashMap};
use std::borrow::Borrow;

pub(super) struct Papaya;

impl Family for Papaya {
    type Of<T: Stored, S: Hasher> = HashMap<T::Key, T::Value, S>;
}

impl<T: Stored, S: Hasher> Map<T> for HashMap<T::Key, T::Value, S> {
    fn empty() -> Self {
        HashMap::with_hasher(S::default())
    }

    #[inline(always)]
    fn get(&self, number: u64) -> bool {
        let map = self.pin();
        let found = map.get(T::query(number).borrow());
        found.is_some_and(|value| T::is_of(value, number))
    }

    fn insert(&self, number: u64) -> bool {
        self.pin()
            .insert(T::key(number), T::value(number))
            .is_none()
    }

    fn update(&self, number: u64) -> bool {
        let map = self.pin();
        map.update(T::key(number), |_| T::value(number)).is_some()
    }

    fn remove(&self, number: u64) -> bool {
        self.pin().remove(T::query(number).borrow()).is_some()
    }

    fn entries(&self) -> usize {
        HashMap::len(self)
    }

    fn settle(&self) {
        self.guard().flush();
    }
}
