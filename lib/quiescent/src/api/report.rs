//! What the library has to say: it does not print, it tells who asked.
//!
//! That is the function that the program has set, and with the features `log` and `tracing` those, at the
//! level of warnings, under the target `quiescent`. Reports are made and delivered with no lock held.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use crate::refused::Fullness;

pub use crate::watch::stall::{STALL_AFTER, StallReport, StalledReader, set_stall_after};

/// Something that somebody should know of: about a callback or a destructor on the reclaiming side, or about
/// readers.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// It ended the thread that ran it, with `pthread_exit`: a worker. Another one goes on with the rest.
    Exited {
        /// The type of the closure, or of the value that was dropped.
        name: &'static str,
    },
    /// Readers have kept a grace period waiting for too long ([`set_stall_after`]).
    Stalled(StallReport),
    /// More is queued than the [budget](crate::tuning::set_budget()) allows: `retire` does not wait. Told on the
    /// worker (not at all if there is none to be had), once when the budget is passed, and once a second at
    /// most. [`holdouts`](crate::stats::holdouts) names the readers.
    OverBudget {
        /// How much is queued, and how much may be.
        full: Fullness,
        /// Readers in the way of the grace period that it waits for.
        holdouts: u32,
        /// The domain's name, if it has one ([`Domain::set_name`](crate::Domain::set_name)).
        domain: Option<&'static str>,
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
            Report::Exited { name } => write!(
                f,
                "callback {name} has ended the worker's thread: another one goes on; let callbacks return"
            ),
            Report::Stalled(stall) => write!(f, "{stall}"),
            Report::OverBudget {
                full,
                holdouts,
                domain,
            } => {
                if let Some(domain) = domain {
                    write!(f, "domain {domain}: ")?;
                }
                write!(
                    f,
                    "over the budget: {full}; {holdouts} readers are in the way: look at its holdouts(), retire \
                     with try_retire or retire_wait, or set a larger budget"
                )
            }
        }
    }
}

static REPORTER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Has `reporter` told of every [`Report`], on the thread that noticed it. It must not wait for grace
/// periods or barriers, nor for a lock that is held while something waits; a panic in it is contained. The last one set is told; counts are in [`Statistics`](crate::stats::Statistics) anyway.
///
/// That thread is the worker, or one of the program's: inside [`drain`](crate::drain()), and, for a stall, inside
/// whatever it waits or polls with. So it should take no lock under which the program does that. It is never
/// called inside `retire` or `call`, unless callbacks run there ([`Options::inline_callbacks`](crate::Options)).
///
/// ```
/// quiescent::report::on_report(|report| eprintln!("quiescent: {report}"));
/// ```
pub fn on_report(reporter: fn(&Report)) {
    REPORTER.store(reporter as *mut (), Ordering::Release);
}

/// Does anybody want to know?
pub(crate) fn is_heard() -> bool {
    cfg!(any(feature = "log", feature = "tracing")) || !REPORTER.load(Ordering::Acquire).is_null()
}

static READY: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

pub(crate) fn set_ready(notify: fn()) {
    READY.store(notify as *mut (), Ordering::Release);
}

/// Callbacks are ready that the program runs itself.
pub(crate) fn ready() {
    let notify = READY.load(Ordering::Acquire);
    if !notify.is_null() {
        // SAFETY: `set_ready` stored a function of this type.
        contained(unsafe { std::mem::transmute::<*mut (), fn()>(notify) });
    }
}

pub(crate) fn report(report: Report) {
    forward(&report);
    let reporter = REPORTER.load(Ordering::Acquire);
    if !reporter.is_null() {
        // SAFETY: `on_report` stored a function of this type.
        let reporter = unsafe { std::mem::transmute::<*mut (), fn(&Report)>(reporter) };
        contained(|| reporter(&report));
    }
}

/// Runs the program's code, which must not unwind into a worker.
fn contained(told: impl FnOnce()) {
    let told = catch_unwind(AssertUnwindSafe(|| crate::workers::ended::guarded(told)));
    told.unwrap_or_else(crate::inner::defer::run::discard);
}

/// To those that the features name.
#[allow(unused_variables, reason = "there may be none")]
fn forward(report: &Report) {
    #[cfg(feature = "log")]
    contained(|| log::warn!(target: "quiescent", "{report}"));
    #[cfg(feature = "tracing")]
    contained(|| match report {
        Report::Stalled(stall) => {
            tracing::warn!(target: "quiescent", json = stall.to_json(), "{report}");
        }
        _ => tracing::warn!(target: "quiescent", "{report}"),
    });
}
