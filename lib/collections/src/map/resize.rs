//! Growing and shrinking: the entries' indexes are moved to a table of another size, a unit at a time.
//!
//! A *unit* is a bucket of the smaller table, and the buckets of the other one with the same hashes. Who
//! writes while a table is being moved claims some units, and moves the unit of its own key first. Readers
//! go on in the old buckets until these are marked. The marks of a bucket's slots say most often where the
//! entries go. If not, a key is hashed before its unit is locked; then the indexes are compared with those
//! that were hashed.
//!
//! `[MAP-5]` No thread can reach a unit's buckets in the new table before the old ones are marked. So they
//! are filled without a lock, and the mark, stored with release, publishes them. Of a unit's buckets the
//! first is marked last: a writer decides by that one.

use quiescent::Handle;

use super::core::Core;
use super::store::Garbage;
use crate::bounds::{Hashes, Key, Stored};
use crate::prim::{Ordering, STRIDE, Shared, prefetch, yield_now};
use crate::table::{Bucket, LAST, LINK, Table, Tags};

/// The most buckets of a unit: a table shrinks by this factor at most.
const MOST: usize = 16;

/// Entries of a unit, and their hashes.
type Hashed = Vec<(u32, u64)>;

/// Where a worker is that moves all units of a table.
#[derive(Default)]
pub struct Progress {
    table: usize,
    unit: usize,
}

