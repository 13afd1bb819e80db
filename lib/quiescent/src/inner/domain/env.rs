//! What a process has once, for all its domains: registered threads, the fence mode, the worker and its alarm.
//!
//! # Fence mode
//! Decided once, at start-up: `membarrier(2)` if it can be registered, else readers carry the fence. It may be
//! forced (environment variable `QUIESCENT_FENCE`, or [`init`](crate::Options::apply)) as long as no thread has read. A
//! thread that registers while the mode changes looks at it again after its claim `[MODE-1]`: claim, full fence,
//! look at the mode; the changer stores the mode, full fence, looks for claims. One of them sees the other.
//! A refusal *later* (a sandbox entered after start) is a named error: readers without fences exist then, and
//! nothing else that could be done from here reaches them all for certain.

use crate::error::InitError;
use crate::inner::defer::laziness::Breakers;
use crate::inner::domain::counters::{add, count};
use crate::inner::domain::registry::Registry;
use crate::inner::domain::state::{Core, State};
use crate::inner::domain::{Domain, Readers};
use crate::inner::gp::fences::{Fences, Whose};
use crate::inner::prim::alarm::Alarm;
use crate::inner::prim::{
    self, AtomicU32, CELL_CROWD, CELL_CROWDS, CELL_EXIT, CELL_FENCED, LEAF_SLOTS, MutexGuard,
    Ordering, const_new, full_fence,
};
use crate::inner::reader::threads::{Slot, Slots};
use crate::inner::reader::word::{self, Reader};
use crate::statistics::FenceMode;
use crate::watch::telemetry;
use crate::workers::watchdog::Watch;

/// The fence mode is not decided yet.
const MODE_OPEN: u32 = 0;
const MODE_MEMBARRIER: u32 = 1;
const MODE_FENCED: u32 = 2;

/// Rounds in which the C library runs the destructors of pthread keys.
const EXIT_ROUNDS: usize = 4;

/// What there is one of in a process.
#[derive(Debug)]
pub(crate) struct Env {
    pub(crate) dummy: Reader,
    mode: AtomicU32,
    pub(crate) fences: Fences,
    pub(crate) slots: Slots,
    /// The process's domain, and its state.
    pub(crate) home: Domain,
    pub(crate) state: State,
    /// The domains of the program.
    pub(crate) registry: Registry,
    pub(crate) alarm: Alarm,
    pub(crate) watch: Watch,
    pub(crate) breakers: Breakers,
    #[cfg(not(quiescent_model))]
    pub(crate) staff: crate::workers::pool::Staff,
    #[cfg(not(quiescent_model))]
    pub(crate) forking: crate::global::fork::Policy,
    #[cfg(quiescent_model)]
    dummy_queue: std::sync::OnceLock<&'static crate::inner::queue::per_thread::Queue>,
}

impl Env {
    const_new! {
        pub(crate) fn new(config: quiescent_engine::Config) -> Env {
            Env {
                dummy: Reader::new_dummy(),
                mode: AtomicU32::new(MODE_OPEN),
                fences: Fences::new(),
                slots: Slots::new(),
                home: Domain::new(0, Readers::Threads, telemetry::UNNAMED),
                state: State::new(config),
                registry: Registry::new(),
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

    /// In models every environment has a dummy queue of its own: executions share nothing.
    #[cfg(quiescent_model)]
    pub(crate) fn dummy_queue(&self) -> &'static crate::inner::queue::per_thread::Queue {
        self.dummy_queue.get_or_init(|| {
            crate::inner::queue::per_thread::Queue::leak(0).expect("memory for a model")
        })
    }

    /// The word of every thread without a slot.
    pub(crate) fn dummy(&self) -> &Reader {
        &self.dummy
    }

    /// The states there are: the process's, and those of the program's domains.
    pub(crate) fn states(&'static self) -> impl Iterator<Item = &'static State> {
        let others = self.registry.all().filter_map(Domain::state_if_any);
        std::iter::once(&self.state).chain(others)
    }

    /// Runs something of the program's on the worker, watched as a callback is.
    pub(crate) fn watched(&'static self, name: fn() -> &'static str, run: impl FnOnce()) {
        self.watch.begin(self, name);
        run();
        self.watch.end();
    }

    /// The fence of a grace period: reaches every CPU that runs one of our readers. Those who need one at the
    /// same time share it.
    pub(crate) fn heavy_fence(&self) -> Result<(), i32> {
        self.heavy_fence_for(1)
    }

    /// One fence for so many who need one, none of whom has to come before another one.
    pub(crate) fn heavy_fence_for(&self, needs: u64) -> Result<(), i32> {
        if self.resolve_mode() != FenceMode::Membarrier {
            full_fence(); // of this thread, and never another one's
            return Ok(());
        }
        let whose = self.fences.pass(prim::heavy_fence)?;
        let own = u64::from(whose == Whose::Own);
        add(&self.state.counters.fences_shared, needs - own);
        Ok(())
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

    /// Forces the mode, as long as no thread has read.
    pub(crate) fn force_mode(&'static self, wanted: FenceMode) -> Result<(), InitError> {
        let before = self.resolve_mode();
        if before == wanted {
            return Ok(());
        }
        if wanted == FenceMode::Membarrier {
            prim::register_heavy_fence().map_err(|errno| InitError::NoMembarrier { errno })?;
        }
        // Under the locks of all domains and with no driver anywhere, so that no sweep and no grace period uses
        // the wrong fence.
        let _sweeps: Vec<_> = self.states().map(State::sweeping).collect();
        let cores: Vec<_> = self.states().map(State::lock).collect();
        let busy = |core: &MutexGuard<'_, Core>| core.engine.busy() || core.engine.is_driven();
        if cores.iter().any(busy) || !self.slots.is_empty() {
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
            // A thread that has registered just now may rely on the heavy fence.
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
            count(&self.state.counters.crowd_sections);
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
    pub(crate) fn leave_thread(&'static self, slot: &'static Slot) -> bool {
        if slot.is_inside_somewhere() {
            let rounds = prim::tls_get(CELL_EXIT) + 1;
            prim::tls_set(CELL_EXIT, rounds);
            return rounds >= EXIT_ROUNDS; // then it stays a named holdout, for ever
        }
        for queue in slot.queues() {
            queue.state().leave_queue(queue);
        }
        // First the thread-locals, so that a handler arriving now registers afresh.
        prim::swap_reader(&slot.seat.reader, &self.dummy);
        prim::tls_cas(CELL_FENCED, std::ptr::from_ref(slot).addr(), 0);
        prim::forget_tally(); // the next thread with the number goes on with it
        prim::forget_spot(); // the same
        self.slots.release(slot);
        true
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
