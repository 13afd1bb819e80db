//! Our own map.

use crate::maps::{Family, Hasher, MANY, Map, Stored};
use quiescent_collections::RcuHashMap;
use std::array::from_fn;
use std::borrow::Borrow;

pub(super) struct Rcu;

impl Family for Rcu {
    type Of<T: Stored, S: Hasher> = RcuHashMap<T::Key, T::Value, S>;
}

impl<T: Stored, S: Hasher> Map<T> for RcuHashMap<T::Key, T::Value, S> {
    fn empty() -> Self {
        RcuHashMap::with_hasher(S::default())
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
        map.replace(T::key(number), T::value(number)).is_some()
    }

    fn remove(&self, number: u64) -> bool {
        self.pin().remove(T::query(number).borrow()).is_some()
    }

    fn entries(&self) -> usize {
        RcuHashMap::len(self)
    }

    fn get_many(&self, numbers: &[u64; MANY]) -> u64 {
        // Not `map`, which makes a call for each of so many.
        let queries: [_; MANY] = from_fn(|at| T::query(numbers[at]));
        let map = self.pin();
        let found = map.get_many::<T::Asked, MANY>(from_fn(|at| queries[at].borrow()));
        let all = found.iter().zip(numbers);
        all.filter(|(value, number)| value.is_some_and(|it| T::is_of(it, **number)))
            .count() as u64
    }

    fn settle(&self) {
        quiescent::barrier();
    }
}
