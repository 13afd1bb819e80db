//! The list of waiters: the FIFO of `synchronize` callers that do not drive.
//!
//! The engine identifies waiters by position; here they are stack objects in a doubly linked list under the
//! domain's lock. Each sleeps on its own word, so that the end of a grace period wakes exactly the waiters it
//! satisfies, and a hand-over wakes exactly one.
//!
//! # Validity of the pointers
//! A waiter is in the list only while its owner is inside the caller of [`Waiter::sleep`], which leaves in
//! one of two ways: it takes the lock and unlinks itself, or it sees [`DONE`], which is written under the
//! lock after the waiter was unlinked. After `DONE` is written no thread dereferences the waiter again: the
//! wake-up that follows uses the address only.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use quiescent_engine::Pos;

use crate::domain::counters::is_late;
use crate::prim::{self, AtomicU32, Ordering};

/// Still waiting.
pub const WAITING: u32 = 0;
/// Satisfied, and out of the list.
pub const DONE: u32 = 1;
/// Asked to drive.
pub const DRIVE: u32 = 2;

/// Largest number of waiters woken between two holds of the lock.
const BATCH: usize = 16;

/// A sleeping caller of `synchronize`.
#[derive(Debug)]
pub struct Waiter {
    /// The position that the engine has assigned.
    pub ticket: Pos,
    state: AtomicU32,
    /// The time of the last change of the state, for a statistic only: the models do not see it.
    changed: AtomicU64,
    linked: Cell<bool>,
    prev: Cell<*const Waiter>,
    next: Cell<*const Waiter>,
}

impl Waiter {
    pub fn new(ticket: Pos) -> Waiter {
        Waiter {
            ticket,
            state: AtomicU32::new(WAITING),
            changed: AtomicU64::new(0),
            linked: Cell::new(false),
            prev: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
        }
    }

    /// Sleeps until another thread changes the state and wakes this one, or for `timeout`; returns the state,
    /// and whether it had changed [long](is_late) before this thread ran again.
    pub fn sleep(&self, timeout: Option<Duration>) -> (u32, bool) {
        let state = self.state.load(Ordering::Acquire);
        if state != WAITING {
            return (state, false);
        }
        prim::futex_wait(&self.state, WAITING, timeout);
        let state = self.state.load(Ordering::Acquire); // [WT-1]
        let since = self.changed.load(Ordering::Relaxed);
        (state, state != WAITING && is_late(since, prim::now_ns()))
    }

    /// Changes the state of a linked waiter, which may be freed from here on if it is [`DONE`].
    fn change(&self, state: u32) {
        self.changed.store(prim::now_ns(), Ordering::Relaxed);
        self.state.store(state, Ordering::Release); // [WT-1]
    }

    /// True if it has been asked to drive. Resets the request.
    pub fn take_drive(&self) -> bool {
        let asked = self.state.load(Ordering::Acquire) == DRIVE;
        if asked {
            self.state.store(WAITING, Ordering::Relaxed);
        }
        asked
    }
}

/// Addresses to wake once the lock is released.
#[derive(Debug)]
pub struct Wakes {
    words: [*const AtomicU32; BATCH],
    len: usize,
}

