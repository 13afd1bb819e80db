//! Shared parts of the models: a world with a domain and objects, and the roles of threads.
//!
//! Objects are loom's cells, so that a read in a section and the write that stands for freeing must be
//! ordered by happens-before; an order in time is not enough.

pub mod deferred;

use std::sync::Arc;
use std::sync::atomic::AtomicU64 as RealU64;
use std::sync::atomic::Ordering::Relaxed as RealRelaxed;

use quiescent_models::loom::Ordering::{Acquire, Release};
use quiescent_models::loom::thread::{self, JoinHandle};
use quiescent_models::loom::{AtomicU32, Builder, UnsafeCell, futex_wait, futex_wake};
use quiescent_on_loom as rcu;
use rcu::check::Model as Domain;

/// Objects in a world.
const OBJECTS: usize = 3;

/// One execution's domain and objects.
#[derive(Debug)]
pub struct World {
    pub domain: Domain,
    pointer: AtomicU32,
    objects: [UnsafeCell<u32>; OBJECTS],
    arrived: AtomicU32,
    srcu: std::sync::OnceLock<&'static rcu::Srcu>,
    own: std::sync::OnceLock<&'static rcu::Domain>,
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
            srcu: std::sync::OnceLock::new(),
            own: std::sync::OnceLock::new(),
        })
    }

    /// A world with an [`Srcu`](rcu::Srcu).
    pub fn counted(domain: Domain) -> Arc<World> {
        let world = World::new(domain);
        world.srcu.get_or_init(|| domain.srcu());
        world
    }

    /// The [`Srcu`](rcu::Srcu) of this world.
    pub fn srcu(&self) -> &'static rcu::Srcu {
        self.srcu.get().expect("a world made by `counted`")
    }

    /// A world with a domain of the program's own.
    pub fn with_own(domain: Domain) -> Arc<World> {
        let world = World::new(domain);
        world.own.get_or_init(|| domain.own_domain(0));
        world
    }

    /// That domain.
    pub fn own(&self) -> &'static rcu::Domain {
        self.own.get().expect("a world made by `with_own`")
    }

    /// A thread of the domain: enters, does `body`, ends.
    pub fn thread(self: &Arc<World>, body: fn(&World)) -> JoinHandle<()> {
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

    /// A section that reads once.
    pub fn read(&self) {
        let _guard = rcu::read_lock();
        self.look();
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

    /// The usual updater: publishes `new`, waits, frees `old`.
    pub fn update(&self, old: usize, new: usize) {
        self.publish(new);
        rcu::synchronize();
        self.free(old);
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
    builder.max_branches = 5_000;
    builder.max_permutations = (depth == "brief").then_some(1_000);
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
