//! What a map consists of, and how a key is found.

use std::any::{TypeId, type_name};
use std::borrow::Borrow;
use std::hash::Hash;
use std::mem::needs_drop;
use std::sync::Arc;

use quiescent::Handle;

use super::seal::Sealer;
use super::store::{Entry, Store};
use crate::bounds::{Hashes, Key, Stored};
use crate::prim::{AtomicPtr, AtomicU32, Ordering, prefetch, prefetch_to_write};
use crate::table::{Bucket, LAST, LINK, Table, Tags, tag_of};

/// The memory that a key and a value own.
pub type Weight<K, V> = fn(&K, &V) -> usize;

/// A map that has had an entry. It stays where it is, so that the worker finds it (`seal`).
pub struct Core<K, V, S, D> {
    pub root: AtomicPtr<Table>,
    /// The bits of the table for the room that the program asked for: it does not shrink below that.
    pub least_bits: AtomicU32,
    pub store: Arc<Store<K, V>>,
    pub hasher: S,
    pub domain: D,
    pub weight: Option<Weight<K, V>>,
    pub sealer: Arc<Sealer>,
}

/// Where an entry was found, in this section.
pub struct Place<'a, K, V> {
    pub bucket: &'a Bucket,
    pub slot: usize,
    pub index: u32,
    entry: *const Entry<K, V>,
}

impl<K, V> Clone for Place<'_, K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for Place<'_, K, V> {}

impl<'a, K, V> Place<'a, K, V> {
    #[inline(always)]
    pub fn entry(self) -> &'a Entry<K, V> {
        // SAFETY: an entry in use, which stays until the section ends.
        unsafe { &*self.entry }
    }
}

impl<K, V, S, D> Core<K, V, S, D> {
    pub fn new(
        table: Box<Table>,
        hasher: S,
        domain: D,
        weight: Option<Weight<K, V>>,
    ) -> Box<Core<K, V, S, D>> {
        Box::new(Core {
            least_bits: AtomicU32::new(table.bits()),
            root: AtomicPtr::new(Box::into_raw(table)),
            store: Store::new(),
            hasher,
            domain,
            weight,
            sealer: Sealer::new(),
        })
    }

    /// The table that lookups begin with.
    #[inline(always)]
    pub fn table(&self) -> &Table {
        // SAFETY: a table, which is retired only after it was replaced here.
        unsafe { &*self.root.load(Ordering::Acquire) } // [MAP-7]
    }

    /// # Safety
    /// The index was found in this section, or is the caller's.
    #[inline(always)]
    pub unsafe fn entry(&self, index: u32) -> &Entry<K, V> {
        // SAFETY: the caller's promise: an entry in use.
        unsafe { &*self.store.entries.at(index) }
    }

    /// Only the key: the owner of the map may be changing the value (`iter_mut`).
    ///
    /// # Safety
    /// As [`entry`](Core::entry).
    #[inline(always)]
    pub unsafe fn key(&self, index: u32) -> &K {
        // SAFETY: the caller's promise.
        unsafe { &(*self.store.entries.at(index)).key }
    }

    #[inline(always)]
    pub fn overflow(&self, link: u32) -> &Bucket {
        // SAFETY: links lead to buckets in use, or to such as were so in this section; zeros initialise them.
        unsafe { &*self.store.overflows.at(link & !LINK) }
    }

    /// The entries of a chain of buckets: of each that stays, the index.
    #[inline(always)]
    pub fn each_in_chain<'a>(
        &'a self,
        mut bucket: &'a Bucket,
        mut tags: Tags,
        mut each: impl FnMut(u32),
    ) {
        loop {
            for slot in tags.used() {
                let index = bucket.slot(slot);
                // The last slot became a link meanwhile: what was here is behind it.
                if index & LINK != 0 {
                    tags = tags.with_more();
                } else {
                    each(index);
                }
            }
            let Some(next) = self.next_in_chain(bucket, tags) else {
                return;
            };
            (bucket, tags) = (next, next.tags());
        }
    }

    /// The overflow bucket of a bucket. What is in the last slot is no link if it was unlinked meanwhile:
    /// then it was empty.
    #[inline(always)]
    pub fn next_in_chain(&self, bucket: &Bucket, tags: Tags) -> Option<&Bucket> {
        if !tags.has_more() {
            return None;
        }
        let link = bucket.slot(LAST);
        (link & LINK != 0).then(|| self.overflow(link))
    }

    /// The bucket of a hash in the newest table that has it.
    #[inline(always)]
    pub fn newest(&self, hash: u64) -> (&Table, &Bucket, Tags) {
        let mut table = self.table();
        loop {
            let bucket = table.bucket(hash);
            let tags = bucket.tags();
            if !tags.is_moved() {
                return (table, bucket, tags);
            }
            table = table.after();
        }
    }

    /// The sum of what the threads have counted.
    pub fn len(&self) -> usize {
        self.store.entries.magazines().sum().max(0) as usize
    }

    /// All entries, for a caller that has the map for itself.
    pub fn all_entries(&self) -> Vec<u32> {
        let mut all = Vec::with_capacity(self.len());
        let table = self.table();
        let next = table.next().unwrap_or(table);
        let each = |of: &Table| of.len() >> table.units(next);
        let old = table.buckets().chunks_exact(each(table));
        for (old, new) in old.zip(next.buckets().chunks_exact(each(next))) {
            // In the child of a fork, a unit may be in both tables. The mark that is set last decides.
            for bucket in if old[0].tags().is_moved() { new } else { old } {
                self.each_in_chain(bucket, bucket.tags(), |index| all.push(index));
            }
        }
        all
    }
}

