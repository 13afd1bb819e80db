//! The process's singletons: the environment of all domains with the process's own, the workers, and each
//! thread's own words.
//!
//! The thread-locals have no destructors, so signal handlers and destructors of other thread-locals can read
//! them, and access never allocates.

#[cfg(feature = "helpers")]
use quiescent_engine::pool::TurnId;

use crate::global::thread_exit;
use crate::global::workers::WORKERS;
#[cfg(feature = "helpers")]
use crate::global::workers::roles::WORKER;
use crate::watch::report;
#[cfg(feature = "telemetry")]
use crate::watch::telemetry;
use quiescent_core::domain::env::{Env, Zeros};
use quiescent_core::domain::host::{Host, StallReporter};
use quiescent_core::domain::report::Report;
#[cfg(feature = "helpers")]
use quiescent_core::domain::run::turn_of_worker;
use quiescent_core::domain::state::State;
use quiescent_core::queue::meter::CountsOf;
#[cfg(not(feature = "telemetry"))]
use quiescent_core::queue::meter::uncounted;
#[cfg(feature = "helpers")]
use quiescent_core::queue::parcel::Name;
use quiescent_core::reader::local::{Here, Local};
use quiescent_core::reader::registration::Keeper;
use quiescent_core::reader::threads::Slot;

/// What domains require of the process.
#[derive(Debug)]
struct Hosted;

#[cfg(feature = "telemetry")]
const COUNTS: CountsOf = telemetry::counts;
#[cfg(not(feature = "telemetry"))]
const COUNTS: CountsOf = uncounted;

static ZEROS: Zeros = Zeros::new();

// SAFETY: that place, and no other environment; a static is never freed.
static ENV: Env = unsafe { Env::new(&raw const ENV, State::config(), &Hosted, COUNTS, &ZEROS) };

thread_local! {
    static LOCAL: Local = const {
        // SAFETY: parts of a static.
        unsafe { Local::new(&raw const ENV.threads, &raw const ENV.common) }
    };
}

/// The environment that all domains share.
#[inline(always)]
pub fn env() -> &'static Env {
    &ENV
}

/// The state of the process's domain.
#[inline(always)]
pub fn home() -> &'static State {
    &ENV.state
}

/// The calling thread's local state.
#[inline(always)]
pub fn with_local<R>(f: impl FnOnce(&Local) -> R) -> R {
    // A raw pointer comes out, and not what `f` returns: the niche of that would cost a check.
    let local = LOCAL.with(std::ptr::from_ref);
    // SAFETY: the calling thread's own, there until that thread ends.
    f(unsafe { &*local })
}

/// The same, as a value that can be kept.
#[inline(always)]
pub fn local() -> Here {
    // SAFETY: the calling thread's own, valid until that thread ends.
    with_local(|local| unsafe { Here::new(local) })
}

// SAFETY: each thread has its own, which has no destructor, and is made with these threads.
unsafe impl Keeper for Hosted {
    fn local(&self) -> Here {
        local()
    }

    fn registered(&self, slot: &'static Slot) {
        thread_exit::arm(slot);
    }

    fn is_over(&self) -> bool {
        thread_exit::is_over()
    }
}

impl Host for Hosted {
    fn start_worker(&self) -> bool {
        WORKERS.start_worker()
    }

    fn hire(&self) -> bool {
        WORKERS.hire()
    }

    fn ends_worker(&self) -> bool {
        WORKERS.ends_worker()
    }

    #[cfg(feature = "helpers")]
    fn call_overflow(&self, state: &'static State) {
        WORKERS.call_overflow(state);
    }

    #[cfg(feature = "helpers")]
    fn look_at_overflow(&self) {
        WORKERS.look_at_overflow();
    }

    #[cfg(feature = "helpers")]
    fn overflow_look(&self) -> Option<u64> {
        WORKERS.overflow_look()
    }

    #[cfg(feature = "helpers")]
    fn stuck(&self) -> u64 {
        WORKERS.watch.stuck()
    }

    #[cfg(feature = "helpers")]
    fn turn(&self) -> TurnId {
        turn_of_worker(WORKER.get() as u32)
    }

    #[cfg(feature = "helpers")]
    fn is_dismissed(&self) -> bool {
        WORKERS.watch.is_dismissed()
    }

    #[cfg(feature = "helpers")]
    fn begin(&self, name: Name) {
        WORKERS.watch.begin(name);
    }

    #[cfg(feature = "helpers")]
    fn end(&self) {
        WORKERS.watch.end();
    }

    #[cfg(feature = "helpers")]
    fn rest(&self) {
        WORKERS.watch.rest();
    }

    #[cfg(feature = "telemetry")]
    fn publish(&self) {
        telemetry::publish(env());
    }

    fn stalls(&self) -> Option<&'static StallReporter> {
        report::stalls()
    }

    fn tell(&self, event: Report) {
        report::report(env(), &event);
    }

    fn ready(&self) {
        report::ready(env());
    }
}
