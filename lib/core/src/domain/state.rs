//! The state of a domain: exists once a callback is queued in it, or a caller waits for its grace periods.
//!
//! It is created at the first use that is not a read, and stays with its domain. The process's state is a
//! `static`. This file holds the data and its inspection; the operations are in the
//! [driver](crate::domain::driver), in [queueing](crate::domain::enqueue), and in the worker's
//! [pass](crate::domain::pass).

use std::sync::PoisonError;
use std::time::Duration;

use quiescent_engine::barrier::Barrier;
use quiescent_engine::budget::Level;
use quiescent_engine::{CbList, Config, Global, Now, Seq};

use crate::domain::counters::Counters;
use crate::domain::env::{Env, FenceTime, Fenced};
use crate::domain::error::SyncError;
use crate::domain::gate::Gate;
use crate::domain::life::Domain;
use crate::domain::report;
use crate::domain::settings::Settings;
use crate::domain::tasks::Tasks;
use crate::domain::waiters::WaitList;
use crate::os::NO_MEMORY;
use crate::prim::counters::{Counter, count, value};
use crate::prim::fixed::Fixed;
use crate::prim::linked::{Linked, List};
use crate::prim::teller::Teller;
use crate::prim::{
    self, AtomicU32, AtomicU64, LEAF_SLOTS, Mutex, MutexGuard, Ordering, linked, now_ns,
};
use crate::queue::block::Block;
use crate::queue::common::Common;
use crate::queue::meter::UNNAMED;
use crate::queue::per_thread::Queue;
use crate::reader::bitmap::UnderLock;
use crate::reader::holdout::Holdout;
use crate::reader::local::Local;
use crate::reader::set::{DomainReaders, ReaderSet, View};

/// No driver sleeps.
pub const NO_SLEEPER: u32 = 0;

/// Pending report: the budget is exceeded.
pub const OVER_BUDGET: u32 = 1;
/// Pending work: tasks whose barrier has ended have to be woken.
pub const TASKS_WAIT: u32 = 2;

/// The data that the lock protects.
#[derive(Debug)]
pub struct Core {
    pub engine: Global,
    pub waiters: WaitList,
    pub barrier: Barrier,
    pub gate: Gate,
    /// Shown to what may be called under the lock only.
    pub lock: UnderLock,
    /// What has a deadline is due from this time on at the earliest, though its deadline was computed to be
    /// before. For a statistic.
    pub due_from: u64,
}

impl Core {
    /// The time from which on the worker is late.
    pub fn due(&self) -> Option<u64> {
        self.engine.armed().map(|at| at.max(self.due_from))
    }
}

/// The state of a domain.
#[derive(Debug)]
pub struct State {
    /// The domain of this state.
    domain: Fixed<Domain>,
    /// The driver that sleeps, or is about to, on this futex: derived from its driver epoch.
    pub sleeper: AtomicU32,
    /// The root's `gp_seq`, for polls without the lock.
    pub root_seq: AtomicU64,
    core: Mutex<Core>,
    pub counters: Counters,
    /// The queue of threads that have none, and of intrusive callbacks that such threads queue. The queues of
    /// threads are behind it.
    pub shared: Queue,
    sweep: Mutex<()>,
    /// The futex on which waiters of barriers sleep. `[BAR-1]`
    pub barrier_word: AtomicU32,
    /// Tasks that wait for the barrier or for grace periods.
    pub tasks: Tasks,
    /// Number of drains that wait for callbacks that other threads run, and the word that changes when one
    /// has returned.
    pub drainers: AtomicU32,
    pub drain_word: AtomicU32,
    /// The queue at which the next bounded drain begins.
    pub drain_turn: AtomicU32,
    /// The `errno` with which the worker's fence was refused; 0 if it was not.
    refused: AtomicU32,
    /// A stall is being reported.
    pub telling: Teller,
    /// Pending reports to the program: [`OVER_BUDGET`], [`TASKS_WAIT`].
    pub unreported: AtomicU32,
    /// Who runs and frees, as in [`Settings`].
    pub flags: AtomicU32,
    /// The budget level that the engine computed last, readable without the lock.
    pub level: Counter,
    /// The worker waits to be called when a grace period can continue. `[CT-1]`
    pub interested: AtomicU32,
    /// How often it has looked at readers that execute fences since then. `[RD-4]`
    pub naps: AtomicU32,
    /// The worker is to process this state, whatever the time.
    pub called: AtomicU32,
    /// The time of the first call that the worker has not seen; 0 for none. For a statistic only: the models
    /// do not see it.
    pub called_at: std::sync::atomic::AtomicU64,
    /// What was due at this time or before has been counted as late. As above.
    pub late_to: std::sync::atomic::AtomicU64,
    /// The worker is to process this state at this time at the latest; 0 for never.
    pub look_at: AtomicU64,
    /// The domain's number in telemetry.
    pub(crate) place: AtomicU32,
    /// The guards of its locks while this process forks.
    pub parked: crate::prim::parked::Parked<Core>,
    pub parked_sweep: crate::prim::parked::Parked<()>,
    /// The states that were made before this one.
    made_before: List<State>,
    #[cfg(all(test, not(quiescent_model)))]
    pub probe: Probe,
}

