//! What a domain has once something is queued in it, or waits for its grace periods.
//!
//! It is made at the first use that is not a read, and stays with its domain. The process's is a `static`.
//! This file is the state itself and its looks; what happens with it is written beside what it is about: the
//! driver ([`gp`](crate::inner::gp)), queues and barriers ([`defer`](crate::inner::defer)), the worker's pass
//! ([`pass`](super::pass)).

use std::sync::PoisonError;
use std::time::Duration;

#[cfg(not(quiescent_model))]
use quiescent_engine::FullCookie;
use quiescent_engine::barrier::Barrier;
use quiescent_engine::{CbList, Config, Global, Now, Pace, Seq};

use crate::error::SyncError;
use crate::inner::defer::barrier::Gate;
use crate::inner::defer::tasks::Tasks;
use crate::inner::domain::counters::{Counters, count};
use crate::inner::domain::env::Env;
use crate::inner::domain::{Domain, Readers};
use crate::inner::gp::calls::Part;
use crate::inner::gp::readers::ReaderSet;
use crate::inner::gp::waiters::WaitList;
use crate::inner::prim::teller::Teller;
use crate::inner::prim::{
    self, AtomicPtr, AtomicU32, AtomicU64, LEAF_SLOTS, Mutex, MutexGuard, Ordering, const_new,
};
use crate::inner::queue::all::Queues;
use crate::inner::queue::per_thread::Queue;
use crate::statistics::{FenceMode, Holdout};
use crate::watch::telemetry;

/// No driver sleeps.
pub(crate) const SLEEPER_NOBODY: u32 = 0;

/// Readers that are named, at most.
const MOST_NAMED: usize = 64;

/// What the lock protects.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) engine: Part<Global>,
    pub(crate) waiters: WaitList,
    pub(crate) barrier: Part<Barrier>,
    pub(crate) gate: Gate,
}

/// The state of a domain.
#[derive(Debug)]
pub struct State {
    /// Whose it is; null for the process's.
    domain: AtomicPtr<Domain>,
    /// The driver that sleeps, or is about to, on this futex: a number of its epoch.
    pub(crate) sleeper: AtomicU32,
    /// The root's `gp_seq`, for polls without the lock.
    pub(crate) root_seq: AtomicU64,
    core: Mutex<Core>,
    pub(crate) counters: Counters,
    /// The queue of those who have none, and of intrusive callbacks then.
    pub(crate) shared: Queue,
    /// The queues of threads.
    pub(crate) made: Queues,
    sweep: Mutex<()>,
    pub(crate) barrier_word: AtomicU32,
    /// Tasks that wait for the barrier.
    pub(crate) wakers: Tasks,
    /// Tasks that wait for grace periods.
    #[cfg(not(quiescent_model))]
    pub(crate) tasks: Tasks<FullCookie>,
    /// Drains that wait for what others are running, and the word that changes when some has returned.
    pub(crate) drainers: AtomicU32,
    pub(crate) drain_word: AtomicU32,
    /// The queue at which the next bounded drain begins.
    pub(crate) drain_turn: AtomicU32,
    /// The program runs its code itself, when it drains.
    pub(crate) drained: AtomicU32,
    /// The `errno` with which the worker was refused its fence; 0 if it was not.
    refused: AtomicU32,
    /// A stall is being reported.
    pub(crate) telling: Teller,
    /// What the program is to be told: bits of [`budget`](crate::inner::defer::budget).
    pub(crate) untold: AtomicU32,
    /// Owners run their callbacks themselves.
    pub(crate) inline: AtomicU32,
    /// How near the budget is.
    pub(crate) level: crate::inner::defer::budget::LevelWord,
    /// Others reclaim what owners retire, unless an owner has asked for something else.
    pub(crate) offload: AtomicU32,
    /// The worker wants to know when a grace period may go on. `[CT-1]`
    pub(crate) interested: AtomicU32,
    /// The worker is to look here, whatever the time.
    pub(crate) called: AtomicU32,
    /// The worker is to look here at this time in any case; never, if 0.
    pub(crate) look_at: AtomicU64,
    /// The domain's number in telemetry.
    place: AtomicU32,
    /// Its locks, while this process forks.
    #[cfg(not(quiescent_model))]
    pub(crate) parked: crate::global::fork::Parked<Core>,
    #[cfg(not(quiescent_model))]
    pub(crate) parked_sweep: crate::global::fork::Parked<()>,
    #[cfg(all(test, not(quiescent_model)))]
    pub(crate) probe: Probe,
}

/// What tests of the driver ask a state, and tell it.
#[cfg(all(test, not(quiescent_model)))]
#[derive(Debug)]
pub(crate) struct Probe {
    /// What fences are refused with, if they are.
    pub(crate) errno: AtomicU32,
    /// How often the lock was taken.
    pub(crate) locks: AtomicU64,
    /// How often a grace period has ended.
    pub(crate) ended: AtomicU64,
    /// How often a stall was to be told.
    pub(crate) told: AtomicU64,
}

