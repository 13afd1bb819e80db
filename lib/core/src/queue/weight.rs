//! The bytes that the budget counts for a queued item.
//!
//! A budget of "64 MiB" means memory of the machine, not the sum of the requested sizes. In addition to the
//! object there is the queue's own entry of two words, and the allocator's overhead: one word, and rounding
//! to the next multiple of two words. That is the minimum of the common 64-bit allocators for Linux (glibc's:
//! one word, multiples of 16, at least 32; size classes of others lie between that and a quarter more). So a
//! million objects of 64 bytes count as 96 MB, which is what they occupy, and not as 64. All of this is
//! constant for a type: the fast path subtracts a different constant.
//!
//! # Owned bytes
//! What an object owns beyond its box is declared by the program, or estimated: a value with a destructor and
//! without a declaration counts [`owner::UNWEIGHED`] bytes more. The entry carries this amount in 15 bits
//! ([`Owned`]), and every count uses the rounded amount: the credit, the engine's totals, telemetry.

use std::mem::needs_drop;

use quiescent_engine::owner;

/// A queue's entry.
pub const ENTRY: usize = owner::ENTRY;

/// The bytes that the budget counts for a queued box of `T`.
pub const fn boxed<T>() -> usize {
    owner::weight(size_of::<T>())
}

/// True if a closure fits into the entry's word. (WebAssembly and Miri lack what `kind::frozen` needs.)
pub const fn fits<F>() -> bool {
    !cfg!(any(miri, target_family = "wasm"))
        && size_of::<F>() <= size_of::<*mut u8>()
        && align_of::<F>() <= align_of::<*mut u8>()
}

/// The bytes that the budget counts for a queued closure: only its entry if it fits into that.
pub const fn closure<F>() -> u64 {
    if fits::<F>() {
        ENTRY as u64
    } else {
        boxed::<F>() as u64
    }
}

/// The amount owned by a value of which the program has declared nothing.
pub const UNKNOWN: usize = usize::MAX;

/// The amount owned by a value of type `T`, of which so much was declared.
const fn known<T>(declared: usize) -> usize {
    match declared {
        UNKNOWN if needs_drop::<T>() => owner::UNWEIGHED,
        UNKNOWN => 0,
        bytes => bytes,
    }
}

/// An amount of owned bytes in 15 bits: exact below 2048, else rounded up by at most one part in 1024. At
/// most 2 TiB (less a thousandth), so that sums of several do not overflow.
///
/// The low 10 bits are the fraction, the others the exponent, as of a floating-point number: each code is the
/// successor of the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owned(pub(super) u64);

impl Owned {
    /// Bits of the code.
    pub const BITS: u32 = 15;
    /// Bits of the fraction.
    const FRACTION: u32 = 10;
    /// Nothing.
    pub const NOTHING: Owned = Owned(0);

    /// The amount for a value of type `T`, of which so much was declared.
    #[inline(always)]
    pub const fn by<T>(declared: usize) -> Owned {
        Owned::of(known::<T>(declared))
    }

    /// All bytes of a box of `T` but the queue's entry: its block, and what it owns.
    #[inline(always)]
    pub const fn whole<T>(declared: usize) -> Owned {
        Owned::of(known::<T>(declared).saturating_add(boxed::<T>() - ENTRY))
    }

    const fn of(bytes: usize) -> Owned {
        let bytes = bytes as u64;
        let above = (u64::BITS - bytes.leading_zeros()).saturating_sub(Owned::FRACTION + 1);
        let part = (bytes >> above) + (bytes & ((1 << above) - 1) != 0) as u64;
        // The leading bit of the part adds one to the exponent; without it, the exponent is 0.
        let code = ((above as u64) << Owned::FRACTION) + part;
        let most = (1 << Owned::BITS) - 1;
        Owned(if code < most { code } else { most })
    }

