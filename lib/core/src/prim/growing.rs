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

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    /// Leaves double in size, and each number has a place of its own.
    #[test]
    fn places_follow_each_other() {
        for first in [1, 3, 16] {
            let mut expected = (0, 0);
            for number in 0..20 * first {
                assert_eq!(place(number, first), expected, "{number} of {first}");
                expected.1 += 1;
                if expected.1 == (first as usize) << expected.0 {
                    expected = (expected.0 + 1, 0);
                }
            }
        }
    }

    #[test]
    fn the_first_that_is_made_stays() {
        let pointer = AtomicPtr::new(std::ptr::null_mut());
        assert_eq!(made::<u32>(&pointer, || None), None);
        let (mut one, mut other) = (1, 2);
        // Another thread is faster.
        let late = made(&pointer, || {
            assert_eq!(made(&pointer, || Some(&raw mut one)), Some(&raw mut one));
            Some(&raw mut other)
        });
        assert_eq!(late, Some(&raw mut one));
        let found = made(&pointer, || unreachable!("it is there"));
        assert_eq!(found, Some(&raw mut one));
    }
}
