//! The second worker: invokes callbacks beside the first where they pile up, and does nothing else.
//!
//! When it is called, and when it is to rest, the engine says ([`pool`](quiescent_engine::pool)). It is started when
//! it is first called, and sleeps between two backlogs on a word of its own: a program without backlogs has no such
//! thread, and one whose backlog is over has one that never wakes. It makes no sweep, sets no timer, waits for no
//! grace period. Timers and takeovers, memory, and what it leaves behind are the worker's.
//!
//! # Turns
//! Both invoke a queue's code in turns: while one is at it, the other passes it by. Nothing that is passed by is
//! lost: the worker has passed by only what the second is at, and the second kicks it when it rests. Until then
//! the second goes round and round over all queues.
//!
//! # A callback that does not return
//! The worker's are watched by a stand-by ([`watch`](crate::workers::watchdog)); the second's are watched by the worker. While
//! the second is on duty, the worker looks at least once in the time after which a callback counts as stuck. It
//! then takes the second's post away, as a stand-by would, and ends its turn: the thread that comes back after all
//! finds another number, and ends. A worker that waits for a grace period looks after that.

use quiescent_engine::pool::TurnId;

use crate::inner::defer::run;
use crate::inner::defer::sweep::Until;
use crate::inner::domain::env::Env;
use crate::inner::domain::state::State;
use crate::inner::queue::per_thread::Queue;

#[cfg(quiescent_model)]
pub(crate) use model::Second;
#[cfg(not(quiescent_model))]
pub(crate) use real::Second;

/// The name of the turns of whoever was made worker with this number.
pub(crate) fn turn_of_worker(role: u32) -> TurnId {
    TurnId::MIN | (role << 1)
}

/// The same for the second worker.
pub(crate) fn turn_of_second(role: u32) -> TurnId {
    TurnId::new(role << 1).unwrap_or(TurnId::MAX)
}

/// A worker's turn at a queue. It ends also where the thread is unwound.
struct Turn {
    state: &'static State,
    queue: &'static Queue,
    who: TurnId,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.state.end_turn(self.queue, self.who);
    }
}

impl State {
    /// Invokes what is done now of this queue's code, unless another worker is at it. Returns how much that was.
    pub(crate) fn run_turn(&'static self, queue: &'static Queue, who: TurnId, until: Until) -> u64 {
        let mut core = queue.lock();
        if core.cpu.is_empty() || run::in_callback() {
            return 0;
        }
        let mut global = self.lock();
        global.advance(&mut core.cpu);
        let takes = global.take_turn(&mut core.cpu, who);
        let overflow = global.calls_second();
        drop(global);
        let closures = core.cpu.list(quiescent_engine::Lane::Code).ready();
        let heads = core.cpu.list(quiescent_engine::Lane::Head).ready();
        drop(core);
        if overflow {
            self.env().call_overflow(self);
        }
        if !takes {
            return 0;
        }
        let _turn = Turn {
            state: self,
            queue,
            who,
        };
        self.run_code(queue, closures, until) + self.run_heads(queue, heads, until)
    }

    fn end_turn(&'static self, queue: &'static Queue, who: TurnId) {
        let mut core = queue.lock();
        let mut global = self.lock();
        global.end_turn(&mut core.cpu, who);
        let overflow = global.calls_second();
        drop(global);
        drop(core);
        if overflow {
            self.env().call_overflow(self);
        }
    }

    /// What the overflow worker does here when it is called, until it is to rest. The worker looks after what it
    /// leaves.
    fn relieve(&'static self, who: TurnId) {
        let until = Until { deadline: None };
        let mut rests = false;
        while !rests {
            let mut ran = 0;
            for queue in self.queues() {
                let now = self.run_turn(queue, who, until);
                if until.is_over() {
                    return; // replaced: another thread has rested in its place
                }
                ran += now;
                rests = now > 0 && self.lock().stand_down(false);
                if rests {
                    break;
                }
            }
            rests |= ran == 0 && self.lock().stand_down(true);
        }
        self.call();
    }
}

impl Env {
    /// Whoever had turns of this name was replaced.
    #[cfg(not(quiescent_model))]
    pub(crate) fn end_turns(&'static self, who: TurnId) {
        for state in self.states() {
            for queue in state.queues() {
                if queue.lock().cpu.turn() == Some(who) {
                    state.end_turn(queue, who);
                }
            }
        }
    }

