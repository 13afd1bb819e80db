//! The interface to the host program: threads and reports.

use std::fmt;

use quiescent_engine::pool::TurnId;

use crate::domain::fullness::Fullness;
use crate::domain::stall::Reports;
use crate::domain::state::State;
use crate::queue::meter::Meter;
use crate::queue::parcel::Name;
use crate::reader::registration::Keeper;

/// A report to the program.
#[derive(Debug)]
pub enum News {
    /// A callback panicked; the panic was contained.
    Panicked { name: &'static str },
    /// A destructor took this long inside a call that retires. In debug builds only.
    Slow { name: &'static str, ns: u64 },
    /// More is queued than the budget allows.
    OverBudget {
        /// When the budget was exceeded.
        full: Fullness,
        /// Number of readers that block the grace period it waits for, now.
        holdouts: u32,
        domain: Option<&'static str>,
    },
    /// Callbacks are ready, in a domain whose program runs them itself.
    Ready,
}

/// What a domain requires of its host program. Every method is called with no lock held, unless it says
/// otherwise. The defaults are those of a host that has a worker, replaces none, and hears no reports.
pub trait Shell: Keeper + Meter {
    /// Ensures that a worker exists or is being started. False: none can be started; the next caller that
    /// needs one tries again.
    fn start_worker(&self) -> bool {
        true
    }

    /// The same for callers that may wait: true if the worker exists.
    fn hire(&self) -> bool {
        self.start_worker()
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

    /// The name of the calling worker's turns.
    fn turn(&self) -> TurnId {
        TurnId::MIN
    }

    /// True if the calling thread is a worker whose role another thread has taken.
    fn is_dismissed(&self) -> bool {
        false
    }

    /// Code of the program is about to run in this thread.
    fn begin(&self, _name: Name) {}

    /// The code of the program has returned.
    fn end(&self) {}

    /// A round of callbacks is over.
    fn rest(&self) {}

    /// Counters have changed, and may be copied now.
    fn publish(&self) {}

    /// How reports of stalls are made, if the program has registered for reports.
    fn stall_reports(&self) -> Option<&'static Reports> {
        None
    }

    /// Delivers a report. Runs code of the program.
    fn tell(&self, _news: News) {}
}

// Not a supertrait: the table of methods would have it, and a program would link the text of all that the
// shell holds. So for `Keeper` and `Meter`.
impl fmt::Debug for dyn Shell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shell")
    }
}
