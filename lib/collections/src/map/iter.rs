//! Iteration: a cursor in the space of hashes, so that resizes in between change nothing.

use quiescent::{Global, Handle};

use super::core::Core;
use crate::bounds::{Hashes, Key, Stored};
use crate::prim::prefetch;

/// Visits the buckets by ascending hash.
pub struct Cursor {
    /// Entries with smaller hashes were visited; `None`: all were.
    from: Option<u64>,
    /// The entries of the present bucket, last first, and their hashes where a resize made these necessary.
    entries: Vec<u32>,
}

impl Cursor {
    pub fn new() -> Cursor {
        Cursor {
            from: Some(0),
            entries: Vec::new(),
        }
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
            // The table has shrunk, and the bucket is larger than what is left of it.
            if !table.begins_bucket(from) {
                self.entries.retain(|&index| {
                    // SAFETY: as above.
                    core.hash(unsafe { &core.entry(index).key }) >= from
                });
            }
            self.from = table.end_of_bucket(from);
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