    /// What the overflow worker does when it is called: it goes through the domains that have called.
    pub(crate) fn relieve(&'static self, who: TurnId) {
        for state in self.states() {
            if state.lock().engine.second_is_on_duty() {
                state.relieve(who);
            }
            if self.watch.is_dismissed() {
                return;
            }
        }
    }
}

#[cfg(quiescent_model)]
mod model {
    use crate::inner::domain::env::Env;
    use crate::inner::domain::state::State;
    use crate::inner::prim::{self, AtomicU32, Ordering, const_new};

    /// In models a scenario's own thread plays the second worker, and callbacks return.
    #[derive(Debug)]
    pub(crate) struct Second {
        /// Calls, as in the product.
        calls: AtomicU32,
    }

    impl Second {
        const_new! {
            pub(crate) fn new() -> Second {
                Second { calls: AtomicU32::new(0) }
            }
        }

        /// Sleeps until there are more calls than these; returns how many.
        pub(crate) fn sleep(&self, calls: u32) -> u32 {
            loop {
                let now = self.calls.load(Ordering::Acquire);
                if now != calls {
                    return now;
                }
                prim::futex_wait(&self.calls, calls, None);
            }
        }

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(crate) fn begin(&self, _name: fn() -> &'static str) {}

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(crate) fn end(&self) {}
    }

    impl Env {
        pub(crate) fn call_overflow(&'static self, _: &State) {
            let calls = &self.watch.second.calls;
            calls.fetch_add(1, Ordering::Release);
            prim::futex_wake(calls);
        }

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(crate) fn look_at_overflow(&'static self) {}

        #[allow(clippy::unused_self, reason = "the same face as in the product")]
        pub(crate) fn overflow_look(&self) -> Option<u64> {
            None
        }
    }
}

#[cfg(not(quiescent_model))]
mod real {
    use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
    use std::thread;

    use super::turn_of_second;
    use crate::inner::domain::counters::{count, uncount};
    use crate::inner::domain::env::Env;
    use crate::inner::domain::state::State;
    use crate::inner::prim::{self, CELL_SECOND};
    use crate::workers::pool;
    use crate::workers::watchdog::STUCK;

    /// No such thread.
    const NONE: u32 = 0;
    const STARTED: u32 = 1;
    /// The post of a second worker that was replaced.
    const DISMISSED: usize = usize::MAX;

    /// The second worker's post.
    #[derive(Debug)]
    pub(crate) struct Second {
        /// Who has it: a number that goes up with every change.
        role: AtomicU32,
        state: AtomicU32,
        /// Calls: what it sleeps on.
        calls: AtomicU32,
        /// Since when its callback runs, 0 if none does.
        since: AtomicU64,
        /// The function that tells its name.
        name: AtomicPtr<()>,
    }

    /// A callback that does not return.
    struct Stuck {
        name: fn() -> &'static str,
        /// For so long, in nanoseconds.
        running: u64,
        /// The number that had the post.
        role: u32,
    }

    impl Second {
        pub(crate) const fn new() -> Second {
            Second {
                role: AtomicU32::new(1),
                state: AtomicU32::new(NONE),
                calls: AtomicU32::new(0),
                since: AtomicU64::new(0),
                name: AtomicPtr::new(std::ptr::null_mut()),
            }
        }

        /// In the child of a fork there is none. If the thread that forked is one (in a callback), it goes home
        /// from there as one that was replaced.
        pub(crate) fn forked(&self) {
            self.role.fetch_add(1, Ordering::Relaxed);
            self.state.store(NONE, Ordering::Relaxed);
            self.since.store(0, Ordering::Relaxed);
        }

        fn is_here(&self) -> bool {
            let role = prim::tls_get(CELL_SECOND);
            role != 0 && role == self.role.load(Ordering::Acquire) as usize
        }

        /// Is the calling thread a second worker whose post was taken away?
        pub(crate) fn is_dismissed(&self) -> bool {
            prim::tls_get(CELL_SECOND) != 0 && !self.is_here()
        }

        /// A callback is about to run in this thread.
        pub(crate) fn begin(&self, name: fn() -> &'static str) {
            if self.is_here() {
                self.name.store(name as *mut (), Ordering::Relaxed);
                self.since.store(prim::coarse_ns(), Ordering::Release);
            }
        }

        /// It has returned. If the worker was faster, the post is gone, or about to go.
        pub(crate) fn end(&self) {
            if self.is_here() && self.since.swap(0, Ordering::AcqRel) == 0 {
                prim::tls_set(CELL_SECOND, DISMISSED);
            }
        }

