//! Sleeping on a word, as with a futex: a table of queues, found by the word's address.
//!
//! A sleeper compares the word under its queue's lock, and a waker takes that lock after it has changed the
//! word. So either the sleeper sees the change, or the waker sees the sleeper. The entry of a sleeper is on
//! its stack, and is linked only while the queue's lock is held or the sleeper waits: nothing allocates.
//!
//! All sleepers of a queue share its condition variable: those that were not meant go back to sleep.

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Number of queues: with fewer sleepers hardly two share one.
const QUEUES: usize = 64;

/// A sleeper, on its stack.
struct Sleeper {
    word: *const AtomicU32,
    woken: bool,
    next: *mut Sleeper,
}

/// A queue's sleepers, the oldest first.
struct Sleepers(*mut Sleeper);

// SAFETY: the pointers are followed under the queue's lock only.
unsafe impl Send for Sleepers {}

struct Queue {
    sleepers: Mutex<Sleepers>,
    bell: Condvar,
}

static TABLE: [Queue; QUEUES] = [const {
    Queue {
        sleepers: Mutex::new(Sleepers(ptr::null_mut())),
        bell: Condvar::new(),
    }
}; QUEUES];

impl Queue {
    fn of(word: *const AtomicU32) -> &'static Queue {
        let address = word.addr() / align_of::<AtomicU32>();
        let mixed = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &TABLE[(mixed >> 32) as usize % QUEUES]
    }

    fn lock(&self) -> MutexGuard<'_, Sleepers> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the `most` oldest sleepers on this word.
    fn wake(&self, word: *const AtomicU32, most: usize) {
        let mut sleepers = self.lock();
        if sleepers.take(word, most) {
            self.bell.notify_all();
        }
    }
}

impl Sleepers {
    fn push(&mut self, new: *mut Sleeper) {
        let mut place = &raw mut self.0;
        // SAFETY: entries are valid while they are linked, and change under this lock only.
        unsafe {
            while !(*place).is_null() {
                place = &raw mut (**place).next;
            }
            *place = new;
        }
    }

    /// Unlinks up to `most` sleepers on this word, as woken; false if there is none.
    fn take(&mut self, word: *const AtomicU32, most: usize) -> bool {
        let mut taken = 0;
        let mut place = &raw mut self.0;
        // SAFETY: as above.
        unsafe {
            while !(*place).is_null() && taken < most {
                let sleeper = *place;
                if ptr::eq((*sleeper).word, word) {
                    *place = (*sleeper).next;
                    (*sleeper).woken = true;
                    taken += 1;
                } else {
                    place = &raw mut (*sleeper).next;
                }
            }
        }
        taken > 0
    }

    /// Unlinks this sleeper.
    fn remove(&mut self, gone: *mut Sleeper) {
        let mut place = &raw mut self.0;
        // SAFETY: as above.
        unsafe {
            while !(*place).is_null() {
                if ptr::eq(*place, gone) {
                    *place = (*gone).next;
                    return;
                }
                place = &raw mut (**place).next;
            }
        }
    }
}

/// Sleeps while `word` contains `expected`, at most for `timeout`. True if no thread had woken this one by
/// then.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) -> bool {
    let queue = Queue::of(word);
    let mut sleepers = queue.lock();
    if word.load(Ordering::SeqCst) != expected {
        return false;
    }
    let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut entry = Sleeper {
        word,
        woken: false,
        next: ptr::null_mut(),
    };
    let own = &raw mut entry;
    sleepers.push(own);
    loop {
        sleepers = match end {
            None => (queue.bell.wait(sleepers)).unwrap_or_else(PoisonError::into_inner),
            Some(end) => {
                let left = end.saturating_duration_since(Instant::now());
                let slept = queue.bell.wait_timeout(sleepers, left);
                slept.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        // SAFETY: on this stack; written under the lock that is held.
        if unsafe { (*own).woken } {
            return false;
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            sleepers.remove(own);
            return true;
        }
    }
}

/// Wakes one sleeper on the address `word`, which need not be valid any more.
pub fn futex_wake(word: *const AtomicU32) {
    Queue::of(word).wake(word, 1);
}

/// Wakes all sleepers on the address `word`.
pub fn futex_wake_all(word: &AtomicU32) {
    Queue::of(word).wake(word, usize::MAX);
}

/// The number of sleepers on a word.
#[cfg(test)]
pub(super) fn sleepers_on(word: &AtomicU32) -> usize {
    let sleepers = Queue::of(word).lock();
    let first = Some(sleepers.0).filter(|first| !first.is_null());
    // SAFETY: entries are valid while they are linked, and the lock is held.
    let next = |it: &*mut Sleeper| Some(unsafe { (**it).next }).filter(|next| !next.is_null());
    // SAFETY: as above.
    let is_on = |it: &*mut Sleeper| unsafe { ptr::eq((**it).word, word) };
    std::iter::successors(first, next).filter(is_on).count()
}
