//! Reports: the library calls a function that the program has set, and never prints.
//!
//! With the features `log` and `tracing`, reports also go to these crates as warnings, under the target
//! `quiescent`. No lock is held while a report is made and delivered.

use std::fmt;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use quiescent_core::domain::env::Env;
use quiescent_core::domain::fullness::Fullness;

use quiescent_core::domain::stall::{Reports, StallReport};

/// An event for the program: a callback or a destructor that misbehaves, stalled readers, or
/// an exceeded budget.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Report {
    /// A callback panicked. The panic was contained; the program's panic hook has its message.
    Panicked {
        /// The type of the closure, or of the value that was dropped.
        name: &'static str,
    },
    /// A destructor took more than 10 ms inside a `retire` or `store` of the thread that retired the value.
    /// Only in builds with `debug_assertions`. [`Retired::on_worker`](crate::Retired::on_worker) and
    /// [`set_destructors_on_worker`](crate::tuning::set_destructors_on_worker) move it to the worker.
    Slow {
        /// The type of the value.
        name: &'static str,
        /// How long it took.
        took: Duration,
    },
    /// A callback has not returned for this long. Another worker runs the others; a barrier waits for this
    /// one.
    Stuck {
        /// The type of the closure, or of the value that is being dropped.
        name: &'static str,
        /// How long it has been running.
        running: Duration,
    },
    /// Readers have blocked a grace period for too long
    /// ([`set_stall_after`](crate::report::set_stall_after)).
    Stalled(StallReport),
    /// More is queued than the [budget](crate::tuning::set_budget()) allows: `retire` does not wait. Reported
    /// on the worker (not at all if it cannot be started), once when the budget is exceeded, and at most once
    /// a second. [`holdouts`](crate::statistics::holdouts) names the readers.
    OverBudget {
        /// How much was queued when the budget was exceeded, and that budget.
        full: Fullness,
        /// Readers that block the grace period that it waits for, when the report is made.
        holdouts: u32,
        /// The domain's name, if it has one ([`Domain::set_name`](crate::Domain::set_name)).
        domain: Option<&'static str>,
    },
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Panicked { name } => write!(f, "callback {name} panicked"),
            Report::Slow { name, took } => write!(
                f,
                "the destructor of {name} took {} ms inside a call of retire or store: look for a lock that \
                 it waits for, or retire such values with on_worker()",
                took.as_millis()
            ),
            Report::Stuck { name, running } => write!(
                f,
                "callback {name} has not returned for {}.{} s: another worker goes on without it; look \
                 for what it waits for",
                running.as_secs(),
                running.subsec_millis() / 100
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
                    "over the budget: {full}; {holdouts} readers are in the way: look at its holdouts(), \
                     retire with try_retire or retire_wait, or set a larger budget"
                )
            }
        }
    }
}

static REPORTER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Sets a function that is called with every [`Report`], on the thread that detected the event. It must not
/// wait for grace periods or barriers, nor for a lock that is held while a thread waits for these; a panic in
/// it is contained. Each call replaces the previous function. [`Statistics`](crate::stats::Statistics) counts
/// the events in any case.
///
/// The thread is the worker, or one of the program's: inside [`drain`](crate::drain()), and, for a stall,
/// inside the call that waits or polls. So the function should take no lock under which the program makes
/// such calls. Inside `retire` and `store` it is called for a destructor that ran there and panicked, or took
/// long.
///
/// ```
/// quiescent::report::on_report(|report| eprintln!("quiescent: {report}"));
/// ```
pub fn on_report(reporter: fn(&Report)) {
    REPORTER.store(reporter as *mut (), Ordering::Release);
    HEARD.store((&raw const STALLS).cast_mut(), Ordering::Release);
}

static STALLS: Reports = Reports::new(|stall| {
    report(crate::global::env(), &Report::Stalled(stall));
});

/// [`STALLS`], once it is needed: a program without a reporter does not link it.
static HEARD: AtomicPtr<Reports> = AtomicPtr::new(std::ptr::null_mut());

/// How reports of stalls are made, if reports have a receiver.
pub(crate) fn stalls() -> Option<&'static Reports> {
    #[cfg(any(feature = "log", feature = "tracing"))]
    return Some(&STALLS);
    #[cfg(not(any(feature = "log", feature = "tracing")))]
    // SAFETY: null, or a static.
    unsafe {
        HEARD.load(Ordering::Acquire).as_ref()
    }
}

static READY: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

pub(crate) fn set_ready(notify: fn()) {
    READY.store(notify as *mut (), Ordering::Release);
}

/// Calls the program's function because callbacks are ready that the program runs itself.
pub(crate) fn ready(env: &Env) {
    let notify = READY.load(Ordering::Acquire);
    if !notify.is_null() {
        // SAFETY: `set_ready` stored a function of this type.
        env.contain(unsafe { std::mem::transmute::<*mut (), fn()>(notify) });
    }
}

pub(crate) fn report(env: &Env, report: &Report) {
    forward(env, report);
    let reporter = REPORTER.load(Ordering::Acquire);
    if !reporter.is_null() {
        // SAFETY: `on_report` stored a function of this type.
        let reporter = unsafe { std::mem::transmute::<*mut (), fn(&Report)>(reporter) };
        env.contain(|| reporter(report));
    }
}

/// Sends the report to the crates that the features name.
#[allow(unused_variables, reason = "there may be none")]
fn forward(env: &Env, report: &Report) {
    #[cfg(feature = "log")]
    env.contain(|| log::warn!(target: "quiescent", "{report}"));
    #[cfg(feature = "tracing")]
    env.contain(|| match report {
        Report::Stalled(stall) => {
            tracing::warn!(target: "quiescent", json = stall.to_json(), "{report}");
        }
        _ => tracing::warn!(target: "quiescent", "{report}"),
    });
}
