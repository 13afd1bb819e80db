//! The harness face for checkers: this crate's own sources on a model's primitives. Exists only in the
//! check crates' builds, never in the product.
//!
//! A model thread calls [`Model::enter`] first and [`Model::leave`] last; in between it uses the
//! ordinary calls of this crate ([`crate::read_lock`], [`crate::synchronize`], …), which work on the
//! domain it entered.
//!
//! # Reclaiming
//! There is no worker thread: a thread of the scenario plays it, with [`Model::work`] and
//! [`Model::sleep`]. A domain made by [`Model::deferring`] has tiny batches, and deadlines that are over
//! as soon as they are set, so that whatever has a deadline is due; [`Model::patient`] has deadlines that
//! never come. Memory of plain objects is not freed but shown to an observer ([`observe_frees`]), and
//! blocks of a queue that were given back are remembered: touching one again is a panic.

use std::alloc::{Layout, dealloc};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use quiescent_engine::{Config, Pace};

use crate::inner::defer::sweep::Until;
use crate::inner::domain::env::Env;
use crate::inner::domain::state::State;
use crate::inner::domain::{Domain, Readers};
use crate::inner::prim;
use crate::inner::queue::lane::Block;
use crate::inner::reader::counted::Counted;
use crate::inner::reader::spots::Spots;

/// Sections one inside the other from which on a guard takes the overflow path: few, in a model.
pub const NEST_LIMIT: u64 = prim::NEST_LIMIT;
/// Entries in a block of a queue: few, in a model.
pub const BLOCK: usize = prim::BLOCK;

thread_local! {
    /// Who is told of plain objects. Model threads are fibers on one OS thread.
    static OBSERVER: Cell<Option<fn(*mut u8)>> = const { Cell::new(None) };
    /// How often an owner went on into the next block without a lock, in this execution, and how often its push
    /// came for the lock.
    static HELPED: Cell<[u64; 2]> = const { Cell::new([0; 2]) };
    /// Blocks that were given back in this execution.
    static BURIED: RefCell<BTreeSet<usize>> = const { RefCell::new(BTreeSet::new()) };
}

/// From now on, until the next domain is made, plain objects are given to `observer` in place of the
/// allocator.
pub fn observe_frees(observer: fn(*mut u8)) {
    OBSERVER.set(Some(observer));
}

/// Tells the observer of an object; false if there is none.
pub(crate) fn observed(object: *mut u8) -> bool {
    let observer = OBSERVER.get();
    observer.inspect(|tell| tell(object)).is_some()
}

/// Keeps a block that is given back from being used again in this execution. Always true.
pub(crate) fn bury(block: *mut Block) -> bool {
    let fresh = BURIED.with_borrow_mut(|buried| buried.insert(block.expose_provenance()));
    assert!(fresh, "a block of a queue was given back twice");
    true
}

/// A block is read or written.
pub(crate) fn touch(block: *const Block) {
    let gone = BURIED.with_borrow(|buried| buried.contains(&block.addr()));
    assert!(!gone, "a block of a queue was used after it was given back");
}

/// A push has called for help: did it go on into the next block?
pub(crate) fn helped(crossed: bool) {
    let [across, locked] = HELPED.get();
    HELPED.set(match crossed {
        true => [across + 1, locked],
        false => [across, locked + 1],
    });
}

/// A new execution: the blocks of the one before are not used any more.
fn forget_blocks() {
    OBSERVER.set(None);
    HELPED.set([0; 2]);
    for block in BURIED.take() {
        // SAFETY: made by the queue with this layout, and out of use.
        unsafe {
            let block = std::ptr::with_exposed_provenance_mut(block);
            dealloc(block, Layout::new::<Block>());
        }
    }
}

/// How long things take in a domain for whole lives, and how much they are: see [`Model::living`].
#[derive(Clone, Copy, Debug)]
pub struct Life {
    /// Callbacks are stamped in batches of so many.
    pub batch: u64,
    /// How long lazy ones wait for company, in nanoseconds of the model.
    pub lazy_ns: u64,
    /// The same for prompt ones.
    pub prompt_ns: u64,
    /// Low memory is acted upon once in this time.
    pub pressure_ns: u64,
    /// Those who wait take the role of a driver that is silent for so long.
    pub usurp_after_ns: Option<u64>,
    /// The second worker is called with more untended callbacks than this, and rests with fewer than …
    pub second_above: u64,
    /// … this.
    pub second_below: u64,
}

