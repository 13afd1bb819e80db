//! The process's singletons: the environment of all domains with the process's own, the workers, and each
//! thread's own words.
//!
//! The thread-locals have no destructors, so signal handlers and destructors of other thread-locals can read
//! them, and access never allocates.

#[cfg(feature = "helpers")]
use quiescent_engine::pool::TurnId;

#[cfg(feature = "fork")]
use crate::global::fork::Policy;
use crate::global::thread_exit;
use crate::watch::report;
#[cfg(feature = "telemetry")]
use crate::watch::telemetry;
use crate::workers::Workers;
#[cfg(feature = "helpers")]
use crate::workers::roles::WORKER;
use quiescent_core::domain::env::{Env, Zeros};
use quiescent_core::domain::host::Host;
use quiescent_core::domain::report::Report;
#[cfg(feature = "helpers")]
use quiescent_core::domain::run::turn_of_worker;
use quiescent_core::domain::stall::StallReporter;
use quiescent_core::domain::state::State;
use quiescent_core::queue::meter::CountsOf;
#[cfg(not(feature = "telemetry"))]
use quiescent_core::queue::meter::uncounted;
#[cfg(feature = "helpers")]
use quiescent_core::queue::parcel::Name;
use quiescent_core::reader::local::{Here, Local};
use quiescent_core::reader::registration::Keeper;
use quiescent_core::reader::threads::Slot;

/// The singletons of a process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) env: Env,
    pub(crate) workers: Workers,
    #[cfg(feature = "fork")]
    pub(crate) forking: Policy,
}

/// What domains require of the process. Not [`Process`]: a table of methods links how to drop its type.
#[derive(Debug)]
struct Hosted;

#[cfg(feature = "telemetry")]
const COUNTS: CountsOf = telemetry::counts;
#[cfg(not(feature = "telemetry"))]
const COUNTS: CountsOf = uncounted;

static ZEROS: Zeros = Zeros::new();

static PROCESS: Process = Process {
    // SAFETY: that place, and no other environment; a static is never freed.
    env: unsafe {
        let (place, config) = (&raw const PROCESS.env, State::config());
        Env::new(place, config, &Hosted, COUNTS, &ZEROS)
    },
    // SAFETY: as above.
    workers: unsafe { Workers::new(&raw const PROCESS.env) },
    #[cfg(feature = "fork")]
    forking: Policy::new(),
};

thread_local! {
    static LOCAL: Local = const {
        // SAFETY: parts of a static.
        unsafe { Local::new(&raw const PROCESS.env.threads, &raw const PROCESS.env.common) }
    };
}

/// The singletons of this process.
#[inline(always)]
pub(crate) fn process() -> &'static Process {
    &PROCESS
}

/// The environment that all domains share.
#[inline(always)]
pub(crate) fn env() -> &'static Env {
    &PROCESS.env
}

/// The state of the process's domain.
#[inline(always)]
pub(crate) fn home() -> &'static State {
    &PROCESS.env.state
}

/// The calling thread's local state.
#[inline(always)]
pub(crate) fn with_local<R>(f: impl FnOnce(&Local) -> R) -> R {
    // A raw pointer comes out, and not what `f` returns: the niche of that would cost a check.
    let local = LOCAL.with(std::ptr::from_ref);
    // SAFETY: the calling thread's own, there until that thread ends.
    f(unsafe { &*local })
}

/// The same, as a value that can be kept.
#[inline(always)]
pub(crate) fn local() -> Here {
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
        process().workers.start_worker()
    }

    fn hire(&self) -> bool {
        process().workers.hire()
    }

    #[cfg(feature = "helpers")]
    fn call_overflow(&self, state: &'static State) {
        process().workers.call_overflow(state);
    }

    #[cfg(feature = "helpers")]
    fn look_at_overflow(&self) {
        process().workers.look_at_overflow();
    }

    #[cfg(feature = "helpers")]
    fn overflow_look(&self) -> Option<u64> {
        process().workers.overflow_look()
    }

    #[cfg(feature = "helpers")]
    fn stuck(&self) -> u64 {
        process().workers.watch.stuck()
    }

    #[cfg(feature = "helpers")]
    fn turn(&self) -> TurnId {
        turn_of_worker(WORKER.get() as u32)
    }

    #[cfg(feature = "helpers")]
    fn is_dismissed(&self) -> bool {
        process().workers.watch.is_dismissed()
    }

    #[cfg(feature = "helpers")]
    fn begin(&self, name: Name) {
        process().workers.watch.begin(&process().workers, name);
    }

    #[cfg(feature = "helpers")]
    fn end(&self) {
        process().workers.watch.end();
    }

    #[cfg(feature = "helpers")]
    fn rest(&self) {
        process().workers.watch.rest();
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
