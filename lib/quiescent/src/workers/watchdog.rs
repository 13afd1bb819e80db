//! Watching the callback that the worker runs, so that one that never returns does not stop the others.
//!
//! Before the first callback of a round the worker sets a timer that nobody but the *stand-by* waits
//! for, and stops it when the round is over: two system calls a round, no wake-up. If the timer fires,
//! the stand-by looks how long the callback has been running, and after [`STUCK`] takes the worker's role
//! (a number, one up). The worker that comes back after all finds another number there, and ends.
//!
//! The stand-by is created before the first callback runs: afterwards there might be no thread to be had.

#[cfg(quiescent_model)]
pub(crate) use model::Watch;
#[cfg(not(quiescent_model))]
pub(crate) use real::{STUCK, Watch};

#[cfg(quiescent_model)]
mod model {
    use quiescent_engine::pool::TurnId;

    use crate::inner::domain::env::Env;
    use crate::workers::overflow::Second;

    /// Models do not watch: their callbacks return.
    #[derive(Debug)]
    pub(crate) struct Watch {
        pub(crate) second: Second,
    }

    impl Watch {
        crate::inner::prim::const_new! {
            pub(crate) fn new() -> Watch {
                Watch { second: Second::new() }
            }
        }

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(crate) fn turn(&self) -> TurnId {
            crate::workers::overflow::turn_of_worker(1)
        }

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(crate) fn begin(&self, _env: &'static Env, _name: fn() -> &'static str) {}

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(crate) fn end(&self) {}

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(crate) fn rest(&self) {}

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(crate) fn is_worker(&self) -> bool {
            false
        }

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(crate) fn is_dismissed(&self) -> bool {
            false
        }
    }
}

