//! The interface for checkers: this crate's own sources on the primitives of a model. Exists only in the
//! builds of the check crates, not in the product.
//!
//! A model thread calls [`Model::enter`] first and [`Model::leave`] last; in between it uses the ordinary
//! calls of this crate ([`crate::read_lock`], [`crate::synchronize`], …), which work on the domain that it
//! entered.
//!
//! # Reclaiming
//! There is no worker thread: a thread of the scenario takes its role, with [`Model::work`] and
//! [`Model::sleep`]. A domain made by [`Model::deferring`] has tiny batches, and deadlines that expire as
//! soon as they are set, so that everything with a deadline is due; the deadlines of [`Model::patient`] never
//! expire. The memory of plain objects is not freed but passed to an observer ([`observe_frees`]), and freed
//! blocks of a queue are recorded: using one again panics.

use quiescent_core::domain::settings::Runner;
use quiescent_engine::Config;

use crate::global::{self, Process};

use quiescent_core::domain::host::Host;
use quiescent_core::domain::run::turn_of_overflow;
use quiescent_core::domain::state::State;
use quiescent_core::domain::sweep::Until;
use quiescent_core::prim;

/// The nesting from which on a guard takes the overflow path: small in a model.
pub const NEST_LIMIT: u64 = prim::NEST_LIMIT;
/// Entries in a block of a queue: few in a model.
pub const BLOCK: usize = prim::BLOCK;

pub use crate::global::stalls::observe as observe_stalls;
pub use quiescent_core::prim::thread_id;
pub use quiescent_core::prim::witness::{crossings, helps, observe_frees};
pub use slots::{QueueView, RecordView, SlotView};

#[path = "check/slots.rs"]
mod slots;

/// Times and sizes of a domain with a clock: see [`Model::living`].
#[derive(Clone, Copy, Debug)]
pub struct Life {
    /// The size of the batches in which callbacks are stamped.
    pub batch: u64,
    /// The flush time of lazy callbacks, in nanoseconds of the model.
    pub lazy_ns: u64,
    /// The flush time of prompt callbacks.
    pub prompt_ns: u64,
    /// The shortest time between two reactions to low memory.
    pub pressure_ns: u64,
    /// The time without progress after which waiters take over the driver's role.
    pub takeover_after_ns: Option<u64>,
    /// The overflow worker is called when more callbacks than this are untended.
    pub overflow_above: u64,
    /// The overflow worker rests when fewer callbacks than this are untended.
    pub overflow_below: u64,
}

