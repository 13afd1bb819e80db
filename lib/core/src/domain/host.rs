//! The interface to the host program: threads and reports.

use quiescent_engine::pool::TurnId;
use quiescent_engine::stall::Stalled;

use crate::domain::report::Report;
use crate::domain::state::State;
use crate::prim::THREADS;
use crate::queue::parcel::Name;
use crate::reader::registration::Keeper;

/// Makes a report of a stall, or, without one, of owners that stay in destructors, and delivers it. The
/// domains know it by the [host](Host::stalls) only: a program without a reporter does not link it.
pub type StallReporter = fn(&'static State, Option<Stalled>);

/// What a domain requires of its host program. Every method is called with no lock held, unless it says
/// otherwise. The defaults are those of a host that has a worker, replaces none, and hears no reports.
pub trait Host: Keeper {
    /// Ensures that a worker exists or is being started. False: none can be started; the next caller that
    /// needs one tries again.
    fn start_worker(&self) -> bool {
        true
    }

    /// The same for callers that may wait: true if the worker exists.
    fn hire(&self) -> bool {
        self.start_worker()
    }

    /// Whether there may ever be a worker. Where there is none, a barrier does its work.
    fn can_hire(&self) -> bool {
        THREADS
    }

    /// Wakes the overflow worker for a domain. The engine requests this once, and not again before the
    /// overflow worker was asked to rest.
    fn call_overflow(&self, _state: &'static State) {}

    /// The worker checks whether the overflow worker is stuck.
    fn look_at_overflow(&self) {}

    /// The time of the worker's next check of the overflow worker.
    fn overflow_look(&self) -> Option<u64> {
        None
    }

    /// The number of callbacks that do not return.
    fn stuck(&self) -> u64 {
        0
    }

    /// The name of the calling worker's turns.
    fn turn(&self) -> TurnId {
        TurnId::MIN
    }

    /// True if the calling thread is a worker whose role another thread has taken.
    fn is_dismissed(&self) -> bool {
        false
    }

    /// The worker, before each sleep: true if it is to end.
    fn ends_worker(&self) -> bool {
        false
    }

    /// Code of the program is about to run in this thread.
    fn begin(&self, _name: Name) {}

    /// The code of the program has returned.
    fn end(&self) {}

    /// A round of callbacks is over.
    fn rest(&self) {}

    /// Counters have changed, and there is a page: they may be copied now.
    fn publish(&self) {}

    /// Makes and delivers reports of stalls, if the program has registered for reports.
    fn stalls(&self) -> Option<&'static StallReporter> {
        None
    }

    /// Delivers a report. Runs code of the program.
    fn tell(&self, _report: Report) {}

    /// Callbacks are ready, in a domain whose program runs them itself. Runs code of the program.
    fn ready(&self) {}
}

// Not a supertrait: the table of methods would have it, and a program would link the text of all that the
// host holds. So for `Keeper`.
impl std::fmt::Debug for dyn Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Host")
    }
}