impl Linked for State {
    fn rest(&self) -> &List<State> {
        &self.made_before
    }
}

/// Inputs and counters for tests of the driver.
#[cfg(all(test, not(quiescent_model)))]
#[derive(Debug)]
pub struct Probe {
    /// The `errno` with which fences are refused; 0 for none.
    pub errno: AtomicU32,
    /// Number of times the lock was taken.
    pub locks: AtomicU64,
    /// Number of grace periods that have ended.
    pub ended: AtomicU64,
    /// Number of stalls that were to be reported.
    pub reported: AtomicU64,
}

impl State {
    const_new! {
        /// # Safety
        /// The state is placed at `place` and stays there forever; the others live forever, too.
        pub unsafe fn new(
            place: *const State,
            config: Config,
            domain: *const Domain,
            common: *const Common,
            nothing: &'static Block,
        ) -> State {
            let engine = Global::new(config);
            State {
                // SAFETY: the caller's promise.
                domain: unsafe { Fixed::new(domain) },
                sleeper: AtomicU32::new(NO_SLEEPER),
                root_seq: AtomicU64::new(Seq::INITIAL.to_bits()),
                core: Mutex::new(Core {
                    engine,
                    waiters: WaitList::new(),
                    barrier: Barrier::new(),
                    gate: Gate::new(),
                    lock: UnderLock::new(),
                    due_from: 0,
                }),
                counters: Counters::new(),
                // SAFETY: the caller's promise.
                shared: unsafe { Queue::new(0, common, place.cast(), nothing) },
                sweep: Mutex::new(()),
                barrier_word: AtomicU32::new(0),
                tasks: Tasks::new(),
                drainers: AtomicU32::new(0),
                drain_word: AtomicU32::new(0),
                drain_turn: AtomicU32::new(0),
                refused: AtomicU32::new(0),
                telling: Teller::new(),
                unreported: AtomicU32::new(0),
                flags: AtomicU32::new(0),
                level: Counter::new(Level::Easy as u64),
                interested: AtomicU32::new(0),
                naps: AtomicU32::new(0),
                called: AtomicU32::new(0),
                called_at: std::sync::atomic::AtomicU64::new(0),
                late_to: std::sync::atomic::AtomicU64::new(0),
                look_at: AtomicU64::new(0),
                place: AtomicU32::new(0),
                parked: crate::prim::parked::Parked::new(),
                parked_sweep: crate::prim::parked::Parked::new(),
                made_before: List::new(),
                #[cfg(all(test, not(quiescent_model)))]
                probe: Probe {
                    errno: AtomicU32::new(0),
                    locks: AtomicU64::new(0),
                    ended: AtomicU64::new(0),
                    reported: AtomicU64::new(0),
                },
            }
        }
    }

    /// The policy of a domain of threads.
    pub const fn config() -> Config {
        let mut config = Config::threads();
        config.leaf = LEAF_SLOTS as u32;
        config.pace.stall_ns = report::DEFAULT_NS;
        config.pool.workers = if cfg!(any(feature = "helpers", quiescent_model)) {
            2
        } else {
            1
        };
        config
    }

    /// A leaked state for a domain of the program.
    pub fn leak(domain: &'static Domain) -> &'static State {
        let mut config = State::config();
        if domain.readers.counted().is_some() {
            config = Config {
                pace: config.pace,
                ..Config::sleepable()
            };
        }
        if domain.readers.foreign().is_some() {
            // Their programs expect that a callback runs soon, and have nothing lazier for many.
            config.defer.prompt_growth = 4;
        }
        State::leak_with(domain, config)
    }

    /// The same with a policy of its own.
    pub fn leak_with(domain: &'static Domain, config: Config) -> &'static State {
        let place = Box::leak(Box::<State>::new_uninit());
        let common = &domain.env().common;
        // SAFETY: the state is written to the address that it is given, and never freed.
        place.write(unsafe { State::new(place.as_ptr(), config, domain, common, common.nothing) })
    }

    /// The state of a queue.
    #[inline]
    pub fn of(queue: &Queue) -> &'static State {
        // SAFETY: a queue is created with a state of this type, which lives forever.
        unsafe { &*queue.state.place().cast::<State>() }
    }

    /// The domain of this state.
    #[inline]
    pub fn domain(&self) -> &'static Domain {
        self.domain.get()
    }

