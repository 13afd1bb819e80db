//! What the reclaimer has to say: a library does not print, it tells who asked.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

/// Something that happened to a callback or a destructor on the reclaiming side.
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
        }
    }
}

static REPORTER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Has `reporter` told of every [`Report`], on the thread that noticed it. It must not wait for grace
/// periods or barriers; a panic in it is contained. The last one set is told; counts are in [`Statistics`](crate::Statistics) anyway.
///
/// ```
/// quiescent::on_report(|report| eprintln!("quiescent: {report}"));
/// ```
pub fn on_report(reporter: fn(&Report)) {
    REPORTER.store(reporter as *mut (), Ordering::Release);
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
        let notify = unsafe { std::mem::transmute::<*mut (), fn()>(notify) };
        catch_unwind(AssertUnwindSafe(notify)).unwrap_or_else(crate::run::discard);
    }
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
