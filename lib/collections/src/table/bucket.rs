//! A bucket: one cache line with twelve tags and twelve indexes.

use std::hint::assert_unchecked;
use std::num::NonZero;

use crate::prim::{AtomicU32, AtomicU64, Ordering, wait};
use crate::slab::{END, Unit};

/// So many entries are in a bucket; or one less, and the index of an overflow bucket.
pub const SLOTS: usize = 12;

/// The slot that may have an overflow bucket.
pub const LAST: usize = SLOTS - 1;

/// Marks an index as that of an overflow bucket.
pub const LINK: u32 = END;

// In the high word, above the tags.
const LOCK: u64 = 1 << 56;
const MOVED: u64 = 2 << 56;
const MORE: u64 = 4 << 56;

/// Below the control byte: two bits of the hash for each slot (`Table::mark_of`).
const SPLIT: usize = 32;

/// `low` has the tags of slots 0 to 7, `high` those of 8 to 11, two bits more for each slot, and the control
/// byte. A tag is 0, or it has its highest bit set and seven bits of the hash.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Bucket {
    low: AtomicU64,
    high: AtomicU64,
    slots: [AtomicU32; SLOTS],
}

impl Unit for Bucket {
    const SHIFT: u32 = 6;
    const BATCH: usize = 64;
    // A resize retires them in no order of their chunks, and then few are needed: of the lowest chunks.
    const READY: usize = 0;
}

/// The two words of a bucket, as they were loaded.
#[derive(Clone, Copy)]
pub struct Tags {
    low: u64,
    high: u64,
}

/// The tag of a hash.
#[inline(always)]
pub fn tag_of(hash: u64) -> u64 {
    0x80 | (hash & 0x7f)
}

impl Bucket {
    /// `[MAP-4]` The high word is loaded first: if the bucket is moved after that, what is found in it is
    /// as it was at a moment of this call. Acquire: a tag that is seen was stored after its index.
    #[inline(always)]
    pub fn tags(&self) -> Tags {
        let high = self.high.load(Ordering::Acquire);
        let low = self.low.load(Ordering::Acquire);
        Tags { low, high }
    }

    #[inline(always)]
    pub fn slot(&self, slot: usize) -> u32 {
        // [MAP-4]
        self.slots[slot].load(Ordering::Acquire)
    }

    /// Sets an index, whose entry is complete. The caller holds the lock.
    #[inline(always)]
    pub fn set_slot(&self, slot: usize, index: u32) {
        // [MAP-4]
        self.slots[slot].store(index, Ordering::Release);
    }

    /// Gives a free slot the mark of an entry: the tag, and above it the two bits more. The caller holds the
    /// lock, and unlocks with what is returned: that sets what is not set at once.
    #[inline(always)]
    pub fn set_mark(&self, slot: usize, mark: u64, tags: Tags) -> Tags {
        // No branch: while a table fills, the processor would foresee it badly.
        let is_low = (slot as u64 >> 3).wrapping_sub(1);
        let tag = (mark & 0xff) << (8 * (slot & 7));
        let low = tags.low | tag & is_low;
        // [MAP-4]
        self.low.store(low, Ordering::Release);
        let high = tags.high | tag & !is_low | mark >> 8 << (SPLIT + 2 * slot);
        Tags { low, high }
    }

    /// Frees a slot. As [`set_mark`](Bucket::set_mark).
    #[inline(always)]
    pub fn clear(&self, slot: usize, tags: Tags) -> Tags {
        let high = tags.high & !(3 << (SPLIT + 2 * slot));
        if slot < 8 {
            let low = tags.low & !(0xff << (8 * slot));
            // [MAP-4]
            self.low.store(low, Ordering::Release);
            Tags { low, high }
        } else {
            tags.with_high(high & !(0xff << (8 * (slot - 8))))
        }
    }

