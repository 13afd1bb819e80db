//! Iteration: a cursor in the space of hashes, so that resizes in between change nothing.

use quiescent::{Global, Handle};

use super::core::Core;
use crate::bounds::{Hashes, Key, Stored};
use crate::prim::prefetch;
#[cfg(feature = "rayon")]
use crate::table::Table;

/// A thread visits so many buckets or more.
#[cfg(feature = "rayon")]
const LEAST: u64 = 16;

/// Visits the buckets by ascending hash.
pub struct Cursor {
    /// Entries with smaller hashes were visited, or are another cursor's; `None`: all were.
    from: Option<u64>,
    /// Entries with larger hashes are another cursor's.
    last: u64,
    /// The entries of the present bucket, last first, and their hashes where a resize made these necessary.
    entries: Vec<u32>,
}

impl Cursor {
    pub fn new() -> Cursor {
        Cursor::between(0, u64::MAX)
    }

    /// A cursor for the entries whose hashes are between these, both included.
    fn between(first: u64, last: u64) -> Cursor {
        Cursor {
            from: Some(first),
            last,
            entries: Vec::new(),
        }
    }

    /// Gives the second half of what is left to another cursor, unless that is less than some buckets.
    /// Nothing was visited yet.
    #[cfg(feature = "rayon")]
    pub fn split(&mut self, table: &Table) -> Option<Cursor> {
        let from = self.from?;
        let half = (self.last - from) / 2;
        let buckets = half >> (u64::BITS - table.bits());
        (buckets >= LEAST).then(|| {
            let other = Cursor::between(from + half + 1, self.last);
            self.last = from + half;
            other
        })
    }

    /// The next entry.
    #[inline]
    pub fn next<K: Key, V: Stored, S: Hashes, D: Handle + 'static>(
        &mut self,
        core: &Core<K, V, S, D>,
    ) -> Option<u32> {
        loop {
            if let Some(index) = self.entries.pop() {
                return Some(index);
            }
            let from = self.from?;
            let (table, bucket, tags) = core.newest(from);
            core.each_in_chain(bucket, tags, |index| {
                // SAFETY: found in this section.
                prefetch(unsafe { core.entry(index) });
                self.entries.push(index);
            });
            let end = table.end_of_bucket(from);
            let beyond = end.map_or(u64::MAX, |end| end - 1) > self.last;
            // The table has shrunk, and the bucket is larger than what is left of it.
            if beyond || !table.begins_bucket(from) {
                let left = from..=self.last;
                self.entries.retain(|&index| {
                    // SAFETY: as above.
                    left.contains(&core.hash(unsafe { &core.entry(index).key }))
                });
            }
            self.from = end.filter(|&end| end <= self.last);
        }
    }
}

/// The entries of a map: see [`RcuHashMap::iter`](crate::RcuHashMap::iter).
pub struct Iter<'g, K, V, S, D = Global> {
    core: Option<&'g Core<K, V, S, D>>,
    cursor: Cursor,
}

impl<'g, K: Stored, V: Stored, S, D: Handle> Iter<'g, K, V, S, D> {
    pub(super) fn new(core: Option<&'g Core<K, V, S, D>>) -> Iter<'g, K, V, S, D> {
        let cursor = Cursor::new();
        Iter { core, cursor }
    }

    /// Gives a part of the entries to another iterator, if there are enough. None was visited yet.
    #[cfg(feature = "rayon")]
    pub(super) fn split(&mut self) -> Option<Iter<'g, K, V, S, D>> {
        let core = self.core?;
        let cursor = self.cursor.split(core.table())?;
        Some(Iter {
            core: Some(core),
            cursor,
        })
    }
}

impl<'g, K: Key, V: Stored, S: Hashes, D: Handle + 'static> Iterator for Iter<'g, K, V, S, D> {
    type Item = (&'g K, &'g V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let core = self.core?;
        let index = self.cursor.next(core)?;
        // SAFETY: found in the section of 'g.
        let entry = unsafe { core.entry(index) };
        Some((&entry.key, &entry.value))
    }
}
