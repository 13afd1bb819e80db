//! Read-side critical sections.

use super::handle::{Global, Handle, lead_to_one};
use super::kind::{MaySend, Section};
use crate::global::env;

/// An open read-side critical section of a domain, by default the process's. The section ends when the guard
/// is dropped.
///
/// Sections nest, and guards may be dropped in any order: the thread's section ends with the last guard. A
/// guard belongs to the thread that made it (it is neither `Send` nor `Sync`), unless its handle is
/// [`Sendable`](crate::Sendable).
///
/// A guard contains a [handle](Handle) to its domain: it borrows the domain, or keeps it alive
/// ([`read_owned`](crate::Domain::read_owned)).
///
/// # Destructors
/// The end of the outermost section, or a [`repin`](Guard::repin) of it, may drop values of any type that
/// this thread has [retired](crate::Retired) inside sections: at most two for each of them. So drop the guard
/// before you take a lock that such a destructor takes, and do not declare it after the lock's guard; or have
/// the worker run the destructor ([`on_worker`](crate::Retired::on_worker)).
///
/// # Forgotten guards
/// Forgetting a guard is safe, but its section never ends. Every later grace period of its domain waits for
/// this thread for ever, also after the thread has ended; [`holdouts`](crate::stats::holdouts) names the
/// thread, and [`synchronize_timeout`](crate::synchronize_timeout) returns an error. Nesting has no limit;
/// beyond 32 767 nested sections, guards take a slower path.
///
/// # Cost
/// An empty section takes nine instructions on x86-64, without locked instructions, fences, or writes to
/// memory that another thread writes. `ci/instructions --disassembly` shows them.
///
/// These do not compile:
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
/// ```compile_fail,E0277
/// static SRCU: quiescent::Srcu = quiescent::Srcu::new();
/// let guard = SRCU.read_lock();
/// std::thread::spawn(move || drop(guard)); // and one of an Srcu: `read_lock_send` makes one that may go
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
    section: Section,
    /// Dropped last, after the section is closed.
    domain: D,
}

impl<D: Handle> Guard<D> {
    /// Opens a section of the domain that `domain` leads to. The methods `read_lock` call this; it takes any
    /// [`Handle`].
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

    /// Lets a waiting grace period proceed. What was read under this guard before may no longer be used (the
    /// borrow checker enforces this); the section continues.
    ///
    /// For long loops. It may drop values as the end of a section may. Without a waiting grace period and
    /// without such values this loads one word of the thread's own: two
    /// instructions. A driver that waits flags the reader a few microseconds after its grace period has
    /// started; then this call ends the section and opens a new one. It does nothing while the thread has
    /// another guard of the same domain. (In an [`Srcu`](crate::Srcu) it always ends the section and opens a
    /// new one.)
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
        // SAFETY: this handle opened the section.
        unsafe { self.domain.repin_section(&mut self.section) };
    }

    /// The handle to the section's domain.
    #[inline(always)]
    pub fn domain(&self) -> &D {
        &self.domain
    }

    /// Returns whether this is a section of that domain: for structures of which each call takes a guard, and
    /// that read with pointers of their own, which no type binds to a domain. (Cells and lists check it
    /// themselves.) Takes any [`Handle`]. A load or two.
    ///
    /// ```
    /// use quiescent::{Domain, Global};
    ///
    /// let (mine, other) = (Domain::new(), Domain::new());
    /// let guard = mine.read_lock();
    /// assert!(guard.is_of(&mine) && guard.is_of(&mine.clone()));
    /// assert!(!guard.is_of(&other) && !guard.is_of(&Global));
    /// ```
    #[doc(alias = "collector")]
    pub fn is_of(&self, domain: &impl Handle) -> bool {
        lead_to_one(&self.domain, domain)
    }
}

// SAFETY: its section may end on any thread, and is counted where it ends.
unsafe impl<D: MaySend + Send> Send for Guard<D> {}
// SAFETY: as above; a shared guard only shows its domain.
unsafe impl<D: MaySend + Sync> Sync for Guard<D> {}

impl<D: Handle> Drop for Guard<D> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: this handle opened the section, and it is not used again.
        unsafe { self.domain.close_section(&self.section) };
    }
}

/// Opens a read-side critical section.
///
/// Never fails and never waits. A thread's first call registers the thread, with a compare-and-swap and
/// without a lock or an allocation. May be called in destructors of thread-locals, on threads that have not
/// used this library before, and in a signal handler at any instruction. A handler must drop its guards
/// before it returns: a guard that it keeps or forgets may be lost with the section that it interrupted.
///
/// # Ordering
/// A grace period that starts while the section is open ends after the section. A section that opens after a
/// grace period has started sees everything that happened before that start.
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

/// Returns whether this thread is inside a read-side critical section of the process's domain.
///
/// ```
/// assert!(!quiescent::in_section());
/// quiescent::read(|_| assert!(quiescent::in_section()));
/// ```
pub fn in_section() -> bool {
    env().home.caller_is_inside()
}