    /// Takes the lock, unless the bucket has moved. Returns the words without the lock's bit.
    #[inline(always)]
    pub fn lock(&self) -> Option<Tags> {
        let high = self.high.load(Ordering::Relaxed);
        let high = match high & (MOVED | LOCK) == 0 && self.try_lock(high) {
            true => high,
            false => self.lock_slowly()?,
        };
        let low = self.low.load(Ordering::Relaxed);
        Some(Tags { low, high })
    }

    #[inline(always)]
    fn try_lock(&self, high: u64) -> bool {
        // [MAP-6]
        let (ok, err) = (Ordering::Acquire, Ordering::Relaxed);
        let exchanged = self.high.compare_exchange_weak(high, high | LOCK, ok, err);
        exchanged.is_ok()
    }

    #[cold]
    #[inline(never)]
    fn lock_slowly(&self) -> Option<u64> {
        let mut spins = 0;
        loop {
            // [MAP-5]
            let high = self.high.load(Ordering::Acquire);
            if high & MOVED != 0 {
                return None;
            }
            if high & LOCK == 0 && self.try_lock(high) {
                return Some(high);
            }
            wait(&mut spins);
        }
    }

    /// `[MAP-6]` Releases the lock: the next owner sees what this one did.
    #[inline(always)]
    pub fn unlock(&self, tags: Tags) {
        self.high.store(tags.high, Ordering::Release);
    }

    /// `[MAP-5]` Releases the lock of a bucket whose entries are in the next table: who sees the mark finds
    /// them there. The bucket keeps what it has, for readers that are in it.
    pub fn unlock_moved(&self, tags: Tags) {
        self.high.store(tags.high | MOVED, Ordering::Release);
    }

    /// Makes it a bucket with two entries. No thread can reach it.
    pub fn begin(&self, first: (u32, u64), second: (u32, u64)) {
        let mut tags = self.tags();
        for (slot, (index, mark)) in [first, second].into_iter().enumerate() {
            self.set_slot(slot, index);
            tags = self.set_mark(slot, mark, tags);
        }
        self.unlock(tags);
    }

    /// Makes it an empty bucket, of memory that is zero. No thread can reach it.
    pub fn begin_empty(&self) {
        self.high.store(0, Ordering::Relaxed);
    }
}

impl Tags {
    #[inline(always)]
    pub fn is_moved(self) -> bool {
        self.high & MOVED != 0
    }

    #[inline(always)]
    fn with_high(self, high: u64) -> Tags {
        Tags { high, ..self }
    }

    /// The last slot has the index of an overflow bucket.
    #[inline(always)]
    pub fn has_more(self) -> bool {
        self.high & MORE != 0
    }

    #[inline(always)]
    pub fn with_more(self) -> Tags {
        self.with_high(self.high | MORE)
    }

    /// The last slot has an overflow bucket, and no entry any more.
    #[inline(always)]
    pub fn last_is_link(self) -> Tags {
        self.with_high(self.high & !(0xff << 24 | 3 << (SPLIT + 2 * LAST)) | MORE)
    }

    #[inline(always)]
    pub fn without_more(self) -> Tags {
        self.with_high(self.high & !MORE)
    }

    /// The mark of a slot.
    #[inline(always)]
    pub fn mark(self, slot: usize) -> u64 {
        let word = if slot < 8 { self.low } else { self.high };
        let split = self.high >> (SPLIT + 2 * slot) & 3;
        split << 8 | word >> (8 * (slot & 7)) & 0xff
    }

    /// A bit for each slot with this tag.
    #[inline(always)]
    pub fn matching(self, tag: u64) -> Slots {
        Slots(bits_of(self, tag) & 0xfff)
    }

    /// A bit for each slot with an entry.
    #[inline(always)]
    pub fn used(self) -> Slots {
        Slots(top_bits(self) & 0xfff)
    }

    /// Whether this slot has an entry.
    #[inline(always)]
    pub fn has(self, slot: usize) -> bool {
        top_bits(self) >> slot & 1 != 0
    }

