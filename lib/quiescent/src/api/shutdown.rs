//! `shutdown`: the end of the library's threads.

use std::time::{Duration, Instant};

use crate::global::env;
use crate::global::workers::{WORKERS, is_worker};
use quiescent_core::domain::error::SyncError;
use quiescent_core::domain::life::Domain;
use quiescent_core::domain::settings::DRAINED;
use quiescent_core::domain::state::State;
use quiescent_core::domain::sweep::Until;

/// The most that [`shutdown`] waits for the ends of threads when its limit has passed: they need a moment.
const GRACE: Duration = Duration::from_secs(1);

/// The result of [`shutdown`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "something may be left"]
#[non_exhaustive]
pub struct Shutdown {
    /// Callbacks run and objects freed by this call.
    pub ran: u64,
    /// What is still queued, or running on another thread: the domains that have something.
    pub left: Vec<Left>,
    /// Threads of the library that have not ended, because a callback that they run has not returned.
    pub threads: u64,
}

/// What a domain has left after [`shutdown`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Left {
    /// The domain's name; `process` for the process's, `(unnamed)` for one without a name.
    pub domain: &'static str,
    /// Callbacks and objects.
    pub callbacks: u64,
    /// Their bytes, as the budget counts them.
    pub bytes: u64,
}

impl Shutdown {
    /// True if nothing is left, and no thread.
    pub fn is_complete(&self) -> bool {
        self.left.is_empty() && self.threads == 0
    }
}

impl Left {
    fn of(domain: &'static Domain) -> Option<Left> {
        let (callbacks, bytes) = domain.held();
        let name = match domain.state_if_any().and_then(State::name) {
            Some(name) => name,
            None if domain.readers.is_threads() => "process",
            None => "(unnamed)",
        };
        (callbacks > 0).then_some(Left {
            domain: name,
            callbacks,
            bytes,
        })
    }
}

/// Ends the library's threads and gives back what they use: their stacks, and the descriptors of timers,
/// events and sources of memory pressure. Before that, frees and runs in this thread what is queued, in all
/// domains, for at most `limit` (but not what the program [drains](crate::Runner::Drained): that is left);
/// then the threads have until the limit, and at least a second, to end.
///
/// The library stays usable, also during this call and from other threads: readers notice nothing, and the
/// next call that needs the worker starts it again. What is left is named in the result. It is not lost: it
/// is freed and run when the worker has been started again, at the latest by the next call that retires or
/// waits for it; without such a call, never.
///
/// # Plug-ins
/// A shared object that contains the library stays loaded after `dlclose`, because threads of the library run
/// its code. After a shutdown without threads left it is unloaded by the last `dlclose` (or at once, if that
/// was called before: **call this while the host has the object open**, and not on a thread that outlives
/// that). Starting the worker again makes it stay again. So a host calls a function of the plug-in that drops
/// its data and calls `shutdown`, then `dlclose`.
///
/// The C library itself keeps an object while a thread lives that has a thread-local with a destructor of
/// that object: those that the plug-in's own code, or the standard library in it, has used. What stays
/// behind for each load that was unloaded: some kilobytes for each thread that has queued something, and,
/// if [telemetry](crate::telemetry) was on, its page.
///
/// # Errors
/// [`SyncError::InsideSection`] inside a section of any domain, [`SyncError::InsideCallback`] inside a
/// callback or destructor that the library runs, or on one of its threads. Nothing was done.
///
/// ```
/// use std::time::Duration;
///
/// quiescent::defer(|| println!("goodbye"));
/// let done = quiescent::shutdown(Duration::from_secs(5))?;
/// assert!(done.is_complete(), "{done:?}");
/// # Ok::<(), quiescent::SyncError>(())
/// ```
pub fn shutdown(limit: Duration) -> Result<Shutdown, SyncError> {
    let env = env();
    let local = env.local();
    if local.in_callback() || is_worker() {
        return Err(SyncError::InsideCallback);
    }
    if env.threads.in_any_section(&local) {
        return Err(SyncError::InsideSection);
    }
    let begun = Instant::now();
    let left = || limit.saturating_sub(begun.elapsed());
    let mut ran = 0;
    // A reader in one domain must not use up the time of the others.
    for slice in [limit / 8, limit] {
        let states = env.states().filter(|state| !state.has(DRAINED));
        for state in states.filter(|state| state.held().0 > 0) {
            ran += state.drain(Until::after(slice.min(left())));
        }
    }
    let until = Until::after(left().max(GRACE));
    let mut threads = WORKERS.stop(until);
    while threads != 0 && !until.is_over(env) {
        threads = WORKERS.stop(until);
    }
    let domains = env.registry.domains.iter();
    let left = domains
        .chain(std::iter::once(&env.home))
        .filter_map(Left::of);
    Ok(Shutdown {
        ran,
        left: left.collect(),
        threads,
    })
}
