//! Readers that may sleep: [`Srcu`], and guards that may be sent to other threads: [`Sendable`].

use std::borrow::Borrow;

use super::domain::RcuDomain;
use super::guard::Guard;
use super::handle::sealed::{Inside, Sealed};
use super::handle::{Handle, Reads, handle};
use super::kind::{Counted, Sendable};
use quiescent_core::const_new;
use quiescent_core::prim::AtomicPtr;

/// A domain for readers that may sleep, wait, and move to another thread in the middle of a section.
///
/// A [`Guard`](crate::Guard) of the process's domain blocks the reclaiming of the whole process. A guard of
/// an `Srcu` blocks only what was replaced under *its* `Srcu`, and may be held over a network call, or for as
/// long as a task lives. There are two kinds of guards:
///
/// | | [`read_lock`], [`read_owned`] | [`read_lock_send`], [`read_owned_send`] |
/// |---|---|---|
/// | the guard | belongs to its thread | is `Send`: crosses an `await`, ends on any thread |
/// | waiting inside its section | is refused | never ends |
/// | in the child of a fork | sections of other threads have ended | all sections stay open |
///
/// [`read_lock`]: Srcu::read_lock
/// [`read_owned`]: Srcu::read_owned
/// [`read_lock_send`]: Srcu::read_lock_send
/// [`read_owned_send`]: Srcu::read_owned_send
///
/// ```
/// use quiescent::{RcuCell, Srcu};
///
/// static SRCU: Srcu = Srcu::new();
/// let config = RcuCell::new_in(String::from("v1"), &SRCU);
///
/// let guard = SRCU.read_lock();
/// let seen = config.load(&guard);
/// std::thread::sleep(std::time::Duration::from_millis(1)); // others go on
/// assert_eq!(seen, "v1");
/// drop(guard);
///
/// config.store(String::from("v2")); // the old one is dropped once its readers are gone
/// SRCU.synchronize();               // or wait for them
/// ```
///
/// An `Srcu` has all methods of a [`Domain`](crate::Domain), since both are an [`RcuDomain`].
///
/// # Cost
/// A section is two additions to counters that no other thread writes, without a fence:
/// `quiescent bench read` measures it. A grace period is one process-wide fence and a sum over the threads
/// that have ever read here (no fence if only the caller has). An `Srcu` that was never used is one word;
/// then it takes about two kilobytes, and one more for each eight threads. Callbacks are queued as in a
/// [`Domain`](crate::Domain), and run on the process's worker.
///
/// # Limits
/// * **Not for signal handlers.** A handler that reads may corrupt the count of the section that it
///   interrupts.
/// * Waiting for a grace period while the thread or task holds a guard that is `Send` never ends if the guard
///   is dropped only afterwards. The library cannot refuse it, because the guard may be anywhere;
///   [`synchronize_timeout`](Srcu::synchronize_timeout) returns, and a stall report names the threads that
///   began the sections. The same holds for a task that awaits a grace period or a barrier.
/// * A forgotten guard blocks its `Srcu` for ever, and no other domain.
/// * In the child of a fork, sections of `read_lock` and `read_owned` that other threads had open have ended.
///   (Except those of threads without a slot, if the thread that forks has none either and is inside a
///   section.)
///   Sections of guards that are `Send` stay open: the guards may be in memory that the child reaches.
///   Time-outs, [`holdouts`](Srcu::holdouts) and stall reports say how many there are, and a child that
///   reaches none of them calls [`forget_sent_sections`](Srcu::forget_sent_sections).
/// * A callback that does not return delays those of all domains for about a second; then another thread
///   takes over the worker's role.
///
/// # Dropping it
/// Dropping an `Srcu` never waits. What is queued is freed, and destructors are run, as where the last handle
/// of a [`Domain`](crate::Domain#dropping-it) is dropped.
pub type Srcu<Tag = ()> = RcuDomain<Tag, Counted>;

handle!(
    Sendable<D>, RcuDomain<Tag, Counted>, Sendable<Counted>, [Tag: 'static, D]
    [D: Handle<Brand = RcuDomain<Tag, Counted>> + Borrow<RcuDomain<Tag, Counted>>]
    |this| Some(this.0.borrow().word())
);

impl<Tag: 'static> RcuDomain<Tag, Counted> {
    const_new! {
        /// Makes an `Srcu` with a tag: a type that it shares with its guards and cells.
        ///
        /// ```compile_fail,E0277
        /// use quiescent::{RcuCell, Srcu};
        ///
        /// struct Sessions;
        /// static SESSIONS: Srcu<Sessions> = Srcu::tagged();
        /// static OTHER: Srcu = Srcu::new();
        /// let cell = RcuCell::new_in(1, &SESSIONS);
        /// OTHER.read(|guard| *cell.load(guard));
        /// ```
        pub fn tagged() -> RcuDomain<Tag, Counted> {
            RcuDomain::nowhere()
        }
    }
}

