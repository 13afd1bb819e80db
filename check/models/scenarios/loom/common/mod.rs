//! Shared parts of the models: a world with a domain and objects, and the roles of threads.
//!
//! Objects are loom's cells, so that a read in a section and the write that stands for freeing must be
//! ordered by happens-before; an order in time is not enough.

pub mod deferred;

use std::sync::Arc;
use std::sync::atomic::AtomicU64 as RealU64;
use std::sync::atomic::Ordering::Relaxed as RealRelaxed;

use quiescent_models::loom::Ordering::{Acquire, Relaxed, Release};
use quiescent_models::loom::thread::{self, JoinHandle};
use quiescent_models::loom::{
    AtomicU32, Builder, UnsafeCell, futex_wait, futex_wake, light_fence, with_membarrier, yield_now,
};
use quiescent_on_loom as rcu;
use rcu::check::Model as Domain;

use crate::side::{Body, Process, Side};

/// Objects in a world.
const OBJECTS: usize = 3;

/// One execution's domain and objects.
#[derive(Debug)]
pub struct World {
    pub domain: Domain,
    pointer: AtomicU32,
    objects: [UnsafeCell<u32>; OBJECTS],
    arrived: AtomicU32,
}

// SAFETY: the cells are checked by loom: an access that is not ordered fails the model.
unsafe impl Sync for World {}

impl World {
    pub fn new(domain: Domain) -> Arc<World> {
        let objects = std::array::from_fn(|_| UnsafeCell::new(1));
        let [pointer, arrived] = std::array::from_fn(|_| AtomicU32::new(0));
        Arc::new(World {
            domain,
            pointer,
            objects,
            arrived,
        })
    }

    /// A thread of the domain: enters, does `body`, ends.
    pub fn thread(self: &Arc<World>, body: impl FnOnce(&World) + 'static) -> JoinHandle<()> {
        let world = self.clone();
        thread::spawn(move || {
            world.domain.enter();
            body(&world);
            world.domain.leave();
        })
    }

    /// Two threads that keep their slots for ever: all slots that exist.
    pub fn fill_slots(self: &Arc<World>) {
        for _ in 0..2 {
            let domain = self.domain;
            join(thread::spawn(move || {
                domain.enter();
                domain.register();
            }));
        }
    }

    /// The body of a section: the published object is read.
    pub fn look(&self) -> usize {
        let object = self.pointer.load(Acquire) as usize;
        self.use_object(object);
        object
    }

    /// Reads an object that was found in this section.
    pub fn use_object(&self, object: usize) {
        // SAFETY: loom checks that no write is concurrent; so the pointer may be read.
        let value = self.objects[object].with(|value| unsafe { *value });
        assert_eq!(value, 1, "object {object} was freed under a reader");
    }

    /// Signals that a reader is inside.
    pub fn arrive(&self) {
        self.arrived.store(1, Release);
        futex_wake(&self.arrived);
    }

    /// Waits for [`arrive`](World::arrive).
    pub fn wait_for_arrival(&self) {
        futex_wait(&self.arrived, 0, None);
        assert_eq!(self.arrived.load(Acquire), 1);
    }

    /// Replaces the published object.
    pub fn publish(&self, with: usize) {
        self.pointer.store(with as u32, Release);
    }

    /// Frees an object after its grace period.
    pub fn free(&self, object: usize) {
        // SAFETY: loom checks that no access is concurrent.
        self.objects[object].with_mut(|value| unsafe { *value = 0 });
    }
}

/// `readers` against an updater that has done `before`.
pub fn race<S: Side, const N: usize>(before: fn(&World, S), readers: [Body<S>; N]) {
    let world = World::new(Domain::new());
    let side = S::of(&world);
    world.domain.enter();
    before(&world, side);
    let readers = readers.map(|body| world.thread(move |w| body(w, side)));
    side.update(&world);
    readers.into_iter().for_each(join);
    world.domain.leave();
}