/// A domain for one execution of a model. Leaked: readers' words live for ever.
#[derive(Clone, Copy, Debug)]
pub struct Model(&'static Env);

impl Default for Model {
    fn default() -> Model {
        Model::new()
    }
}

impl Model {
    /// A fresh domain, its fence mode decided: membarrier on the double, fenced under loom.
    /// `spins_before`, `spins_after`: how often a driver looks again before it flags holdouts, and
    /// before it sleeps; small numbers keep explorations small.
    pub fn with_spins(spins_before: u16, spins_after: u16) -> Model {
        Model::configured(spins_before, spins_after, |_| ())
    }

    /// With the fewest spins.
    pub fn new() -> Model {
        Model::with_spins(0, 0)
    }

    /// Callbacks are stamped in batches of `batch`, and deadlines are over at once.
    pub fn deferring(batch: u64) -> Model {
        Model::configured(0, 0, |config| {
            config.defer.batch = batch;
            config.defer.lazy_ns = 0;
            config.defer.lazy_grid_ns = 1;
            config.defer.prompt_ns = 0;
        })
    }

    /// As [`deferring`](Model::deferring), but deadlines never come.
    pub fn patient(batch: u64) -> Model {
        Model::configured(0, 0, |config| {
            config.defer.batch = batch;
            config.defer.lazy_ns = u64::MAX / 2;
            config.defer.prompt_ns = u64::MAX / 2;
        })
    }

    /// With the fewest spins, and a driver that is found not running loses its role at once: any preemption is one
    /// that never ends.
    pub fn usurping() -> Model {
        Model::configured(0, 0, |config| config.takeover_after_ns = Some(0))
    }

    /// For models with a clock: with deadlines that come, some time.
    pub fn living(life: Life) -> Model {
        Model::configured(1, 1, |config| {
            config.defer.batch = life.batch;
            config.defer.lazy_ns = life.lazy_ns;
            config.defer.lazy_grid_ns = 1;
            config.defer.prompt_ns = life.prompt_ns;
            config.defer.pressure_ns = life.pressure_ns;
            config.takeover_after_ns = life.usurp_after_ns;
            config.pool.above = life.second_above;
            config.pool.below = life.second_below;
        })
    }

    fn configured(spins_before: u16, spins_after: u16, adapt: impl FnOnce(&mut Config)) -> Model {
        forget_blocks();
        let mut config = Config::threads();
        config.geometry.leaf_fanout = prim::LEAF_SLOTS as u32;
        config.pace = Pace::Direct {
            spin: 1,
            spins_before_flag: spins_before,
            spins_after_flag: spins_after,
            expedited_factor: 1,
            stall_ns: u64::MAX,
        };
        config.takeover_after_ns = None; // where no scenario is about that: time-outs are choices
        adapt(&mut config);
        let env: &'static Env = prim::keep(Box::new(Env::new(config)));
        env.resolve_mode();
        env.slots.limit_leaves(1);
        Model(env)
    }

    /// Allows this many leaves; one otherwise, so that slots run out soon.
    pub fn leaves(self, leaves: u32) -> Model {
        self.0.slots.limit_leaves(leaves);
        self
    }

    /// The calling model thread works on this domain from now on.
    pub fn enter(self) {
        prim::enter_domain(self.0);
    }

    /// The calling model thread ends: what the exit hook does.
    pub fn leave(self) {
        if let Some(slot) = self.0.own_slot() {
            let _ = self.0.leave_thread(slot);
        }
    }

    /// Forces fenced mode; before any thread has read.
    pub fn fenced(self) -> Model {
        self.0
            .force_mode(crate::FenceMode::Fenced)
            .expect("nobody has read");
        self
    }

    /// Owners run their callbacks themselves.
    pub fn inline(self) -> Model {
        self.0.state.set_inline(true);
        self
    }

    /// Registers the calling thread without reading.
    pub fn register(self) {
        let _ = self.0.own_slot_or_register();
    }

    // The worker.

    /// What the worker does when it is woken: works until nothing is due.
    pub fn work(self) {
        self.care_for_state(&self.0.state);
    }

    /// What the second worker does when it is called.
    pub fn relieve(self) {
        self.0.relieve(crate::workers::overflow::turn_of_second(1));
    }

    /// Sleeps until it is called more often than so many times; returns how often that is.
    pub fn sleep_as_second(self, calls: u32) -> u32 {
        self.0.watch.second.sleep(calls)
    }

    /// Was the second worker called, and has not rested since?
    pub fn second_is_on_duty(self) -> bool {
        self.0.state.lock().engine.second_is_on_duty()
    }

    /// Wakes whoever plays the second worker.
    pub fn call_second(self) {
        self.0.call_overflow(&self.0.state);
    }

    /// What it does then: sleeps until it is kicked (or until the timer fires, where the scenario lets
    /// time-outs happen).
    pub fn sleep(self) {
        self.0.alarm.sleep();
    }

    /// Wakes whoever plays the worker.
    pub fn kick(self) {
        self.0
            .state
            .called
            .store(1, crate::inner::prim::Ordering::Release);
        self.0.alarm.kick();
    }

    /// Is the worker's timer set? If not, and nobody kicks it, it sleeps for ever.
    pub fn is_armed(self) -> bool {
        self.0.alarm.is_armed()
    }

    /// What it is set to.
    pub fn timer(self) -> Option<u64> {
        Some(*self.0.alarm.timer()).filter(|&set| set != 0)
    }

    /// What becomes of it if every thread goes quiet now: the worker works as long as its timer fires.
    pub fn settle(self) {
        while self.is_armed() {
            self.work();
        }
    }

    /// Empties the domain in this thread.
    pub fn drain(self) {
        self.0.state.drain(Until { deadline: None });
    }

    /// How often an owner went on into the next block without a lock.
    pub fn crossings(self) -> u64 {
        HELPED.get()[0]
    }

    /// How often a push of an owner came for its queue's lock.
    pub fn helps(self) -> u64 {
        HELPED.get()[1]
    }

    /// An owner is to look at the engine at its next push: as when the program changes its mind about who reclaims.
    pub fn ask_soon(self) {
        self.0.state.queues().for_each(|queue| queue.ask_soon());
    }

    /// An [`Srcu`](crate::Srcu), with this model's policy for its callbacks and the fewest spins. Leaked.
    pub fn srcu(self) -> &'static crate::Srcu {
        let mut config = *self.0.state.lock().engine.config();
        config.readers = quiescent_engine::Readers::Indexed;
        config.skip_empty = false;
        let domain = self.domain(0, Readers::Counted(Counted::new()), config);
        Box::leak(Box::new(crate::Srcu::of(std::ptr::from_ref(domain).cast())))
    }

    fn domain(self, number: u32, readers: Readers, config: Config) -> &'static Domain {
        let domain: &'static Domain = prim::keep(Box::new(Domain::new(number, readers, 0)));
        domain.set_state(State::new(config));
        self.0.registry.add(domain);
        domain
    }

    /// A heavy fence, this thread's own or one that somebody else issues.
    pub fn fence(self) {
        self.0.heavy_fence().expect("models refuse nothing");
    }

    /// A domain of the program, with this model's policy and the fewest spins: the one of this number. Leaked.
    pub fn grounds(self, number: u32) -> &'static crate::Domain {
        let config = *self.0.state.lock().engine.config();
        let domain = self.domain(number, Readers::Spots(Spots::new()), config);
        Box::leak(Box::new(crate::Domain::of(
            std::ptr::from_ref(domain).cast(),
        )))
    }

    /// What the worker does for it when it is woken.
    pub fn care_for(self, domain: &crate::Domain) {
        self.care_for_state(domain.backend().0.state());
    }

    /// What the worker does when it is woken.
    pub fn care(self, srcu: &crate::Srcu) {
        self.care_for_state(srcu.backend().0.state());
    }

    /// The same, where there are several.
    pub fn care_together<const N: usize>(self, srcus: [&crate::Srcu; N]) {
        self.0
            .look_after(srcus.into_iter().map(|srcu| srcu.backend().0.state()));
        self.0.set_alarm();
    }

    fn care_for_state(self, state: &'static State) {
        state.called.store(1, crate::inner::prim::Ordering::Release);
        self.0.look_after(std::iter::once(state));
        self.0.set_alarm();
    }

    /// What the budget counts as held: callbacks, and their bytes.
    pub fn accounted(self) -> (u64, u64) {
        let held = self.0.state.lock().engine.held();
        (held.count, held.bytes)
    }

    /// Callbacks and objects that are queued.
    pub fn held(self) -> u64 {
        self.0.state.held().0
    }
}