impl State {
    const_new! {
        pub(crate) fn new(config: Config) -> State {
            let engine = Global::new(config);
            State {
                domain: AtomicPtr::new(std::ptr::null_mut()),
                sleeper: AtomicU32::new(SLEEPER_NOBODY),
                root_seq: AtomicU64::new(Seq::INITIAL.to_bits()),
                core: Mutex::new(Core {
                    engine: Part::new(engine),
                    waiters: WaitList::new(),
                    barrier: Part::new(Barrier::new()),
                    gate: Gate::new(),
                }),
                counters: Counters::new(),
                shared: Queue::new(0, std::ptr::null_mut()),
                made: Queues::new(),
                sweep: Mutex::new(()),
                barrier_word: AtomicU32::new(0),
                wakers: Tasks::new(),
                #[cfg(not(quiescent_model))]
                tasks: Tasks::new(),
                drainers: AtomicU32::new(0),
                drain_word: AtomicU32::new(0),
                drain_turn: AtomicU32::new(0),
                drained: AtomicU32::new(0),
                refused: AtomicU32::new(0),
                telling: Teller::new(),
                untold: AtomicU32::new(0),
                inline: AtomicU32::new(0),
                level: crate::inner::defer::budget::LevelWord::new(),
                offload: AtomicU32::new(0),
                interested: AtomicU32::new(0),
                called: AtomicU32::new(0),
                look_at: AtomicU64::new(0),
                place: AtomicU32::new(0),
                #[cfg(not(quiescent_model))]
                parked: crate::global::fork::Parked::new(),
                #[cfg(not(quiescent_model))]
                parked_sweep: crate::global::fork::Parked::new(),
                #[cfg(all(test, not(quiescent_model)))]
                probe: Probe {
                    errno: AtomicU32::new(0),
                    locks: AtomicU64::new(0),
                    ended: AtomicU64::new(0),
                    told: AtomicU64::new(0),
                },
            }
        }
    }

    /// The policy of a domain of threads.
    pub(crate) const fn config() -> Config {
        let mut config = Config::threads();
        config.geometry.leaf_fanout = LEAF_SLOTS as u32;
        if let Pace::Direct { stall_ns, .. } = &mut config.pace {
            *stall_ns = crate::watch::stall::DEFAULT_NS;
        }
        config
    }

    /// A state for a domain of the program, for ever.
    pub(crate) fn leak(domain: &'static Domain) -> &'static State {
        let mut config = State::config();
        if domain.readers.is_counted() {
            config = Config {
                pace: config.pace,
                ..Config::sleepable()
            };
        }
        let state = Box::leak(Box::new(State::new(config)));
        state.belong_to(domain);
        state
    }

    pub(crate) fn belong_to(&self, domain: &'static Domain) {
        let domain = std::ptr::from_ref(domain).cast_mut();
        self.domain.store(domain, Ordering::Relaxed);
    }

    /// Whose it is.
    pub(crate) fn domain(&self) -> &'static Domain {
        // SAFETY: null, or a domain, and those live for ever.
        let own = unsafe { self.domain.load(Ordering::Relaxed).as_ref() };
        own.unwrap_or(&prim::env().home)
    }