    /// The environment of the process.
    #[inline]
    pub fn env(&self) -> &'static Env {
        self.domain().env()
    }

    /// True for the process's domain.
    pub fn is_home(&self) -> bool {
        self.domain().readers.is_threads()
    }

    /// True if the calling thread is in a section that these grace periods may wait for.
    pub fn in_section(&self) -> bool {
        self.in_section_of(&self.env().local())
    }

    /// The same, for a caller that has its [`Local`].
    #[inline]
    pub fn in_section_of(&self, local: &Local) -> bool {
        self.env().threads.in_section(local) || self.is_inside()
    }

    /// True if the calling thread runs a callback.
    pub fn in_callback(&self) -> bool {
        self.env().local().in_callback()
    }

    /// True far from the budget. A hint.
    pub fn is_easy(&self) -> bool {
        value(&self.level) == Level::Easy as u64
    }

    /// The readers that its grace periods wait for.
    #[inline]
    pub fn readers(&self) -> ReaderSet<'static> {
        ReaderSet(&self.domain().readers, &self.env().threads)
    }

    /// The lock that serializes sweeps.
    pub fn sweeping(&self) -> MutexGuard<'_, ()> {
        self.sweep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn lock(&self) -> MutexGuard<'_, Core> {
        #[cfg(all(test, not(quiescent_model)))]
        self.probe.locks.fetch_add(1, Ordering::Relaxed);
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn try_lock(&self) -> Option<MutexGuard<'_, Core>> {
        self.core.try_lock().ok()
    }

    /// The present time for the engine.
    pub fn now(ns: u64) -> Now {
        Now { ns }
    }

    /// The fence of a grace period or a take-over: for waiters, or for deferred work.
    pub fn fence(&self, deferred: bool) -> Fenced {
        #[cfg(all(test, not(quiescent_model)))]
        match self.probe.errno.load(Ordering::Relaxed) {
            0 => {}
            errno => return Err(errno as i32),
        }
        match deferred {
            true => self.env().deferred_fence_for(1, Some(self.domain())),
            false => self.env().heavy_fence(1).map(|()| None),
        }
    }

    /// True if one of these is set.
    #[inline]
    pub fn has(&self, flags: u32) -> bool {
        self.flags.load(Ordering::Relaxed) & flags != 0
    }

    // The worker.

    /// True if a reader's end may go unheard: that of a thread that executes fences, except by an `Srcu`,
    /// whose sections end with one; and that of a foreign reader, which knows no worker. `[RD-4]`
    pub fn may_miss_readers(&self) -> bool {
        match &self.domain().readers {
            DomainReaders::Counted(_) => false,
            DomainReaders::Foreign(_) => true,
            _ => self.env().threads.mode.threads_fence(),
        }
    }

    /// Calls the worker to this state, if it waits for a grace period. `[CT-1]`
    #[inline(never)]
    pub fn call_worker_if_interested(&self) {
        if self.interested.load(Ordering::Acquire) != 0 {
            self.call();
        }
    }

    /// Calls the worker to this state. (A worker exists.)
    #[inline(never)]
    pub fn call(&self) {
        if self.called_at.load(Ordering::Relaxed) == 0 {
            self.called_at.store(now_ns(), Ordering::Relaxed);
        }
        self.called.store(1, Ordering::Release); // before the swap of [ALM-1]
        self.env().alarm.kick();
    }

    /// A grace period has ended since the last call. Called with no lock held.
    #[inline(never)]
    pub fn gp_ended(&self) {
        #[cfg(all(test, not(quiescent_model)))]
        self.probe.ended.fetch_add(1, Ordering::Relaxed);
        self.call_worker_if_interested();
        self.env().publish();
    }

    /// The worker cannot continue; records the error for its waiters. True if it never will; false if a later
    /// attempt may succeed.
    pub fn refuse(&self, error: &SyncError) -> bool {
        count(&self.counters.worker_errors);
        let SyncError::FenceRefused { errno } = *error else {
            return false;
        };
        if errno == NO_MEMORY {
            return false;
        }
        self.refused.store(errno.unsigned_abs(), Ordering::Release);
        true
    }

    /// Why the worker cannot continue.
    pub fn refusal(&self) -> Option<SyncError> {
        match self.refused.load(Ordering::Acquire) {
            0 => None,
            errno => Some(SyncError::FenceRefused {
                errno: errno.cast_signed(),
            }),
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::new(&State::config(), UNNAMED)
    }
}

