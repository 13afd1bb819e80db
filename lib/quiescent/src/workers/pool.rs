//! The worker's thread: starting it. (Models have none: a scenario's own thread plays the worker.)

#[cfg(quiescent_model)]
impl crate::inner::domain::process::Process {
    #[allow(clippy::unused_self, reason = "the same face as in the product")]
    pub(crate) fn start_worker(&'static self) -> bool {
        true
    }

    #[allow(clippy::unused_self, reason = "the same face as in the product")]
    pub(crate) fn hire(&'static self) -> bool {
        true
    }
}

#[cfg(not(quiescent_model))]
pub(crate) use real::{Staff, spawn};

#[cfg(not(quiescent_model))]
mod real {
    use std::alloc::{Layout, alloc};
    use std::ffi::{CStr, c_void};
    use std::io;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use crate::inner::defer::barrier::Barriers as _;
    use crate::inner::defer::sweep::Until;
    use crate::inner::domain::counters::{count, uncount};
    use crate::inner::domain::process::Process;
    use crate::workers::ended;

    const NONE: u32 = 0;
    const STARTING: u32 = 1;
    const STARTED: u32 = 2;

    /// Whether there is a worker.
    #[derive(Debug)]
    pub(crate) struct Staff {
        state: AtomicU32,
    }

    impl Staff {
        pub(crate) const fn new() -> Staff {
            Staff {
                state: AtomicU32::new(NONE),
            }
        }

        /// In the child of a fork: there is nobody.
        pub(crate) fn forked(&self) {
            self.state.store(NONE, Ordering::Relaxed);
        }
    }

    impl Process {
        /// Sees to it that there is a worker, or that somebody is starting one. False: none can be
        /// started; the next who needs one tries again.
        pub(crate) fn start_worker(&'static self) -> bool {
            self.staff.state.load(Ordering::Relaxed) == STARTED || self.start_first()
        }

        /// The same, for those who may wait: true if there is one.
        pub(crate) fn hire(&'static self) -> bool {
            while self.start_worker() {
                if self.staff.state.load(Ordering::Relaxed) == STARTED {
                    return true;
                }
                thread::yield_now();
            }
            false
        }

        #[cold]
        fn start_first(&'static self) -> bool {
            let order = Ordering::AcqRel;
            let state = &self.staff.state;
            if state
                .compare_exchange(NONE, STARTING, order, Ordering::Relaxed)
                .is_err()
            {
                return true;
            }
            let role = self.watch.role();
            let worker = move || {
                count(&self.counters.helpers);
                self.serve(role);
            };
            let started = self.alarm.open().and_then(|()| spawn(c"quiescent", worker));
            let now = if started.is_ok() { STARTED } else { NONE };
            state.store(now, Ordering::Release);
            if started.is_err() {
                count(&self.counters.worker_errors);
                self.nobody_looks();
            }
            started.is_ok()
        }

        /// There is no worker, though some have relied on one that was being started. Whoever queues next
        /// tries again: no timer counts as set any more, and no owner has credit. (One that is granted
        /// some after we had its lock has seen that, and tries again itself.)
        fn nobody_looks(&'static self) {
            self.alarm.forget();
            self.lock().disarm();
            for queue in self.queues() {
                let _core = queue.lock();
                queue.ask_soon();
            }
            self.give_up_barrier();
        }

        /// What the worker does, as long as nobody else has its role.
        pub(crate) fn serve(&'static self, role: u32) {
            self.watch.take_role(role);
            ended::is_noticed();
            self.alarm.open_sources();
            self.hope_for_second();
            loop {
                count(&self.counters.worker_passes);
                self.work(Until { deadline: None });
                if self.watch.is_dismissed() {
                    self.watch.come_back();
                    break;
                }
                self.watch.rest();
                if let Some(woken) = self.alarm.sleep() {
                    self.woken(woken);
                }
            }
            uncount(&self.counters.helpers);
            self.watch.leave();
        }
    }

    /// What a thread does to itself: the program's handlers of these run on our threads, too.
    const FAULTS: [i32; 7] = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGTRAP,
        libc::SIGSYS,
        libc::SIGABRT,
    ];

    /// The stack of a thread of ours: as the standard library's threads have it.
    const STACK: usize = 2 << 20;

    /// Starts a thread of ours, on which the program's signal handlers do not run, but for those of
    /// faults. (Threads that a callback starts inherit that: they unblock what they want.)
    ///
    /// Not one of the standard library's: each of those takes a lock of that library when it starts and
    /// when it ends, and if another thread had that lock at a fork, none ever starts in the child.
    ///
    /// # Errors
    /// The system's, or that there is no memory.
    pub(crate) fn spawn<F: FnOnce() + Send + 'static>(
        name: &'static CStr,
        body: F,
    ) -> io::Result<()> {
        // Not `Box::new`, which ends the program where memory is gone.
        let layout = Layout::new::<(&'static CStr, F)>();
        // SAFETY: the layout has a size: a name.
        let start: *mut (&'static CStr, F) = unsafe { alloc(layout) }.cast();
        if start.is_null() {
            return Err(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        // SAFETY: fresh memory of that layout.
        unsafe { start.write((name, body)) };
        // SAFETY: the sets and attributes are plain data, filled in before they are read; the new thread
        // owns `start`, or nobody does and it is still ours.
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
            // SAFETY: nobody took it.
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
        // A panic of ours ends the thread; the panic hook has spoken.
        let _ = catch_unwind(AssertUnwindSafe(body));
        std::ptr::null_mut()
    }
}
