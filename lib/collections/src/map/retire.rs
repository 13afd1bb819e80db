//! From an index that was unlinked to a batch that the library frees.

use std::hash::{BuildHasher, Hash};

use quiescent::Handle;

use super::core::Core;
use super::store::{Entry, Garbage};
use crate::slab::{Removed, Replaced, Unit};
use crate::table::Bucket;

/// What was unlinked under a lock, and is retired after the unlock: retiring may run code of the program.
#[derive(Default)]
pub struct Rest {
    pub memory: Replaced,
    pub overflows: Vec<u32>,
}

impl<K, V, S, D> Core<K, V, S, D>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher + Sync,
    D: Handle,
{
    /// An index for an entry to be written.
    #[inline(always)]
    pub fn take_entry(&self) -> u32 {
        let mut rest = Rest::default();
        let index = self
            .store
            .entries
            .take(&self.store.entries.mine(), &mut rest.memory);
        self.clean(rest);
        index
    }

    /// Retires what was unlinked under a lock. The caller holds none.
    #[inline(always)]
    pub fn clean(&self, rest: Rest) {
        if !rest.memory.is_empty() || !rest.overflows.is_empty() {
            self.clean_slowly(rest);
        }
    }

    #[cold]
    #[inline(never)]
    fn clean_slowly(&self, rest: Rest) {
        for memory in rest.memory {
            self.retire(Garbage::Memory(memory), 0, false);
        }
        for index in rest.overflows {
            let mine = self.store.overflows.shared();
            let removed = mine.remove(index, 0, Bucket::BATCH);
            let full = (removed == Removed::Full).then(|| mine.seal().0);
            drop(mine);
            match full {
                Some(full) => self.retire(Garbage::Overflows(full), 0, false),
                None if removed == Removed::First => self.arm(),
                None => {}
            }
        }
    }

    /// Frees something after a grace period. Everything that is passed here was unlinked from this map.
    pub fn retire(&self, garbage: Garbage, owned: usize, hurry: bool) {
        // SAFETY: unlinked, of this store, and read under sections of this domain.
        unsafe { self.store.retire(&self.domain, garbage, owned, hurry) };
    }

    /// Retires an entry that was unlinked. The caller holds no lock.
    #[inline(always)]
    pub fn retire_entry(&self, index: u32) {
        let weight = match self.weight {
            None => 0,
            Some(weight) => {
                // SAFETY: found in this section.
                let entry = unsafe { self.entry(index) };
                weight(&entry.key, &entry.value)
            }
        };
        let mine = self.store.entries.mine();
        match mine.remove(index, weight, <Entry<K, V> as Unit>::BATCH) {
            Removed::Kept => {}
            Removed::First => {
                drop(mine);
                self.arm();
            }
            Removed::Full => {
                let (full, owned) = mine.seal();
                drop(mine);
                self.retire(Garbage::Entries(full), owned, false);
            }
        }
    }
}
