//! The process's domain: its threads, its engine, and what joins them. This file is registration, the fence mode
//! and looks; [`drive`](crate::inner::gp::driver) is waiting and driving.
//!
//! There is no hidden state in the runtime but one `static` of these. Threads register here for all domains there are, and
//! the fence mode is everybody's.
//!
//! # Fence mode
//! Decided once, at start-up: `membarrier(2)` if it can be registered, else readers carry the fence.
//! It may be forced (environment variable `QUIESCENT_FENCE`, or [`Options::apply`](crate::Options::apply)) as long as
//! nobody has read. A thread that registers while the mode changes looks at it again after its claim
//! `[MODE-1]`: claim, full fence, look at the mode; the changer stores the mode, full fence, looks for
//! claims. One of them sees the other.
//! A refusal *later* (a sandbox entered after start) is a named error: readers without fences are out
//! there, and nothing else we could do from here reaches them all for certain.

use std::sync::PoisonError;

use quiescent_engine::barrier::Barrier;
use quiescent_engine::{Config, CpuId, Global, Host, LeafId, Now, Pace, Seen};

use crate::error::{InitError, SyncError};
use crate::inner::defer::barrier::{Barriers as _, Gate};
use crate::inner::defer::laziness::Breakers;
use crate::inner::defer::tasks::Tasks;
use crate::inner::domain::counters::{Counters, count};
use crate::inner::gp::calls::Part;
use crate::inner::gp::driver::Drives as _;
use crate::inner::gp::fences::Fences;
use crate::inner::gp::waiters::WaitList;
use crate::inner::prim::alarm::Alarm;
use crate::inner::prim::teller::Teller;
use crate::inner::prim::{
    self, AtomicU32, AtomicU64, CELL_CROWD, CELL_CROWDS, CELL_EXIT, CELL_FENCED, LEAF_SLOTS, Mutex,
    MutexGuard, Ordering, const_new, full_fence,
};
use crate::inner::queue::all::Queues;
use crate::inner::queue::per_thread::Queue;
use crate::inner::reader::threads::{Slot, Slots};
use crate::inner::reader::word::{self, FLAG_CLEAR, Reader};
use crate::statistics::FenceMode;
use crate::workers::watchdog::Watch;

/// The fence mode is not decided yet.
const MODE_OPEN: u32 = 0;
const MODE_MEMBARRIER: u32 = 1;
const MODE_FENCED: u32 = 2;

/// Nobody sleeps while driving.
pub(crate) const SLEEPER_NOBODY: u32 = 0;

/// Rounds in which the C library runs the destructors of pthread keys.
const EXIT_ROUNDS: usize = 4;

/// What the lock protects.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) engine: Part<Global>,
    pub(crate) waiters: WaitList,
    pub(crate) barrier: Part<Barrier>,
    pub(crate) gate: Gate,
}

/// What there is one of in a process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) dummy: Reader,
    mode: AtomicU32,
    pub(crate) fences: Fences,
    pub(crate) slots: Slots,
    /// The driver that sleeps, or is about to, on this futex: a number of its reign, never that of nobody.
    pub(crate) sleeper: AtomicU32,
    /// The root's `gp_seq`, for polls without the lock.
    pub(crate) root_seq: AtomicU64,
    core: Mutex<Core>,
    pub(crate) counters: Counters,
    /// The queue of those who have none, and of intrusive callbacks then.
    pub(crate) shared: Queue,
    /// The queues of slots.
    pub(crate) made: Queues,
    sweep: Mutex<()>,
    pub(crate) barrier_word: AtomicU32,
    /// Tasks that wait for the barrier.
    pub(crate) wakers: Tasks,
    /// Drains that wait for what others are running, and the word that changes when some has returned.
    pub(crate) drainers: AtomicU32,
    pub(crate) drain_word: AtomicU32,
    /// The queue at which the next bounded drain begins.
    pub(crate) drain_turn: AtomicU32,
    /// The program runs its code itself, when it drains.
    pub(crate) drained: AtomicU32,
    /// The `errno` with which the worker was refused its fence; 0 if it was not.
    refused: AtomicU32,
    /// Somebody reports a stall.
    pub(crate) telling: Teller,
    /// What the program is to be told: bits of [`budget`](crate::inner::defer::budget).
    pub(crate) untold: AtomicU32,
    /// Owners run their callbacks themselves.
    pub(crate) inline: AtomicU32,
    /// How near the budget is.
    pub(crate) level: crate::inner::defer::budget::LevelWord,
    /// Others reclaim what owners retire, unless an owner has asked for something else.
    pub(crate) offload: AtomicU32,
    pub(crate) alarm: Alarm,
    pub(crate) watch: Watch,
    pub(crate) breakers: Breakers,
    #[cfg(not(quiescent_model))]
    pub(crate) staff: crate::workers::pool::Staff,
    #[cfg(not(quiescent_model))]
    pub(crate) forking: crate::global::fork::Policy,
    #[cfg(quiescent_model)]
    dummy_queue: std::sync::OnceLock<&'static Queue>,
}

