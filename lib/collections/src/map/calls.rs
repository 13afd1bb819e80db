//! The calls of a map.

use std::borrow::Borrow;
use std::hash::Hash;

use quiescent::{Guard, Handle, Reads};

use super::RcuHashMap;
use super::iter::{Cursor, Iter};
use super::store::Entry;
use crate::bounds::{Hashes, Key, Stored};
use crate::prim::Ordering;
use crate::slab::END;
use crate::table::Table;

/// What [`compute`](RcuHashMap::compute) does with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<V> {
    /// Leaves it as it is.
    Keep,
    /// Sets this value.
    Put(V),
    /// Removes it.
    Remove,
}

/// Why [`try_insert`](RcuHashMap::try_insert) has not inserted: the key is there.
#[derive(Debug)]
pub struct Occupied<'g, K, V> {
    /// The value that the map has.
    pub current: &'g V,
    /// The key that was not inserted.
    pub key: K,
    /// Its value.
    pub value: V,
}

impl<K: Key, V: Stored, S: Hashes, D: Handle + 'static> RcuHashMap<K, V, S, D> {
    /// The value of a key.
    ///
    /// Wait-free: no lock, no fence, no write to shared memory, and one step more for each resize that is
    /// in progress. It takes a miss for the bucket and one for the entry
    /// ([`get_many`](RcuHashMap::get_many) overlaps those of several keys). Keys with equal hashes are in
    /// one chain, in whose length it is linear.
    ///
    /// # Ordering
    /// It sees everything that happened before the value was inserted. Calls that have returned before this
    /// one began are seen; of those that run at the same time, some may be.
    ///
    /// # Panics
    /// As all calls with a guard: if it is of another domain with the same tag.
    ///
    /// ```
    /// use quiescent_collections::RcuHashMap;
    ///
    /// let map = RcuHashMap::from([(String::from("one"), 1)]);
    /// let guard = quiescent::read_lock();
    /// assert_eq!(map.get("one", &guard), Some(&1));
    /// ```
    /// ```should_panic
    /// use quiescent::Domain;
    /// use quiescent_collections::RcuHashMap;
    ///
    /// let (one, other) = (Domain::new(), Domain::new());
    /// let map: RcuHashMap<i32, i32, _, _> = RcuHashMap::new_in(one.clone());
    /// map.get(&1, &other.read_lock()); // panics: a guard of another domain
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn get<'g, Q: Hash + Eq + ?Sized>(
        &'g self,
        key: &Q,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> Option<&'g V>
    where
        K: Borrow<Q>,
    {
        self.check(guard);
        Some(&self.core()?.get(key)?.value)
    }

    /// As [`get`](RcuHashMap::get), with the key that the map has.
    #[inline(always)]
    #[track_caller]
    pub fn get_key_value<'g, Q: Hash + Eq + ?Sized>(
        &'g self,
        key: &Q,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> Option<(&'g K, &'g V)>
    where
        K: Borrow<Q>,
    {
        self.check(guard);
        let entry = self.core()?.get(key)?;
        Some((&entry.key, &entry.value))
    }

    /// Whether the map has this key. As [`get`](RcuHashMap::get).
    #[inline(always)]
    #[track_caller]
    pub fn contains_key<Q: Hash + Eq + ?Sized>(
        &self,
        key: &Q,
        guard: &Guard<impl Handle + Reads<D::Brand>>,
    ) -> bool
    where
        K: Borrow<Q>,
    {
        self.get_key_value(key, guard).is_some()
    }

    /// The values of several keys. As a [`get`](RcuHashMap::get) of each, but the memory of all buckets is
    /// fetched at the same time, then that of all entries, and then what the keys own: faster in maps that
    /// are larger than the caches.
    ///
    /// ```
    /// let map = quiescent_collections::RcuHashMap::from([(1, 'a'), (2, 'b')]);
    /// assert_eq!(map.pin().get_many([&1, &3, &2]), [Some(&'a'), None, Some(&'b')]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_many<'g, Q: Hash + Eq + ?Sized, const N: usize>(
        &'g self,
        keys: [&Q; N],
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> [Option<&'g V>; N]
    where
        K: Borrow<Q>,
    {
        self.check(guard);
        self.core().map_or([None; N], |core| core.get_many(keys))
    }

    /// Sets the value of a key, and returns the one that it had. Both the old key and the old value are
    /// retired: they stay until the sections end that are open now. (A `String` stays the key, and the one
    /// that is passed is dropped.)
    ///
    /// Locks the key's bucket for some instructions: it waits for other writers of this bucket, and for no
    /// reader. A writer that is preempted there delays writers of that bucket, and nothing else. While the
    /// table is being moved, a call moves up to nine units of it, which are some 70 entries.
    ///
    /// # Panics
    /// If `Hash` or `Eq` does: then nothing was changed. If there are 2³¹ entries. (If there is no memory,
    /// the program is aborted, as in `Vec`.)
    ///
    /// ```
    /// let map = quiescent_collections::RcuHashMap::new();
    /// let map = map.pin();
    /// assert_eq!(map.insert("a", 1), None);
    /// assert_eq!(map.insert("a", 2), Some(&1));
    /// ```
    #[track_caller]
    pub fn insert<'g>(
        &'g self,
        key: K,
        value: V,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> Option<&'g V> {
        self.check(guard);
        let core = self.core_for_writing();
        let hash = core.hash(&key);
        let (desk, taken, locked) = core.locked_to_put(hash, &key);
        let old = locked.found;
        core.put(locked, hash, taken, Entry { key, value }, desk);
        old.map(|place| &place.entry().value)
    }

    /// Inserts a key that the map does not have, and returns its value. Waits as
    /// [`insert`](RcuHashMap::insert).
    ///
    /// # Errors
    /// If the map has the key: with its value, and with what was not inserted.
    ///
    /// ```
    /// let map = quiescent_collections::RcuHashMap::new();
    /// let map = map.pin();
    /// assert_eq!(map.try_insert("a", 1).unwrap(), &1);
    /// assert_eq!(map.try_insert("a", 2).unwrap_err().current, &1);
    /// ```
    #[track_caller]
    pub fn try_insert<'g>(
        &'g self,
        key: K,
        value: V,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> Result<&'g V, Occupied<'g, K, V>> {
        match self.find_or_put(Entry { key, value }, guard) {
            (entry, None) => Ok(&entry.value),
            (Entry { value: current, .. }, Some(Entry { key, value })) => Err(Occupied {
                current,
                key,
                value,
            }),
        }
    }

    /// The map's entry of a key, and the one that was passed here if it was not inserted.
    #[inline]
    #[track_caller]
    pub(crate) fn find_or_put<'g>(
        &'g self,
        entry: Entry<K, V>,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> (&'g Entry<K, V>, Option<Entry<K, V>>) {
        self.check(guard);
        let core = self.core_for_writing();
        let hash = core.hash(&entry.key);
        let (desk, taken, locked) = core.locked_to_put(hash, &entry.key);
        let Some(place) = locked.found else {
            return (core.put(locked, hash, taken, entry, desk), None);
        };
        core.unlock(&locked);
        (place.entry(), Some(entry))
    }

    /// Sets the value of a key that the map has, and returns the one that it had; without the key it does
    /// nothing, and returns `None`. Waits as [`insert`](RcuHashMap::insert).
    ///
    /// Faster than an [`update`](RcuHashMap::update), which has to read the old value before it locks the
    /// bucket: here the two misses may overlap.
    ///
    /// ```
    /// let map = quiescent_collections::RcuHashMap::from([("a", 1)]);
    /// let map = map.pin();
    /// assert_eq!(map.replace("a", 2), Some(&1));
    /// assert_eq!((map.replace("b", 1), map.get("b")), (None, None));
    /// ```
    #[track_caller]
    pub fn replace<'g>(
        &'g self,
        key: K,
        value: V,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> Option<&'g V> {
        self.check(guard);
        let core = self.core()?;
        let hash = core.hash(&key);
        let (desk, taken, locked) = core.locked_to_put(hash, &key);
        let Some(place) = locked.found else {
            core.unlock(&locked);
            return None;
        };
        core.put(locked, hash, taken, Entry { key, value }, desk);
        Some(&place.entry().value)
    }

    /// The value of a key; if it has none, one that `value` makes. No lock is held meanwhile, so two threads
    /// may make a value, of which one is dropped: both return the other one.
    ///
    /// ```
    /// let names = quiescent_collections::RcuHashMap::new();
    /// let names = names.pin();
    /// assert_eq!(names.get_or_insert_with(7, || "seven".to_string()), "seven");
    /// assert_eq!(names.get_or_insert_with(7, || unreachable!()), "seven");
    /// ```
    #[doc(alias = "entry")]
    #[track_caller]
    pub fn get_or_insert_with<'g>(
        &'g self,
        key: K,
        value: impl FnOnce() -> V,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> &'g V {
        if let Some(value) = self.get(&key, guard) {
            return value;
        }
        match self.try_insert(key, value(), guard) {
            Ok(value) => value,
            Err(occupied) => occupied.current,
        }
    }

    /// Replaces the value of a key by one that `f` makes from it, and returns the new one; `None` if the map
    /// does not have the key. `f` runs without a lock, and again if another thread was faster.
    ///
    /// Readers see the old entry or the new one, never neither. The new entry has the key that is passed
    /// here (but for a `String`, as in [`insert`](RcuHashMap::insert)). Values that change often are better
    /// changed in place: take `AtomicU64` or `Mutex<T>` for `V`, and [`get`](RcuHashMap::get).
    ///
    /// ```
    /// let map = quiescent_collections::RcuHashMap::from([("a", 1)]);
    /// let map = map.pin();
    /// assert_eq!(map.update("a", |n| n + 1), Some(&2));
    /// assert_eq!(map.update("b", |n| n + 1), None);
    /// ```
    #[track_caller]
    pub fn update<'g>(
        &'g self,
        key: K,
        mut f: impl FnMut(&V) -> V,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> Option<&'g V> {
        let change = |old: Option<&V>| old.map_or(Change::Keep, |old| Change::Put(f(old)));
        let (old, new) = self.compute(key, change, guard);
        old.and(new)
    }

    /// Changes an entry as `f` says, which gets the value, or `None` if the map does not have the key.
    /// Returns the values before and after. `f` runs without a lock, and again if another thread was
    /// faster.
    ///
    /// ```
    /// use quiescent_collections::{Change, RcuHashMap};
    ///
    /// let map = RcuHashMap::from([("a", 1)]);
    /// let map = map.pin();
    /// let release = |count: Option<&i32>| match count {
    ///     None => Change::Keep,
    ///     Some(1) => Change::Remove,
    ///     Some(count) => Change::Put(count - 1),
    /// };
    /// assert_eq!(map.compute("a", release), (Some(&1), None));
    /// assert_eq!(map.compute("a", release), (None, None));
    /// ```
    #[doc(alias = "entry")]
    #[track_caller]
    pub fn compute<'g>(
        &'g self,
        key: K,
        mut f: impl FnMut(Option<&V>) -> Change<V>,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> (Option<&'g V>, Option<&'g V>) {
        self.check(guard);
        let core = self.core_for_writing();
        let hash = core.hash(&key);
        loop {
            let view = core.view(hash, |_, it| *it == key);
            let old = view.found.map(|place| &place.entry().value);
            match (f(old), view.found) {
                (Change::Keep, _) => return (old, old),
                (Change::Remove, None) => return (None, None),
                (Change::Remove, Some(place)) => {
                    let desk = core.desk();
                    if let Some(locked) = core.lock(&view, &[], hash) {
                        core.remove_found(locked, place, desk);
                        return (old, None);
                    }
                }
                (Change::Put(value), Some(_)) => {
                    let desk = core.desk();
                    let taken = core.take(desk);
                    if let Some(locked) = core.lock(&view, &[], hash) {
                        let new = core.put(locked, hash, taken, Entry { key, value }, desk);
                        return (old, Some(&new.value));
                    }
                }
                (Change::Put(value), None) => {
                    let (desk, taken, locked) = core.locked_to_put(hash, &key);
                    if locked.found.is_none() {
                        let new = core.put(locked, hash, taken, Entry { key, value }, desk);
                        return (None, Some(&new.value));
                    }
                    core.unlock(&locked);
                }
            }
        }
    }

    /// Removes a key, and returns its value. Key and value are retired: they stay until the sections end that
    /// are open now. Waits as [`insert`](RcuHashMap::insert).
    #[track_caller]
    pub fn remove<'g, Q: Hash + Eq + ?Sized>(
        &'g self,
        key: &Q,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> Option<&'g V>
    where
        K: Borrow<Q>,
    {
        self.remove_entry(key, guard).map(|(_, value)| value)
    }

    /// As [`remove`](RcuHashMap::remove), with the key that the map had.
    #[track_caller]
    pub fn remove_entry<'g, Q: Hash + Eq + ?Sized>(
        &'g self,
        key: &Q,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> Option<(&'g K, &'g V)>
    where
        K: Borrow<Q>,
    {
        self.check(guard);
        let core = self.core()?;
        let hash = core.hash(key);
        let ahead = core.ahead(hash);
        let desk = core.desk();
        let locked = core.locked(ahead, hash, key);
        let Some(place) = locked.found else {
            core.unlock(&locked);
            return None;
        };
        core.remove_found(locked, place, desk);
        let entry = place.entry();
        Some((&entry.key, &entry.value))
    }

    /// Removes a key if `condition` says so of its entry, and returns the value. `condition` runs without a
    /// lock, and again if another thread was faster.
    ///
    /// ```
    /// let map = quiescent_collections::RcuHashMap::from([("a", 1)]);
    /// let map = map.pin();
    /// assert_eq!(map.remove_if("a", |_, &value| value > 1), None);
    /// assert_eq!(map.remove_if("a", |_, &value| value == 1), Some(&1));
    /// ```
    #[track_caller]
    pub fn remove_if<'g, Q: Hash + Eq + ?Sized>(
        &'g self,
        key: &Q,
        mut condition: impl FnMut(&K, &V) -> bool,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> Option<&'g V>
    where
        K: Borrow<Q>,
    {
        self.check(guard);
        let core = self.core()?;
        let hash = core.hash(key);
        loop {
            let view = core.view(hash, |_, it| it.borrow() == key);
            let place = view.found?;
            let entry = place.entry();
            if !condition(&entry.key, &entry.value) {
                return None;
            }
            let desk = core.desk();
            if let Some(locked) = core.lock(&view, &[], hash) {
                core.remove_found(locked, place, desk);
                return Some(&entry.value);
            }
        }
    }

    /// The entries, in no certain order. A key that is in the map all the time is visited exactly once, also
    /// while the map grows and shrinks; one that is inserted or removed meanwhile at most once, unless it is
    /// both. Takes constant memory, moves nothing, and waits for no writer.
    ///
    /// The section lasts as long as the iteration. For a long one, use an [`Srcu`](quiescent::Srcu) or a
    /// domain of its own.
    #[track_caller]
    pub fn iter<'g>(
        &'g self,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> Iter<'g, K, V, S, D> {
        self.check(guard);
        Iter::new(self.core())
    }

    /// The keys. As [`iter`](RcuHashMap::iter).
    #[track_caller]
    pub fn keys<'g>(
        &'g self,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> impl Iterator<Item = &'g K> {
        self.iter(guard).map(|(key, _)| key)
    }

    /// The values. As [`iter`](RcuHashMap::iter).
    #[track_caller]
    pub fn values<'g>(
        &'g self,
        guard: &'g Guard<impl Handle + Reads<D::Brand>>,
    ) -> impl Iterator<Item = &'g V> {
        self.iter(guard).map(|(_, value)| value)
    }

    /// Removes the entries of which `keep` returns false. `keep` runs without a lock. It is called for each
    /// entry that is in the map all the time; an entry whose value is replaced meanwhile may stay.
    #[track_caller]
    pub fn retain(
        &self,
        mut keep: impl FnMut(&K, &V) -> bool,
        guard: &Guard<impl Handle + Reads<D::Brand>>,
    ) {
        self.check(guard);
        let Some(core) = self.core() else { return };
        let mut cursor = Cursor::new();
        while let Some(index) = cursor.next(core) {
            // SAFETY: found in this section.
            let entry = unsafe { core.entry(index) };
            if !keep(&entry.key, &entry.value) {
                core.remove_entry(core.hash(&entry.key), index);
            }
        }
    }

    /// Removes all entries that are in the map all the time. The table shrinks by and by. (To free everything
    /// at once, drop the map.)
    #[track_caller]
    pub fn clear(&self, guard: &Guard<impl Handle + Reads<D::Brand>>) {
        self.retain(|_, _| false, guard);
    }

    /// Makes room for so many entries more, if it is not there: the table does not grow before, and keeps the
    /// room until [`shrink_to_fit`](RcuHashMap::shrink_to_fit). This call moves the table; other writers
    /// help, and wait for nothing. Of the new table only what entries move to is written.
    ///
    /// # Panics
    /// If there would be more than 2³¹ entries: then nothing was changed. (If there is no memory, the program
    /// is aborted, as in `Vec`.)
    #[track_caller]
    pub fn reserve(&self, additional: usize, guard: &Guard<impl Handle + Reads<D::Brand>>) {
        self.check(guard);
        let core = self.core_for_writing();
        let length = core.len().saturating_add(additional);
        assert!(
            length <= END as usize,
            "RcuHashMap: room for {length} entries; the most that a map can have is 2^31"
        );
        let bits = Table::bits_for(length);
        let least = core.least_bits.load(Ordering::Relaxed).max(bits);
        core.least_bits.store(least, Ordering::Relaxed);
        core.resize_now(|table| (table.bits() < bits).then_some(bits));
    }

    /// Makes the table as small as its entries allow, now. (It shrinks by itself when four fifths of it are
    /// unused.) This call moves the table; other writers help, and wait for nothing.
    #[track_caller]
    pub fn shrink_to_fit(&self, guard: &Guard<impl Handle + Reads<D::Brand>>) {
        self.check(guard);
        let Some(core) = self.core() else { return };
        core.least_bits.store(0, Ordering::Relaxed);
        core.resize_now(|table| {
            Some(Table::bits_for(core.len())).filter(|&bits| bits < table.bits())
        });
    }
}
