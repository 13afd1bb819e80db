//! Traits of the standard library, of `serde` and of `rayon`.

use std::hash::RandomState;
use std::{fmt, iter, vec};

use quiescent::Handle;

use super::RcuHashSet;
use crate::bounds::{Hashes, Key, Stored};
use crate::map::RcuHashMap;

impl<T: Stored, S: Default> Default for RcuHashSet<T, S> {
    fn default() -> RcuHashSet<T, S> {
        RcuHashSet::with_hasher(S::default())
    }
}

impl<T: Key, S: Hashes + Default> FromIterator<T> for RcuHashSet<T, S> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> RcuHashSet<T, S> {
        let elements = elements.into_iter();
        let (hasher, room) = (S::default(), elements.size_hint().0);
        let map = RcuHashMap::with_capacity_and_hasher(room, hasher);
        let mut set = RcuHashSet::from_map(map);
        set.extend(elements);
        set
    }
}

impl<T: Key, const N: usize> From<[T; N]> for RcuHashSet<T, RandomState> {
    fn from(elements: [T; N]) -> RcuHashSet<T, RandomState> {
        elements.into_iter().collect()
    }
}

impl<T: Key, S: Hashes, D: Handle + 'static> Extend<T> for RcuHashSet<T, S, D> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        (&*self).extend(elements);
    }
}

/// Each element is inserted in a section of its own, so `next` of the iterator runs in none.
impl<T: Key, S: Hashes, D: Handle + 'static> Extend<T> for &RcuHashSet<T, S, D> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        for element in elements {
            self.pin().insert(element);
        }
    }
}

/// Equal if both have the same elements. Of sets that change meanwhile it says nothing.
impl<T: Key, S: Hashes, D: Handle + 'static> PartialEq for RcuHashSet<T, S, D> {
    fn eq(&self, other: &RcuHashSet<T, S, D>) -> bool {
        self.as_map() == other.as_map()
    }
}

impl<T: Key, S: Hashes, D: Handle + 'static> Eq for RcuHashSet<T, S, D> {}

impl<T: Key + fmt::Debug, S: Hashes, D: Handle + 'static> fmt::Debug for RcuHashSet<T, S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.pin().iter()).finish()
    }
}

impl<T, S, D> IntoIterator for RcuHashSet<T, S, D> {
    type Item = T;
    type IntoIter = iter::Map<vec::IntoIter<(T, ())>, fn((T, ())) -> T>;

    /// Takes all elements out of the set; nothing is retired. Takes time and memory linear in their number.
    fn into_iter(self) -> Self::IntoIter {
        self.map.into_iter().map(|(element, ())| element)
    }
}

#[cfg(feature = "serde")]
mod serde {
    use ::serde::de::{Deserialize, Deserializer};
    use ::serde::ser::{Serialize, Serializer};

    use super::*;

    /// The elements as `iter` finds them, in one section.
    impl<T: Key + Serialize, S: Hashes, D: Handle + 'static> Serialize for RcuHashSet<T, S, D> {
        fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
            let pinned = self.pin();
            // Formats that write the number of elements first must not find another number.
            let elements: Vec<&T> = pinned.iter().collect();
            serializer.collect_seq(elements)
        }
    }

    impl<'de, T: Key + Deserialize<'de>, S: Hashes + Default> Deserialize<'de> for RcuHashSet<T, S> {
        fn deserialize<Z: Deserializer<'de>>(deserializer: Z) -> Result<Self, Z::Error> {
            Ok(Vec::deserialize(deserializer)?.into_iter().collect())
        }
    }
}

#[cfg(feature = "rayon")]
mod rayon {
    use ::rayon::iter::{
        FromParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator,
    };

    use super::*;

    /// Each element is inserted in a section of its own.
    impl<T: Key, S: Hashes + Send, D: Handle + Send + Sync + 'static> ParallelExtend<T>
        for RcuHashSet<T, S, D>
    {
        fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, elements: I) {
            let set = &*self;
            elements.into_par_iter().for_each(|element| {
                set.pin().insert(element);
            });
        }
    }

    impl<T: Key, S: Hashes + Send + Default> FromParallelIterator<T> for RcuHashSet<T, S> {
        fn from_par_iter<I: IntoParallelIterator<Item = T>>(elements: I) -> RcuHashSet<T, S> {
            let mut set = RcuHashSet::default();
            set.par_extend(elements);
            set
        }
    }
}