#[cfg(not(quiescent_model))]
mod real {
    use std::io::ErrorKind;
    use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};
    use std::time::Duration;

    use quiescent_engine::pool::TurnId;

    use crate::inner::domain::counters::{count, uncount};
    use crate::inner::domain::env::Env;
    use crate::inner::prim::alarm::os::{close, set_timer, timerfd};
    use crate::inner::prim::teller::Teller;
    use crate::inner::prim::{self, CELL_ROLE, CELL_SECOND, CELL_WATCHED};
    use crate::report::{Report, report};
    use crate::workers::overflow::{Second, turn_of_worker};
    use crate::workers::pool;

    /// A callback that runs for longer is taken for stuck, in nanoseconds.
    pub(crate) const STUCK: u64 = 1_000_000_000;
    /// So many callbacks that are stuck at a time get a thread each; with more, the others have to wait.
    const MOST: u32 = 16;
    /// The role of a worker that somebody else has replaced.
    const DISMISSED: usize = usize::MAX;

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
        /// Callbacks found stuck so far.
        stuck: AtomicU64,
        /// Those of them that have not come back.
        away: AtomicU32,
        /// The reporter has been called for one of them, and has not returned.
        pub(crate) telling: Teller,
        /// The second worker, whom the worker looks after.
        pub(crate) second: Second,
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
                away: AtomicU32::new(0),
                telling: Teller::new(),
                second: Second::new(),
            }
        }

        /// The name of the calling worker's turns.
        #[allow(clippy::unused_self, reason = "models have no threads of ours")]
        pub(crate) fn turn(&self) -> TurnId {
            turn_of_worker(prim::tls_get(CELL_ROLE) as u32)
        }

        /// The number of whoever is the worker, or of the first to come.
        pub(crate) fn role(&self) -> u32 {
            self.role.load(Ordering::Relaxed)
        }

        /// The calling thread is the worker from now on.
        pub(crate) fn take_role(&self, role: u32) {
            prim::tls_set(CELL_ROLE, role as usize);
        }

        /// The calling thread is through with being a worker.
        pub(crate) fn leave(&self) {
            prim::tls_set(CELL_ROLE, 0);
        }

        /// In the child of a fork: nobody has the role or stands by. If the thread that forked is a worker
        /// (in a callback), it goes home from there as one that was replaced.
        pub(crate) fn forked(&self) {
            close(&self.timer);
            self.role.fetch_add(1, Ordering::Relaxed);
            self.since.store(0, Ordering::Relaxed);
            self.armed.store(0, Ordering::Relaxed);
            self.standby.store(NOBODY, Ordering::Relaxed);
            self.stuck.store(0, Ordering::Relaxed);
            let ours = prim::tls_get(CELL_ROLE) != 0 || prim::tls_get(CELL_SECOND) != 0;
            let dismissed = u32::from(ours);
            self.second.forked();
            self.away.store(dismissed, Ordering::Relaxed);
        }

        /// Is the calling thread a worker whose role somebody else has now?
        pub(crate) fn is_dismissed(&self) -> bool {
            let role = prim::tls_get(CELL_ROLE);
            (role != 0 && role != self.role.load(Ordering::Acquire) as usize)
                || self.second.is_dismissed()
        }

        pub(crate) fn is_worker(&self) -> bool {
            prim::tls_get(CELL_ROLE) == self.role.load(Ordering::Relaxed) as usize
        }

        /// A callback is about to run in this thread.
        pub(crate) fn begin(&self, env: &'static Env, name: fn() -> &'static str) {
            if !self.is_worker() {
                return;
            }
            prim::tls_set(CELL_WATCHED, 1);
            let now = prim::coarse_ns();
            self.name.store(name as *mut (), Ordering::Relaxed);
            self.since.store(now, Ordering::Release);
            if self.armed.load(Ordering::Relaxed) == 0 {
                self.stand_by(env);
                self.armed.store(1, Ordering::Relaxed);
                set_timer(self.timer.load(Ordering::Relaxed), now + STUCK);
            }
        }

        /// It has returned. If the stand-by was faster, it has the role now, or is about to take it.
        pub(crate) fn end(&self) {
            let watched = prim::tls_get(CELL_WATCHED) != 0;
            prim::tls_set(CELL_WATCHED, 0);
            if watched && self.is_worker() && self.since.swap(0, Ordering::AcqRel) == 0 {
                prim::tls_set(CELL_ROLE, DISMISSED);
            }
        }

        /// The calling thread ends inside the program's code. If it is the worker, it is that no more, and somebody else
        /// has to be, with this number.
        pub(crate) fn resign(&self) -> Option<u32> {
            self.end();
            // Nobody else can take the role now: no callback is running.
            self.is_worker()
                .then(|| self.role.fetch_add(1, Ordering::AcqRel) + 1)
        }

        /// A worker that was replaced is through with its callback, and ends.
        pub(crate) fn come_back(&self) {
            self.away.fetch_sub(1, Ordering::Relaxed);
        }

        /// A callback was found stuck: its thread is away until it comes back.
        pub(crate) fn note_stuck(&self) {
            self.stuck.fetch_add(1, Ordering::Relaxed);
            self.away.fetch_add(1, Ordering::Relaxed);
        }

        /// Are so many stuck that no more threads are made for it?
        pub(crate) fn is_full(&self) -> bool {
            self.away.load(Ordering::Relaxed) >= MOST
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
        fn stand_by(&self, env: &'static Env) {
            if self.standby.load(Ordering::Relaxed) != NOBODY || self.is_full() {
                return;
            }
            if self.timer.load(Ordering::Relaxed) < 0 {
                let _known_to_forks = env.alarm.timer();
                self.timer.store(timerfd(), Ordering::Relaxed);
            }
            let started = self.timer.load(Ordering::Relaxed) >= 0
                && pool::spawn(c"quiescent-2", move || env.watch.watch(env)).is_ok();
            if started {
                self.standby.store(STANDING_BY, Ordering::Relaxed);
            } else {
                count(&env.state.counters.worker_errors);
            }
        }

        /// The stand-by: sleeps until the timer fires and some callback has run for too long; then it is
        /// the worker.
        fn watch(&'static self, env: &'static Env) {
            count(&env.state.counters.helpers);
            let Some(running) = self.claim() else {
                // Somebody has closed the timer. The next round starts anew, with another one.
                self.timer.store(-1, Ordering::Relaxed);
                self.standby.store(NOBODY, Ordering::Release);
                count(&env.state.counters.worker_errors);
                uncount(&env.state.counters.helpers);
                return;
            };
            let name = self.name.load(Ordering::Relaxed);
            self.note_stuck();
            self.armed.store(0, Ordering::Relaxed);
            self.standby.store(NOBODY, Ordering::Relaxed);
            let role = self.role.fetch_add(1, Ordering::AcqRel) + 1;
            self.take_role(role);
            env.end_turns(turn_of_worker(role - 1));
            // SAFETY: `begin` stored a function of this type before it stored `since`.
            let name = unsafe { std::mem::transmute::<*mut (), fn() -> &'static str>(name) };
            self.tell(env, name(), running);
            env.serve(role);
        }

        /// Reports a stuck callback. The reporter is the program's code, and is watched like a callback:
        /// it may well want the lock that the stuck one holds. While it is out, nobody else is told.
        pub(crate) fn tell(&'static self, env: &'static Env, name: &'static str, running: u64) {
            if !self.telling.begin() {
                return;
            }
            self.begin(env, || "the reporter");
            report(Report::Stuck {
                name,
                running: Duration::from_nanos(running),
            });
            self.end();
            self.telling.end();
        }

        /// Waits until a callback has run for too long, and takes the role of the worker that runs it:
        /// whoever clears `since` first, we or it, has decided that. Its running time; `None` if the
        /// timer is gone.
        fn claim(&self) -> Option<u64> {
            loop {
                let mut times = 0u64;
                let timer = self.timer.load(Ordering::Relaxed);
                // SAFETY: eight writable bytes.
                let read = unsafe { libc::read(timer, (&raw mut times).cast(), 8) };
                if read != 8 {
                    match std::io::Error::last_os_error().kind() {
                        ErrorKind::Interrupted => continue,
                        _ => return None,
                    }
                }
                // By the clock that `begin` looked at: the other one may be ahead of it: by hours, after a virtual
                // machine was stopped.
                let since = self.since.load(Ordering::Acquire);
                let running = prim::coarse_ns().saturating_sub(since);
                let order = (Ordering::AcqRel, Ordering::Relaxed);
                if since != 0
                    && running >= STUCK
                    && self
                        .since
                        .compare_exchange(since, 0, order.0, order.1)
                        .is_ok()
                {
                    return Some(running);
                }
                if self.armed.load(Ordering::Relaxed) != 0 {
                    let left = match since {
                        0 => STUCK, // between two callbacks
                        _ => STUCK.saturating_sub(running).max(STUCK / 10),
                    };
                    set_timer(timer, prim::now_ns() + left);
                }
            }
        }
    }
}
