//! The lock among the writers of a list. The program's code runs under it.
//!
//! So *prepare* of a fork cannot wait for it (that code may wait for anything, or may fork itself), and the
//! child may find it held by a thread that does not exist there. Such a thread leaves the list intact,
//! because a list changes in one store; the child treats the lock as free.
//!
//! # The holder
//! The word contains the *number* of the thread that holds the lock. A thread gets its number when it first
//! takes such a lock. A number is given only once in a process and its children: a child continues the
//! parent's numbering. So a number below the child's first one belongs to a thread of the parent. Of those
//! threads only the one that forked exists in the child.
//!
//! ```text
//!   numbers   1 2 3 │ 4 5 6 7        parent: 4 has the lock, 2 forks
//!                   └ 4 5 …          child: first = 4, forked = 2; a lock of 3 is free, a lock of 2 is not
//! ```
//!
//! The other bit of the word says that a thread may sleep on it.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};

use quiescent_core::prim::{futex_wait, futex_wake};

const FREE: u32 = 0;
const AWAITED: u32 = 1;
/// The highest number: the lock's word has another bit.
const MOST: u32 = u32::MAX >> 1;

/// The next number.
static NEXT: AtomicU32 = AtomicU32::new(1);
/// The first number of this process.
static FIRST: AtomicU32 = AtomicU32::new(0);
/// The number of the thread that forked this process.
static FORKED: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The calling thread's number; 0 before it has one.
    static NUMBER: Cell<u32> = const { Cell::new(0) };
}

/// The calling thread's number.
fn number() -> u32 {
    let known = NUMBER.get();
    if known != 0 {
        return known;
    }
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    let new = number_at(count, FIRST.load(Ordering::Relaxed));
    NUMBER.set(new);
    new
}

/// The number of the thread before which `count` got theirs, in a process whose first number is `first`.
///
/// After 2³¹ threads the numbers start again, in a child of a fork with its first one: a lower number would
/// be that of a thread that is gone, and two threads would hold one lock.
fn number_at(count: u32, first: u32) -> u32 {
    (count & MOST).max(first).max(1)
}

/// In the child of a fork, on its only thread.
#[cfg(feature = "fork")]
pub(crate) fn forked() {
    FORKED.store(number(), Ordering::Relaxed);
    FIRST.store(NEXT.load(Ordering::Relaxed) & MOST, Ordering::Relaxed);
}

/// The lock.
#[derive(Debug)]
pub(crate) struct WriteLock {
    word: AtomicU32,
}

/// The lock, held by this thread.
#[derive(Debug)]
pub(crate) struct Taken<'a> {
    lock: &'a WriteLock,
    /// Not `Send`: it stays on its thread.
    _thread: PhantomData<*const ()>,
}

impl WriteLock {
    pub(crate) const fn new() -> WriteLock {
        WriteLock {
            word: AtomicU32::new(FREE),
        }
    }

    /// Takes the lock, and waits for it, for this call.
    ///
    /// # Panics
    /// If this thread holds it: the call is made by code that runs under the lock.
    #[track_caller]
    pub(crate) fn take(&self, call: &'static str) -> Taken<'_> {
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
            } else if (now ^ word) & !AWAITED == 0 {
                panic!("{call}: called by a function that a change of the same list has called");
            } else if now & AWAITED != 0 || exchange(now | AWAITED) {
                futex_wait(&self.word, now | AWAITED, None);
                word |= AWAITED; // others may sleep as well
            }
        }
    }
}

/// Whether the holder is not a thread of this process.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_below_the_first_of_the_process_also_after_the_last() {
        for first in [0, 1, 7, MOST] {
            for count in [0, 1, 6, 7, 8, MOST, MOST + 1, MOST + 2, u32::MAX] {
                let number = number_at(count, first);
                assert!(
                    number >= first && number != 0 && number <= MOST,
                    "{count} {first}"
                );
            }
        }
        assert_eq!([7, 8, MOST].map(|count| number_at(count, 7)), [7, 8, MOST]);
        assert_eq!(
            [MOST + 1, MOST + 2].map(|count| number_at(count, 7)),
            [7, 7]
        );
    }
}
