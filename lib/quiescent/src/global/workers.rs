//! Threads that do deferred work. (Models have none: threads of a scenario take their roles.)
//!
//! The first thread that needs the worker starts it. It sleeps on the [`alarm`](quiescent_core::prim::alarm)
//! while nothing is due: in a program whose queues are empty it never wakes (rule R5). Awake, it makes
//! [passes](quiescent_core::domain::pass) over all domains until nothing is due any more. It never waits for
//! a reader.

use std::ffi::CStr;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use crate::global::env;
use quiescent_core::os::spawn;
use quiescent_core::prim::counters::{count, uncount};

#[cfg(feature = "helpers")]
pub(crate) mod overflow;
#[cfg(feature = "helpers")]
pub(crate) mod roles;
#[cfg(feature = "helpers")]
pub(crate) mod watchdog;

const NONE: u32 = 0;
const STARTING: u32 = 1;
const STARTED: u32 = 2;

/// The workers of the process.
#[derive(Debug)]
pub(crate) struct Workers {
    /// Whether there is a worker.
    state: AtomicU32,
    #[cfg(feature = "helpers")]
    pub(crate) watch: watchdog::Watch,
}

pub(crate) static WORKERS: Workers = Workers {
    state: AtomicU32::new(NONE),
    #[cfg(feature = "helpers")]
    watch: watchdog::Watch::new(),
};

impl Workers {
    /// In the child of a fork none of them exists.
    #[cfg(feature = "fork")]
    pub(crate) fn forked(&self) {
        #[cfg(feature = "helpers")]
        self.watch.forked();
        self.state.store(NONE, Ordering::Relaxed);
    }

    /// Starts the worker, unless there is one or another thread is starting it. False: it cannot be started;
    /// the next thread that needs it tries again.
    pub(crate) fn start_worker(&'static self) -> bool {
        self.state.load(Ordering::Relaxed) == STARTED || self.start_first()
    }

    /// The same for threads that may wait: returns true when the worker has started.
    pub(crate) fn hire(&'static self) -> bool {
        while self.start_worker() {
            if self.state.load(Ordering::Relaxed) == STARTED {
                return true;
            }
            thread::yield_now();
        }
        false
    }

    #[cold]
    fn start_first(&'static self) -> bool {
        let order = Ordering::AcqRel;
        let state = &self.state;
        if state
            .compare_exchange(NONE, STARTING, order, Ordering::Relaxed)
            .is_err()
        {
            return true;
        }
        #[cfg(feature = "helpers")]
        let role = self.watch.role.number();
        #[cfg(not(feature = "helpers"))]
        let role = 1;
        let opened = env().alarm.open();
        let started = opened.and_then(|()| self.spawn(c"quiescent", move || self.serve(role)));
        let now = if started.is_ok() { STARTED } else { NONE };
        state.store(now, Ordering::Release);
        if started.is_err() {
            count(&env().state.counters.worker_errors);
            self.give_up_start();
        }
        started.is_ok()
    }

    /// Starts a thread of the library. It counts from here on, not from its first step: while it is about to
    /// run, statistics do not say that the library has no thread.
    pub(crate) fn spawn(
        &'static self,
        name: &'static CStr,
        body: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let helpers = &env().state.counters.helpers;
        count(helpers);
        spawn(name, body).inspect_err(|_| uncount(helpers))
    }

    /// The worker cannot be started, though threads have relied on one being started. The next thread that
    /// queues tries again: no timer counts as set any more, and no owner has credit. (An owner that acquires
    /// credit after this thread had its lock has seen that, and tries again itself.)
    fn give_up_start(&'static self) {
        env().alarm.forget();
        for state in env().states() {
            state.lock().engine.disarm();
            for queue in state.queues() {
                let _core = queue.lock();
                queue.ask_soon();
            }
            state.give_up_barrier();
        }
    }

    /// The worker's work, until another thread has its role.
    pub(crate) fn serve(&'static self, role: u32) {
        #[cfg(feature = "helpers")]
        self.watch.role.take(role);
        #[cfg(not(feature = "helpers"))]
        let _ = role;
        env().alarm.open_sources();
        #[cfg(feature = "helpers")]
        self.hope_for_overflow();
        env().serve();
        #[cfg(feature = "helpers")]
        self.watch.come_back();
        uncount(&env().state.counters.helpers);
        #[cfg(feature = "helpers")]
        self.watch.role.leave();
    }
}
