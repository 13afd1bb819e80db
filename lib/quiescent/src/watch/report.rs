//! Reports: the library calls a function that the program has set, and never prints.
//!
//! With the features `log` and `tracing`, reports also go to these crates as warnings, under the target
//! `quiescent`. No lock is held while a report is made and delivered.

use std::sync::atomic::{AtomicPtr, Ordering};

use quiescent_core::domain::env::Env;
use quiescent_core::domain::host::StallReporter;
pub use quiescent_core::domain::report::Report;

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

static STALLS: StallReporter = |state, stalled| match stalled {
    Some(stalled) => report(state.env(), &Report::Stalled(state.stall_report(stalled))),
    #[cfg(feature = "helpers")]
    None => state.report_owners(),
    #[cfg(not(feature = "helpers"))]
    None => {}
};

/// [`STALLS`], once it is needed: a program without a reporter does not link it.
static HEARD: AtomicPtr<StallReporter> = AtomicPtr::new(std::ptr::null_mut());

/// How reports of stalls are made, if reports have a receiver.
pub(crate) fn stalls() -> Option<&'static StallReporter> {
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
