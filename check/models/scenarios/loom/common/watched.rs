//! Numbers whose accesses loom watches: two that are not ordered by happens-before fail the model, unless
//! both read. An order in time is not enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64 as RealU64, Ordering::Relaxed as RealRelaxed};

use quiescent_models::loom::UnsafeCell;

/// A number that loom watches.
#[derive(Debug)]
pub struct Watched(UnsafeCell<u64>);

// SAFETY: an access that is not ordered fails the model.
unsafe impl Send for Watched {}
// SAFETY: as above.
unsafe impl Sync for Watched {}

impl Watched {
    /// Made by a write, which readers have to see.
    pub fn new(number: u64) -> Watched {
        let watched = Watched(UnsafeCell::new(0));
        watched.replace(number);
        watched
    }

    pub fn get(&self) -> u64 {
        // SAFETY: loom checks that no write is concurrent.
        self.0.with(|number| unsafe { *number })
    }

    /// Returns the number before.
    pub fn replace(&self, number: u64) -> u64 {
        // SAFETY: loom checks that no access is concurrent.
        self.0.with_mut(|place| unsafe { place.replace(number) })
    }
}

/// A number that counts when it is dropped, which is an access too.
pub struct Dropping {
    number: Watched,
    dropped: Arc<RealU64>,
}

const GONE: u64 = u64::MAX;

impl Dropping {
    pub fn new(number: u64, dropped: &Arc<RealU64>) -> Dropping {
        Dropping {
            number: Watched::new(number),
            dropped: dropped.clone(),
        }
    }

    /// By a thread that may use it.
    pub fn get(&self) -> u64 {
        let number = self.number.get();
        assert_ne!(number, GONE, "dropped under a reader");
        number
    }
}

impl Drop for Dropping {
    fn drop(&mut self) {
        assert_ne!(self.number.replace(GONE), GONE, "dropped twice");
        self.dropped.fetch_add(1, RealRelaxed);
    }
}