/// The engine's questions, answered from the slots.
pub(crate) struct View<'a>(pub(crate) &'a Slots);

impl Host for View<'_> {
    const TRACES: bool = false;

    fn cpus(&self) -> u32 {
        self.0.cpus()
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        let (outside, stamp) = self.0.look(cpu);
        Seen { outside, stamp }
    }

    fn present(&self, leaf: LeafId) -> u64 {
        self.0.present(leaf)
    }

    fn occupied(&self, group: usize) -> u64 {
        self.0.occupied(group)
    }

    fn own_quiescent(&self, cpu: CpuId) -> bool {
        self.0.look(cpu).0
    }
}

impl Process {
    const_new! {
        pub(crate) fn new() -> Process {
            let mut config = Config::threads();
            config.geometry.leaf_fanout = LEAF_SLOTS as u32;
            if let Pace::Direct { stall_ns, .. } = &mut config.pace {
                *stall_ns = crate::watch::stall::DEFAULT_NS;
            }
            Process::with_config(config)
        }
    }

    const_new! {
        pub(crate) fn with_config(config: Config) -> Process {
            let engine = Global::new(config);
            let seq = quiescent_engine::Seq::INITIAL.to_bits();
            Process {
                dummy: Reader::new_dummy(),
                mode: AtomicU32::new(MODE_OPEN),
                fences: Fences::new(),
                slots: Slots::new(),
                sleeper: AtomicU32::new(SLEEPER_NOBODY),
                root_seq: AtomicU64::new(seq),
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
                alarm: Alarm::new(),
                watch: Watch::new(),
                breakers: Breakers::new(),
                #[cfg(not(quiescent_model))]
                staff: crate::workers::pool::Staff::new(),
                #[cfg(not(quiescent_model))]
                forking: crate::global::fork::Policy::new(),
                #[cfg(quiescent_model)]
                dummy_queue: std::sync::OnceLock::new(),
            }
        }
    }

