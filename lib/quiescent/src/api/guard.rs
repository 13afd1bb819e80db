//! Read-side critical sections.

use std::marker::PhantomData;

use crate::inner::reader::word::{self, Reader};

/// An open read-side critical section. It ends when the guard is dropped.
///
/// Sections nest, and guards may be dropped in any order: the section of the thread ends with the last.
/// A guard belongs to the thread that made it (it is neither `Send` nor `Sync`).
///
/// # Forgotten guards
/// Forgetting a guard is safe: its section then never ends. Every grace period that starts later waits
/// for this thread for ever, [`holdouts`](crate::holdouts) names it, and the deadline form
/// [`synchronize_timeout`](crate::synchronize_timeout) returns. This stays so after the thread ends.
/// Nesting has no limit; beyond 32 767 sections one inside the other, guards take a slower path.
///
/// # Cost
/// Nine instructions for an empty section on x86-64, none of them locked and none a fence, and no write
/// to memory that another thread writes. `ci/instructions --disassembly` shows them.
#[derive(Debug)]
#[must_use = "the section ends when the guard is dropped"]
pub struct Guard {
    reader: &'static Reader,
    /// Not `Send`, not `Sync`: unlocking writes this thread's word with plain stores.
    here: PhantomData<*mut ()>,
}

impl Guard {
    /// Lets a waiting grace period pass: what was read under this guard so far may no longer be used
    /// (the borrow checker sees to it), and the section goes on.
    ///
    /// For long loops. If nobody waits this is a look at one word of the thread's own, two
    /// instructions; a waiting driver flags the reader a few microseconds after its grace period
    /// started, and then the section really ends and begins again. Does nothing while another guard
    /// of this thread is alive.
    ///
    /// ```
    /// let table = quiescent::RcuCell::new([1, 2, 3]);
    /// let mut guard = quiescent::read_lock();
    /// let mut sum = 0;
    /// for _ in 0..1000 {
    ///     sum += table.load(&guard).iter().sum::<i32>();
    ///     guard.repin();
    /// }
    /// assert_eq!(sum, 6000);
    /// ```
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    pub fn repin(&mut self) {
        self.reader = word::repin(self.reader);
    }
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        word::unlock(self.reader);
    }
}

/// Opens a read-side critical section.
///
/// Never fails, never waits. The first call of a thread registers it: a compare-and-swap, no lock and
/// no allocator. May be called in destructors of thread-locals, from threads that this library has
/// never seen, and in a signal handler at any instruction; a handler drops its guards before it returns
/// (one that it keeps or forgets may be lost with the section it interrupted).
///
/// # Ordering
/// A grace period that starts while the section is open does not end before it has ended. A section
/// that opens after a grace period has started sees everything that happened before that start.
///
/// ```
/// let cell = quiescent::RcuCell::new(String::from("hello"));
/// let guard = quiescent::read_lock();
/// assert_eq!(cell.load(&guard), "hello");
/// ```
#[cfg_attr(feature = "locations", track_caller)]
#[inline(always)]
pub fn read_lock() -> Guard {
    Guard {
        reader: word::lock(),
        here: PhantomData,
    }
}

/// Runs `f` inside a read-side critical section.
///
/// ```
/// let cell = quiescent::RcuCell::new(5);
/// let twice = quiescent::read(|guard| cell.load(guard) * 2);
/// assert_eq!(twice, 10);
/// ```
#[cfg_attr(feature = "locations", track_caller)]
#[inline(always)]
pub fn read<R>(f: impl FnOnce(&Guard) -> R) -> R {
    let guard = read_lock();
    f(&guard)
}

/// Is this thread inside a read-side critical section?
///
/// ```
/// assert!(!quiescent::in_section());
/// quiescent::read(|_| assert!(quiescent::in_section()));
/// ```
pub fn in_section() -> bool {
    word::in_section()
}