impl Wakes {
    pub fn new() -> Wakes {
        Wakes {
            words: [ptr::null(); BATCH],
            len: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn is_full(&self) -> bool {
        self.len == BATCH
    }

    fn push(&mut self, word: *const AtomicU32) {
        self.words[self.len] = word;
        self.len += 1;
    }

    /// Wakes them; returns how many. Call with no lock held.
    #[inline(never)]
    pub fn wake(&mut self) -> usize {
        for &word in &self.words[..self.len] {
            prim::futex_wake(word);
        }
        std::mem::replace(&mut self.len, 0)
    }
}

/// The list. Positions ascend from head to tail.
#[derive(Debug)]
pub struct WaitList {
    head: *const Waiter,
    tail: *const Waiter,
}

// SAFETY: the pointers are dereferenced only under the lock that protects the list, and the waiters they
// point to live while they are linked (see the module comment).
unsafe impl Send for WaitList {}

impl WaitList {
    pub const fn new() -> WaitList {
        WaitList {
            head: ptr::null(),
            tail: ptr::null(),
        }
    }

    /// Inserts a waiter in order of tickets, unless it is already in the list. The position is the tail,
    /// except for a waiter that has driven meanwhile and lost the role.
    ///
    /// # Safety
    /// It must not move until it is out of the list.
    pub unsafe fn link(&mut self, waiter: &Waiter) {
        if waiter.linked.replace(true) {
            return;
        }
        let mut before = self.tail;
        let is_later = |other: &&Waiter| other.ticket > waiter.ticket;
        // SAFETY: a linked waiter lives.
        while let Some(later) = unsafe { before.as_ref() }.filter(is_later) {
            before = later.prev.get();
        }
        waiter.prev.set(before);
        // SAFETY: as above.
        let after = match unsafe { before.as_ref() } {
            Some(before) => before.next.replace(waiter),
            None => std::mem::replace(&mut self.head, waiter),
        };
        waiter.next.set(after);
        // SAFETY: as above.
        match unsafe { after.as_ref() } {
            Some(after) => after.prev.set(waiter),
            None => self.tail = waiter,
        }
    }

    /// Removes a waiter, if it is in the list.
    pub fn unlink(&mut self, waiter: &Waiter) {
        if !waiter.linked.replace(false) {
            return;
        }
        // SAFETY: neighbours of a linked waiter are linked, so they live.
        match unsafe { waiter.prev.get().as_ref() } {
            Some(prev) => prev.next.set(waiter.next.get()),
            None => self.head = waiter.next.get(),
        }
        // SAFETY: as above.
        match unsafe { waiter.next.get().as_ref() } {
            Some(next) => next.prev.set(waiter.prev.get()),
            None => self.tail = waiter.prev.get(),
        }
    }

    /// Removes waiters below `until` and marks them done; true if more remain.
    pub fn finish(&mut self, until: Pos, wakes: &mut Wakes) -> bool {
        loop {
            // SAFETY: a linked waiter lives.
            let Some(first) = (unsafe { self.head.as_ref() }) else {
                return false;
            };
            if first.ticket >= until {
                return false;
            }
            if wakes.is_full() {
                return true;
            }
            self.unlink(first);
            let word: *const AtomicU32 = &first.state;
            first.change(DONE);
            wakes.push(word);
        }
    }

    /// Asks the first waiter to drive, if there is one. `wakes` must not be full.
    pub fn hand_over(&mut self, wakes: &mut Wakes) -> bool {
        // SAFETY: a linked waiter lives.
        let Some(first) = (unsafe { self.head.as_ref() }) else {
            return false;
        };
        first.change(DRIVE);
        wakes.push(&first.state);
        true
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    #[test]
    fn finish_unlinks_only_earlier_waiters() {
        let waiters: Vec<Waiter> = (0..40).map(Waiter::new).collect();
        let mut list = WaitList::new();
        for waiter in &waiters {
            // SAFETY: the vector does not move before the list is gone.
            unsafe { list.link(waiter) };
        }
        list.unlink(&waiters[3]);
        let mut wakes = Wakes::new();
        let mut rounds = 0;
        while list.finish(30, &mut wakes) {
            rounds += 1;
            wakes.wake();
        }
        assert_eq!(rounds, 1, "29 waiters, 16 a round");
        let done = |w: &Waiter| w.state.load(Ordering::Relaxed) == DONE;
        assert!(
            waiters
                .iter()
                .all(|w| done(w) == (w.ticket < 30 && w.ticket != 3))
        );
        wakes.wake();
        assert!(list.hand_over(&mut wakes));
        assert!(waiters[30].take_drive() && !waiters[31].take_drive());
        // A waiter that is linked again gets its old place: at the front, in the middle, at the end.
        for back in [30, 35, 39] {
            list.unlink(&waiters[back]);
            // SAFETY: as above.
            unsafe { list.link(&waiters[back]) };
            let (mut order, mut at) = (Vec::new(), list.head);
            // SAFETY: as above.
            while let Some(waiter) = unsafe { at.as_ref() } {
                order.push(waiter.ticket);
                at = waiter.next.get();
            }
            assert_eq!(order, (30..40).collect::<Vec<_>>());
        }
        for waiter in &waiters[30..] {
            list.unlink(waiter);
        }
        assert!(list.head.is_null() && list.tail.is_null());
    }

    #[test]
    fn relinked_waiters_are_sorted_by_ticket() {
        let waiters: Vec<Waiter> = (0..5).map(Waiter::new).collect();
        for order in [
            [0, 1, 2, 3, 4],
            [1, 2, 4, 3, 0],
            [4, 3, 2, 1, 0],
            [2, 0, 4, 1, 3],
        ] {
            let mut list = WaitList::new();
            for n in order {
                // SAFETY: the vector does not move before the list is gone.
                unsafe { list.link(&waiters[n]) };
            }
            let mut wakes = Wakes::new();
            for until in 1..=5 {
                waiters[until - 1].state.store(WAITING, Ordering::Relaxed);
                assert!(!list.finish(until as Pos, &mut wakes));
                assert_eq!(wakes.wake(), 1, "{order:?}: the one below {until}");
            }
            assert!(list.head.is_null() && list.tail.is_null());
        }
    }
}
