//! Intrusive callbacks: a list through the objects themselves, under the queue's lock.

use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};

use quiescent_engine::Pos;
use quiescent_engine::credit::Queued;

/// The function that runs a head's callback.
pub type RunHead = unsafe fn(NonNull<Head>);

/// A callback's list node inside an object, for callers that must not allocate. See `intrusive::defer`.
///
/// Two words. If it is the first field of a `#[repr(C)]` struct, its address is that of the object.
#[derive(Debug)]
#[repr(C)]
pub struct Head {
    // Readers may still hold references to the object while its head is being linked.
    next: UnsafeCell<*mut Head>,
    run: UnsafeCell<Option<RunHead>>,
}

// SAFETY: a head that is not queued holds nothing; one that is queued belongs to the library.
unsafe impl Send for Head {}
// SAFETY: as above; only the library accesses its words when shared, under a lock.
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
pub struct Heads {
    first: *mut Head,
    last: *mut Head,
    end: Pos,
}

impl Heads {
    pub const fn new() -> Heads {
        Heads {
            first: ptr::null_mut(),
            last: ptr::null_mut(),
            end: 0,
        }
    }

    /// Appends a head.
    ///
    /// # Safety
    /// It must not move, and no other code may use it, until it has been taken out and run.
    pub unsafe fn push(&mut self, head: NonNull<Head>, run: RunHead) {
        let head = head.as_ptr();
        // SAFETY: the caller's promise, which also covers those in the list.
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
    pub fn end(&self) -> Pos {
        self.end
    }

    /// Takes the oldest one out.
    pub fn pop(&mut self) -> Option<(NonNull<Head>, RunHead)> {
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
    pub fn abandon(&mut self) {
        self.first = ptr::null_mut();
        self.last = ptr::null_mut();
    }

    /// The state of the list, for the engine.
    pub fn report(&self) -> Queued {
        Queued {
            end: self.end,
            ..Queued::default() // no credit
        }
    }
}

/// The name of all intrusive callbacks: their functions have no names.
pub fn head_name() -> &'static str {
    "an intrusive callback"
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    unsafe fn run(_: NonNull<Head>) {}

    #[test]
    fn heads_are_popped_oldest_first_and_counted() {
        let (mut heads, mut three) = (Heads::new(), [const { Head::new() }; 3]);
        let three = three.each_mut().map(NonNull::from);
        let pop = |heads: &mut Heads| heads.pop().map(|(head, _)| head);
        assert_eq!(pop(&mut heads), None);
        // SAFETY: they do not move until the end.
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
        assert_eq!([heads.end(), heads.report().end], [4; 2]); // counts all pushes
        push(&mut heads, 0);
        heads.abandon();
        assert_eq!(pop(&mut heads), None);
        push(&mut heads, 2);
        assert_eq!(pop(&mut heads), Some(three[2]));
    }
}
