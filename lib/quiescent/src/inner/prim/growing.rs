//! Leaves that double: numbered places, in leaves each of which has twice as many as the one before. So there is room for any number behind a
//! few pointers, and what has been found in a place stays there.
//!
//! Tallies of an `Srcu` ([`counted`](crate::inner::reader::counted)), spots of a domain ([`spots`](crate::inner::reader::spots)) and a slot's cells ([`table`](crate::inner::reader::table))
//! are kept so.

use crate::inner::prim::{AtomicPtr, Ordering};

/// The leaf of a number, and its place there, if the first leaf has `first` places.
pub(crate) fn place(number: u32, first: u32) -> (usize, usize) {
    let leaf = (number / first + 1).ilog2();
    (leaf as usize, (number + first - (first << leaf)) as usize)
}

/// What the pointer leads to, or what `new` makes for ever; whoever is first puts it there.
pub(crate) fn made<T>(
    pointer: &AtomicPtr<T>,
    new: impl FnOnce() -> Option<*mut T>,
) -> Option<*mut T> {
    let there = pointer.load(Ordering::Acquire); // [SP-1]
    if !there.is_null() {
        return Some(there);
    }
    let fresh = new()?;
    let order = (Ordering::AcqRel, Ordering::Acquire); // [SP-1]
    match pointer.compare_exchange(there, fresh, order.0, order.1) {
        Ok(_) => Some(fresh),
        Err(other) => Some(other),
    }
}