    /// A slot for one entry more.
    #[inline(always)]
    pub fn unused(self) -> Option<usize> {
        let slots = if self.has_more() { 0x7ff } else { 0xfff };
        let unused = !top_bits(self) & slots;
        (unused != 0).then(|| unused.trailing_zeros() as usize)
    }
}

/// A set of slots, lowest first.
#[derive(Clone, Copy)]
pub struct Slots(u32);

impl Slots {
    #[inline(always)]
    pub fn first(self) -> Option<usize> {
        let slot = NonZero::new(self.0)?.trailing_zeros() as usize;
        // SAFETY: there is no bit but those of the slots.
        unsafe { assert_unchecked(slot < SLOTS) };
        Some(slot)
    }
}

impl Iterator for Slots {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let slot = self.first()?;
        self.0 &= self.0 - 1;
        Some(slot)
    }
}

#[cfg(target_arch = "x86_64")]
mod compare {
    use super::Tags;
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_cvtsi32_si128, _mm_movemask_epi8, _mm_set_epi64x,
        _mm_shuffle_epi32, _mm_shufflelo_epi16, _mm_unpacklo_epi8,
    };

    #[inline(always)]
    fn vector(tags: Tags) -> __m128i {
        // SAFETY: x86-64 has SSE2.
        unsafe { _mm_set_epi64x(tags.high as i64, tags.low as i64) }
    }

    #[inline(always)]
    pub fn bits_of(tags: Tags, tag: u64) -> u32 {
        // SAFETY: as above.
        unsafe {
            // `_mm_set1_epi8` would first clear the bits above the tag.
            let tag = _mm_cvtsi32_si128(tag as i32);
            let two = _mm_unpacklo_epi8(tag, tag);
            let all = _mm_shuffle_epi32::<0>(_mm_shufflelo_epi16::<0>(two));
            _mm_movemask_epi8(_mm_cmpeq_epi8(vector(tags), all)) as u32
        }
    }

    #[inline(always)]
    pub fn top_bits(tags: Tags) -> u32 {
        // SAFETY: as above.
        unsafe { _mm_movemask_epi8(vector(tags)) as u32 }
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
#[cfg_attr(target_arch = "x86_64", allow(dead_code))]
mod portable {
    use super::Tags;

    const TOP: u64 = 0x8080_8080_8080_8080;

    /// The highest bit of each byte, as a number of eight bits.
    fn gather(word: u64) -> u32 {
        (((word & TOP) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
    }

    fn equal(word: u64, tag: u64) -> u64 {
        let other = word ^ (tag * 0x0101_0101_0101_0101);
        !(((other & !TOP) + !TOP) | other)
    }

    pub fn bits_of(tags: Tags, tag: u64) -> u32 {
        gather(equal(tags.low, tag)) | gather(equal(tags.high, tag)) << 8
    }

    pub fn top_bits(tags: Tags) -> u32 {
        gather(tags.low) | gather(tags.high) << 8
    }
}

#[cfg(target_arch = "x86_64")]
use compare::{bits_of, top_bits};
#[cfg(not(target_arch = "x86_64"))]
use portable::{bits_of, top_bits};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_comparisons_find_the_same_slots() {
        let mut random = 0x1234_5678_9abc_def1_u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        for _ in 0..10_000 {
            let tags = Tags {
                low: next() & next(),
                high: next(),
            };
            let tag = tag_of(tags.low >> (next() % 8 * 8));
            assert_eq!(bits_of(tags, tag), portable::bits_of(tags, tag));
            assert_eq!(top_bits(tags), portable::top_bits(tags));
        }
    }

    #[cfg(not(quiescent_loom))]
    #[test]
    fn a_bucket_is_a_cache_line() {
        assert_eq!((size_of::<Bucket>(), align_of::<Bucket>()), (64, 64));
    }
}
