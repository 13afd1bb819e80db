//! Starting the worker's thread. (Models have none: a thread of the scenario takes its role.)

use std::alloc::{Layout, alloc};
use std::ffi::{CStr, c_void};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use crate::workers::{Workers, ended};
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
        let role = self.watch.role();
        let worker = move || {
            count(&self.env().state.counters.helpers);
            self.serve(role);
        };
        let started = self
            .env()
            .alarm
            .open()
            .and_then(|()| spawn(c"quiescent", worker));
        let now = if started.is_ok() { STARTED } else { NONE };
        state.store(now, Ordering::Release);
        if started.is_err() {
            count(&self.env().state.counters.worker_errors);
            self.give_up_start();
        }
        started.is_ok()
    }

    /// The worker cannot be started, though threads have relied on one being started. The next thread that
    /// queues tries again: no timer counts as set any more, and no owner has credit. (An owner that acquires
    /// credit after this thread had its lock has seen that, and tries again itself.)
    fn give_up_start(&'static self) {
        self.env().alarm.forget();
        for state in self.env().states() {
            state.lock().disarm();
            for queue in state.queues() {
                let _core = queue.lock();
                queue.ask_soon();
            }
            state.give_up_barrier();
            state.tasks.take().wake(self.env());
        }
    }

    /// The worker's work, until another thread has its role.
    pub(crate) fn serve(&'static self, role: u32) {
        self.watch.take_role(role);
        ended::is_noticed(self);
        self.env().alarm.open_sources();
        self.hope_for_overflow();
        self.env().serve();
        self.watch.come_back();
        uncount(&self.env().state.counters.helpers);
        self.watch.leave();
    }
}

/// Faults: signals that a thread causes itself. The program's handlers of these run on the library's threads,
/// too.
const FAULTS: [i32; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
];

/// The stack size of the library's threads: that of the standard library's threads.
const STACK: usize = 2 << 20;

/// Starts a thread of the library, on which the program's signal handlers do not run, except those of faults.
/// (A thread that a callback starts inherits the mask, and must unblock the signals it wants.)
///
/// It does not use the standard library's threads: each takes a lock of that library when it starts and when
/// it ends, and if another thread held that lock at a fork, no thread can start in the child.
///
/// # Errors
/// The system's error, or that there is no memory.
pub(crate) fn spawn<F: FnOnce() + Send + 'static>(name: &'static CStr, body: F) -> io::Result<()> {
    // Not `Box::new`, which ends the program if there is no memory.
    let layout = Layout::new::<(&'static CStr, F)>();
    // SAFETY: the layout has a size: a name.
    let start: *mut (&'static CStr, F) = unsafe { alloc(layout) }.cast();
    if start.is_null() {
        return Err(io::Error::from_raw_os_error(libc::ENOMEM));
    }
    // SAFETY: fresh memory of that layout.
    unsafe { start.write((name, body)) };
    // SAFETY: the sets and attributes are plain data, filled in before they are read; the new thread owns
    // `start`, or, if there is none, this thread still does.
    let refused = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        let mut how: libc::pthread_attr_t = std::mem::zeroed();
        let mut thread: libc::pthread_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        for fault in FAULTS {
            libc::sigdelset(&mut all, fault);
        }
        libc::pthread_attr_init(&mut how);
        libc::pthread_attr_setdetachstate(&mut how, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(&mut how, STACK);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let refused = libc::pthread_create(&mut thread, &how, main::<F>, start.cast());
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        libc::pthread_attr_destroy(&mut how);
        refused
    };
    if refused != 0 {
        // SAFETY: no thread took it.
        drop(unsafe { Box::from_raw(start) });
        return Err(io::Error::from_raw_os_error(refused));
    }
    Ok(())
}

extern "C" fn main<F: FnOnce()>(start: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` made it for this thread.
    let (name, body) = *unsafe { Box::from_raw(start.cast::<(&CStr, F)>()) };
    // SAFETY: a name of at most 15 bytes, for the calling thread.
    unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
    // A panic in the library ends the thread; the panic hook has run.
    let _ = catch_unwind(AssertUnwindSafe(body));
    std::ptr::null_mut()
}
