//! papaya's map: without locks, on seize's collector.

use crate::maps::{Family, Hasher, Map, Stored};
use ::papaya::{Guard, HashMap};

pub(super) struct Papaya;

impl Family for Papaya {
    type Of<T: Stored, S: Hasher> = HashMap<T::Key, T::Value, S>;

    fn empty<T: Stored, S: Hasher>() -> Self::Of<T, S> {
        HashMap::with_hasher(S::default())
    }
}

impl<T: Stored, S: Hasher> Map<T> for HashMap<T::Key, T::Value, S> {
    #[inline(always)]
    fn get(&self, number: u64) -> bool {
        T::asked(number, |asked| {
            let map = self.pin();
            map.get(asked).is_some_and(|value| T::is_of(value, number))
        })
    }

    fn insert(&self, number: u64) -> bool {
        let map = self.pin();
        map.insert(T::key(number), T::value(number)).is_none()
    }

    fn update(&self, number: u64) -> bool {
        let map = self.pin();
        map.update(T::key(number), |_| T::value(number)).is_some()
    }

    fn remove(&self, number: u64) -> bool {
        T::asked(number, |asked| self.pin().remove(asked).is_some())
    }

    fn len(&self) -> usize {
        HashMap::len(self)
    }

    fn settle(&self) {
        self.guard().flush();
    }
}
