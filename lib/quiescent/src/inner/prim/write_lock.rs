//! The lock between those who write to a list: the program's code runs under it.
//!
//! So *prepare* of a fork cannot wait for it (that code may wait for anything, or be what forks), and the child may find it taken by
//! a thread that is not there. What such a thread has done to the list is whole, since a list changes in one store; the lock is free then.
//!
//! # Who has it
//! The word is the *number* of the thread that has it. A thread gets its number when it first takes such a lock, and no number is given twice,
//! neither in a process nor in its children: a child goes on counting where its parent was. So what is below the first number of
//! a child is of a thread of its parent's. Of those there is only the one that forked.
//!
//! ```text
//!   numbers   1 2 3 │ 4 5 6 7        parent: 4 has the lock, 2 forks
//!                   └ 4 5 …          child: first = 4, forked = 2; a lock that 3 has is free, one that 2 has is not
//! ```
//!
//! The other bit of the word says that somebody may sleep on it.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{CELL_NUMBER, futex_wait, futex_wake, tls_get, tls_set};

const FREE: u32 = 0;
const AWAITED: u32 = 1;

/// The number that is given next.
static NEXT: AtomicU32 = AtomicU32::new(1);
/// The first one that was given in this process.
static FIRST: AtomicU32 = AtomicU32::new(0);
/// The number of the thread that forked this process.
static FORKED: AtomicU32 = AtomicU32::new(0);

/// The calling thread's number.
fn number() -> u32 {
    let known = tls_get(CELL_NUMBER) as u32;
    if known != 0 {
        return known;
    }
    // After 2³¹ threads they begin again.
    let new = (NEXT.fetch_add(1, Ordering::Relaxed) & (u32::MAX >> 1)).max(1);
    tls_set(CELL_NUMBER, new as usize);
    new
}

/// In the child of a fork, on the only thread that it has.
pub(crate) fn forked() {
    FORKED.store(number(), Ordering::Relaxed);
    FIRST.store(NEXT.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// The lock.
#[derive(Debug)]
pub(crate) struct WriteLock {
    word: AtomicU32,
}

/// It is taken, by this thread.
#[derive(Debug)]
pub(crate) struct Taken<'a> {
    lock: &'a WriteLock,
    /// It stays on its thread.
    _thread: PhantomData<*const ()>,
}

impl WriteLock {
    pub(crate) const fn new() -> WriteLock {
        WriteLock {
            word: AtomicU32::new(FREE),
        }
    }

    /// Waits for it.
    pub(crate) fn take(&self) -> Taken<'_> {
        let mut word = number() << 1;
        loop {
            let now = self.word.load(Ordering::Relaxed);
            let order = (Ordering::Acquire, Ordering::Relaxed);
            let exchange = |new| {
                (self.word)
                    .compare_exchange(now, new, order.0, order.1)
                    .is_ok()
            };
            if now == FREE || is_lost(now) {
                if exchange(word) {
                    return Taken {
                        lock: self,
                        _thread: PhantomData,
                    };
                }
            } else if now & AWAITED != 0 || exchange(now | AWAITED) {
                futex_wait(&self.word, now | AWAITED, None);
                word |= AWAITED; // others may sleep as well
            }
        }
    }
}

/// Is the thread that has it none of this process?
fn is_lost(word: u32) -> bool {
    let holder = word >> 1;
    holder < FIRST.load(Ordering::Relaxed) && holder != FORKED.load(Ordering::Relaxed)
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if self.lock.word.swap(FREE, Ordering::Release) & AWAITED != 0 {
            futex_wake(&self.lock.word);
        }
    }
}
