//! Readers that may sleep: [`Srcu`].

use super::domain::RcuDomain;
use super::kind::Counted;
use quiescent_core::const_new;

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
/// `quiescent bench srcu` measures it. A grace period is one process-wide fence and a sum over the threads
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
/// Dropping an `Srcu` never waits. What is queued is run later.
pub type Srcu<Tag = ()> = RcuDomain<Tag, Counted>;

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
