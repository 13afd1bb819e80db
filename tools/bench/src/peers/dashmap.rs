//! dashmap: locked shards. It writes in place.

use crate::maps::{Family, Hasher, Map, Stored};
use ::dashmap::DashMap;

pub(super) struct Dashmap;

impl Family for Dashmap {
    type Of<T: Stored, S: Hasher> = DashMap<T::Key, T::Value, S>;

    fn empty<T: Stored, S: Hasher>() -> Self::Of<T, S> {
        DashMap::with_hasher(S::default())
    }
}

impl<T: Stored, S: Hasher> Map<T> for DashMap<T::Key, T::Value, S> {
    #[inline(always)]
    fn get(&self, number: u64) -> bool {
        T::asked(number, |asked| {
            let found = DashMap::get(self, asked);
            found.is_some_and(|value| T::is_of(&value, number))
        })
    }

    fn insert(&self, number: u64) -> bool {
        DashMap::insert(self, T::key(number), T::value(number)).is_none()
    }

    fn update(&self, number: u64) -> bool {
        T::asked(number, |asked| {
            let found = self.get_mut(asked);
            found.map(|mut value| *value = T::value(number)).is_some()
        })
    }

    fn remove(&self, number: u64) -> bool {
        T::asked(number, |asked| DashMap::remove(self, asked).is_some())
    }

    fn len(&self) -> usize {
        DashMap::len(self)
    }
}
