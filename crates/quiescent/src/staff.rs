//! The worker's thread: starting it. (Models have none: a scenario's own thread plays the worker.)

#[cfg(any(quiescent_loom, quiescent_double))]
impl crate::domain::Domain {
    #[allow(clippy::unused_self, reason = "the same face as in the product")]
    pub(crate) fn start_worker(&'static self) -> bool {
        true
    }

    #[allow(clippy::unused_self, reason = "the same face as in the product")]
    pub(crate) fn hire(&'static self) -> bool {
        true
    }
}

#[cfg(not(any(quiescent_loom, quiescent_double)))]
pub(crate) use real::{Staff, spawn};

#[cfg(not(any(quiescent_loom, quiescent_double)))]
mod real {
    use std::io;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use crate::domain::Domain;
    use crate::looks::count;
    use crate::sweep::Until;

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
    }

    impl Domain {
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
            let started = self
                .alarm
                .open()
                .and_then(|()| spawn("quiescent", || self.serve(1)));
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
        }

        /// What the worker does, as long as nobody else has its role.
        pub(crate) fn serve(&'static self, role: u32) {
            if role == 1 {
                count(&self.counters.helpers);
            }
            self.watch.take_role(role);
            loop {
                count(&self.counters.worker_passes);
                self.work(Until { deadline: None });
                if self.watch.is_dismissed() {
                    self.watch.come_back();
                    break;
                }
                self.watch.rest();
                self.alarm.sleep();
            }
            let helpers = &self.counters.helpers;
            helpers.fetch_sub(1, Ordering::Relaxed);
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

    /// Starts a thread of ours, on which the program's signal handlers do not run, but for those of
    /// faults. (Threads that a callback starts inherit that: they unblock what they want.)
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let builder = thread::Builder::new().name(name.to_owned());
        // SAFETY: both sets are plain data, filled in before they are read.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut all);
            for fault in FAULTS {
                libc::sigdelset(&mut all, fault);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            let spawned = builder.spawn(body);
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
            spawned.map(drop)
        }
    }
}