impl<Tag: 'static> RcuDomain<Tag, Counted> {
    /// Opens a section whose guard is `Send`: for sections that cross an `await`, or end on another thread.
    /// [`read_lock`](RcuDomain::read_lock) for all others.
    ///
    /// Costs as much as `read_lock`. What the library cannot do for such a section, since its guard may be
    /// anywhere: refuse to wait for a grace period inside it, and end it in the child of a fork
    /// ([`forget_sent_sections`](RcuDomain::forget_sent_sections)).
    ///
    /// # Ordering
    /// As [`read_lock`](RcuDomain::read_lock).
    ///
    /// ```
    /// use quiescent::{RcuCell, Srcu};
    ///
    /// static SRCU: Srcu = Srcu::new();
    /// fn is_send<F: Future + Send>(_: F) {}
    ///
    /// is_send(async {
    ///     let cell = RcuCell::new_in(1, &SRCU);
    ///     let guard = SRCU.read_lock_send();
    ///     let seen = cell.load(&guard);
    ///     std::future::ready(()).await;
    ///     assert_eq!(*seen, 1);
    /// });
    /// ```
    #[doc(alias = "srcu_down_read")]
    #[inline(always)]
    pub fn read_lock_send(&self) -> Guard<Sendable<&RcuDomain<Tag, Counted>>> {
        Guard::new_in(Sendable(self))
    }

    /// As [`read_lock_send`](RcuDomain::read_lock_send), with a guard that keeps the `Srcu` alive.
    ///
    /// ```
    /// let guard = quiescent::Srcu::new().read_owned_send();
    /// std::thread::spawn(move || drop(guard)).join().unwrap(); // such a section may end anywhere
    /// ```
    #[doc(alias = "enter_owned")]
    pub fn read_owned_send(&self) -> Guard<Sendable<RcuDomain<Tag, Counted>>> {
        Guard::new_in(Sendable(self.clone()))
    }

    /// In the child of a fork: forgets all sections that guards of [`read_lock_send`] and
    /// [`read_owned_send`] keep open. Returns their number.
    ///
    /// Those that other threads of the parent had open stay open in the child, because their guards may be in
    /// memory that it can reach: no grace period ends before they are dropped. A child that knows that it
    /// reaches none of them calls this, after it has dropped its own. Sections of other guards are not
    /// changed: those of other threads have ended in the child.
    ///
    /// # Safety
    /// * None of these guards is used or dropped from now on, and nothing is used that was read under one.
    ///   That includes guards that this thread made, before the fork or after it.
    /// * No other thread makes or drops such a guard of this `Srcu` during the call.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// static SRCU: quiescent::Srcu = quiescent::Srcu::new();
    /// let (end, ended) = std::sync::mpsc::channel::<()>();
    /// let (begun, has_begun) = std::sync::mpsc::channel();
    /// let reader = std::thread::spawn(move || {
    ///     let guard = SRCU.read_lock_send();
    ///     begun.send(()).unwrap();
    ///     let _ = ended.recv();
    ///     drop(guard);
    /// });
    /// has_begun.recv().unwrap();
    /// // SAFETY: the child does nothing here but what this library allows, and leaves by `_exit`.
    /// let child = unsafe { libc::fork() };
    /// if child == 0 {
    ///     let waits = SRCU.synchronize_timeout(Duration::from_millis(1)).is_err();
    ///     // SAFETY: the only guard is on the stack of a thread that is not here.
    ///     let forgotten = unsafe { SRCU.forget_sent_sections() };
    ///     SRCU.synchronize();
    ///     // SAFETY: ends this process, and runs nothing of the program.
    ///     unsafe { libc::_exit(i32::from(!(waits && forgotten == 1))) };
    /// }
    /// let mut status = -1;
    /// // SAFETY: waits for the child made above; `status` is writable.
    /// assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    /// assert_eq!(status, 0);
    /// drop(end);
    /// reader.join().unwrap();
    /// ```
    ///
    /// [`read_lock_send`]: RcuDomain::read_lock_send
    /// [`read_owned_send`]: RcuDomain::read_owned_send
    pub unsafe fn forget_sent_sections(&self) -> u64 {
        self.core().state().forget_sent()
    }
}
