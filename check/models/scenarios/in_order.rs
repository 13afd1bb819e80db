//! Keys of a map whose buckets a scenario chooses, for the explorer and for loom.

use std::hash::{BuildHasher, Hasher};

/// Keys below 4 are in the first bucket of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub u64);

#[derive(Clone, Copy)]
pub struct InOrder;

pub struct Bits(u64);

/// The map multiplies hashes by a number, of which this is the inverse.
const INVERSE: u64 = {
    let (odd, mut inverse) = (0x9E37_79B9_7F4A_7C15_u64, 1_u64);
    let mut bits = 1;
    while bits < 64 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        bits *= 2;
    }
    inverse
};

impl BuildHasher for InOrder {
    type Hasher = Bits;

    fn build_hasher(&self) -> Bits {
        Bits(0)
    }
}

impl Hasher for Bits {
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    /// The place by the highest bits, the tag by the lowest.
    fn finish(&self) -> u64 {
        (self.0 << 61 | self.0).wrapping_mul(INVERSE)
    }
}
