//! Running code after a grace period, and having it done now.

use std::time::Duration;

use quiescent_engine::credit::Urgency;

use super::backend::{Backend, OfProcess};
use crate::api::backend::Until;

/// Runs `f` after a grace period, on the worker (or in [`drain`]). Never waits, never fails.
///
/// Prompt: a grace period is asked for after [`PROMPT`](crate::tuning::PROMPT) at the latest, or when enough is
/// queued to be worth one, so that a trickle of calls wakes the worker 20 times a second at most. A
/// closure of up to one word is queued as it is, a larger one in a box. Near the [budget](crate::tuning::set_budget())
/// it may give the processor up, once, to those who run what is queued; beyond it, it goes on, and the program is told
/// ([`Report::OverBudget`](crate::report::Report)). No order is promised. A panic in
/// `f` is contained and counted ([`Statistics::callback_panics`](crate::stats::Statistics)); so is the end of the
/// worker's thread, by `pthread_exit`. Inside `f` nothing may wait for a grace period or a barrier. Not for
/// signal handlers.
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
    OfProcess.defer(f, Urgency::Prompt);
}

/// As [`defer`], but at once: the worker is woken now. What this thread has queued before goes along.
#[doc(alias = "call_rcu_hurry")]
pub fn defer_hurry<F: FnOnce() + Send + 'static>(f: F) {
    OfProcess.defer(f, Urgency::Hurry);
}

/// As [`defer`], and it may wait for company as what is retired does, [`FLUSH`](crate::tuning::FLUSH) and a little at most:
/// it wakes nobody on its own account.
///
/// For code that only gives something back: memory of another allocator, a descriptor, a count. **Never for
/// a callback that somebody waits for**: he would wait ten seconds.
///
/// ```
/// let file = std::fs::File::open("/proc/self/comm").unwrap();
/// quiescent::defer_lazy(move || drop(file)); // closed some time after all who may be using it are done
/// ```
pub fn defer_lazy<F: FnOnce() + Send + 'static>(f: F) {
    OfProcess.defer(f, Urgency::Lazy);
}

/// What [`drain`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Callbacks run and objects freed by this call.
    pub ran: u64,
    /// Callbacks and objects still queued, or being run by others.
    pub left: u64,
}

impl Drained {
    pub(crate) fn of(ran: u64, backend: impl Backend) -> Drained {
        let left = backend.held();
        Drained { ran, left }
    }
}

/// Frees and runs, in this thread, whatever is queued anywhere, for at most `limit` (and the time that
/// the callback takes that is running then). Later use of everything still works.
///
/// Waits for grace periods, but not inside a section or a callback: there it runs only what is ready.
///
/// ```
/// quiescent::defer(|| println!("goodbye"));
/// let drained = quiescent::drain(std::time::Duration::from_secs(1));
/// assert_eq!(drained.left, 0);
/// ```
pub fn drain(limit: Duration) -> Drained {
    let ran = OfProcess.drain(Until::after(limit));
    Drained::of(ran, OfProcess)
}
