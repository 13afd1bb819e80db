//! Bits of a leaf's bitmap.

use super::FULL;
use crate::prim::{AtomicU64, Ordering};

/// The free slots.
pub(super) fn free_bits(bits: u64, reserved: u64) -> u64 {
    !(bits | reserved) & FULL
}

/// Sets a clear bit and returns its number.
pub(super) fn claim_bit(bitmap: &AtomicU64, reserved: u64) -> Option<usize> {
    let mut bits = bitmap.load(Ordering::Relaxed);
    loop {
        let free = free_bits(bits, reserved);
        if free == 0 {
            return None;
        }
        let bit = free.trailing_zeros();
        let taken = bits | 1 << bit;
        match bitmap.compare_exchange(bits, taken, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return Some(bit as usize),
            Err(now) => bits = now,
        }
    }
}
