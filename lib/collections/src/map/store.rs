//! The memory of a map: entries, overflow buckets, and what waits for a grace period.

use std::mem::{needs_drop, take};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use quiescent::{Handle, Retired};

use crate::bounds::Stored;
use crate::prim::{Mutex, Shared, lock};
use crate::slab::{Full, Slab, Unit};
use crate::table::{Bucket, Table};

/// A key and its value.
pub struct Entry<K, V> {
    pub key: K,
    pub value: V,
}

/// Marks the index of a removed entry whose key is in another entry now.
pub const KEYLESS: u32 = 1 << 31;

/// The bytes of a chunk, at most; and of a batch.
const CHUNK_BYTES: usize = 1 << 16;
const BATCH_BYTES: usize = 1 << 14;

impl<K, V> Unit for Entry<K, V> {
    const SHIFT: u32 = match CHUNK_BYTES / (size_of::<Self>() + 1) {
        0..64 => 6,
        1024.. => 10,
        units => units.ilog2(),
    };
    const BATCH: usize = match BATCH_BYTES / (size_of::<Self>() + 1) {
        0..16 => 16,
        256.. => 256,
        units => units,
    };
    const READY: usize = 32;
}

/// Entries are used again while they are in the caches: a batch counts as so many times its size.
const HASTE: usize = 8;

/// What was unlinked, and may still be read.
pub enum Garbage {
    Entries(Full),
    Overflows(Full),
    Table(Shared<Table>),
}

/// What waits, each thing under a number.
#[derive(Default)]
struct Waiting {
    items: Vec<Option<Garbage>>,
    /// Numbers of which the batch has come.
    unused: Vec<usize>,
    /// So many threads are freeing something.
    busy: usize,
}

pub struct Store<K, V> {
    pub entries: Slab<Entry<K, V>>,
    pub overflows: Slab<Bucket>,
    waiting: Mutex<Waiting>,
}

impl<K, V> Store<K, V> {
    pub fn new() -> Arc<Store<K, V>> {
        Arc::new(Store {
            entries: Slab::new(),
            overflows: Slab::new(),
            waiting: Mutex::default(),
        })
    }

    /// Frees something after a grace period: `owned` is what entries own besides their size.
    ///
    /// # Safety
    /// No section that opens later can find it. It is of this store.
    pub unsafe fn retire<D: Handle>(
        self: &Arc<Self>,
        domain: &D,
        garbage: Garbage,
        owned: usize,
        hurry: bool,
    ) where
        K: Stored,
        V: Stored,
    {
        let bytes = match &garbage {
            Garbage::Entries(full) => {
                let each = size_of::<Entry<K, V>>() + size_of::<u32>();
                (full.indexes().len() * each * HASTE).saturating_add(owned)
            }
            Garbage::Overflows(full) => full.indexes().len() * size_of::<Bucket>(),
            Garbage::Table(table) => table.bytes(),
        };
        let number = {
            let mut waiting = lock(&self.waiting);
            let number = waiting.unused.pop().unwrap_or(waiting.items.len());
            if number == waiting.items.len() {
                waiting.items.push(None);
            }
            waiting.items[number] = Some(garbage);
            number
        };
        let batch = Box::new(Batch {
            store: self.clone(),
            number,
        });
        // SAFETY: a box, and the caller's promise for what it frees.
        let retired =
            unsafe { Retired::from_raw_in(NonNull::from(Box::leak(batch)), domain.clone()) };
        let retired = retired.with_owned_bytes(bytes);
        match hurry {
            true => retired.retire_hurry(),
            false => retired.retire(),
        }
    }

    /// Frees what has this number, unless it was freed before.
    ///
    /// # Safety
    /// Its readers have ended.
    unsafe fn release(&self, number: usize) {
        let garbage = {
            let mut waiting = lock(&self.waiting);
            waiting.busy += 1;
            let garbage = waiting.items.get_mut(number).and_then(Option::take);
            if garbage.is_some() {
                waiting.unused.push(number);
            }
            garbage
        };
        // SAFETY: no thread uses it, by the caller's promise.
        let freed = garbage.map_or(Ok(()), |garbage| unsafe { self.free(garbage) });
        lock(&self.waiting).busy -= 1;
        go_on(freed);
    }

    /// # Safety
    /// No thread uses it.
    unsafe fn free(&self, garbage: Garbage) -> Dropped {
        match garbage {
            Garbage::Entries(mut full) => {
                // SAFETY: the caller's promise; they are dropped before they are given back.
                unsafe {
                    let dropped = self.drop_entries(full.indexes());
                    if needs_drop::<Entry<K, V>>() {
                        (full.indexes_mut().iter_mut()).for_each(|index| *index &= !KEYLESS);
                    }
                    self.entries.give_back(full);
                    return dropped;
                }
            }
            // SAFETY: the caller's promise; buckets need no drop.
            Garbage::Overflows(full) => unsafe { self.overflows.give_back(full) },
            Garbage::Table(table) => drop(table),
        }
        Ok(())
    }

    /// Drops these entries, of one that is [`KEYLESS`] its value; their memory stays. If a destructor panics,
    /// the others are dropped all the same.
    ///
    /// # Safety
    /// Each is initialised, and not used any more.
    pub unsafe fn drop_entries(&self, indexes: &[u32]) -> Dropped {
        let mut first = Ok(());
        if needs_drop::<Entry<K, V>>() {
            for &index in indexes {
                // SAFETY: the caller's promise.
                let entry = AssertUnwindSafe(|| unsafe {
                    let entry = self.entries.at(index & !KEYLESS);
                    match index & KEYLESS {
                        0 => entry.drop_in_place(),
                        _ => (&raw mut (*entry).value).drop_in_place(),
                    }
                });
                first = first.and(catch_unwind(entry));
            }
        }
        first
    }

    /// Frees everything: these entries, those that were removed, and the memory of all.
    ///
    /// # Safety
    /// No thread reads, and none takes entries. The entries are in no batch.
    pub unsafe fn free_all(&self, entries: &[u32]) -> Dropped {
        // SAFETY: the caller's promise.
        let mut dropped = unsafe { self.drop_entries(entries) };
        let removed = self.entries.magazines().take_all();
        // Their batches come for them, and find nothing.
        let waiting = take(&mut lock(&self.waiting).items);
        let waiting = waiting
            .into_iter()
            .flatten()
            .filter_map(|garbage| match garbage {
                Garbage::Entries(full) => Some(full),
                _ => None,
            });
        for full in waiting.chain(removed) {
            // SAFETY: as above.
            dropped = dropped.and(unsafe { self.drop_entries(full.indexes()) });
        }
        let waiting = lock(&self.waiting);
        if waiting.busy == 0 {
            // SAFETY: the caller's promise. What another thread is freeing would still use its entries; then
            // the last batch frees the memory.
            unsafe {
                self.entries.free_all();
                self.overflows.free_all();
            }
        }
        dropped
    }
}

/// The first panic of some destructors.
pub type Dropped = std::thread::Result<()>;

/// Goes on with a panic, after everything else was done.
pub fn go_on(dropped: Dropped) {
    if let Err(panic) = dropped {
        resume_unwind(panic);
    }
}

/// What the library frees after a grace period.
struct Batch<K, V> {
    store: Arc<Store<K, V>>,
    number: usize,
}

impl<K, V> Drop for Batch<K, V> {
    fn drop(&mut self) {
        // SAFETY: it was retired with what it frees.
        unsafe { self.store.release(self.number) };
    }
}
