//! What an owner of the whole map may do: entries are taken out or changed without readers.

use std::vec;

use super::RcuHashMap;
use super::core::Core;
use super::store::go_on;
use crate::prim::Ordering;
use crate::table::Table;

/// Drops the entries, and frees everything.
///
/// # Safety
/// No thread reads the map, and its gate is closed.
pub unsafe fn drop_core<K, V, S, D>(core: Box<Core<K, V, S, D>>) {
    let entries = match std::mem::needs_drop::<(K, V)>() {
        true => core.all_entries(),
        false => Vec::new(),
    };
    // SAFETY: the caller's promise; these are in the table.
    let dropped = unsafe { core.store.free_all(&entries) };
    free_tables(core.root.load(Ordering::Relaxed));
    drop(core);
    go_on(dropped);
}

/// Frees a table and those that it was being moved to. The caller has the map for itself.
fn free_tables(mut table: *mut Table) {
    while !table.is_null() {
        // SAFETY: from a box; only a table that is not retired leads to it.
        let owned = unsafe { Box::from_raw(table) };
        table = owned.next_raw();
    }
}

impl<K, V, S, D> RcuHashMap<K, V, S, D> {
    /// All entries, with their values to change in place: `&mut self` excludes readers. Takes memory linear
    /// in their number.
    ///
    /// ```
    /// let mut ages = quiescent_collections::RcuHashMap::from([("Ada", 36), ("Alan", 41)]);
    /// ages.iter_mut().for_each(|(_, age)| *age += 1);
    /// assert_eq!(ages.pin().get("Ada"), Some(&37));
    /// ```
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        let core = self.core(); // shared: the worker uses it, too
        let entries = core.map_or(Vec::new(), |core| {
            // The worker may be moving the table: it is done with its units when the gate is free.
            core.sealer.while_closed(|| core.all_entries())
        });
        entries.into_iter().filter_map(move |index| {
            // SAFETY: in the map for as long as it is borrowed, visited once, and no other thread uses
            // values.
            unsafe {
                let entry = core?.store.entries.at(index);
                Some((&(*entry).key, &mut (*entry).value))
            }
        })
    }
}

impl<K, V, S, D> IntoIterator for RcuHashMap<K, V, S, D> {
    type Item = (K, V);
    type IntoIter = vec::IntoIter<(K, V)>;

    /// Takes all entries out of the map; nothing is retired. Takes time and memory linear in their number.
    fn into_iter(self) -> vec::IntoIter<(K, V)> {
        let mut entries = Vec::new();
        if let Some(core) = self.core() {
            core.sealer.close();
            let indexes = core.all_entries();
            free_tables(
                core.root
                    .swap(Box::into_raw(Table::new(1)), Ordering::Relaxed),
            );
            entries.reserve(indexes.len());
            entries.extend(indexes.into_iter().map(|index| {
                // SAFETY: an entry that no table has any more, read once.
                let entry = unsafe { core.store.entries.at(index).read() };
                (entry.key, entry.value)
            }));
        }
        // A destructor of a removed value may panic here, and would leak what is returned already.
        drop(self);
        entries.into_iter()
    }
}
