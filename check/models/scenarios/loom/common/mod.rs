//! Shared parts of the models: a world with a domain and objects, and the roles of threads.

pub mod deferred;
pub mod watched;

use std::sync::Arc;
use std::sync::atomic::AtomicU64 as RealU64;
use std::sync::atomic::Ordering::Relaxed as RealRelaxed;

use quiescent_models::loom::Ordering::{Acquire, Release};
use quiescent_models::loom::thread::{self, JoinHandle};
use quiescent_models::loom::{
    AtomicU32, Builder, futex_wait, futex_wake, with_membarrier, yield_now,
};
use quiescent_on_loom as rcu;
use rcu::check::Model as Domain;

use crate::side::{Body, Process, Side};
use watched::Watched;

/// Objects in a world.
const OBJECTS: usize = 5;
const NEW: u64 = 0;
const WHOLE: u64 = 1;
const FREED: u64 = 2;

/// One execution's domain and objects. Loom watches them: filling one, using it and freeing it are ordered.
#[derive(Debug)]
pub struct World {
    pub domain: Domain,
    pointer: AtomicU32,
    objects: [Watched; OBJECTS],
    arrived: AtomicU32,
}

/// A thread that uses what is shared.
pub fn start<T: 'static, R: 'static>(
    shared: &Arc<T>,
    body: impl FnOnce(&T) -> R + 'static,
) -> JoinHandle<R> {
    let shared = shared.clone();
    thread::spawn(move || body(&shared))
}

/// A thread of the domain: enters, does `body`, ends.
pub fn thread_of<T: 'static, R: 'static>(
    domain: Domain,
    shared: &Arc<T>,
    body: impl FnOnce(&T) -> R + 'static,
) -> JoinHandle<R> {
    start(shared, move |shared| {
        domain.enter();
        let result = body(shared);
        domain.leave();
        result
    })
}

impl World {
    /// Its first object is published.
    pub fn new(domain: Domain) -> Arc<World> {
        let [pointer, arrived] = std::array::from_fn(|_| AtomicU32::new(0));
        let world = World {
            domain,
            pointer,
            objects: std::array::from_fn(|_| Watched::new(NEW)),
            arrived,
        };
        world.change(0, NEW, WHOLE);
        Arc::new(world)
    }

    pub fn thread(self: &Arc<World>, body: impl FnOnce(&World) + 'static) -> JoinHandle<()> {
        thread_of(self.domain, self, body)
    }

    fn change(&self, object: usize, from: u64, to: u64) {
        let old = self.objects[object].replace(to);
        assert_eq!(old, from, "object {object}");
    }

    /// The body of a section: the published object is read.
    pub fn look(&self) -> usize {
        let object = self.pointer.load(Acquire) as usize;
        self.use_object(object);
        object
    }

    /// Reads an object that was found in this section.
    pub fn use_object(&self, object: usize) {
        let value = self.objects[object].get();
        assert_eq!(value, WHOLE, "object {object} was freed under a reader");
    }

    /// Signals that a reader is inside.
    pub fn arrive(&self) {
        self.arrived.store(1, Release);
        futex_wake(&self.arrived);
    }

    /// Fills an object and replaces the published one with it.
    pub fn publish(&self, with: usize) {
        self.change(with, NEW, WHOLE);
        self.pointer.store(with as u32, Release);
    }

    /// Frees an object after its grace period.
    pub fn free(&self, object: usize) {
        self.change(object, WHOLE, FREED);
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
    futex_wait(&world.arrived, 0, None);
    assert_eq!(world.arrived.load(Acquire), 1);
    side.update(&world);
    join(reader);
}

/// A section that reads once, after one that makes the reader known.
pub fn read_fast<S: Side>(world: &World, side: S) {
    drop(side.enter());
    side.read_once(world);
}

/// A thread that waits too, and may drive.
pub fn waits<S: Side>(_: &World, side: S) {
    side.synchronize();
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

/// All slots that exist are taken: two threads keep theirs for ever.
pub fn no_slot_is_left(world: &World, _: Process) {
    let domain = world.domain;
    for _ in 0..2 {
        join(thread::spawn(move || {
            domain.enter();
            domain.register();
        }));
    }
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

/// Joins a thread, whose panic would have failed the model already.
pub fn join<R>(thread: JoinHandle<R>) -> R {
    thread.join().expect("a panic ends the model")
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
