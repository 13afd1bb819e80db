//! Changes: a bucket is locked, and what was found in it without the lock is confirmed.
//!
//! Code of the program (`Hash`, `Eq`, closures) never runs while a bucket is locked. A key is looked for
//! first; then the bucket is locked, and the indexes are compared with those that were seen: as an index is
//! not used again before the section ends, an equal index is the same entry. (Keys whose comparison is not
//! the program's are looked for under the lock: this saves time, because the misses overlap.)

use std::borrow::Borrow;

use quiescent::Handle;

use super::core::{Core, Place, is_plain, stays};
use super::store::{Entry, KEYLESS, Store};
use crate::bounds::{Hashes, Key, Stored};
use crate::slab::Desk;
use crate::table::{Bucket, LAST, LINK, Table, Tags, tag_of};

/// A key's bucket as it was seen without a lock.
pub struct View<'a, K, V> {
    bucket: &'a Bucket,
    table: &'a Table,
    pub found: Option<Place<'a, K, V>>,
}

/// A locked bucket, and the entry of the key.
pub struct Locked<'a, K, V> {
    bucket: &'a Bucket,
    tags: Tags,
    table: &'a Table,
    pub found: Option<Place<'a, K, V>>,
}

/// The place behind an index in a list. The one that is asked for is at `next`, if nothing has changed: so a
/// long chain is compared in linear time.
fn behind(list: &[u32], mut next: usize, index: u32) -> Option<usize> {
    if list.get(next) != Some(&index) {
        next = list.iter().position(|&it| it == index)?;
    }
    Some(next + 1)
}

/// An index that was taken for an entry. It goes back if code of the program panics.
pub struct Taken<'a, K, V>(&'a Store<K, V>, u32);

impl<K, V> Drop for Taken<'_, K, V> {
    fn drop(&mut self) {
        self.0.entries.untake(self.1);
    }
}

impl<K, V> Taken<'_, K, V> {
    /// Writes the entry, and returns it with its index. After the bucket was locked, because a locked
    /// instruction waits for the stores before it, and the entry is often in no near cache.
    #[inline(always)]
    fn write<'a>(self, entry: Entry<K, V>) -> (u32, &'a Entry<K, V>)
    where
        Self: 'a,
    {
        let (store, index) = (self.0, self.1);
        std::mem::forget(self);
        // SAFETY: the index is ours, and no reader knows it.
        unsafe {
            let place = store.entries.at(index);
            place.write(entry);
            (index, &*place)
        }
    }
}

