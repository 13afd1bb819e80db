//! scc's map: locked buckets. It writes in place.

use crate::maps::{Family, Hasher, Map, Stored};
use ::scc::HashMap;
use std::borrow::Borrow;

pub(super) struct Scc;

impl Family for Scc {
    type Of<T: Stored, S: Hasher> = HashMap<T::Key, T::Value, S>;
}

impl<T: Stored, S: Hasher> Map<T> for HashMap<T::Key, T::Value, S> {
    fn empty() -> Self {
        HashMap::with_hasher(S::default())
    }

    #[inline(always)]
    fn get(&self, number: u64) -> bool {
        let is_of = |_: &T::Key, value: &T::Value| T::is_of(value, number);
        self.read_sync(T::query(number).borrow(), is_of) == Some(true)
    }

    fn insert(&self, number: u64) -> bool {
        self.upsert_sync(T::key(number), T::value(number)).is_none()
    }

    fn update(&self, number: u64) -> bool {
        let update = |_: &T::Key, value: &mut T::Value| *value = T::value(number);
        self.update_sync(T::query(number).borrow(), update)
            .is_some()
    }

    fn remove(&self, number: u64) -> bool {
        self.remove_sync(T::query(number).borrow()).is_some()
    }

    fn entries(&self) -> usize {
        HashMap::len(self)
    }
}
