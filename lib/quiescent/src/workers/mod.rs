//! Threads that do deferred work. (Models have none: threads of a scenario take their roles.)
//!
//! The first thread that needs the worker starts it. It sleeps on the [`alarm`](quiescent_core::prim::alarm)
//! while nothing is due: in a program whose queues are empty it never wakes (rule R5). Awake, it makes
//! [passes](quiescent_core::domain::pass) over all domains until nothing is due any more. It never waits for
//! a reader.

use quiescent_core::domain::env::Env;
use quiescent_core::prim::fixed::Fixed;

#[cfg(feature = "helpers")]
pub(crate) mod overflow;
pub(crate) mod pool;
#[cfg(feature = "helpers")]
pub(crate) mod roles;
#[cfg(feature = "helpers")]
pub(crate) mod watchdog;

/// The workers of a process.
#[derive(Debug)]
pub(crate) struct Workers {
    env: Fixed<Env>,
    #[cfg(feature = "helpers")]
    pub(crate) watch: watchdog::Watch,
    pub(crate) pool: pool::Pool,
}

impl Workers {
    /// In the child of a fork none of them exists.
    #[cfg(feature = "fork")]
    pub(crate) fn forked(&self) {
        let Workers {
            env: _,
            #[cfg(feature = "helpers")]
            watch,
            pool,
        } = self;
        #[cfg(feature = "helpers")]
        watch.forked();
        pool.forked();
    }

    /// # Safety
    /// `env` is never freed, and is complete before any other method is called.
    pub(crate) const unsafe fn new(env: *const Env) -> Workers {
        Workers {
            // SAFETY: the caller's promise.
            env: unsafe { Fixed::new(env) },
            #[cfg(feature = "helpers")]
            watch: watchdog::Watch::new(),
            pool: pool::Pool::new(),
        }
    }

    /// The environment of the process.
    pub(crate) fn env(&self) -> &'static Env {
        self.env.get()
    }
}