impl<K: Key, V: Stored, S: Hashes, D: Handle + 'static> Core<K, V, S, D> {
    /// The calling thread's lists.
    #[inline(always)]
    pub fn desk(&self) -> Desk<'_> {
        self.store.entries.magazines().desk()
    }

    #[inline(always)]
    pub fn take(&self, desk: Desk<'_>) -> Taken<'_, K, V> {
        Taken(&self.store, self.store.entries.take(desk))
    }

    /// Looks without a lock for an entry of which `is` returns true.
    #[inline(always)]
    pub fn view(&self, hash: u64, mut is: impl FnMut(u32, &K) -> bool) -> View<'_, K, V> {
        let mut table = self.table();
        loop {
            table = self.writable(table, hash);
            let bucket = table.bucket(hash);
            let tags = bucket.tags();
            if tags.is_moved() {
                continue; // a thread has begun to move the table
            }
            let found = self.find(bucket, tags, hash, &mut is);
            return View {
                bucket,
                table,
                found,
            };
        }
    }

    /// Locks the bucket of a view, if what was found is still there; or if it has no entries with the hash's
    /// tag but `others`, in the order of the chain.
    #[inline(always)]
    pub fn lock<'a>(
        &self,
        view: &View<'a, K, V>,
        others: &[u32],
        hash: u64,
    ) -> Option<Locked<'a, K, V>> {
        let View {
            bucket,
            table,
            found,
        } = *view;
        let tags = bucket.lock()?;
        let same = match found {
            Some(place) => {
                let own = std::ptr::eq(place.bucket, bucket);
                let tags = if own { tags } else { place.bucket.tags() };
                tags.has(place.slot) && place.bucket.slot(place.slot) == place.index
            }
            None => self.has_only(others, bucket, tags, tag_of(hash)),
        };
        if !same {
            bucket.unlock(tags);
            return None;
        }
        Some(Locked {
            bucket,
            tags,
            table,
            found,
        })
    }

    fn has_only<'a>(
        &'a self,
        others: &[u32],
        mut bucket: &'a Bucket,
        mut tags: Tags,
        tag: u64,
    ) -> bool {
        let mut next = 0;
        loop {
            for slot in tags.matching(tag) {
                match behind(others, next, bucket.slot(slot)) {
                    Some(after) => next = after,
                    None => return false,
                }
            }
            match self.next_in_chain(bucket, tags) {
                Some(more) => (bucket, tags) = (more, more.tags()),
                None => return true,
            }
        }
    }

    /// Locks the bucket of a key, and looks for the key.
    #[inline(always)]
    pub fn locked<'a, Q: Eq + ?Sized>(
        &'a self,
        (mut table, mut bucket): (&'a Table, &'a Bucket),
        hash: u64,
        key: &Q,
    ) -> Locked<'a, K, V>
    where
        K: Borrow<Q>,
    {
        if !is_plain::<K, Q>() {
            loop {
                let mut others = Vec::new();
                let view = self.view(hash, |index, it| {
                    let is = it.borrow() == key;
                    if !is {
                        others.push(index);
                    }
                    is
                });
                if let Some(locked) = self.lock(&view, &others, hash) {
                    return locked;
                }
            }
        }
        loop {
            if table.next().is_some() {
                table = self.writable(table, hash);
                bucket = table.bucket(hash);
            }
            if let Some(tags) = bucket.lock() {
                let found = self.find(bucket, tags, hash, |_, it| it.borrow() == key);
                return Locked {
                    bucket,
                    tags,
                    table,
                    found,
                };
            }
        }
    }

    /// What [`put`](Core::put) needs for a key: the thread's lists, an index, and the locked bucket.
    #[inline(always)]
    pub fn locked_to_put(
        &self,
        hash: u64,
        key: &K,
    ) -> (Desk<'_>, Taken<'_, K, V>, Locked<'_, K, V>) {
        let ahead = self.ahead(hash);
        let desk = self.desk();
        let taken = self.take(desk);
        (desk, taken, self.locked(ahead, hash, key))
    }

    /// Releases the lock; nothing was changed.
    #[inline(always)]
    pub fn unlock(&self, locked: &Locked<'_, K, V>) {
        locked.bucket.unlock(locked.tags);
    }

    /// Puts an entry in place of the one that was found, or adds it. Returns the new entry.
    #[inline(always)]
    pub fn put<'a>(
        &'a self,
        locked: Locked<'_, K, V>,
        hash: u64,
        taken: Taken<'a, K, V>,
        mut entry: Entry<K, V>,
        desk: Desk<'_>,
    ) -> &'a Entry<K, V> {
        let mut spare = None;
        if stays::<K>()
            && let Some(place) = locked.found
        {
            // SAFETY: it is not dropped with the old entry. The bits that both have are not changed; and who
            // finds the old entry is in a section for which the new one's grace period waits, too.
            let key = unsafe { std::ptr::read(&place.entry().key) };
            spare = Some(std::mem::replace(&mut entry.key, key));
        }
        let (index, entry) = taken.write(entry);
        match locked.found {
            Some(place) => {
                place.bucket.set_slot(place.slot, index);
                self.unlock(&locked);
                let keyless = if stays::<K>() { KEYLESS } else { 0 };
                self.retire_entry(place.index | keyless, desk);
            }
            None => {
                let mark = locked.table.mark_of(hash);
                let tags = self.add(locked.bucket, locked.tags, mark, index);
                locked.bucket.unlock(tags);
                self.count(1, locked.table, desk);
            }
        }
        drop(spare);
        entry
    }

    /// Adds an entry to a chain whose first bucket is locked. The caller unlocks with what is returned.
    #[inline(always)]
    pub fn add(&self, bucket: &Bucket, tags: Tags, mark: u64, index: u32) -> Tags {
        match tags.unused() {
            Some(slot) => {
                bucket.set_slot(slot, index);
                bucket.set_mark(slot, mark, tags)
            }
            None => self.add_to_full(bucket, tags, mark, index),
        }
    }

    #[cold]
    #[inline(never)]
    fn add_to_full(&self, bucket: &Bucket, tags: Tags, mark: u64, index: u32) -> Tags {
        let (mut last, mut of_last) = (bucket, tags);
        while let Some(next) = self.next_in_chain(last, of_last) {
            (last, of_last) = (next, next.tags());
            if let Some(slot) = of_last.unused() {
                last.set_slot(slot, index);
                last.unlock(last.set_mark(slot, mark, of_last));
                return tags;
            }
        }
        let shared = self.store.overflows.magazines().shared();
        let number = self.store.overflows.take(shared);
        // SAFETY: the index is ours, and no reader knows it.
        let overflow = unsafe {
            let place = self.store.overflows.at(number);
            place.write(Bucket::default());
            &*place
        };
        overflow.begin((last.slot(LAST), of_last.mark(LAST)), (index, mark));
        // [MAP-9] Complete before it is linked.
        last.set_slot(LAST, number | LINK);
        let linked = of_last.last_is_link();
        if std::ptr::eq(last, bucket) {
            return linked;
        }
        last.unlock(linked);
        tags
    }

    /// Removes the entry that was found, and retires it.
    #[inline(always)]
    pub fn remove_found(&self, locked: Locked<'_, K, V>, place: Place<'_, K, V>, desk: Desk<'_>) {
        let (bucket, tags) = (locked.bucket, locked.tags);
        if std::ptr::eq(place.bucket, bucket) {
            bucket.unlock(bucket.clear(place.slot, tags));
        } else {
            self.remove_from_overflow(bucket, tags, place.bucket, place.slot);
        }
        self.count(-1, locked.table, desk);
        self.retire_entry(place.index, desk);
    }

    /// Removes an entry of an overflow bucket, and unlinks the bucket if it is the first one, and empty now.
    /// Unlocks.
    #[cold]
    #[inline(never)]
    fn remove_from_overflow(&self, bucket: &Bucket, tags: Tags, overflow: &Bucket, slot: usize) {
        let left = overflow.clear(slot, overflow.tags());
        overflow.unlock(left);
        let link = bucket.slot(LAST);
        if left.used().next().is_some() || !std::ptr::eq(overflow, self.overflow(link)) {
            return bucket.unlock(tags);
        }
        let tags = match self.next_in_chain(overflow, left) {
            None => tags.without_more(),
            Some(_) => {
                bucket.set_slot(LAST, overflow.slot(LAST));
                tags
            }
        };
        bucket.unlock(tags);
        self.retire_overflow(link & !LINK);
    }

    /// Removes an entry that was found before, if it is still there. Compares no keys.
    pub fn remove_entry(&self, hash: u64, index: u32) {
        loop {
            let view = self.view(hash, |it, _| it == index);
            let Some(place) = view.found else { return };
            let desk = self.desk();
            if let Some(locked) = self.lock(&view, &[], hash) {
                return self.remove_found(locked, place, desk);
            }
        }
    }

    /// Counts, and looks now and then whether the table should have another size.
    #[inline(always)]
    fn count(&self, by: isize, table: &Table, desk: Desk<'_>) {
        if desk.count(by) || table.bits() < 6 {
            self.consider(table);
        }
    }
}
