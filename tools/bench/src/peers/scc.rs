//! scc's map: locked buckets. It writes in place.

use crate::maps::{Family, Hasher, Map, Stored};
use ::scc::HashMap;

pub(super) struct Scc;

impl Family for Scc {
    type Of<T: Stored, S: Hasher> = HashMap<T::Key, T::Value, S>;

    fn empty<T: Stored, S: Hasher>() -> Self::Of<T, S> {
        HashMap::with_hasher(S::default())
    }
}

impl<T: Stored, S: Hasher> Map<T> for HashMap<T::Key, T::Value, S> {
    #[inline(always)]
    fn get(&self, number: u64) -> bool {
        T::asked(number, |asked| {
            let found = self.read_sync(asked, |_, value| T::is_of(value, number));
            found.unwrap_or(false)
        })
    }

    fn insert(&self, number: u64) -> bool {
        self.upsert_sync(T::key(number), T::value(number)).is_none()
    }

    fn update(&self, number: u64) -> bool {
        T::asked(number, |asked| {
            let updated = self.update_sync(asked, |_, value| *value = T::value(number));
            updated.is_some()
        })
    }

    fn remove(&self, number: u64) -> bool {
        T::asked(number, |asked| self.remove_sync(asked).is_some())
    }

    fn len(&self) -> usize {
        HashMap::len(self)
    }
}
