//! Values that own as much as is asked for, and are counted: those of `bench hold`.
//!
//! The size belongs to the measuring process, so that it may change while a cell is in use. A buffer is
//! written from end to end when it is made. Those of the size of now that are alive are counted in one place:
//! one thread makes them, and no figure here is of a time as short as that.

use super::swap::Value;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};

static BYTES: AtomicUsize = AtomicUsize::new(0);
static ALIVE: AtomicI64 = AtomicI64::new(0);
static MOST: AtomicI64 = AtomicI64::new(0);

/// Has buffers made from now on own so many bytes, and counts these from 0.
pub fn set_bytes(bytes: usize) {
    BYTES.store(bytes, Relaxed);
    ALIVE.store(0, Relaxed);
    MOST.store(0, Relaxed);
}

/// The most old values of that size that were held whenever one more was made: without the one in the cell,
/// and without the new one.
pub fn most_held() -> i64 {
    (MOST.load(Relaxed) - 2).max(0)
}

/// A value that owns so many bytes, which it does not declare.
#[derive(Debug)]
pub(crate) struct Buffer(Vec<u8>);

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
        if self.0.len() == BYTES.load(Relaxed) {
            ALIVE.fetch_sub(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_the_size_of_now_are_counted() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        set_bytes(3);
        let small = Buffer::new(0);
        set_bytes(5);
        let large = [0; 4].map(Buffer::new);
        assert_eq!((small.read(), large[3].read()), (3, 5));
        drop((small, large));
        assert_eq!((ALIVE.load(Relaxed), most_held()), (0, 2));
        set_bytes(0);
        assert_eq!(most_held(), 0);
    }
}
