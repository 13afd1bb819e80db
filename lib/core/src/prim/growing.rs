//! Growing arrays: numbered places, in leaves each of which has twice as many places as the one before. So a
//! few pointers cover any number, and the address of a place never changes.
//!
//! Tallies of an `Srcu` ([`counted`](crate::reader::counted)), records of a domain and a slot's cells
//! ([`records`](crate::reader::records)) are stored this way. Leaves are permanent memory
//! ([`zeroes`](crate::prim::zeroes)); no allocator is used.

use crate::prim::{self, AtomicPtr, Ordering};

/// A growing array with `FIRST` places in its first leaf, and at most `LEAVES` leaves.
#[derive(Debug)]
pub struct Growing<T, const FIRST: u32, const LEAVES: usize> {
    leaves: [AtomicPtr<T>; LEAVES],
}

impl<T: 'static, const FIRST: u32, const LEAVES: usize> Growing<T, FIRST, LEAVES> {
    const_new! {
        pub fn new() -> Self {
            Growing { leaves: array_of!(AtomicPtr::new(std::ptr::null_mut()); LEAVES) }
        }
    }

    /// The place of this number, if its leaf exists.
    #[inline(always)]
    pub fn find(&self, number: u32) -> Option<&T> {
        let (leaf, at) = place(number, FIRST);
        let first = self.leaves.get(leaf)?.load(Ordering::Acquire); // [SP-1]
        // SAFETY: null, or a leaf of this size, which lives forever.
        (!first.is_null()).then(|| unsafe { &*first.add(at) })
    }

    /// The same; creates the leaf. `None`: no memory for it.
    ///
    /// # Safety
    /// `new` returns a value whose bytes are all zero.
    pub unsafe fn add(&self, number: u32, new: impl Fn() -> T) -> Option<&T> {
        let (leaf, at) = place(number, FIRST);
        // SAFETY: the caller's promise.
        let zeroes = || unsafe { prim::zeroes((FIRST as usize) << leaf, new) };
        let first = made(self.leaves.get(leaf)?, zeroes)?;
        // SAFETY: a leaf of this size, which lives forever.
        Some(unsafe { &*first.add(at) })
    }

    /// The leaves that exist.
    #[inline]
    pub fn leaves(&self) -> impl Iterator<Item = &[T]> {
        let leaves = self.leaves.iter().enumerate();
        leaves.filter_map(|(leaf, first)| {
            let first = first.load(Ordering::Acquire); // [SP-1]
            let size = (FIRST as usize) << leaf;
            // SAFETY: a leaf of this size, which lives forever, and is only changed by atomics.
            (!first.is_null()).then(|| unsafe { std::slice::from_raw_parts(first, size) })
        })
    }

    /// All places of all leaves that exist, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let mut from = (0, 0);
        std::iter::from_fn(move || self.next(&mut from))
    }

    /// The next place, from one of a leaf on. One function for all loops: none is on a hot path.
    #[inline(never)]
    fn next(&self, (leaf, at): &mut (usize, usize)) -> Option<(u32, &T)> {
        while let Some(first) = self.leaves.get(*leaf) {
            let (first, size) = (first.load(Ordering::Acquire), (FIRST as usize) << *leaf);
            let (here, number) = (*at, size - FIRST as usize + *at);
            if !first.is_null() && here < size {
                *at += 1;
                // SAFETY: a leaf of this size, which lives forever.
                return Some((number as u32, unsafe { &*first.add(here) }));
            }
            (*leaf, *at) = (*leaf + 1, 0);
        }
        None
    }
}

/// The leaf of a number, and its place there, if the first leaf has `first` places.
fn place(number: u32, first: u32) -> (usize, usize) {
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

    /// Every slot has a place for its tally and its record.
    #[test]
    fn all_slots_have_places() {
        let last = (prim::MAX_LEAVES * prim::LEAF_SLOTS) as u32 - 1;
        assert!(place(last, prim::FIRST_TALLIES).0 < prim::TALLY_LEAVES);
        assert!(place(last, prim::FIRST_RECORDS).0 < prim::RECORD_LEAVES);
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