    /// In models every domain has a dummy queue of its own: executions share nothing.
    #[cfg(quiescent_model)]
    pub(crate) fn dummy_queue(&self) -> &'static Queue {
        self.dummy_queue
            .get_or_init(|| Queue::leak(0).expect("memory for a model"))
    }

    /// Sweeps go one at a time.
    pub(crate) fn sweeping(&self) -> MutexGuard<'_, ()> {
        self.sweep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In the child of a fork: nobody drives, sleeps, reports or drains.
    #[cfg(not(quiescent_model))]
    pub(crate) fn forget_waits(&self) {
        self.sleeper.store(SLEEPER_NOBODY, Ordering::Relaxed);
        self.telling.end();
        self.untold.store(0, Ordering::Relaxed);
        self.drainers.store(0, Ordering::Relaxed);
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
        self.give_up_barrier();
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

    /// The word of every thread without a slot.
    pub(crate) fn dummy(&self) -> &Reader {
        &self.dummy
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Core>> {
        self.core.try_lock().ok()
    }

    // The fence mode.

    /// Decides the mode if it is open.
    pub(crate) fn resolve_mode(&self) -> FenceMode {
        let mode = self.mode.load(Ordering::Acquire);
        let mode = if mode == MODE_OPEN {
            self.decide_mode()
        } else {
            mode
        };
        if mode == MODE_MEMBARRIER {
            FenceMode::Membarrier
        } else {
            FenceMode::Fenced
        }
    }

    #[cold]
    fn decide_mode(&self) -> u32 {
        let wanted = if !fence_demanded() && prim::register_heavy_fence().is_ok() {
            MODE_MEMBARRIER
        } else {
            MODE_FENCED
        };
        let order = Ordering::AcqRel;
        match self
            .mode
            .compare_exchange(MODE_OPEN, wanted, order, Ordering::Acquire)
        {
            Ok(_) => wanted,
            Err(decided) => decided,
        }
    }

    /// Forces the mode, as long as nobody has read.
    pub(crate) fn force_mode(&self, wanted: FenceMode) -> Result<(), InitError> {
        let before = self.resolve_mode();
        if before == wanted {
            return Ok(());
        }
        if wanted == FenceMode::Membarrier {
            prim::register_heavy_fence().map_err(|errno| InitError::NoMembarrier { errno })?;
        }
        // Nor a grace period of an `Srcu` or a domain that was asked for by somebody who has not read.
        #[cfg(not(quiescent_model))]
        let Some(_all_quiet) = crate::inner::domain::yard::all_quiet() else {
            return Err(InitError::AlreadyReading);
        };
        // Under the locks and with nobody driving, so that no sweep and no grace period uses the wrong
        // fence.
        let _no_sweep = self.sweeping();
        let core = self.lock();
        if core.engine.busy() || core.engine.is_driven() || !self.slots.is_empty() {
            return Err(InitError::AlreadyReading);
        }
        let new = if wanted == FenceMode::Fenced {
            MODE_FENCED
        } else {
            MODE_MEMBARRIER
        };
        self.mode.store(new, Ordering::Release);
        full_fence(); // [MODE-1]
        if new == MODE_FENCED && !self.slots.is_empty() {
            // Whoever registered just now may rely on the heavy fence.
            self.mode.store(MODE_MEMBARRIER, Ordering::Release);
            return Err(InitError::AlreadyReading);
        }
        // Towards membarrier any newcomer is right: the heavy fence serves both kinds of reader.
        Ok(())
    }

    // Registration.

    /// This thread's slot; registers the thread if it has none. `None`: no slot is to be had, or the thread is in a crowd,
    /// inside a section: a grace period that is under way would not wait for what goes on in a new slot.
    ///
    /// Idempotent under re-entry by a signal handler at any instruction: whoever stores the thread-local first wins, the other gives its claim back.
    pub(crate) fn own_slot_or_register(&'static self) -> Option<&'static Slot> {
        if let Some(slot) = self.own_slot() {
            return Some(slot);
        }
        self.resolve_mode();
        let outside = prim::tls_get(CELL_CROWD) == 0 && prim::tls_get(CELL_CROWDS) == 0;
        let Some(slot) = outside.then(|| self.slots.claim()).flatten() else {
            count(&self.counters.crowd_sections);
            return None;
        };
        // After the claim and its fence: [MODE-1].
        let won = match self.resolve_mode() {
            FenceMode::Membarrier => prim::swap_reader(&self.dummy, &slot.seat.reader),
            FenceMode::Fenced => {
                prim::tls_cas(CELL_FENCED, 0, std::ptr::from_ref(slot).expose_provenance())
            }
        };
        if !won {
            self.slots.release(slot);
        }
        let own = self.own_slot();
        #[cfg(not(quiescent_model))]
        if let Some(own) = own {
            crate::global::thread_exit::arm(own);
        }
        own
    }

    /// This thread's slot, if it has one.
    pub(crate) fn own_slot(&self) -> Option<&'static Slot> {
        let reader = prim::reader();
        if !std::ptr::eq(reader, &self.dummy) {
            return Some(Slot::of(reader));
        }
        word::own_fenced_slot()
    }

    /// The thread of `slot` ends. False: a section is still open, ask again if you can.
    pub(crate) fn leave_thread(slot: &'static Slot) -> bool {
        let domain = prim::domain();
        if slot.is_inside_somewhere() {
            let rounds = prim::tls_get(CELL_EXIT) + 1;
            prim::tls_set(CELL_EXIT, rounds);
            return rounds >= EXIT_ROUNDS; // then it stays a named holdout, for ever
        }
        if let Some(queue) = slot.queue() {
            domain.leave_queue(queue);
        }
        // First the thread-locals, so that a handler arriving now registers afresh.
        prim::swap_reader(&slot.seat.reader, &domain.dummy);
        prim::tls_cas(CELL_FENCED, std::ptr::from_ref(slot).addr(), 0);
        prim::forget_tally(); // the next thread with the number goes on with it
        prim::forget_spot(); // the same
        domain.slots.release(slot);
        true
    }

    // Waking the driver.

    /// A reader that was flagged has ended its section: clears its flag and wakes the driver, if it
    /// sleeps. Called by readers, perhaps in a signal handler: no lock.
    pub(crate) fn wake_driver(&self, reader: &Reader) {
        // Both are locked instructions, in this order: [FS-1].
        reader.flag.swap(FLAG_CLEAR, Ordering::AcqRel);
        self.rouse_driver(true);
    }

    // Looks.

    /// The present time for the engine; jiffies are milliseconds here.
    pub(crate) fn now(ns: u64) -> Now {
        Now {
            ns,
            jiffies: ns / 1_000_000,
        }
    }

    /// Allows at most this many threads a slot.
    pub(crate) fn limit_threads(&self, threads: u32) -> Result<(), InitError> {
        let most = (prim::MAX_LEAVES * LEAF_SLOTS) as u32 - 2;
        if threads == 0 || threads > most {
            return Err(InitError::BadMaxThreads {
                asked: threads,
                most,
            });
        }
        self.slots
            .limit_leaves((threads + 2).div_ceil(LEAF_SLOTS as u32));
        Ok(())
    }
}

/// Does the environment demand that readers carry the fence?
fn fence_demanded() -> bool {
    cfg!(not(quiescent_model))
        && std::env::var_os("QUIESCENT_FENCE")
            .is_some_and(|value| value.eq_ignore_ascii_case("fenced"))
}
