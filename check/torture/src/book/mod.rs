//! The data of a run: what is published, queued, counted and found. It knows no actor.

pub mod counter;
pub mod element;
pub mod ending;
pub mod entry;
pub mod events;
pub mod finding;
pub mod hand;
pub mod kept;
pub mod kind;
pub mod latency;
pub mod ledger;
pub mod numbers;
pub mod options;
pub mod periods;
pub mod role;
pub mod target;
pub mod tide;
pub mod waking;
pub mod world;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The present value of a counter.
pub fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Takes a lock, also one whose holder has panicked.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
