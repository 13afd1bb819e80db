//! The counts of a flood of callbacks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The numbers of callbacks that were queued and that ran, since the run began. One for each place, never
/// freed.
#[derive(Default)]
pub struct Tide {
    queued: AtomicU64,
    ran: AtomicU64,
    /// The chain continues while this is set.
    pub rising: AtomicBool,
}

impl Tide {
    /// One more is queued.
    pub fn queue(&self) {
        self.queued.fetch_add(1, Ordering::Relaxed);
    }

    /// One has run.
    pub fn ran(&self) {
        self.ran.fetch_add(1, Ordering::Release);
    }

    /// How many have been queued, and have run.
    pub fn both(&self) -> [u64; 2] {
        // In this order: what runs may queue before it counts as run.
        let ran = self.ran.load(Ordering::Acquire);
        [self.queued.load(Ordering::Relaxed), ran]
    }
}
