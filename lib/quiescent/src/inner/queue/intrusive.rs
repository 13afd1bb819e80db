//! Intrusive callbacks: a list through the objects themselves, under the queue's lock.

use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};

use quiescent_engine::Pos;
use quiescent_engine::credit::Queued;

/// What is to be called with a head.
pub(crate) type RunHead = unsafe fn(NonNull<Head>);

/// A callback's place inside an object, for those who must not allocate. See [`intrusive::defer`](crate::intrusive::defer).
///
/// Two words. Put it first in a `#[repr(C)]` struct, and the head's address is the object's.
#[derive(Debug)]
#[repr(C)]
pub struct Head {
    // Readers may still hold references to the object while its head is being linked.
    next: UnsafeCell<*mut Head>,
    run: UnsafeCell<Option<RunHead>>,
}

// SAFETY: a head that is not queued holds nothing; one that is queued is the library's.
unsafe impl Send for Head {}
// SAFETY: as above; there is no shared access to its words but the library's, under a lock.
unsafe impl Sync for Head {}

impl Head {
    /// A head that is not queued.
    pub const fn new() -> Head {
        Head {
            next: UnsafeCell::new(ptr::null_mut()),
            run: UnsafeCell::new(None),
        }
    }
}

impl Default for Head {
    fn default() -> Head {
        Head::new()
    }
}

/// The list.
#[derive(Debug)]
pub(crate) struct Heads {
    first: *mut Head,
    last: *mut Head,
    end: Pos,
}

impl Heads {
    pub(crate) const fn new() -> Heads {
        Heads {
            first: ptr::null_mut(),
            last: ptr::null_mut(),
            end: 0,
        }
    }

    /// Appends a head.
    ///
    /// # Safety
    /// It stays where it is, unused by anybody else, until it has been taken out and run.
    pub(crate) unsafe fn push(&mut self, head: NonNull<Head>, run: RunHead) {
        let head = head.as_ptr();
        // SAFETY: the caller's promise; and those in the list are under the same one.
        unsafe {
            *(*head).next.get() = ptr::null_mut();
            *(*head).run.get() = Some(run);
            match self.last.as_ref() {
                Some(last) => *last.next.get() = head,
                None => self.first = head,
            }
        }
        self.last = head;
        self.end += 1;
    }

    /// The position behind the last one.
    pub(crate) fn end(&self) -> Pos {
        self.end
    }

    /// Takes the oldest one out.
    pub(crate) fn pop(&mut self) -> Option<(NonNull<Head>, RunHead)> {
        let head = NonNull::new(self.first)?;
        // SAFETY: in the list, hence valid and ours (see `push`).
        let (next, run) = unsafe { (*head.as_ref().next.get(), *head.as_ref().run.get()) };
        self.first = next;
        if next.is_null() {
            self.last = ptr::null_mut();
        }
        Some((head, run?))
    }

    /// Forgets what is queued.
    #[cfg(not(quiescent_model))]
    pub(crate) fn abandon(&mut self) {
        self.first = ptr::null_mut();
        self.last = ptr::null_mut();
    }

    /// For the engine.
    pub(crate) fn report(&self) -> Queued {
        Queued {
            end: self.end,
            bytes: 0,
            freed_to: None,
            credit: false,
            offload: false,
            reach: 0, // no credit
        }
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    unsafe fn run(_: NonNull<Head>) {}

    #[test]
    fn oldest_first_and_counted() {
        let (mut heads, mut three) = (Heads::new(), [const { Head::new() }; 3]);
        let three = three.each_mut().map(NonNull::from);
        let pop = |heads: &mut Heads| heads.pop().map(|(head, _)| head);
        assert_eq!(pop(&mut heads), None);
        // SAFETY: they stay where they are until the end.
        let push = |heads: &mut Heads, at: usize| unsafe { heads.push(three[at], run) };
        push(&mut heads, 0);
        push(&mut heads, 1);
        assert_eq!(pop(&mut heads), Some(three[0]));
        push(&mut heads, 2);
        assert_eq!(pop(&mut heads), Some(three[1]));
        assert_eq!(pop(&mut heads), Some(three[2]));
        assert_eq!(pop(&mut heads), None);
        push(&mut heads, 1);
        assert_eq!(pop(&mut heads), Some(three[1]));
        assert_eq!([heads.end(), heads.report().end], [4; 2]); // of all times
        push(&mut heads, 0);
        heads.abandon();
        assert_eq!(pop(&mut heads), None);
        push(&mut heads, 2);
        assert_eq!(pop(&mut heads), Some(three[2]));
    }
}
