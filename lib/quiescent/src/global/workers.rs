//! Threads that do deferred work. (Models have none: threads of a scenario take their roles.)
//!
//! The first thread that needs the worker starts it. It sleeps on the [`alarm`](quiescent_core::prim::alarm)
//! while nothing is due: in a program whose queues are empty it never wakes (rule R5). Awake, it makes
//! [passes](quiescent_core::domain::pass) over all domains until nothing is due any more. It never waits for
//! a reader.
//!
//! # Its end
//! [`stop`](Workers::stop) has the worker end before one of its sleeps, then the others; then it closes the
//! descriptors. From then on there is no worker, as before the first one, and the next thread that needs one
//! starts it. A thread that has found one just before cannot rely on it any more: so every queue is visited
//! last. What was queued before that visit is counted there, as left; who queues after it takes the queue's
//! lock, and sees that there is no worker. Threads and tasks that wait for a barrier or a grace period are
//! woken, and start another worker.
//!
//! `[END-1]` a thread of the library that ends announces that, *fence*, then counts as a helper no more. The
//! thread that waits finds no helper, *fence*, then no announced one that it has not joined: all have left
//! the library's code. Where a thread has ended that nothing joins (a worker that was replaced), a shared
//! object that contains the library stays loaded.

use std::ffi::CStr;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use std::thread;
use std::time::Duration;

use crate::global::{env, thread_exit};
use quiescent_core::domain::state::State;
use quiescent_core::domain::sweep::Until;
use quiescent_core::os::{Ended, spawn};
use quiescent_core::prim;
use quiescent_core::prim::counters::{count, uncount, value};

#[cfg(feature = "helpers")]
pub(crate) mod overflow;
#[cfg(feature = "helpers")]
pub(crate) mod roles;
#[cfg(feature = "helpers")]
pub(crate) mod watchdog;

const NONE: u32 = 0;
const STARTING: u32 = 1;
const STARTED: u32 = 2;
/// A thread waits for the worker's end.
const ENDING: u32 = 3;
/// The worker has ended. That thread ends the others, and closes what they have used.
const ENDED: u32 = 4;

/// Whether the calling thread is one of the library that runs code of the program.
pub(crate) fn is_worker() -> bool {
    #[cfg(feature = "helpers")]
    return roles::WORKER.get() != 0 || roles::OVERFLOW.get() != 0;
    #[cfg(not(feature = "helpers"))]
    IS_WORKER.get()
}

#[cfg(not(feature = "helpers"))]
thread_local!(static IS_WORKER: std::cell::Cell<bool> = const { std::cell::Cell::new(false) });

/// How long the others are waited for, without a worker.
const MOMENT: Duration = Duration::from_millis(100);

/// The workers of the process.
#[derive(Debug)]
pub(crate) struct Workers {
    /// Whether there is a worker.
    state: AtomicU32,
    /// Threads that end, to be joined.
    ended: Ended,
    /// A thread has ended without being joined, and may still execute its last instructions.
    unjoined: AtomicBool,
    #[cfg(feature = "helpers")]
    pub(crate) watch: watchdog::Watch,
}

pub(crate) static WORKERS: Workers = Workers {
    state: AtomicU32::new(NONE),
    ended: Ended::new(),
    unjoined: AtomicBool::new(false),
    #[cfg(feature = "helpers")]
    watch: watchdog::Watch::new(),
};

impl Workers {
    /// In the child of a fork none of them exists.
    #[cfg(feature = "fork")]
    pub(crate) fn forked(&self) {
        #[cfg(feature = "helpers")]
        self.watch.forked();
        self.ended.forked();
        self.unjoined.store(false, Ordering::Relaxed);
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
            if matches!(self.state.load(Ordering::Relaxed), STARTED | ENDING) {
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
        thread_exit::pin(); // its code must stay
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
        body: impl FnOnce() -> bool + Send + 'static,
    ) -> io::Result<()> {
        let helpers = &env().state.counters.helpers;
        count(helpers);
        spawn(name, &self.ended, body).inspect_err(|_| uncount(helpers))
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

    /// The worker's work, until another thread has its role (false), or it is to end.
    pub(crate) fn serve(&'static self, role: u32) -> bool {
        #[cfg(feature = "helpers")]
        self.watch.role.take(role);
        #[cfg(not(feature = "helpers"))]
        IS_WORKER.set(role != 0);
        env().alarm.open_sources();
        #[cfg(feature = "helpers")]
        self.hope_for_overflow();
        let ends = env().serve();
        #[cfg(feature = "helpers")]
        if !ends {
            self.watch.come_back();
        }
        #[cfg(feature = "helpers")]
        self.watch.role.leave();
        self.leave(ends)
    }

    /// The calling thread of the library ends; `ends`: another thread waits for that.
    pub(crate) fn leave(&self, ends: bool) -> bool {
        match ends {
            true => self.ended.announce(),
            false => self.unjoined.store(true, Ordering::Relaxed),
        }
        fence(Ordering::Release); // [END-1]
        uncount(&env().state.counters.helpers);
        ends
    }
}

/// The end of the workers.
impl Workers {
    /// The worker, before a sleep: true if it is to end.
    pub(crate) fn ends_worker(&self) -> bool {
        let (state, order) = (&self.state, (Ordering::AcqRel, Ordering::Relaxed));
        state.load(Ordering::Relaxed) == ENDING
            && (state.compare_exchange(ENDING, ENDED, order.0, order.1)).is_ok()
    }

    /// Whether the other threads of the library are to end.
    #[cfg(feature = "helpers")]
    pub(crate) fn has_ended(&self) -> bool {
        self.state.load(Ordering::Acquire) == ENDED
    }

    /// Ends the library's threads, and closes their descriptors. Returns the number of threads that have not
    /// ended in time: those that run callbacks. If the worker is one of them, nothing has changed. The others
    /// get a [`MOMENT`]; the caller tries again.
    pub(crate) fn stop(&'static self, until: Until) -> u64 {
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        let threads = || value(&env().state.counters.helpers);
        let swap = |from, to| (self.state).compare_exchange(from, to, order.0, order.1);
        while swap(STARTED, ENDING).is_err() && swap(NONE, ENDED).is_err() {
            if until.is_over(env()) {
                return threads();
            }
            prim::doze(); // it is being started, or another thread ends it
        }
        env().alarm.kick();
        while self.state.load(Ordering::Acquire) == ENDING {
            if until.is_over(env()) && swap(ENDING, STARTED).is_ok() {
                return threads();
            }
            prim::doze();
        }
        #[cfg(feature = "helpers")]
        self.watch.end_others();
        let gone = || threads() == 0 && self.ended.join(); // in this order [END-1]
        let moment = Until::after(MOMENT); // there is no worker meanwhile
        while !gone() && !until.is_over(env()) && !moment.is_over(env()) {
            prim::doze();
        }
        env().alarm.close();
        let left = if gone() { 0 } else { threads().max(1) };
        if left == 0 {
            #[cfg(feature = "helpers")]
            self.watch.close();
            env().states().for_each(State::shrink);
            if !self.unjoined.load(Ordering::Relaxed) {
                thread_exit::unpin();
            }
        }
        self.state.store(NONE, Ordering::Release);
        self.give_up_start();
        left
    }
}
