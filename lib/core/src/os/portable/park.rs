//! Sleeping on a word, as with a futex: a table of bells, found by the word's address.
//!
//! A sleeper compares the word under its bell's lock, and a waker takes that lock after it has changed the
//! word. So either the sleeper sees the change, or the waker wakes it. Nothing allocates.
//!
//! A waker wakes all sleepers of its bell, also those on other words: a sleep may end early for any reason,
//! and every sleeper looks at its word again.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Number of bells: with fewer sleepers hardly two share one.
const BELLS: usize = 64;

static TABLE: [(Mutex<()>, Condvar); BELLS] = [const { (Mutex::new(()), Condvar::new()) }; BELLS];

fn bell_of(word: *const AtomicU32) -> &'static (Mutex<()>, Condvar) {
    let address = word.addr() / align_of::<AtomicU32>();
    let mixed = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &TABLE[(mixed >> 32) as usize % BELLS]
}

/// Sleeps while `word` contains `expected`, at most for `timeout`. Returns early for any reason.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let (lock, bell) = bell_of(word);
    let asleep = lock.lock().unwrap_or_else(PoisonError::into_inner);
    if word.load(Ordering::SeqCst) != expected {
        return;
    }
    match timeout {
        None => drop(bell.wait(asleep)),
        Some(timeout) => drop(bell.wait_timeout(asleep, timeout)),
    }
}

/// Wakes the sleepers on the address `word`, which need not be valid any more.
pub fn futex_wake(word: *const AtomicU32) {
    let (lock, bell) = bell_of(word);
    let _none_between = lock.lock().unwrap_or_else(PoisonError::into_inner);
    bell.notify_all();
}

/// Wakes all sleepers on the address `word`.
pub fn futex_wake_all(word: &AtomicU32) {
    futex_wake(word);
}