impl<K: Key, V: Stored, S: Hashes, D: Handle + 'static> Core<K, V, S, D> {
    /// The multiplication mends weak hashers: buckets are found by the highest bits.
    #[inline(always)]
    pub fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher
            .hash_one(key)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    /// Looks in a chain of buckets for an entry with this hash's tag of which `is` returns true. (It gets no
    /// more than the key, as in [`key`](Core::key).)
    #[inline(always)]
    pub fn find<'a>(
        &'a self,
        mut bucket: &'a Bucket,
        mut tags: Tags,
        hash: u64,
        mut is: impl FnMut(u32, &K) -> bool,
    ) -> Option<Place<'a, K, V>> {
        loop {
            let mut slots = tags.matching(tag_of(hash));
            while let Some(slot) = slots.first() {
                let index = bucket.slot(slot);
                if index & LINK != 0 {
                    tags = tags.with_more();
                    break;
                }
                // SAFETY: found in this section.
                let (entry, key) = unsafe {
                    let entry = self.store.entries.at(index);
                    (entry, &(*entry).key)
                };
                if is(index, key) {
                    return Some(Place {
                        bucket,
                        slot,
                        index,
                        entry,
                    });
                }
                slots.next();
            }
            let next = self.next_in_chain(bucket, tags)?;
            (bucket, tags) = (next, next.tags());
        }
    }

    #[inline(always)]
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&Entry<K, V>>
    where
        K: Borrow<Q>,
    {
        self.get_hashed(self.hash(key), key)
    }

    #[inline(always)]
    fn get_hashed<Q: Eq + ?Sized>(&self, hash: u64, key: &Q) -> Option<&Entry<K, V>>
    where
        K: Borrow<Q>,
    {
        let (_, bucket, tags) = self.newest(hash);
        let place = self.find(bucket, tags, hash, |_, it| it.borrow() == key)?;
        Some(place.entry())
    }

    /// Looks for several keys: the buckets of all are on their way before the first is read, then the
    /// entries, and then what the keys own.
    #[inline(always)]
    pub fn get_many<Q: Hash + Eq + ?Sized, const N: usize>(&self, keys: [&Q; N]) -> [Option<&V>; N]
    where
        K: Borrow<Q>,
    {
        // Loops, since `map` of an array makes a call for each of so many.
        let mut hashes = [0; N];
        for (hash, key) in hashes.iter_mut().zip(&keys) {
            *hash = self.hash(*key);
            prefetch(self.table().bucket(*hash));
        }
        let mut found = [None; N];
        for (entry, hash) in found.iter_mut().zip(&hashes) {
            *entry = self.likely(*hash);
        }
        if needs_drop::<K>() {
            let keys = found.iter().flatten().map(|entry| entry.key.borrow());
            keys.for_each(|key| prefetch(key));
        }
        let mut values = [None; N];
        for (at, value) in values.iter_mut().enumerate() {
            let entry = found[at].filter(|it: &&Entry<K, V>| it.key.borrow() == keys[at]);
            let entry = entry.or_else(|| self.get_hashed(hashes[at], keys[at]));
            *value = entry.map(|it| &it.value);
        }
        values
    }

    /// The first entry with a hash's tag, which is nearly always the one with the hash: it is on its way.
    #[inline(always)]
    fn likely(&self, hash: u64) -> Option<&Entry<K, V>> {
        let (_, bucket, tags) = self.newest(hash);
        let index = bucket.slot(tags.matching(tag_of(hash)).first()?);
        if index & LINK != 0 {
            return None;
        }
        // SAFETY: found in this section.
        let entry = unsafe { self.entry(index) };
        prefetch(entry);
        Some(entry)
    }

    /// The bucket that will probably be changed: it is on its way.
    #[inline(always)]
    pub fn ahead(&self, hash: u64) -> (&Table, &Bucket) {
        let table = self.table();
        let bucket = table.bucket(hash);
        prefetch_to_write(bucket);
        (table, bucket)
    }
}

/// Whether comparing such keys runs no code of the program: then a bucket may be locked meanwhile.
///
/// The name of a type of the program contains `::`, and is none of these.
#[inline(always)]
pub fn is_plain<K: 'static, Q: ?Sized>() -> bool {
    let numbers = [
        (TypeId::of::<u32>(), "u32"),
        (TypeId::of::<u64>(), "u64"),
        (TypeId::of::<usize>(), "usize"),
    ];
    let (key, name) = (TypeId::of::<K>(), type_name::<Q>());
    let is_number = numbers.contains(&(key, name));
    is_number || key == TypeId::of::<String>() && (name == "str" || name == type_name::<String>())
}

/// Whether a replaced entry's key goes to the new entry, and the key that was passed is dropped: this is
/// faster than two keys whose memory is in no near cache. Only where shared keys are never changed.
#[inline(always)]
pub fn stays<K: 'static>() -> bool {
    TypeId::of::<K>() == TypeId::of::<String>()
}
