//! Watching the callback that the worker runs, so that one that never returns does not stop the others.
//!
//! Before the first callback of a round the worker sets a timer that nobody but the *stand-by* waits
//! for, and stops it when the round is over: two system calls a round, no wake-up. If the timer fires,
//! the stand-by looks how long the callback has been running, and after [`STUCK`] takes the worker's role
//! (a number, one up). The worker that comes back after all finds another number there, and ends.
//!
//! The stand-by is created before the first callback runs: afterwards there might be no thread to be had.

#[cfg(any(quiescent_loom, quiescent_double))]
pub(crate) use model::Watch;
#[cfg(not(any(quiescent_loom, quiescent_double)))]
pub(crate) use real::Watch;

#[cfg(any(quiescent_loom, quiescent_double))]
mod model {
    use crate::domain::Domain;

    /// Models do not watch: their callbacks return.
    #[derive(Debug)]
    pub(crate) struct Watch;

    impl Watch {
        pub(crate) const fn new() -> Watch {
            Watch
        }

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(crate) fn begin(&self, _domain: &'static Domain, _name: fn() -> &'static str) {}

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(crate) fn end(&self) {}

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(crate) fn rest(&self) {}

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(crate) fn is_dismissed(&self) -> bool {
            false
        }
    }
}

#[cfg(not(any(quiescent_loom, quiescent_double)))]
mod real {
    use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};
    use std::time::Duration;

    use crate::alarm::os::{set_timer, timerfd};
    use crate::domain::Domain;
    use crate::looks::count;
    use crate::report::{Report, report};
    use crate::staff;
    use crate::sync::{self, CELL_ROLE};

    /// A callback that runs for longer is taken for stuck, in nanoseconds.
    const STUCK: u64 = 1_000_000_000;
    /// So many stuck callbacks get a thread each; with more, the others have to wait after all.
    const MOST: u64 = 16;

    /// No stand-by, and none tried.
    const NOBODY: u32 = 0;
    const STANDING_BY: u32 = 1;

    /// What is known of the callback that the worker runs.
    #[derive(Debug)]
    pub(crate) struct Watch {
        /// Who is the worker: a number that goes up with every change.
        role: AtomicU32,
        /// Since when the callback runs, 0 if none does.
        since: AtomicU64,
        /// The function that tells its name.
        name: AtomicPtr<()>,
        /// The timer is set.
        armed: AtomicU32,
        timer: AtomicI32,
        standby: AtomicU32,
        /// Callbacks found stuck.
        stuck: AtomicU64,
    }

    impl Watch {
        pub(crate) const fn new() -> Watch {
            Watch {
                role: AtomicU32::new(1),
                since: AtomicU64::new(0),
                name: AtomicPtr::new(std::ptr::null_mut()),
                armed: AtomicU32::new(0),
                timer: AtomicI32::new(-1),
                standby: AtomicU32::new(NOBODY),
                stuck: AtomicU64::new(0),
            }
        }

        /// The calling thread is the worker from now on.
        pub(crate) fn take_role(&self, role: u32) {
            sync::tls_set(CELL_ROLE, role as usize);
        }

        /// Is the calling thread a worker whose role somebody else has now?
        pub(crate) fn is_dismissed(&self) -> bool {
            let role = sync::tls_get(CELL_ROLE);
            role != 0 && role != self.role.load(Ordering::Acquire) as usize
        }

        fn is_worker(&self) -> bool {
            sync::tls_get(CELL_ROLE) == self.role.load(Ordering::Relaxed) as usize
        }

        /// A callback is about to run in this thread.
        pub(crate) fn begin(&self, domain: &'static Domain, name: fn() -> &'static str) {
            if !self.is_worker() {
                return;
            }
            let now = sync::coarse_ns();
            self.name.store(name as *mut (), Ordering::Relaxed);
            self.since.store(now, Ordering::Release);
            if self.armed.load(Ordering::Relaxed) == 0 {
                self.stand_by(domain);
                self.armed.store(1, Ordering::Relaxed);
                set_timer(self.timer.load(Ordering::Relaxed), now + STUCK);
            }
        }

        /// It has returned.
        pub(crate) fn end(&self) {
            if self.is_worker() {
                self.since.store(0, Ordering::Release);
            }
        }

        /// The round is over.
        pub(crate) fn rest(&self) {
            if self.is_worker() && self.armed.load(Ordering::Relaxed) != 0 {
                self.armed.store(0, Ordering::Relaxed);
                set_timer(self.timer.load(Ordering::Relaxed), 0);
            }
        }

        /// Callbacks found stuck so far.
        pub(crate) fn stuck(&self) -> u64 {
            self.stuck.load(Ordering::Relaxed)
        }

        /// Sees to it that there is a stand-by.
        fn stand_by(&self, domain: &'static Domain) {
            if self.standby.load(Ordering::Relaxed) != NOBODY || self.stuck() >= MOST {
                return;
            }
            if self.timer.load(Ordering::Relaxed) < 0 {
                self.timer.store(timerfd(), Ordering::Relaxed);
            }
            let started = self.timer.load(Ordering::Relaxed) >= 0
                && staff::spawn("quiescent-2", move || domain.watch.watch(domain)).is_ok();
            if started {
                self.standby.store(STANDING_BY, Ordering::Relaxed);
            } else {
                count(&domain.counters.worker_errors);
            }
        }

        /// The stand-by: sleeps until the timer fires.
        fn watch(&'static self, domain: &'static Domain) {
            count(&domain.counters.helpers);
            let running = loop {
                let mut times = 0u64;
                // SAFETY: eight writable bytes.
                let read = unsafe {
                    let timer = self.timer.load(Ordering::Relaxed);
                    libc::read(timer, (&raw mut times).cast(), 8)
                };
                if read != 8 {
                    continue;
                }
                let since = self.since.load(Ordering::Acquire);
                let running = sync::now_ns().saturating_sub(since);
                if since != 0 && running >= STUCK {
                    break running;
                }
                if self.armed.load(Ordering::Relaxed) != 0 {
                    let again = sync::now_ns() + STUCK.saturating_sub(running).max(STUCK / 10);
                    set_timer(self.timer.load(Ordering::Relaxed), again);
                }
            };
            let name = self.name.load(Ordering::Relaxed);
            self.stuck.fetch_add(1, Ordering::Relaxed);
            self.since.store(0, Ordering::Relaxed);
            self.armed.store(0, Ordering::Relaxed);
            self.standby.store(NOBODY, Ordering::Relaxed);
            let role = self.role.fetch_add(1, Ordering::AcqRel) + 1;
            // SAFETY: `begin` stored a function of this type before it stored `since`.
            let name = unsafe { std::mem::transmute::<*mut (), fn() -> &'static str>(name) };
            report(Report::Stuck {
                name: name(),
                running: Duration::from_nanos(running),
            });
            domain.serve(role);
        }
    }
}