/// A domain for one execution of a model. Leaked, because readers' words are never freed.
#[derive(Clone, Copy, Debug)]
pub struct Model(&'static Process);

impl Default for Model {
    fn default() -> Model {
        Model::new()
    }
}

impl Model {
    /// Makes a domain with its fence mode decided: membarrier in the store-buffer explorer, fenced under
    /// loom. `spins_before`, `spins_after`: how often a driver checks again before it flags holdouts, and
    /// before it sleeps; small numbers keep explorations small.
    pub fn with_spins(spins_before: u16, spins_after: u16) -> Model {
        Model::configured(|config| {
            config.pace.spins_before_flag = spins_before;
            config.pace.spins_after_flag = spins_after;
        })
    }

    /// With the fewest spins.
    pub fn new() -> Model {
        Model::configured(|_| ())
    }

    /// Callbacks are stamped in batches of `batch`, and deadlines expire at once.
    pub fn deferring(batch: u64) -> Model {
        Model::configured(|config| {
            config.defer.batch = batch;
            config.defer.lazy_ns = 0;
            config.defer.lazy_grid_ns = 1;
            config.defer.prompt_ns = 0;
        })
    }

    /// As [`deferring`](Model::deferring), but deadlines never expire.
    pub fn patient(batch: u64) -> Model {
        Model::configured(|config| {
            config.defer.batch = batch;
            config.defer.lazy_ns = u64::MAX / 2;
            config.defer.prompt_ns = u64::MAX / 2;
        })
    }

    /// With the fewest spins, and a driver that does not run loses its role at once: every preemption counts
    /// as endless.
    pub fn taking_over() -> Model {
        Model::configured(|config| config.takeover_after_ns = 0)
    }

    /// For models with a clock: the deadlines expire at some time.
    pub fn living(life: Life) -> Model {
        Model::configured(|config| {
            config.pace.spins_before_flag = 1;
            config.pace.spins_after_flag = 1;
            config.defer.batch = life.batch;
            config.defer.lazy_ns = life.lazy_ns;
            config.defer.lazy_grid_ns = 1;
            config.defer.prompt_ns = life.prompt_ns;
            config.defer.pressure_ns = life.pressure_ns;
            config.takeover_after_ns = life.takeover_after_ns.unwrap_or(u64::MAX);
            config.pool.above = life.overflow_above as u32;
            config.pool.below = life.overflow_below as u32;
        })
    }

    fn configured(adapt: impl FnOnce(&mut Config)) -> Model {
        let mut config = global::config();
        adapt(&mut config);
        let process = Process::make(config);
        process.env.threads.mode.resolve();
        process.env.threads.slots.limit_leaves(1);
        Model(process)
    }

    /// Allows this many leaves instead of one, which lets slots run out soon.
    pub fn leaves(self, leaves: u32) -> Model {
        self.0.env.threads.slots.limit_leaves(leaves);
        self
    }

    /// Makes the calling model thread work on this domain.
    pub fn enter(self) {
        self.0.enter();
    }

    /// Ends the calling model thread, as the exit hook does.
    pub fn leave(self) {
        if let Some(slot) = self.0.env.own_slot() {
            let _ = self.0.env.leave_thread(slot);
        }
    }

    /// Forces fenced mode; before any thread has read.
    pub fn fenced(self) -> Model {
        let forced = self.0.env.force_mode(crate::FenceMode::Fenced);
        forced.expect("no thread has read");
        self
    }

    /// Owners run their callbacks themselves.
    pub fn inline(self) -> Model {
        self.0.env.home.set(|it| it.set_closures(Runner::Owner));
        self
    }

    /// Registers the calling thread without reading.
    pub fn register(self) {
        let env = &self.0.env;
        let _ = env.threads.own_slot_or_register(&env.local());
    }

    // The worker.

    /// The worker's work after a wake-up: until nothing is due.
    pub fn work(self) {
        self.care([&self.0.env.state]);
    }

    /// The overflow worker's work after a call.
    pub fn relieve(self) {
        self.0.env.relieve(turn_of_overflow(1));
    }

    /// The same without a call, because a small scenario never has a backlog.
    pub fn relieve_uncalled(self) {
        self.0.env.state.relieve(turn_of_overflow(1));
    }

    /// Sleeps until it is called more than this many times; returns the number of calls.
    pub fn sleep_as_overflow(self, calls: u32) -> u32 {
        self.0.sleep_as_overflow(calls)
    }

    /// Whether the overflow worker was called, and has not rested since.
    pub fn overflow_is_on_duty(self) -> bool {
        self.0.env.state.lock().engine.overflow_is_on_duty()
    }

    /// Wakes the thread that plays the overflow worker.
    pub fn call_overflow(self) {
        self.0.call_overflow(&self.0.env.state);
    }

    /// The worker's sleep: until it is kicked (or until the timer fires, if the scenario has time-outs).
    pub fn sleep(self) {
        self.0.env.alarm.sleep();
    }

    /// The thread that plays the worker has to wake by this time.
    pub fn arm(self, deadline: u64) {
        self.0.env.alarm.arm(deadline, false);
    }

    /// The thread that plays the worker is awake, and sets its timer to what is left.
    pub fn follow(self, wanted: impl FnOnce() -> Option<u64>) {
        self.0.env.alarm.follow(wanted);
    }

    /// Wakes the thread that plays the worker.
    pub fn kick(self) {
        let env = &self.0.env;
        env.state.called.store(1, prim::Ordering::Release);
        env.alarm.kick();
    }

    /// Whether the worker's timer is set. If not, the worker sleeps until it is kicked.
    pub fn is_armed(self) -> bool {
        self.0.env.alarm.is_armed()
    }

    /// The time that it is set to.
    pub fn timer(self) -> Option<u64> {
        Some(*self.0.env.alarm.timer()).filter(|&set| set != 0)
    }

    /// What happens if every thread becomes quiet now: the worker works as long as its timer fires.
    pub fn settle(self) {
        while self.is_armed() {
            self.work();
        }
    }

    /// Empties the domain in this thread.
    pub fn drain(self) {
        self.0.env.state.drain(Until { deadline: None });
    }

    /// Makes an owner ask the engine at its next push, as when the program changes which threads reclaim.
    pub fn ask_soon(self) {
        self.0.env.state.queues().for_each(|queue| queue.ask_soon());
    }

    /// Makes an [`Srcu`](crate::Srcu), with this model's policy for its callbacks and the fewest spins.
    /// Leaked.
    pub fn srcu(self) -> &'static crate::Srcu {
        Box::leak(Box::new(crate::Srcu::of(self.domain(0, true))))
    }

    /// Issues a heavy fence of this thread, or uses one that another thread issues.
    pub fn fence(self) {
        self.0.env.heavy_fence(1).expect("models refuse nothing");
    }

    /// Threads are asked for the fences of deferred work; before any thread registers.
    pub fn asking(self) -> Model {
        self.0.env.threads.slots.set_most_asked(prim::MOST_ASKED);
        self
    }

    /// Issues a fence as for deferred work: threads that are present are asked for it first.
    pub fn ask(self) {
        let done = self.0.env.deferred_fence_for(1, None);
        done.expect("models refuse nothing");
    }

    /// A driver has found this leaf empty, and vacates it.
    pub fn vacate(self, leaf: usize) {
        let state = &self.0.env.state;
        let core = state.lock();
        state.env().threads.slots.vacated(leaf, &core.lock);
    }

    /// Makes the domain of the program with this number, with this model's policy and the fewest spins.
    /// Leaked.
    pub fn own_domain(self, number: u32) -> &'static crate::Domain {
        Box::leak(Box::new(crate::Domain::of(self.domain(number, false))))
    }

    fn domain(self, number: u32, counted: bool) -> *const () {
        let config = *self.0.env.state.lock().engine.config();
        let domain = self.0.domain(number, counted, config);
        std::ptr::from_ref(domain).cast()
    }

    /// The worker's work in these domains after a wake-up.
    pub fn care_for<K: crate::Kind, const N: usize>(self, domains: [&crate::RcuDomain<(), K>; N]) {
        self.care(domains.map(|domain| domain.core().state()));
    }

    fn care<const N: usize>(self, states: [&'static State; N]) {
        for state in states {
            state.called.store(1, prim::Ordering::Release);
        }
        self.0.env.look_after(states.into_iter());
        self.0.env.set_alarm();
    }

    /// The callbacks and bytes that the budget counts as queued.
    pub fn accounted(self) -> (u64, u64) {
        let held = self.0.env.state.lock().engine.held();
        (held.count, held.bytes)
    }

    /// The number of queued callbacks and objects.
    pub fn held(self) -> u64 {
        self.0.env.state.held().0
    }
}
