//! Shared parts of the scenarios: a world with a domain and objects, and the roles of threads.
//!
//! Objects stand for memory: readers write `users` into one while they use it, `freed` marks it as poison.
//! Readers must never load a freed object, and the thread that frees it must find no user: the accesses of a
//! section happen before everything after the grace period.

pub mod races;
pub mod reclaim;
pub mod tasks;

use std::rc::Rc;

use quiescent_models::explorer::Ordering::{Acquire, Relaxed, Release};
use quiescent_models::explorer::*;
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;

/// Objects in a world.
const OBJECTS: usize = 3;
/// Threads that may use objects.
const USERS: usize = 5;

/// Memory that is published, read, removed and freed.
#[derive(Default)]
struct Object {
    freed: AtomicU32,
    users: [AtomicU32; USERS],
}

/// The seed of the random walks: any number works, and the same one makes them repeatable.
const SEED: u64 = 0x5EED;
/// An execution with more steps counts as a livelock.
const MAX_STEPS: u64 = 20_000;

/// One execution's domain and objects.
pub struct World {
    pub domain: Domain,
    /// The number of the published object.
    pub pointer: AtomicU32,
    objects: [Object; OBJECTS],
    arrived: AtomicU32,
    open: AtomicU32,
    reopened: AtomicU32,
    things: reclaim::Things,
}

impl World {
    pub fn new(domain: Domain) -> Rc<World> {
        branching(false);
        Rc::new(World {
            domain,
            pointer: AtomicU32::new(0),
            objects: std::array::from_fn(|_| Object::default()),
            arrived: AtomicU32::new(0),
            open: AtomicU32::new(0),
            reopened: AtomicU32::new(0),
            things: reclaim::Things::default(),
        })
    }

    /// A thread of the domain: enters, does `body`, ends.
    pub fn thread<R: 'static>(
        self: &Rc<World>,
        body: impl FnOnce(&World) -> R + 'static,
    ) -> JoinHandle<R> {
        let world = self.clone();
        spawn(move || {
            world.domain.enter();
            let result = body(&world);
            world.domain.leave();
            result
        })
    }

    /// As [`thread`](World::thread), but the thread registers before the scenario begins.
    pub fn registered<R: 'static>(
        self: &Rc<World>,
        body: impl FnOnce(&World) -> R + 'static,
    ) -> JoinHandle<R> {
        self.thread(move |world| {
            world.come();
            body(world)
        })
    }

    /// The thread registers before the scenario begins.
    pub fn come(&self) {
        self.domain.register();
        self.pass_on();
    }

    /// The thread has finished its actions before the scenario.
    pub fn pass_on(&self) {
        self.arrived.fetch_add(1, Relaxed);
        wait_for(&self.open);
    }

    /// A thread that takes a slot and never uses it.
    pub fn bystander(self: &Rc<World>) -> JoinHandle<()> {
        self.registered(|_| ())
    }

    /// Waits for [`reopen`](World::reopen).
    pub fn wait_reopened(&self) {
        wait_for(&self.reopened);
    }

    /// Lets the thread continue that waits in `await_open`.
    pub fn reopen(&self) {
        let_go(&self.reopened, 1);
    }

    /// Has [`reopen`](World::reopen) been called?
    pub fn is_reopened(&self) -> bool {
        self.reopened.load(Acquire) != 0
    }

    /// The scenario begins: `count` registered threads are ready, and keep waiting.
    pub fn ready(&self, count: u32) {
        while self.arrived.load(Relaxed) < count {
            yield_now();
        }
        branching(true);
    }

    /// The scenario begins: `count` registered threads are ready, and continue.
    pub fn begin(&self, count: u32) {
        self.ready(count);
        branching(false);
        self.let_go(count);
        branching(true);
    }

    /// Lets registered threads continue.
    pub fn let_go(&self, count: u32) {
        let_go(&self.open, count);
    }

    /// The body of a section: uses the published object, which must not have been freed.
    pub fn look(&self) -> usize {
        let object = self.pointer.load(Acquire) as usize;
        self.use_object(object);
        object
    }

    /// Uses an object that was found in this section.
    pub fn use_object(&self, object: usize) {
        let Object { freed, users } = &self.objects[object];
        let user = &users[thread_index()];
        user.store(1, Relaxed);
        assert_eq!(
            freed.load(Relaxed),
            0,
            "object {object} was freed under a reader"
        );
        user.store(0, Relaxed);
    }

    /// A section that reads once.
    pub fn read(&self) {
        let _guard = rcu::read_lock();
        self.look();
    }

    /// Replaces the published object; returns the old one.
    pub fn replace(&self, with: usize) -> usize {
        self.pointer.swap(with as u32, Release) as usize
    }

    /// Removes the published object with a plain store, if only one thread updates.
    pub fn publish(&self, with: usize) {
        self.pointer.store(with as u32, Release);
    }

    /// Frees an object after its grace period.
    pub fn free(&self, object: usize) {
        let Object { freed, users } = &self.objects[object];
        for (thread, user) in users.iter().enumerate() {
            assert_eq!(
                user.load(Relaxed),
                0,
                "object {object} is freed while T{thread} uses it"
            );
        }
        freed.store(1, Relaxed);
    }

    /// An updater beside others, which replace the object before or after it.
    pub fn replace_and_free(&self, with: usize) {
        let old = self.replace(with);
        rcu::synchronize();
        self.free(old);
    }

    /// The usual updater: publishes `new`, waits, frees `old`.
    pub fn update(&self, old: usize, new: usize) {
        self.publish(new);
        rcu::synchronize();
        self.free(old);
    }
}

