//! Starting the worker's thread. (Models have none: a thread of the scenario takes its role.)

use std::ffi::CStr;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use crate::workers::Workers;
use quiescent_core::os::spawn;
use quiescent_core::prim::counters::{count, uncount};

const NONE: u32 = 0;
const STARTING: u32 = 1;
const STARTED: u32 = 2;

/// Whether there is a worker.
#[derive(Debug)]
pub(crate) struct Pool {
    state: AtomicU32,
}

impl Pool {
    pub(crate) const fn new() -> Pool {
        Pool {
            state: AtomicU32::new(NONE),
        }
    }

    /// In the child of a fork there is no worker.
    #[cfg(feature = "fork")]
    pub(crate) fn forked(&self) {
        let Pool { state } = self;
        state.store(NONE, Ordering::Relaxed);
    }
}

impl Workers {
    /// Starts the worker, unless there is one or another thread is starting it. False: it cannot be started;
    /// the next thread that needs it tries again.
    pub(crate) fn start_worker(&'static self) -> bool {
        self.pool.state.load(Ordering::Relaxed) == STARTED || self.start_first()
    }

    /// The same for threads that may wait: returns true when the worker has started.
    pub(crate) fn hire(&'static self) -> bool {
        while self.start_worker() {
            if self.pool.state.load(Ordering::Relaxed) == STARTED {
                return true;
            }
            thread::yield_now();
        }
        false
    }

    #[cold]
    fn start_first(&'static self) -> bool {
        let order = Ordering::AcqRel;
        let state = &self.pool.state;
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
        let opened = self.env().alarm.open();
        let started = opened.and_then(|()| self.spawn(c"quiescent", move || self.serve(role)));
        let now = if started.is_ok() { STARTED } else { NONE };
        state.store(now, Ordering::Release);
        if started.is_err() {
            count(&self.env().state.counters.worker_errors);
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
        let helpers = &self.env().state.counters.helpers;
        count(helpers);
        spawn(name, body).inspect_err(|_| uncount(helpers))
    }

    /// The worker cannot be started, though threads have relied on one being started. The next thread that
    /// queues tries again: no timer counts as set any more, and no owner has credit. (An owner that acquires
    /// credit after this thread had its lock has seen that, and tries again itself.)
    fn give_up_start(&'static self) {
        self.env().alarm.forget();
        for state in self.env().states() {
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
        self.env().alarm.open_sources();
        #[cfg(feature = "helpers")]
        self.hope_for_overflow();
        self.env().serve();
        #[cfg(feature = "helpers")]
        self.watch.come_back();
        uncount(&self.env().state.counters.helpers);
        #[cfg(feature = "helpers")]
        self.watch.role.leave();
    }
}