/// A reader against an updater that waits until the reader has [arrived](World::arrive).
pub fn race_inside<S: Side>(reader: Body<S>) {
    let world = World::new(Domain::new());
    let side = S::of(&world);
    let reader = world.thread(move |w| reader(w, side));
    world.domain.enter();
    world.wait_for_arrival();
    side.update(&world);
    join(reader);
}

/// A section that reads once.
pub fn read<S: Side>(world: &World, side: S) {
    side.read_once(world);
}

/// The updater has a slot.
pub fn registers(world: &World, _: Process) {
    world.domain.register();
}

/// The updater has a slot, and has had a grace period.
pub fn has_waited(world: &World, _: Process) {
    world.domain.register();
    rcu::synchronize(); // brings the tree
}

/// Another thread waits too, and may drive.
pub fn race_with_waiter() {
    let world = World::new(Domain::new());
    let reader = world.thread(|w| Process.read_once(w));
    let driver = world.thread(|_| rcu::synchronize());
    world.domain.enter();
    Process.update(&world);
    join(reader);
    join(driver);
}

/// The updater polls while another thread waits, and may drive.
pub fn race_with_poller() {
    let world = World::new(Domain::new());
    let reader = world.thread(|w| Process.read_once(w));
    world.domain.enter();
    world.publish(1);
    let cookie = rcu::start_grace_period();
    let driver = world.thread(|_| rcu::synchronize());
    while !cookie.is_done() {
        yield_now();
    }
    world.free(0);
    join(reader);
    join(driver);
}

/// All slots are taken.
pub fn race_without_slots() {
    let world = World::new(Domain::new());
    world.fill_slots();
    let reader = world.thread(|w| Process.read_once(w));
    world.domain.enter();
    Process.update(&world);
    join(reader);
}

/// The words of a reader and of an updater: each stores one and then loads the other's.
#[derive(Default)]
pub struct Words {
    pub readers: AtomicU32,
    pub updaters: AtomicU32,
}

impl Words {
    /// The reader's part.
    pub fn store(&self) {
        self.readers.store(1, Relaxed);
        light_fence();
    }

    pub fn load(&self) -> u32 {
        self.updaters.load(Relaxed)
    }

    /// The updater's part, with its fence in between: at least one of the two has seen the other's store.
    pub fn update(&self, fence: impl FnOnce(), reader: JoinHandle<u32>) {
        self.updaters.store(1, Relaxed);
        fence();
        let seen = self.readers.load(Relaxed);
        let saw = reader.join().expect("it does not panic");
        assert!(
            saw == 1 || seen == 1,
            "neither saw the other: no fence came between"
        );
    }
}

/// Joins a thread, whose panic would have failed the model already.
pub fn join(thread: JoinHandle<()>) {
    thread.join().expect("a panic ends the model");
}

/// Explores a model with so many preemptions (one more with `QUIESCENT_EXPLORE=deep`), and prints the number
/// of executions. The search is complete within that bound, or it fails; `brief` ends it early
/// (`ci/mutants`).
pub fn check(name: &str, preemptions: usize, model: fn()) {
    let depth = std::env::var("QUIESCENT_EXPLORE").unwrap_or_default();
    let executions = Arc::new(RealU64::new(0));
    let count = executions.clone();
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions + usize::from(depth == "deep"));
    builder.max_branches = 20_000;
    if depth == "brief" {
        // Loom looks at the limit only at its checkpoints: each 20 000 executions by default.
        builder.checkpoint_interval = 2_000;
        builder.max_permutations = Some(2_000);
    }
    builder.check(move || {
        count.fetch_add(1, RealRelaxed);
        model();
    });
    let executions = executions.load(RealRelaxed);
    let complete = match &*depth {
        "brief" => "not complete",
        _ => "complete within its bounds",
    };
    println!("{name}: {executions} executions, {complete}");
    assert!(executions > 1, "there was only one schedule");
}

/// The same in membarrier mode.
pub fn check_unfenced(name: &str, preemptions: usize, model: fn()) {
    with_membarrier(|| check(name, preemptions, model));
}
