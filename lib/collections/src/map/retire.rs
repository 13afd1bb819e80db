//! From an index that was unlinked to a batch that the library frees.

use std::any::Any;
use std::mem::needs_drop;
use std::panic::{AssertUnwindSafe, catch_unwind};

use quiescent::tuning::UNWEIGHED;
use quiescent::{Handle, Weigh};

use super::core::Core;
use super::store::{Entry, Garbage, KEYLESS, go_on};
use crate::bounds::{Hashes, Key, Stored};
use crate::slab::{Desk, Full, Removed, Unit};
use crate::table::Bucket;

impl<K: Key, V: Stored, S: Hashes, D: Handle + 'static> Core<K, V, S, D> {
    /// Retires an overflow bucket that was unlinked under a lock. The caller holds none.
    pub fn retire_overflow(&self, index: u32) {
        let shared = self.store.overflows.magazines().shared();
        self.remove(shared, index, 0, Bucket::BATCH, Garbage::Overflows);
    }

    /// Frees something after a grace period. Everything that is passed here was unlinked from this map.
    pub fn retire(&self, garbage: Garbage, owned: usize, hurry: bool) {
        let owned = match (&garbage, self.weight) {
            // As a cell counts a value with a destructor of which nothing was said.
            (Garbage::Entries(full), None) if needs_drop::<Entry<K, V>>() => {
                let owns = |index: &&u32| needs_drop::<V>() || **index & KEYLESS == 0;
                full.indexes().iter().filter(owns).count() * UNWEIGHED
            }
            _ => owned,
        };
        // SAFETY: unlinked, of this store, and read under sections of this domain.
        unsafe { self.store.retire(&self.domain, garbage, owned, hurry) };
    }

    /// Retires an entry that was unlinked. The caller holds no lock.
    #[inline(always)]
    pub fn retire_entry(&self, index: u32, desk: Desk<'_>) {
        if self.weight.is_some() || !desk.push_gone(index, Entry::<K, V>::BATCH) {
            self.retire_slowly(index, desk);
        }
    }

    #[cold]
    #[inline(never)]
    fn retire_slowly(&self, index: u32, desk: Desk<'_>) {
        let weight = self.weight.map_or(Ok(0), |weight| {
            // SAFETY: found in this section.
            let entry = unsafe { self.entry(index & !KEYLESS) };
            let whole = catch_unwind(AssertUnwindSafe(|| weight(&entry.key, &entry.value)))?;
            let key: &dyn Any = &entry.key;
            let stays = key.downcast_ref().filter(|_| index & KEYLESS != 0);
            Ok(whole.saturating_sub(stays.map_or(0, String::owned_bytes)))
        });
        let (batch, known) = (Entry::<K, V>::BATCH, *weight.as_ref().unwrap_or(&0));
        self.remove(desk, index, known, batch, Garbage::Entries);
        go_on(weight.map(drop));
    }

    /// Puts an index to its batch, and retires the batch if it is full. No lock is held meanwhile.
    fn remove(
        &self,
        desk: Desk<'_>,
        index: u32,
        weight: usize,
        batch: usize,
        of: fn(Full) -> Garbage,
    ) {
        let mine = desk.mine();
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
