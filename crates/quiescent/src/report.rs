//! What the reclaimer has to say: a library does not print, it tells who asked.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use crate::refused::Fullness;

/// Something that happened on the reclaiming side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Report {
    /// It panicked. The panic was contained; the program's panic hook has its message.
    Panicked {
        /// The type of the closure, or of the value that was dropped.
        name: &'static str,
    },
    /// It has not returned for this long. Another worker goes on with the rest; a barrier waits for it.
    Stuck {
        /// The type of the closure, or of the value that is being dropped.
        name: &'static str,
        /// How long it has been running.
        running: Duration,
    },
    /// More is queued than the [budget](crate::set_budget()) allows: `retire` does not wait. Told on the
    /// thread that retires, *inside* its `retire`, under whatever locks it holds; once when the budget is
    /// passed, and once a second at most. [`holdouts`](crate::holdouts) names the readers.
    OverBudget {
        /// How much is queued, and how much may be.
        full: Fullness,
        /// Readers in the way of the grace period that it waits for.
        holdouts: u32,
    },
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Panicked { name } => write!(f, "callback {name} panicked"),
            Report::Stuck { name, running } => write!(
                f,
                "callback {name} has not returned for {:.1} s: another worker goes on without it; look \
                 for what it waits for",
                running.as_secs_f64()
            ),
            Report::OverBudget { full, holdouts } => write!(
                f,
                "over the budget: {full}; {holdouts} readers are in the way: look at holdouts(), retire \
                 with try_retire or retire_wait, or set a larger budget"
            ),
        }
    }
}

static REPORTER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Has `reporter` told of every [`Report`], on the thread that noticed it. It must not wait for grace
/// periods or barriers, nor for a lock that is held while something is retired; a panic in it is contained. The last one set is told; counts are in [`Statistics`](crate::Statistics) anyway.
///
/// ```
/// quiescent::on_report(|report| eprintln!("quiescent: {report}"));
/// ```
pub fn on_report(reporter: fn(&Report)) {
    REPORTER.store(reporter as *mut (), Ordering::Release);
}

pub(crate) fn report(report: Report) {
    let reporter = REPORTER.load(Ordering::Acquire);
    if !reporter.is_null() {
        // SAFETY: `on_report` stored a function of this type.
        let reporter = unsafe { std::mem::transmute::<*mut (), fn(&Report)>(reporter) };
        // It is the program's code, and must not unwind into a worker.
        let told = catch_unwind(AssertUnwindSafe(|| reporter(&report)));
        told.unwrap_or_else(crate::run::discard);
    }
}