impl<K: Key, V: Stored, S: Hashes, D: Handle + 'static> Core<K, V, S, D> {
    /// The newest table, in which the unit of this hash may be changed: helps to move older ones.
    #[inline(always)]
    pub fn writable<'a>(&'a self, mut table: &'a Table, hash: u64) -> &'a Table {
        while let Some(next) = table.next() {
            self.help(table, next, hash);
            table = next;
        }
        table
    }

    /// Begins to move to a table of another size, if that fits better.
    #[cold]
    #[inline(never)]
    pub fn consider(&self, table: &Table) {
        let least = self.least_bits.load(Ordering::Relaxed);
        if let Some(bits) = table.better_bits(self.len(), least) {
            self.resize(table, bits);
        }
    }

    /// Begins to move to a table with so many bits, unless a thread has begun to move.
    pub fn resize(&self, table: &Table, bits: u32) {
        if !std::ptr::eq(self.table(), table) || table.next().is_some() {
            return;
        }
        let bits = bits.max(table.bits().saturating_sub(MOST.ilog2()));
        if table.begin(Table::new(bits)).is_ok() {
            self.arm();
        }
    }

    #[cold]
    #[inline(never)]
    fn help(&self, table: &Table, next: &Table, hash: u64) {
        let bits = table.units(next);
        let mut hashed = Hashed::new();
        let own = (hash >> (u64::BITS - bits)) as usize;
        self.move_and_count(table, next, own, &mut hashed);
        for unit in table.claim(STRIDE, 1 << bits) {
            self.move_and_count(table, next, unit, &mut hashed);
        }
    }

    /// Moves a unit and counts it: each by itself, because the next one may panic in a `Hash`.
    fn move_and_count(&self, table: &Table, next: &Table, unit: usize, hashed: &mut Hashed) {
        if self.move_unit(table, next, unit, hashed) {
            self.count_unit(table, next);
        }
    }

    /// After the last unit, the new table takes the place of the old.
    fn count_unit(&self, table: &Table, next: &Table) {
        // [MAP-8]
        if !table.count_moved(1 << table.units(next)) {
            return;
        }
        let (old, new) = (std::ptr::from_ref(table).cast_mut(), table.next_raw());
        let (ok, err) = (Ordering::AcqRel, Ordering::Relaxed);
        // The pointer that was there came from the box: one from `table` may only be read through.
        let Ok(old) = (self.root).compare_exchange(old, new, ok, err) else {
            debug_assert!(
                false,
                "only the thread that counted the last unit replaces a table"
            );
            return;
        };
        // SAFETY: from a box, and unlinked by the one thread that counted the last unit.
        let old = unsafe { Shared::from_raw(old) };
        self.retire(Garbage::Table(old), 0, true);
        self.consider(next);
    }

    /// Moves a unit, if it has not moved. Returns whether this call has.
    fn move_unit(&self, table: &Table, next: &Table, unit: usize, hashed: &mut Hashed) -> bool {
        let (bits, knows) = (table.units(next), table.knows(next));
        let each = table.len() >> bits;
        let buckets = &table.buckets()[unit * each..(unit + 1) * each];
        let mut tags = [None::<Tags>; MOST];
        loop {
            if buckets[0].tags().is_moved() {
                return false;
            }
            hashed.clear();
            if !knows {
                self.hash_unit(buckets, (unit, bits), hashed);
            }
            for (at, bucket) in buckets.iter().enumerate() {
                tags[at] = bucket.lock();
                if tags[at].is_none() {
                    debug_assert!(at == 0); // a unit moves as a whole
                    return false;
                }
            }
            let mut seen = hashed.iter();
            let mut same = true;
            for (bucket, tags) in buckets.iter().zip(tags.iter().flatten()) {
                if knows {
                    break;
                }
                self.each_in_chain(bucket, *tags, |index| {
                    same &= seen.next().is_some_and(|&(it, _)| it == index);
                });
            }
            if same && seen.next().is_none() {
                break;
            }
            for (bucket, tags) in buckets.iter().zip(tags.iter().flatten()) {
                bucket.unlock(*tags);
            }
        }
        next.begin_unit(unit, bits);
        let (mut hashes, mut overflows) = (hashed.iter(), Vec::new());
        for (number, (bucket, tags)) in buckets.iter().zip(tags.iter().flatten()).enumerate() {
            let (mut at, mut of) = (bucket, *tags);
            loop {
                for slot in of.used() {
                    let by_mark = || table.hash_of(unit * each + number, of.mark(slot));
                    let hashed = hashes.next().copied();
                    let (index, hash) = hashed.unwrap_or_else(|| (at.slot(slot), by_mark()));
                    let to = next.bucket(hash);
                    to.unlock(self.add(to, to.tags(), next.mark_of(hash), index));
                }
                let Some(more) = self.next_in_chain(at, of) else {
                    break;
                };
                overflows.push(at.slot(LAST) & !LINK);
                (at, of) = (more, more.tags());
            }
        }
        // [MAP-5] The first one last: writers look at that one, and change the new buckets after it.
        for (at, bucket) in buckets.iter().enumerate().rev() {
            bucket.unlock_moved(tags[at].expect("it is locked"));
        }
        for overflow in overflows {
            self.retire_overflow(overflow);
        }
        true
    }

    /// Looks at the entries of a unit.
    fn hash_unit(&self, buckets: &[Bucket], (unit, bits): (usize, u32), hashed: &mut Hashed) {
        for bucket in buckets {
            self.each_in_chain(bucket, bucket.tags(), |index| {
                // SAFETY: found in this section.
                prefetch(unsafe { self.key(index) });
                hashed.push((index, 0));
            });
        }
        for (index, hash) in hashed.iter_mut() {
            // SAFETY: as above.
            *hash = inside(self.hash(unsafe { self.key(*index) }), unit, bits);
        }
    }

    /// Moves to a table with as many bits as `better` says, until it says nothing.
    pub fn resize_now(&self, better: impl Fn(&Table) -> Option<u32>) {
        let mut progress = Progress::default();
        while let Some(bits) = better(self.table()) {
            self.resize(self.table(), bits);
            if !self.step(&mut progress) {
                yield_now(); // other threads move the last units
            }
        }
    }

    /// Moves some units, for a caller that moves all. Returns whether something is left to do.
    pub fn step(&self, progress: &mut Progress) -> bool {
        let table = self.table();
        let Some(next) = table.next() else {
            self.consider(table);
            return table.next().is_some();
        };
        let units = 1 << table.units(next);
        let address = std::ptr::from_ref(table).addr();
        if progress.table != address {
            (progress.table, progress.unit) = (address, 0);
        }
        let mut hashed = Hashed::new();
        let end = units.min(progress.unit + STRIDE);
        for unit in progress.unit..end {
            self.move_and_count(table, next, unit, &mut hashed);
        }
        progress.unit = end;
        // If other threads are amid the last units, they end it.
        end < units || !std::ptr::eq(self.table(), table)
    }
}

/// A hash that is in this unit: one that is not was given by a `Hash` that does not always return the same.
/// The key may not be found then, but two threads must not fill one bucket.
fn inside(hash: u64, unit: usize, bits: u32) -> u64 {
    let low = u64::MAX >> bits;
    (unit as u64) << (u64::BITS - bits) | hash & low
}
