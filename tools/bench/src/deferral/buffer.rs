//! Values that own as much as is asked for, and are counted: those of `bench hold`.
//!
//! The size belongs to the measuring process, so that it may change while a cell is in use. A buffer is
//! written from end to end when it is made. All of them count those that are alive in one place: one thread
//! makes them, and no figure here is of a time as short as that.

use super::swap::Value;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

static BYTES: AtomicUsize = AtomicUsize::new(0);
static ALIVE: AtomicU64 = AtomicU64::new(0);
static MOST: AtomicU64 = AtomicU64::new(0);

/// Has buffers made from now on own so many bytes.
pub fn set_bytes(bytes: usize) {
    BYTES.store(bytes, Relaxed);
}

/// The most old values that were held whenever one more was made: without the one in the cell, and without
/// the new one.
pub fn most_held() -> u64 {
    MOST.load(Relaxed).saturating_sub(2)
}

/// A value that owns so many bytes, which it does not declare.
#[derive(Debug)]
pub(super) struct Buffer(Vec<u8>);

impl Value for Buffer {
    fn new(turn: u64) -> Self {
        MOST.fetch_max(ALIVE.fetch_add(1, Relaxed) + 1, Relaxed);
        // Not zero: the allocator would give memory that has not been touched.
        Buffer(vec![turn as u8 | 1; BYTES.load(Relaxed)])
    }

    #[inline(always)]
    fn read(&self) -> u64 {
        self.0.len() as u64
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_alive_are_counted_and_their_size_may_change() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        let sizes = [3, 0, 5].map(|bytes| {
            set_bytes(bytes);
            Buffer::new(0)
        });
        assert_eq!(sizes.each_ref().map(Value::read), [3, 0, 5]);
        assert!(most_held() >= 1);
        let alive = ALIVE.load(Relaxed);
        drop(sizes);
        assert_eq!(alive - ALIVE.load(Relaxed), 3);
    }
}
