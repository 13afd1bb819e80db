//! What began and has not ended, in bounded memory.

use crate::base::map::Map;
use std::collections::VecDeque;
use std::hash::Hash;

/// Things that began and have not ended, each kind for itself. As many as a hash table of 2^17 places takes
/// before it doubles.
pub const WAITING_MOST: usize = 7 << 14;

/// What began and has not ended: at most so many entries.
#[derive(Debug)]
pub(crate) struct Waiting<K, V, const MOST: usize = WAITING_MOST> {
    entries: Map<K, (u64, V)>,
    /// Keys with the number of their entry, oldest first; those that have ended are still in it.
    order: VecDeque<(K, u64)>,
    next: u64,
    /// Entries that were given up.
    pub(crate) evicted: u64,
}

/// What is no longer there after an entry was added.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Gone<V> {
    pub(crate) replaced: Option<V>,
    pub(crate) evicted: Option<V>,
}

impl<K, V, const MOST: usize> Default for Waiting<K, V, MOST> {
    fn default() -> Self {
        Waiting {
            entries: Map::default(),
            order: VecDeque::new(),
            next: 0,
            evicted: 0,
        }
    }
}

impl<K: Copy + Eq + Hash, V, const MOST: usize> Waiting<K, V, MOST> {
    /// Adds an entry; gives back the one with the same key, which it replaces, and the oldest one if that
    /// made room.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Gone<V> {
        let number = self.next;
        self.next += 1;
        let before = self.entries.insert(key, (number, value));
        self.order.push_back((key, number));
        let mut evicted = None;
        while self.entries.len() > MOST {
            let Some((key, number)) = self.order.pop_front() else {
                break;
            };
            if self.entries.get(&key).is_some_and(|(n, _)| *n == number) {
                evicted = self.remove(&key);
                self.evicted += 1;
            }
        }
        if self.order.len() > 2 * self.entries.len() + 1024 {
            let entries = &self.entries;
            self.order
                .retain(|(key, number)| entries.get(key).is_some_and(|(n, _)| n == number));
        }
        let replaced = before.map(|(_, value)| value);
        Gone { replaced, evicted }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.entries.remove(key).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key).map(|(_, value)| value)
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(_, value)| value)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.values_mut().map(|(_, value)| value)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_that_waits_makes_room() {
        let mut waiting = Waiting::<_, _, 3>::default();
        for key in 0..3 {
            assert_eq!(waiting.insert(key, key * 10).replaced, None);
        }
        assert_eq!(waiting.remove(&0), Some(0));
        waiting.insert(3, 30);
        assert_eq!(waiting.evicted, 0);
        // 1 is replaced, so that 2 is the oldest.
        assert_eq!(waiting.insert(1, 11).replaced, Some(10));
        assert_eq!(waiting.insert(4, 40).evicted, Some(20));
        assert_eq!((waiting.evicted, waiting.get(&2)), (1, None));
        assert_eq!(waiting.get(&1), Some(&11));
    }

    #[test]
    fn what_has_ended_takes_no_memory() {
        let mut waiting = Waiting::<_, _, 10>::default();
        for key in 0..100_000u64 {
            waiting.insert(key, ());
            waiting.remove(&key);
        }
        assert!(waiting.order.len() <= 1025 && waiting.evicted == 0);
        // Nor when many end at once.
        let mut waiting = Waiting::<_, _, 5000>::default();
        (0..2000u64).for_each(|key| _ = waiting.insert(key, ()));
        assert_eq!((waiting.order.len(), waiting.evicted), (2000, 0));
        (0..2000u64).for_each(|key| _ = waiting.remove(&key));
        waiting.insert(0, ());
        assert_eq!(waiting.order.len(), 1);
    }

    #[test]
    fn the_order_is_cleaned_when_half_of_it_has_ended_and_keeps_what_waits() {
        let mut waiting = Waiting::<_, _, 3000>::default();
        (0..3000u64).for_each(|key| _ = waiting.insert(key, key));
        (0..1500u64).for_each(|key| _ = waiting.remove(&key));
        waiting.insert(3000, 3000);
        assert_eq!(waiting.order.len(), 3001);
        (1500..2500u64).for_each(|key| _ = waiting.remove(&key));
        waiting.insert(3001, 3001);
        assert_eq!(waiting.order.len(), 502);
        // The oldest ones go first all the same.
        (3002..5500u64).for_each(|key| _ = waiting.insert(key, key));
        assert_eq!(waiting.evicted, 0);
        let gone = [5500, 5501, 5502].map(|key| waiting.insert(key, key).evicted);
        assert_eq!(gone, [2500, 2501, 2502].map(Some));
        assert_eq!(
            (waiting.get(&2502), waiting.get(&2503)),
            (None, Some(&2503))
        );
    }
}
