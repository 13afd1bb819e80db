//! Read-side critical sections.

use super::backend::{Backend as _, OfProcess};
use super::handle::{Global, Handle};

/// An open read-side critical section of a domain: the process's, unless it says otherwise. It ends when the guard is dropped.
///
/// Sections nest, and guards may be dropped in any order: the section of the thread ends with the last.
/// A guard belongs to the thread that made it (it is neither `Send` nor `Sync`), unless it is of an [`Srcu`](crate::Srcu).
///
/// A guard keeps a [handle](Handle) to its domain: it borrows the domain, or keeps it alive ([`read_owned`](crate::Domain::read_owned)).
///
/// # Forgotten guards
/// Forgetting a guard is safe: its section then never ends. Every grace period of its domain that starts later waits
/// for this thread for ever, [`holdouts`](crate::stats::holdouts) names it, and the deadline form
/// [`synchronize_timeout`](crate::synchronize_timeout) returns. This stays so after the thread ends.
/// Nesting has no limit; beyond 32 767 sections one inside the other, guards take a slower path.
///
/// # Cost
/// Nine instructions for an empty section on x86-64, none of them locked and none a fence, and no write
/// to memory that another thread writes. `ci/instructions --disassembly` shows them.
///
/// What must not compile, does not:
///
/// ```compile_fail,E0277
/// let guard = quiescent::read_lock();
/// std::thread::spawn(move || drop(guard)); // a guard stays on its thread
/// ```
/// ```compile_fail,E0277
/// static DOMAIN: quiescent::Domain = quiescent::Domain::new();
/// let guard = DOMAIN.read_lock();
/// std::thread::spawn(move || drop(guard)); // so does one of a domain
/// ```
/// ```compile_fail,E0277
/// let guard = quiescent::Domain::new().read_owned();
/// std::thread::spawn(move || drop(guard)); // and one that keeps its domain
/// ```
/// ```compile_fail,E0505
/// let domain = quiescent::Domain::new();
/// let guard = domain.read_lock();
/// drop(domain); // while a guard lives
/// drop(guard);
/// ```
/// ```compile_fail,E0505
/// let srcu = quiescent::Srcu::new();
/// let guard = srcu.read_lock();
/// drop(srcu); // while a guard lives
/// drop(guard);
/// ```
#[derive(Debug)]
#[must_use = "the section ends when the guard is dropped"]
pub struct Guard<D: Handle = Global> {
    section: D::OpenSection,
    /// Dropped last: the section is closed by then.
    domain: D,
}

impl<D: Handle> Guard<D> {
    /// Opens a section of the domain that `domain` leads to: what the methods `read_lock` do, for any [`Handle`].
    ///
    /// ```
    /// use quiescent::{Global, Guard, Handle, RcuList};
    ///
    /// fn longest<D: Handle>(names: &RcuList<String, D>, domain: D) -> usize {
    ///     let guard = Guard::new_in(domain);
    ///     names.iter(&guard).map(String::len).max().unwrap_or(0)
    /// }
    /// let names = RcuList::from_iter([String::from("one"), String::from("three")]);
    /// assert_eq!(longest(&names, Global), 5);
    /// ```
    #[doc(alias = "pin")]
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    pub fn new_in(domain: D) -> Guard<D> {
        Guard {
            section: domain.open_section(),
            domain,
        }
    }

    /// Lets a waiting grace period pass: what was read under this guard so far may no longer be used
    /// (the borrow checker sees to it), and the section goes on.
    ///
    /// For long loops. If nobody waits this is a look at one word of the thread's own, two
    /// instructions; a waiting driver flags the reader a few microseconds after its grace period
    /// started, and then the section really ends and begins again. Does nothing while another guard
    /// of this thread in the same domain is alive. (In an [`Srcu`](crate::Srcu) the section always ends, and begins again.)
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
        // SAFETY: opened by this handle.
        unsafe { self.domain.repin_section(&mut self.section) };
    }

    /// Where the section is.
    #[inline(always)]
    pub(crate) fn domain(&self) -> &D {
        &self.domain
    }
}

impl<D: Handle> Drop for Guard<D> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: opened by this handle, and gone after this.
        unsafe { self.domain.close_section(&self.section) };
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
#[doc(alias = "pin")]
#[doc(alias = "rcu_read_lock")]
#[cfg_attr(feature = "locations", track_caller)]
#[inline(always)]
pub fn read_lock() -> Guard {
    Guard::new_in(Global)
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
    OfProcess.is_inside()
}
