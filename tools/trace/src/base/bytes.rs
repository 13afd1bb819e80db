//! Many bytes at once: marks in eight of them, numbers in text.

/// One in each byte.
pub(crate) const ONES: u64 = u64::from_ne_bytes([1; 8]);

/// The first byte from `at` on that `is`, or the end. Of eight bytes, the lowest at once, `marks` sets the
/// highest bit of those that are; of marks above the lowest one nothing is believed.
#[inline(always)]
pub(crate) fn first(
    bytes: &[u8],
    mut at: usize,
    marks: impl Fn(u64) -> u64,
    is: impl Fn(u8) -> bool,
) -> usize {
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let marks = marks(u64::from_le_bytes(*eight)) & (ONES << 7);
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|b| !is(*b)) {
        at += 1;
    }
    at
}

/// A decimal number of at most eighteen digits from `start` on, and the place behind it.
#[inline(always)]
pub(crate) fn digits(bytes: &[u8], start: usize) -> Option<(u64, usize)> {
    let (mut at, mut value) = (start, 0u64);
    while let Some(byte) = bytes.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value * 10 + u64::from(digit);
        at += 1;
        if at - start > 18 {
            return None;
        }
    }
    (at > start).then_some((value, at))
}