        /// Takes the post from a thread whose callback has run for too long: whoever clears `since` first, we or
        /// it, has decided that.
        fn claim(&self) -> Option<Stuck> {
            let since = self.since.load(Ordering::Acquire);
            let running = prim::coarse_ns().saturating_sub(since); // the clock that `begin` looked at
            if since == 0 || running < STUCK {
                return None;
            }
            let name = self.name.load(Ordering::Relaxed);
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            self.since
                .compare_exchange(since, 0, order.0, order.1)
                .ok()?;
            let role = self.role.fetch_add(1, Ordering::AcqRel);
            self.state.store(NONE, Ordering::Release);
            // SAFETY: `begin` stored a function of this type before it stored `since`.
            let name = unsafe { std::mem::transmute::<*mut (), fn() -> &'static str>(name) };
            Some(Stuck {
                name,
                running,
                role,
            })
        }
    }

    impl Env {
        /// A worker starts: there may be an overflow worker, as far as is known.
        pub(crate) fn hope_for_overflow(&'static self) {
            self.states().for_each(|state| state.lock().set_workers(2));
        }

        /// Wakes the overflow worker for a domain. Its engine says so once, and not again before it was told to rest.
        #[cold]
        pub(crate) fn call_overflow(&'static self, state: &'static State) {
            let second = &self.watch.second;
            // The worker has to look at it now and then, also if it sleeps.
            state.arm_alarm(prim::now_ns() + STUCK);
            let first = (NONE, STARTED);
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            if second
                .state
                .compare_exchange(first.0, first.1, order.0, order.1)
                .is_err()
            {
                second.calls.fetch_add(1, Ordering::Release);
                prim::futex_wake(&second.calls);
                return;
            }
            let role = second.role.load(Ordering::Relaxed);
            let body = move || self.serve_as_second(role);
            let full = self.watch.is_full();
            // Asked here and not when the worker starts: it takes a look at files.
            let alone = !thread::available_parallelism().is_ok_and(|it| it.get() > 1);
            let refused = !full && !alone && pool::spawn(c"quiescent-3", body).is_err();
            if full || alone || refused {
                second.state.store(NONE, Ordering::Release);
                let mut core = state.lock();
                core.stand_down(true);
                if alone || refused {
                    core.set_workers(1); // there is no processor for it, or no thread to be had
                }
                if refused {
                    count(&state.counters.worker_errors);
                }
            }
        }

        fn serve_as_second(&'static self, role: u32) {
            let counters = &self.state.counters;
            count(&counters.helpers);
            prim::tls_set(CELL_SECOND, role as usize);
            let second = &self.watch.second;
            loop {
                let calls = second.calls.load(Ordering::Acquire);
                self.relieve(turn_of_second(role));
                if second.is_dismissed() {
                    self.watch.come_back();
                    break;
                }
                while second.calls.load(Ordering::Acquire) == calls {
                    prim::futex_wait(&second.calls, calls, None);
                }
            }
            uncount(&counters.helpers);
        }

        /// The overflow worker is gone: the worker has all there is to do, until another one is called.
        fn stand_all_down(&'static self) {
            self.states().for_each(|state| {
                state.lock().stand_down(true);
            });
        }

        /// The calling thread, which has been the overflow worker, ends inside the program's code.
        pub(crate) fn lose_second(&'static self) {
            let second = &self.watch.second;
            second.end();
            if second.is_dismissed() {
                self.watch.come_back();
            } else {
                let role = second.role.fetch_add(1, Ordering::AcqRel);
                second.state.store(NONE, Ordering::Release);
                self.end_turns(turn_of_second(role));
                self.stand_all_down();
                self.states().for_each(State::call);
            }
            prim::tls_set(CELL_SECOND, 0);
            uncount(&self.state.counters.helpers);
        }

        /// The worker looks whether the overflow worker is stuck.
        pub(crate) fn look_at_overflow(&'static self) {
            if let Some(stuck) = self.watch.second.claim() {
                self.watch.note_stuck();
                self.end_turns(turn_of_second(stuck.role));
                self.stand_all_down();
                self.states().for_each(State::call); // what it leaves is ours
                self.watch.tell(self, (stuck.name)(), stuck.running);
            }
        }

        /// When the worker has to look at it again.
        pub(crate) fn overflow_look(&'static self) -> Option<u64> {
            let on_duty = |state: &State| state.lock().engine.second_is_on_duty();
            self.states().any(on_duty).then(|| prim::now_ns() + STUCK)
        }
    }
}