    /// The amount.
    pub const fn bytes(self) -> u64 {
        let fraction = self.0 & ((1 << Owned::FRACTION) - 1);
        match self.0 >> Owned::FRACTION {
            0 => fraction,
            exponent => ((1 << Owned::FRACTION) + fraction) << (exponent - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words have 64 bits; else 32.
    const WIDE: bool = usize::BITS == 64;

    /// By the width of a word.
    fn by_width<T>(wide: T, narrow: T) -> T {
        if WIDE { wide } else { narrow }
    }

    #[test]
    fn owned_bytes_are_exact_or_rounded_up_a_little() {
        let around = |n: usize| [n.saturating_sub(1), n, n + 1];
        let bits = 11..41.min(usize::BITS);
        let large = bits.flat_map(|bit| around(1 << bit).into_iter().chain(around(5 << (bit - 2))));
        for bytes in (0..10_000).chain(large) {
            let owned = Owned::of(bytes);
            let rounded = owned.bytes();
            assert!(rounded >= bytes as u64, "{bytes}: {rounded}");
            assert!(
                rounded - bytes as u64 <= bytes as u64 / 1024,
                "{bytes}: {rounded}"
            );
            assert_eq!(Owned::of(rounded as usize), owned, "{bytes}");
        }
        let most = Owned::of(usize::MAX - 1);
        if WIDE {
            assert_eq!((most.0, most.bytes()), ((1 << 15) - 1, 2047 << 30));
            assert_eq!(Owned::of(1u64.wrapping_shl(43) as usize), most);
        } else {
            assert_eq!(most.bytes(), 1 << 32, "more than an object can own");
        }
    }

    #[test]
    fn unweighed_destructors_count_an_estimate() {
        assert_eq!(Owned::by::<String>(UNKNOWN).bytes(), 1024);
        assert_eq!(Owned::by::<u64>(UNKNOWN), Owned::NOTHING);
        assert_eq!(Owned::by::<String>(0), Owned::NOTHING);
        assert_eq!(Owned::by::<u64>(7).bytes(), 7);
    }

    #[test]
    fn the_whole_of_a_box_is_its_block_and_what_it_owns() {
        for declared in [0, 1, 1500] {
            let whole = Owned::whole::<[u8; 24]>(declared).bytes();
            assert_eq!(
                whole + ENTRY as u64,
                boxed::<[u8; 24]>() as u64 + declared as u64
            );
        }
        assert_eq!(Owned::whole::<()>(UNKNOWN), Owned::NOTHING);
        let string = (boxed::<String>() - ENTRY) as u64;
        assert_eq!(Owned::whole::<String>(UNKNOWN).bytes(), string + 1024);
        assert_eq!(Owned::whole::<u64>(UNKNOWN - 1), Owned::of(usize::MAX));
    }

    #[test]
    fn a_box_counts_its_block_and_its_entry() {
        assert_eq!(boxed::<()>(), by_width(16, 12));
        let small = [boxed::<u8>(), boxed::<[u8; 12]>(), boxed::<[u8; 13]>()];
        assert_eq!(small, by_width([48, 48, 48], [28, 28, 36]));
        let larger = [
            boxed::<[u8; 24]>(),
            boxed::<[u8; 25]>(),
            boxed::<[u8; 64]>(),
        ];
        assert_eq!(larger, by_width([48, 64, 96], [44, 44, 84]));
        assert_eq!(
            boxed::<[u8; 4096]>(),
            by_width(4096 + 16 + 16, 4096 + 8 + 12)
        );
    }

    #[test]
    fn a_closure_of_a_word_counts_its_entry_only() {
        assert_eq!(closure::<fn()>(), by_width(16, 12));
        assert_eq!(closure::<[u64; 2]>(), by_width(48, 36));
    }

    #[test]
    fn counted_bytes_are_close_to_the_allocator() {
        // Measured by the addresses of neighbours: with any allocator, blocks are at most a quarter further
        // apart than what is counted (without the entry). Other threads' blocks may lie between some.
        let boxes: Vec<Box<[u8; 64]>> = (0..1000).map(|_| Box::new([0; 64])).collect();
        let mut places: Vec<usize> = boxes.iter().map(|it| &raw const **it as usize).collect();
        places.sort_unstable();
        let apart = places.windows(2).map(|it| it[1] - it[0]);
        let least = apart.min().expect("there are neighbours");
        let counted = boxed::<[u8; 64]>() - ENTRY;
        assert!(64 <= least && least <= counted + counted / 4, "{least}");
    }
}