impl Core {
    /// The engine, and what it may query of the readers.
    pub fn beside<'a>(&'a mut self, readers: ReaderSet<'a>) -> (&'a mut Global, View<'a>) {
        (&mut self.engine, readers.under(&self.lock))
    }

    /// The grace period's fence has ended.
    pub fn fence_ended(&mut self, time: Option<FenceTime>) {
        if let Some(FenceTime { took_ns, ended_ns }) = time {
            self.engine.fence_ended(took_ns, ended_ns);
        }
    }

    /// Forgets a timer that has fired.
    pub fn expire(&mut self, now_ns: u64) {
        if self.engine.armed().is_some_and(|armed| armed <= now_ns) {
            self.engine.disarm();
        }
    }
}

impl State {
    /// In the child of a fork, under the locks that *prepare* took: no driver, waiter, report or drain of
    /// another thread exists.
    ///
    /// Kept are the identity; the queues and locks, which the caller resets; the words on which no thread
    /// sleeps here, which only change; the program's settings, and the level; a refusal, since a filter of
    /// system calls is inherited; the parent's clock, `late_to`. Tasks too, since the forking thread's own
    /// may be among them: the next end wakes them all.
    #[cfg(feature = "fork")]
    pub fn forked(&'static self, core: &mut Core) {
        core.due_from = now_ns(); // what was due in the parent
        core.waiters = WaitList::new();
        core.gate.forked();
        core.engine.forked();
        core.barrier.forked();
        self.counters.forked();
        self.sleeper.store(NO_SLEEPER, Ordering::Relaxed);
        let counts = [&self.unreported, &self.drainers, &self.naps];
        for word in [&self.interested, &self.called].into_iter().chain(counts) {
            word.store(0, Ordering::Relaxed);
        }
        self.called_at.store(0, Ordering::Relaxed);
        self.look_at.store(0, Ordering::Relaxed);
        self.telling.end();
    }
}

/// The largest number of readers that are named.
const MOST_NAMED: usize = 64;

impl State {
    /// The readers that the grace period in flight waits for, at most 64 of them.
    pub fn holdouts(&self) -> Vec<Holdout> {
        let mut seen = [(0, 0); MOST_NAMED];
        let mut found = 0;
        let readers = self.readers();
        let core = self.lock();
        for (place, cpu) in seen.iter_mut().zip(core.engine.holdouts()) {
            *place = (cpu, readers.stamp(cpu));
            found += 1;
        }
        drop(core);
        let named = seen[..found].iter();
        let named = named.flat_map(|&(cpu, stamp)| readers.named(cpu, stamp));
        named.take(MOST_NAMED).collect()
    }

    /// All queues: the shared one and those of threads. Threads that only read have none.
    pub fn queues(&'static self) -> linked::Iter<Queue> {
        linked::Iter::from(&self.shared)
    }

    /// Sets the domain's number in telemetry.
    pub fn set_place(&'static self, place: u32) {
        self.place.store(place, Ordering::Relaxed);
        self.queues()
            .for_each(|queue| queue.lock().cursor.set_place(place));
    }

    /// The domain's name.
    pub fn name(&self) -> Option<&'static str> {
        let name = self.domain().settings().name;
        (!name.is_empty()).then_some(name)
    }

    /// True if nothing is queued and no thread waits. Waits for no lock. (A grace period that was requested
    /// and never waited for may still be pending; the next waiter's grace period includes it.)
    pub fn is_at_rest(&'static self) -> bool {
        let busy = |core: MutexGuard<'_, Core>| core.engine.is_driven() || core.barrier.in_flight();
        let empty = |queue: &Queue| {
            queue
                .try_lock()
                .is_some_and(|core| core.cpu.is_empty() && queue.unreported(&core).count == 0)
        };
        self.tasks.is_known_empty()
            && self.queues().all(empty)
            && self.unreported.load(Ordering::Relaxed) == 0
            && self.try_lock().is_some_and(|core| !busy(core))
    }

    /// Callbacks and objects that are queued or running, and their bytes, as the budget counts them; also
    /// those not yet reported to the engine.
    pub fn held(&'static self) -> (u64, u64) {
        let mut held = (0, 0);
        for queue in self.queues() {
            let core = queue.lock();
            for list in core.cpu.lists() {
                held.0 += list.len();
                held.1 += list.bytes();
            }
            let unreported = queue.unreported(&core);
            held.0 += unreported.count;
            held.1 += unreported.bytes;
        }
        held
    }

    /// An upper bound for the time that the oldest item has been queued, as far as it was reported to the
    /// engine.
    pub fn oldest(&'static self) -> Duration {
        let since = |queue: &Queue| {
            let core = queue.lock();
            let lists = core.cpu.lists().iter();
            lists.filter_map(CbList::since).min()
        };
        let oldest = self.queues().filter_map(since).min();
        let age = |since| prim::coarse_ns().saturating_sub(since);
        Duration::from_nanos(oldest.map_or(0, age))
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
