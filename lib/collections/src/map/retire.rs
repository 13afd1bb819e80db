//! From an index that was unlinked to a batch that the library frees.

use quiescent::Handle;

use super::core::Core;
use super::store::{Entry, Garbage};
use crate::bounds::{Hashes, Key, Stored};
use crate::slab::{Desk, Full, Mine, Removed, Rest, Unit, Unlinked};
use crate::table::Bucket;

impl<K: Key, V: Stored, S: Hashes, D: Handle> Core<K, V, S, D> {
    /// An index for an entry to be written.
    #[inline(always)]
    pub fn take_entry(&self, desk: Desk<'_>) -> u32 {
        let mut rest = Rest::default();
        let index = (self.store.entries).take(&desk.mine(), &mut rest);
        self.clean(rest);
        index
    }

    /// Retires what was unlinked under a lock. The caller holds none.
    #[inline(always)]
    pub fn clean(&self, rest: Rest) {
        if let Some(unlinked) = rest.into_unlinked() {
            self.clean_slowly(*unlinked);
        }
    }

    #[cold]
    #[inline(never)]
    fn clean_slowly(&self, unlinked: Unlinked) {
        for directory in unlinked.directories {
            self.retire(Garbage::Directory(directory), 0, false);
        }
        for index in unlinked.overflows {
            let mine = self.store.overflows.magazines().shared().mine();
            self.remove(mine, index, 0, Bucket::BATCH, Garbage::Overflows);
        }
    }

    /// Frees something after a grace period. Everything that is passed here was unlinked from this map.
    pub fn retire(&self, garbage: Garbage, owned: usize, hurry: bool) {
        // SAFETY: unlinked, of this store, and read under sections of this domain.
        unsafe { self.store.retire(&self.domain, garbage, owned, hurry) };
    }

    /// Retires an entry that was unlinked. The caller holds no lock.
    #[inline(always)]
    pub fn retire_entry(&self, index: u32, desk: Desk<'_>) {
        let weight = match self.weight {
            None => 0,
            Some(weight) => {
                // SAFETY: found in this section.
                let entry = unsafe { self.entry(index) };
                weight(&entry.key, &entry.value)
            }
        };
        let batch = <Entry<K, V> as Unit>::BATCH;
        self.remove(desk.mine(), index, weight, batch, Garbage::Entries);
    }

    /// Puts an index to its batch, and retires the batch if it is full. No lock is held meanwhile.
    #[inline(always)]
    fn remove(
        &self,
        mine: Mine<'_>,
        index: u32,
        weight: usize,
        batch: usize,
        of: fn(Full) -> Garbage,
    ) {
        match mine.remove(index, weight, batch) {
            Removed::Kept => {}
            Removed::First => {
                drop(mine);
                self.arm();
            }
            Removed::Full => {
                let (full, owned) = mine.seal();
                drop(mine);
                self.retire(of(full), owned, false);
            }
        }
    }
}
