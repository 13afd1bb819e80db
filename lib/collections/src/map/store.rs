//! The memory of a map: entries, overflow buckets, and what waits for a grace period.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use quiescent::{Handle, Retired};

use crate::bounds::Stored;
use crate::prim::{Mutex, lock};
use crate::slab::{Directory, Full, Slab, Unit};
use crate::table::{Bucket, Table};

/// A key and its value.
pub struct Entry<K, V> {
    pub key: K,
    pub value: V,
}

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
}

/// Entries are used again while they are in the caches: a batch counts as so many times its size.
const HASTE: usize = 4;

/// What was unlinked, and may still be read.
pub enum Garbage {
    Entries(Full),
    Overflows(Full),
    Table(Box<Table>),
    Directory(Directory),
}

/// What waits, each thing under a number.
struct Waiting {
    items: Vec<Option<Garbage>>,
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
        let waiting = Waiting {
            items: Vec::new(),
            unused: Vec::new(),
            busy: 0,
        };
        Arc::new(Store {
            entries: Slab::new(),
            overflows: Slab::new(),
            waiting: Mutex::new(waiting),
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
            Garbage::Directory(directory) => size_of_val(&**directory),
        };
        let number = {
            let mut waiting = lock(&self.waiting);
            match waiting.unused.pop() {
                Some(number) => {
                    waiting.items[number] = Some(garbage);
                    number
                }
                None => {
                    waiting.items.push(Some(garbage));
                    waiting.items.len() - 1
                }
            }
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
            waiting.unused.push(number);
            waiting.items[number].take()
        };
        let _busy = Busy(&self.waiting);
        match garbage {
            Some(Garbage::Entries(full)) => {
                // SAFETY: no thread uses them, by the caller's promise.
                let dropped = catch_unwind(AssertUnwindSafe(|| unsafe {
                    self.drop_entries(full.indexes());
                }));
                // SAFETY: as above, and they are dropped.
                unsafe { self.entries.give_back(full) };
                if let Err(panic) = dropped {
                    resume_unwind(panic);
                }
            }
            // SAFETY: as above; buckets need no drop.
            Some(Garbage::Overflows(full)) => unsafe { self.overflows.give_back(full) },
            Some(Garbage::Table(table)) => drop(table),
            Some(Garbage::Directory(directory)) => drop(directory),
            None => {}
        }
    }

    /// Drops these entries; their memory stays. If a destructor panics, the others are dropped all the same.
    ///
    /// # Safety
    /// Each is initialised, and not used any more.
    pub unsafe fn drop_entries(&self, indexes: &[u32]) {
        let mut dropping = Dropping {
            store: self,
            indexes,
        };
        dropping.run();
    }

    /// Frees everything: what waits, and the memory of all entries, which are dropped before.
    ///
    /// # Safety
    /// No thread reads, and none takes entries.
    pub unsafe fn free_all(&self) {
        let take_all = |waiting: &mut Waiting| -> Vec<Garbage> {
            waiting.items.iter_mut().filter_map(Option::take).collect()
        };
        // Their batches come for them, and find nothing.
        let items = take_all(&mut lock(&self.waiting));
        for garbage in items {
            if let Garbage::Entries(full) = garbage {
                // SAFETY: no thread reads them, by the caller's promise.
                unsafe { self.drop_entries(full.indexes()) };
            }
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
    }
}

/// Drops entries, also if a destructor panics.
struct Dropping<'a, K, V> {
    store: &'a Store<K, V>,
    indexes: &'a [u32],
}

impl<K, V> Dropping<'_, K, V> {
    fn run(&mut self) {
        if !std::mem::needs_drop::<Entry<K, V>>() {
            return;
        }
        while let [first, rest @ ..] = self.indexes {
            self.indexes = rest;
            // SAFETY: initialised and not used any more, by the promise of who made this.
            unsafe { self.store.entries.at(*first).drop_in_place() };
        }
    }
}

impl<K, V> Drop for Dropping<'_, K, V> {
    fn drop(&mut self) {
        self.run(); // something is left if a destructor has panicked
        self.indexes = &[];
    }
}

/// A thread is freeing something.
struct Busy<'a>(&'a Mutex<Waiting>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        lock(self.0).busy -= 1;
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