    /// What there is one of in the process.
    #[inline]
    #[allow(clippy::unused_self, reason = "models have several")]
    pub(crate) fn env(&self) -> &'static Env {
        prim::env()
    }

    /// Is this the process's domain?
    pub(crate) fn is_home(&self) -> bool {
        self.domain.load(Ordering::Relaxed).is_null()
    }

    /// Those whom its grace periods wait for.
    #[inline]
    pub(crate) fn readers(&self) -> ReaderSet<'static> {
        match &self.domain().readers {
            Readers::Threads => ReaderSet::Threads(&self.env().slots),
            Readers::Spots(spots) => ReaderSet::Spots(spots),
            Readers::Counted(counted) => ReaderSet::Counted(counted),
        }
    }

    /// Sweeps go one at a time.
    pub(crate) fn sweeping(&self) -> MutexGuard<'_, ()> {
        self.sweep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        #[cfg(all(test, not(quiescent_model)))]
        self.probe.locks.fetch_add(1, Ordering::Relaxed);
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Core>> {
        self.core.try_lock().ok()
    }

    /// The present time for the engine; jiffies are milliseconds here.
    pub(crate) fn now(ns: u64) -> Now {
        Now {
            ns,
            jiffies: ns / 1_000_000,
        }
    }

    /// The fence of a grace period or a take-over.
    pub(crate) fn heavy_fence(&self) -> Result<(), i32> {
        #[cfg(all(test, not(quiescent_model)))]
        match self.probe.errno.load(Ordering::Relaxed) {
            0 => {}
            errno => return Err(errno as i32),
        }
        self.env().heavy_fence()
    }

    pub(crate) fn resolve_mode(&self) -> FenceMode {
        self.env().resolve_mode()
    }

    /// The readers that the grace period in flight waits for, at most 64 of them.
    pub(crate) fn holdouts(&self) -> Vec<Holdout> {
        let mut cpus = [0u32; MOST_NAMED];
        let mut found = 0;
        let core = self.lock();
        for (place, cpu) in cpus.iter_mut().zip(core.engine.holdouts()) {
            *place = cpu;
            found += 1;
        }
        drop(core);
        let readers = self.readers();
        let named = cpus[..found].iter();
        let named = named.flat_map(|&cpu| readers.named(cpu, &self.env().slots));
        named.take(MOST_NAMED).collect()
    }

    // The worker.

    /// Has the worker look here, if it waits for a grace period. `[CT-1]`
    pub(crate) fn tell_worker(&self) {
        if self.interested.load(Ordering::Acquire) != 0 {
            self.call();
        }
    }

    /// Has the worker look here. (There is one.)
    pub(crate) fn call(&self) {
        self.called.store(1, Ordering::Release); // before the swap of [ALM-1]
        self.env().alarm.kick();
    }

    /// A worker begins: it looks here first of all, whatever its predecessor was at.
    #[cfg(not(quiescent_model))]
    pub(crate) fn call_at_start(&self) {
        self.called.store(1, Ordering::Release);
    }

    /// A grace period has ended since this was called last. With no lock held.
    #[inline]
    pub(crate) fn gp_ended(&self) {
        #[cfg(all(test, not(quiescent_model)))]
        self.probe.ended.fetch_add(1, Ordering::Relaxed);
        self.tell_worker();
        telemetry::publish_if_on();
    }

    /// The driver is about to sleep until a reader or a time wakes it. With no lock held.
    #[inline]
    pub(crate) fn gp_waits(&self) {
        count(&self.counters.sleeps);
        telemetry::publish_if_on();
    }

    /// The worker cannot go on; whoever waits for it is told.
    /// True if it never will; false if the next try may succeed.
    pub(crate) fn refuse(&self, error: &SyncError) -> bool {
        count(&self.counters.worker_errors);
        let SyncError::FenceRefused { errno } = *error else {
            return false;
        };
        if errno == libc::ENOMEM {
            return false;
        }
        self.refused.store(errno.unsigned_abs(), Ordering::Release);
        true
    }

    /// Why the worker cannot go on.
    pub(crate) fn refusal(&self) -> Option<SyncError> {
        match self.refused.load(Ordering::Acquire) {
            0 => None,
            errno => Some(SyncError::FenceRefused {
                errno: errno.cast_signed(),
            }),
        }
    }

    // Looks.

    /// All queues there are: the shared one and those of threads. Threads that only read cost nothing.
    pub(crate) fn queues(&'static self) -> impl Iterator<Item = &'static Queue> {
        std::iter::once(&self.shared).chain(self.made.iter())
    }

    /// Its number in telemetry from now on.
    pub(crate) fn set_place(&'static self, place: u32) {
        self.place.store(place, Ordering::Relaxed);
        self.queues()
            .for_each(|queue| queue.lock().told.set_place(place));
    }

    /// Adds a queue of a thread.
    pub(crate) fn add_queue(&self, queue: &'static Queue) {
        if !self.is_home() {
            queue
                .lock()
                .told
                .set_place(self.place.load(Ordering::Relaxed));
        }
        self.made.add(queue);
    }

    /// What the domain is called.
    pub(crate) fn name(&self) -> Option<&'static str> {
        let name = self.domain().settings().name;
        (!name.is_empty()).then_some(name)
    }

    /// Is nothing held, and nothing waited for? Waits for no lock. (A grace period that was asked for and never
    /// waited for may be wanted still; who waits next takes it along.)
    pub(crate) fn is_at_rest(&'static self) -> bool {
        #[cfg(not(quiescent_model))]
        if !self.tasks.is_known_empty() {
            return false;
        }
        let busy = |core: MutexGuard<'_, Core>| core.engine.is_driven() || core.barrier.in_flight();
        let empty = |queue: &Queue| {
            queue
                .try_lock()
                .is_some_and(|core| core.cpu.is_empty() && queue.unreported(&core) == 0)
        };
        self.wakers.is_known_empty()
            && self.queues().all(empty)
            && self.untold.load(Ordering::Relaxed) == 0
            && self.try_lock().is_some_and(|core| !busy(core))
    }

    /// How long the oldest that is queued has been so, at most: as far as the engine has been told.
    pub(crate) fn oldest(&'static self) -> Duration {
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

/// In the child of a fork, under the locks that *prepare* took: no driver, waiter, report or drain of another
/// thread is left.
#[cfg(not(quiescent_model))]
impl State {
    pub(crate) fn forked(&'static self, core: &mut Core) {
        core.forked();
        self.counters.forked();
        self.sleeper.store(SLEEPER_NOBODY, Ordering::Relaxed);
        for word in [&self.untold, &self.drainers, &self.interested, &self.called] {
            word.store(0, Ordering::Relaxed);
        }
        self.look_at.store(0, Ordering::Relaxed);
        self.telling.end();
    }
}
