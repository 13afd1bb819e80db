//! Running code after a grace period, and draining the queues.

use std::time::Duration;

use quiescent_engine::credit::Urgency;

use super::handle::Global;
use super::queueing;
use crate::global::env;
use quiescent_core::domain::life::Domain;
use quiescent_core::domain::sweep::Until;

/// Runs `f` after a grace period, on the worker (or in [`drain`]). Never waits, never fails.
///
/// Prompt: a grace period is requested at most [`PROMPT`](crate::tuning::PROMPT) later, or when enough
/// callbacks are queued, so that a trickle of calls wakes the worker at most 20 times a second. A closure
/// of up to one word is stored in the queue, a larger one in a box. Near the
/// [budget](crate::tuning::set_budget()) the call may yield the processor once to the threads that run
/// callbacks; beyond it, the call still queues, and the program gets a report
/// ([`Report::OverBudget`](crate::report::Report)). A closure counts its box and 16 bytes of the queue;
/// what it captures by a pointer is not counted. Callbacks run in no particular order. A panic in `f` is
/// contained and counted ([`Statistics::callback_panics`](crate::statistics::Statistics)). `f` must not
/// wait for a grace period or a barrier, nor end its thread. Not for signal handlers.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// static DONE: AtomicBool = AtomicBool::new(false);
/// quiescent::defer(|| DONE.store(true, Ordering::Release));
/// quiescent::barrier();
/// assert!(DONE.load(Ordering::Acquire));
/// ```
#[doc(alias = "call_rcu")]
pub fn defer<F: FnOnce() + Send + 'static>(f: F) {
    queueing::defer(&Global, f, Urgency::Prompt);
}

/// As [`defer`], but wakes the worker now. What this thread has queued before is included.
#[doc(alias = "call_rcu_hurry")]
pub fn defer_hurry<F: FnOnce() + Send + 'static>(f: F) {
    queueing::defer(&Global, f, Urgency::Hurry);
}

/// As [`defer`], but lazy as `retire`: the grace period is requested at most about
/// [`FLUSH`](crate::tuning::FLUSH) later, and the call itself causes no wake-up.
///
/// For code that only releases something: memory of another allocator, a descriptor, a count. **Do not use it
/// for a callback that another thread waits for**: the wait may take ten seconds.
///
/// ```
/// let file = std::fs::File::open("/proc/self/comm").unwrap();
/// quiescent::defer_lazy(move || drop(file)); // closed some time after all readers are done
/// ```
pub fn defer_lazy<F: FnOnce() + Send + 'static>(f: F) {
    queueing::defer(&Global, f, Urgency::Lazy);
}

/// The result of [`drain`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Callbacks run and objects freed by this call.
    pub ran: u64,
    /// Callbacks and objects that are still queued, or that other threads are running.
    pub left: u64,
}

impl Drained {
    pub(crate) fn of(ran: u64, domain: &'static Domain) -> Drained {
        let left = domain.held().0;
        Drained { ran, left }
    }
}

/// Frees and runs, in this thread, everything that any thread has queued, for at most `limit` (plus the time
/// of the callback that is running then). The library stays usable afterwards.
///
/// Waits for grace periods, except inside a section or a callback: there it handles only what is ready.
///
/// ```
/// quiescent::defer(|| println!("goodbye"));
/// let drained = quiescent::drain(std::time::Duration::from_secs(1));
/// assert_eq!(drained.left, 0);
/// ```
pub fn drain(limit: Duration) -> Drained {
    let home = &env().home;
    Drained::of(home.state().drain(Until::after(limit)), home)
}
