//! Long random executions of a domain with a clock: a world with a domain and its record, the threads that
//! the library would have, and the runner.
//!
//! A *life* is one long execution: threads that perform one random action after the other ([`deeds`]), a
//! thread that acts as the worker, and one as the overflow worker. After the actions only the machine's timer
//! wakes threads, and everything has to end.

mod books;
mod deeds;

mod covers;
mod ends;
mod limits;
mod lives;
mod slots;

use std::cell::{Cell, RefCell};

use books::Books;
use deeds::Deed;
use quiescent_models::chance::Rng;
use quiescent_models::explorer::{AtomicU32, JoinHandle, Model as Machine, long, nap, spawn};
use quiescent_on_explorer as rcu;
use rcu::check::{Life, Model as Domain, observe_frees};

/// The first seed.
const SEED: u64 = 0x5EED;

/// Durations within a life of some hundred actions.
pub const LIFE: Life = Life {
    batch: 4,
    lazy_ns: 40_000,
    prompt_ns: 8_000,
    pressure_ns: 20_000,
    takeover_after_ns: Some(2_000),
    overflow_above: 6,
    overflow_below: 2,
};

/// State that scenario and helpers share outside the model.
#[derive(Debug, Default)]
struct Cursor {
    /// The actions are done.
    over: Cell<bool>,
    /// All threads are done.
    stop: Cell<bool>,
    /// The present action of each thread, to explain a deadlock.
    at: RefCell<Vec<String>>,
}

/// One execution's domain.
pub struct World {
    pub domain: Domain,
    pub books: Books,
    /// The published object.
    pointer: AtomicU32,
    cursor: Cursor,
}

// SAFETY: model threads are fibers on one OS thread, and no borrow of a cell lasts.
unsafe impl Send for World {}
// SAFETY: as above.
unsafe impl Sync for World {}

/// The library's threads, and one that notices when all others wait.
pub struct Pool {
    helpers: Vec<JoinHandle<()>>,
    idle: JoinHandle<()>,
}

impl World {
    /// A world with a published object. It is leaked: callbacks hold its address.
    pub fn new(domain: Domain) -> &'static World {
        let world = Box::leak(Box::new(World {
            domain,
            books: Books::default(),
            pointer: AtomicU32::new(0),
            cursor: Cursor::default(),
        }));
        world.books.thing();
        observe_frees(deeds::observer);
        world
    }

    /// A thread of the domain: enters, does `body`, ends.
    pub fn thread(&'static self, body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
        spawn(move || {
            self.domain.enter();
            body();
            self.domain.leave();
        })
    }

    /// The worker and the overflow worker.
    pub fn staff(&'static self) -> Pool {
        self.staff_that_changes(u64::MAX)
    }

    /// The same, with a worker that hands its role to another thread after a number of passes, repeatedly.
    pub fn staff_that_changes(&'static self, passes: u64) -> Pool {
        Pool {
            helpers: vec![
                self.thread(move || while self.serve(passes) && self.shift(passes) {}),
                self.thread(|| self.serve_as_overflow()),
            ],
            idle: self.thread(|| self.expect_end()),
        }
    }

    /// The worker's passes. False once it is to stop, true after the given number of passes.
    fn serve(&self, passes: u64) -> bool {
        for _ in 0..passes {
            let last = self.cursor.stop.get();
            self.domain.work();
            if last {
                return false;
            }
            self.domain.sleep();
        }
        true
    }

    /// Another thread acts as the worker for a while.
    fn shift(&'static self, passes: u64) -> bool {
        let goes_on = spawn(move || {
            self.domain.enter();
            let goes_on = self.serve(passes);
            self.domain.leave();
            goes_on
        });
        goes_on.join()
    }

    fn serve_as_overflow(&self) {
        let mut calls = 0;
        loop {
            calls = self.domain.sleep_as_overflow(calls);
            if self.cursor.stop.get() {
                break;
            }
            self.domain.relieve();
        }
    }

    /// Sleeps until no thread can run and no timer is set: if that is before the actions are done, a thread
    /// waits for ever.
    fn expect_end(&self) {
        nap(u64::MAX);
        let at = self.cursor.at.borrow();
        assert!(
            self.cursor.over.get(),
            "deadlock: no thread can run, and no timer is set; actions: {at:?}"
        );
    }

    /// Threads that do so many of these actions each, beside the library's own, until everything has ended.
    pub fn lives(domain: Domain, threads: usize, deeds: &'static [Deed], times: u32) {
        let world = World::new(domain);
        let staff = world.staff();
        let life = || world.thread(move || world.live(deeds, times));
        let lives: Vec<_> = std::iter::repeat_with(life).take(threads).collect();
        world.finish(lives, staff);
    }

    /// The actions are done: everything ends by itself, and nothing is left.
    pub fn finish(&'static self, deeds: impl IntoIterator<Item = JoinHandle<()>>, staff: Pool) {
        self.domain.enter();
        for thread in deeds {
            join(thread);
        }
        self.books.check();
        rcu::tuning::set_closures(rcu::Runner::Worker);
        self.cursor.over.set(true);
        join(staff.idle);
        self.cursor.stop.set(true);
        self.domain.kick();
        self.domain.call_overflow();
        staff.helpers.into_iter().for_each(join);
        self.books.expect_all_over();
        assert_eq!(
            self.domain.held(),
            0,
            "all entries have ended, but are still counted"
        );
        assert_eq!(
            self.domain.accounted(),
            (0, 0),
            "the budget counts something"
        );
        assert_eq!(self.domain.timer(), None, "a timer is set for nothing");
        let statistics = rcu::statistics();
        assert_eq!(statistics.callback_panics, 0, "a callback panicked");
        assert_eq!(statistics.leaked, 0, "something was leaked");
        assert_eq!(statistics.registered, 0, "a thread is still registered");
        assert!(
            !self.domain.overflow_is_on_duty(),
            "the overflow worker is on duty"
        );
        self.domain.register();
        let registered = rcu::statistics().registered;
        assert_eq!(
            registered, 1,
            "no slot is free although every thread has ended"
        );
        self.domain.leave();
    }
}

/// Joins a thread.
fn join(thread: JoinHandle<()>) {
    thread.join();
}

/// Executions for each that a test asks for, set by `QUIESCENT_EXPLORE`.
fn factor() -> u64 {
    match std::env::var("QUIESCENT_EXPLORE").as_deref() {
        Ok("brief") => 1,
        Ok("full") => 20,
        Ok("deep") => 200,
        _ => 2,
    }
}

/// Runs so many executions; or the one that `QUIESCENT_SEED` names.
fn check(name: &str, executions: u64, scenario: fn()) {
    let mut steps = 0;
    let mut run = |seed| match long(Machine::Sc, seed, scenario) {
        Ok(more) => steps += more,
        Err(why) => panic!("{name}: {why}; again with QUIESCENT_SEED={seed} in the environment"),
    };
    if let Ok(seed) = std::env::var("QUIESCENT_SEED") {
        return run(seed.parse().expect("QUIESCENT_SEED is a number"));
    }
    let mut seeds = Rng::new(SEED);
    let executions = executions * factor();
    (0..executions).for_each(|_| run(seeds.next_u64() >> 32));
    println!("{name}: {executions} executions, {steps} steps");
    assert!(steps > executions, "there was only one schedule");
}