/// Polls until the answer is yes.
pub fn poll_for(cookie: rcu::Cookie) {
    while !cookie.is_done() {
        yield_now();
    }
}

fn wait_for(gate: &AtomicU32) {
    while gate.load(Acquire) == 0 {
        futex_wait(gate, 0, None);
    }
}

fn let_go(gate: &AtomicU32, count: u32) {
    gate.store(1, Release);
    (0..count).for_each(|_| futex_wake(gate));
}

/// Joins all of these threads.
pub fn join_all<const N: usize>(threads: [JoinHandle<()>; N]) {
    threads.into_iter().for_each(JoinHandle::join);
}

/// The size of a search, set by `QUIESCENT_EXPLORE`.
struct Depth {
    /// Machines that are searched systematically.
    systematic: &'static [Model],
    /// Preemptions and delays beyond the scenario's own.
    more: u32,
    max_executions: u64,
    /// The search must be complete within this number of executions.
    whole: bool,
    walks: u64,
}

impl Depth {
    /// By default: all schedules on the weaker machine, whose buffers allow everything that the other
    /// machine's allow, and more; and random walks on both. `full` has all schedules on both, and four times
    /// as many walks (`ci/nightly loom`); `deep` one preemption and one delay more in each, up to two million
    /// executions. `brief` is for many runs of all scenarios (`ci/mutants`).
    fn get() -> Depth {
        const BOTH: &[Model] = &[Model::Tso, Model::Pso];
        const WEAKER: &[Model] = &[Model::Pso];
        let depth = std::env::var("QUIESCENT_EXPLORE");
        let (systematic, more, max_executions, whole, walks) = match depth.as_deref() {
            Ok("deep") => (BOTH, 1, 2_000_000, false, 200_000),
            Ok("brief") => (BOTH, 0, 1_500, false, 300),
            Ok("full") => (BOTH, 0, 150_000, true, 4_000),
            _ => (WEAKER, 0, 300_000, true, 1_000),
        };
        Depth {
            systematic,
            more,
            max_executions,
            whole,
            walks,
        }
    }
}

/// Searches a scenario on both machines, systematically and at random, and expects no failure.
pub fn check(
    name: &str,
    preemptions: u32,
    flush_delays: u32,
    scenario: impl Fn() + Copy + 'static,
) {
    let depth = Depth::get();
    let bounds = Bounds {
        preemptions: preemptions + depth.more,
        flush_delays: flush_delays + depth.more,
        max_steps: MAX_STEPS,
        max_executions: depth.max_executions,
    };
    for model in [Model::Tso, Model::Pso] {
        if depth.systematic.contains(&model) {
            let report = explore(model, bounds, scenario);
            let searched = !depth.whole || report.complete || report.failure.is_some();
            assert!(
                searched,
                "{name}: fewer preemptions, or more executions: {report}"
            );
            report.clean(name);
        }
        random_walk(model, SEED, depth.walks, MAX_STEPS, scenario).clean(name);
    }
}
