//! What an owner of the whole map may do: entries are taken out or changed without readers.

use std::marker::PhantomData;
use std::ptr;
use std::vec;

use quiescent::Global;

use super::RcuHashMap;
use super::core::Core;
use crate::prim::Ordering;
use crate::table::Table;

/// Drops the entries, and frees everything.
///
/// # Safety
/// No thread reads the map.
pub unsafe fn drop_core<K, V, S, D>(mut core: Box<Core<K, V, S, D>>) {
    core.sealer.close();
    /// Frees the rest, also if a destructor panics.
    struct Free<K, V, S, D>(Box<Core<K, V, S, D>>);
    impl<K, V, S, D> Drop for Free<K, V, S, D> {
        fn drop(&mut self) {
            for full in self.0.store.entries.magazines().take_all() {
                // SAFETY: removed, not yet retired, and no thread reads.
                unsafe { self.0.store.drop_entries(full.indexes()) };
            }
            // SAFETY: the caller's promise.
            unsafe { self.0.store.free_all() };
            free_tables(self.0.root.load(Ordering::Relaxed));
        }
    }
    let entries = match std::mem::needs_drop::<(K, V)>() {
        true => core.all_entries(),
        false => Vec::new(),
    };
    let core = Free(core);
    // SAFETY: no thread reads, and these are in no batch.
    unsafe { core.0.store.drop_entries(&entries) };
}

/// Frees a table and those that it was being moved to. The caller has the map for itself.
fn free_tables(mut table: *mut Table) {
    while !table.is_null() {
        // SAFETY: from a box; only a table that is not retired leads to it.
        let owned = unsafe { Box::from_raw(table) };
        table = owned.next_raw();
    }
}

/// The entries of a map that is no more: see [`RcuHashMap::into_iter`](IntoIterator::into_iter).
pub struct IntoIter<K, V, S, D = Global> {
    /// Its tables are empty. It frees the memory.
    map: RcuHashMap<K, V, S, D>,
    rest: vec::IntoIter<u32>,
}

impl<K, V, S, D> RcuHashMap<K, V, S, D> {
    fn core_mut(&mut self) -> Option<&mut Core<K, V, S, D>> {
        // SAFETY: null or a core, and `&mut self` excludes all but the worker, which the gate keeps out.
        unsafe { self.core.get_mut().as_mut() }
    }
}

impl<K, V, S, D> IntoIterator for RcuHashMap<K, V, S, D> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V, S, D>;

    /// Takes all entries out of the map. Nothing is retired. Takes time and memory linear in their number.
    fn into_iter(mut self) -> IntoIter<K, V, S, D> {
        let mut rest = Vec::new();
        if let Some(core) = self.core_mut() {
            core.sealer.close();
            rest = core.all_entries();
            free_tables(
                core.root
                    .swap(Box::into_raw(Table::new(1)), Ordering::Relaxed),
            );
        }
        let rest = rest.into_iter();
        IntoIter { map: self, rest }
    }
}

impl<K, V, S, D> Iterator for IntoIter<K, V, S, D> {
    type Item = (K, V);

    fn next(&mut self) -> Option<(K, V)> {
        let index = self.rest.next()?;
        let core = self.map.core_mut()?;
        // SAFETY: an entry that no table has any more, read once.
        let entry = unsafe { ptr::read(core.store.entries.at(index)) };
        Some((entry.key, entry.value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl<K, V, S, D> ExactSizeIterator for IntoIter<K, V, S, D> {}

impl<K, V, S, D> Drop for IntoIter<K, V, S, D> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

/// The entries of a map, with their values to change: see [`RcuHashMap::iter_mut`].
pub struct IterMut<'a, K, V, S, D = Global> {
    core: Option<&'a Core<K, V, S, D>>,
    rest: vec::IntoIter<u32>,
    values: PhantomData<&'a mut V>,
}

impl<K, V, S, D> RcuHashMap<K, V, S, D> {
    /// Visits all entries, with their values to change in place: `&mut self` excludes readers. Takes memory
    /// linear in their number.
    ///
    /// ```
    /// let mut ages = quiescent_collections::RcuHashMap::from([("Ada", 36), ("Alan", 41)]);
    /// ages.iter_mut().for_each(|(_, age)| *age += 1);
    /// assert_eq!(ages.pin().get("Ada"), Some(&37));
    /// ```
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V, S, D> {
        let mut rest = Vec::new();
        let core = self.core_mut();
        let core = core.map(|core| {
            // The worker may be moving the table: it is done with a unit when the gate is free.
            let sealer = core.sealer.clone();
            rest = sealer.while_closed(|| core.all_entries());
            &*core
        });
        IterMut {
            core,
            rest: rest.into_iter(),
            values: PhantomData,
        }
    }
}

impl<'a, K, V, S, D> Iterator for IterMut<'a, K, V, S, D> {
    type Item = (&'a K, &'a mut V);

    fn next(&mut self) -> Option<(&'a K, &'a mut V)> {
        let index = self.rest.next()?;
        // SAFETY: in the map for as long as it is borrowed, visited once, and no other thread uses values.
        unsafe {
            let entry = self.core?.store.entries.at(index);
            Some((&(*entry).key, &mut (*entry).value))
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}
