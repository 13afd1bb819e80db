//! Growing arrays: numbered places, in leaves each of which has twice as many places as the one before. So a
//! few pointers cover any number, and the address of a place never changes.
//!
//! Tallies of an `Srcu` ([`counted`](crate::reader::counted)), records of a domain
//! ([`records`](crate::reader::records)) and a slot's cells ([`table`](crate::reader::table)) are stored this
//! way.

use crate::prim::{AtomicPtr, Ordering};

/// The leaf of a number, and its place there, if the first leaf has `first` places.
pub fn place(number: u32, first: u32) -> (usize, usize) {
    let leaf = (number / first + 1).ilog2();
    (leaf as usize, (number + first - (first << leaf)) as usize)
}

/// The target of the pointer; if it is null, the permanent object that `new` creates, unless another thread
/// stores one first.
pub fn made<T>(pointer: &AtomicPtr<T>, new: impl FnOnce() -> Option<*mut T>) -> Option<*mut T> {
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
