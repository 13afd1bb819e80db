//! Readers that may sleep: [`Srcu`].

use super::domain::RcuDomain;
use super::kind::Counted;
use crate::inner::prim::const_new;

/// Grace periods of its own, for readers that may sleep, wait, and go to another thread in the middle of a section.
///
/// A [`Guard`](crate::Guard) of the process's domain holds up the reclaiming of the whole process and belongs to its thread. One of an
/// `Srcu` holds up what was replaced under *its* `Srcu`, and nothing else; it is `Send`, and may be kept across an `await`, over a network
/// call, or for as long as a task lives.
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
/// Everything that can be done with a [`Domain`](crate::Domain) can be done with an `Srcu`: both are an [`RcuDomain`].
/// (But [`in_section`](crate::Domain::in_section): guards belong to no thread.)
///
/// # Cost
/// A section is two additions to counts that no other thread writes, without a fence: `quiescent bench srcu` measures it beside the
/// others. A grace period is one process-wide fence and a sum over the threads that have ever read here (none where only the caller
/// ever has). An `Srcu` that was never used is a word; then it has about two kilobytes, and one for eight threads' counts.
/// Callbacks are queued as in a [`Domain`](crate::Domain), and run on the process's worker.
///
/// # What it cannot do
/// * **Not for signal handlers.** A handler that reads may destroy the count of the section that it interrupts.
/// * Waiting for a grace period inside a section of the same `Srcu` is for ever, if the guard is dropped only afterwards. It cannot be
///   refused, since guards belong to no thread; [`synchronize_timeout`](Srcu::synchronize_timeout) returns, and a stall report tells where
///   the sections were begun. So it is with a future of a grace period or a barrier that is awaited by a task that holds a guard.
/// * A guard that is forgotten holds up its `Srcu` for ever: its objects are held, nothing else is.
/// * In the child of a fork sections that other threads had open are open still, for ever unless the child drops their guards. Make a
///   new `Srcu` there.
/// * Callbacks must not end their thread (`pthread_exit`), and one that does not return holds up those of other `Srcu`s, too.
///
/// # Dropping it
/// Never waits. What is queued is run all the same, later.
pub type Srcu<Tag = ()> = RcuDomain<Tag, Counted>;

impl<Tag: 'static> RcuDomain<Tag, Counted> {
    const_new! {
        /// A new one with a tag: a type of its own, which its guards and cells have in common.
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
