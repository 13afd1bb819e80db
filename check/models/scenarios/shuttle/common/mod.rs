//! Shared parts of the scenarios: a world with a domain and its record, the threads that the library would
//! have, and the runner.
//!
//! A *life* is one long execution: threads that perform one random action after the other ([`deeds`]), a
//! thread that acts as the worker, one as the overflow worker, and one as the kernel's timer. After the
//! actions only the timer wakes threads, and everything has to end.

pub mod books;
pub mod deeds;
#[path = "../../tasks.rs"]
pub mod tasks;

use std::cell::{Cell, RefCell};

use books::Books;
use quiescent_models::chance::Rng;
use quiescent_models::shuttle::{AtomicU32, Case, JoinHandle, Kind, Nap, clock, nap, run, spawn};
use quiescent_on_shuttle as rcu;
use rcu::check::{Life, Model as Domain, observe_frees};

/// The timer is checked once in so many nanoseconds of the model.
const LOOK_NS: u64 = 5_000;
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

/// The library's threads, and the kernel's timer.
pub struct Pool {
    helpers: Vec<JoinHandle<()>>,
    timer: JoinHandle<()>,
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

    /// The worker, the overflow worker, and the timer.
    pub fn staff(&'static self) -> Pool {
        Pool {
            helpers: vec![
                self.thread(|| {
                    self.serve(u64::MAX);
                }),
                self.thread(|| self.serve_as_overflow()),
            ],
            timer: self.thread(|| self.play_timer()),
        }
    }

    /// The same, with a worker that hands its role to another thread after a number of passes, repeatedly.
    pub fn staff_that_changes(&'static self, passes: u64) -> Pool {
        Pool {
            helpers: vec![
                self.thread(move || self.serve_in_shifts(passes)),
                self.thread(|| self.serve_as_overflow()),
            ],
            timer: self.thread(|| self.play_timer()),
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

    fn serve_in_shifts(&'static self, passes: u64) {
        while self.serve(passes) && self.shift(passes) {}
    }

    /// Another thread acts as the worker for a while.
    fn shift(&'static self, passes: u64) -> bool {
        let goes_on = spawn(move || {
            self.domain.enter();
            let goes_on = self.serve(passes);
            self.domain.leave();
            goes_on
        });
        goes_on.join().expect("a panic ends the execution")
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

    /// Acts as the worker's timer in the kernel, until no thread can run and no timer is set: if that is
    /// before the actions are done, a thread waits for ever.
    fn play_timer(&self) {
        loop {
            let set = self.domain.timer();
            if set.is_some_and(|set| set <= clock()) {
                self.domain.kick();
            }
            let until = set.map_or(u64::MAX, |set| set.max(clock() + 1));
            if nap(until.min(clock() + LOOK_NS)) == Nap::Due || set.is_some() {
                continue;
            }
            // No thread can run before that time, and no timer is set. A sleeper with a time limit may run
            // later.
            if nap(u64::MAX) == Nap::Idle && self.domain.timer().is_none() {
                let at = self.cursor.at.borrow();
                assert!(
                    self.cursor.over.get(),
                    "deadlock: no thread can run, and no timer is set; actions: {at:?}"
                );
                return;
            }
        }
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
        join(staff.timer);
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
pub fn join(thread: JoinHandle<()>) {
    thread.join().expect("a panic ends the execution");
}

/// The factor on the number of cases: `QUIESCENT_EXPLORE`.
fn factor() -> u64 {
    match std::env::var("QUIESCENT_EXPLORE").as_deref() {
        Ok("full") => 10,
        Ok("deep") => 100,
        _ => 1,
    }
}

/// Runs so many walks, and a third as many cases of pct; or the one case that `QUIESCENT_SHUTTLE` names.
pub fn check(name: &str, walks: u64, scenario: fn()) {
    let walks = walks * factor();
    let mut cases: Vec<Case> = Vec::new();
    match std::env::var("QUIESCENT_SHUTTLE") {
        Ok(case) => cases.push(case.parse().unwrap_or_else(|error| panic!("{error}"))),
        Err(_) => {
            let mut seeds = Rng::new(SEED);
            for n in 0..walks {
                let (kind, more) = (Kind::Walk, n % 3 == 0);
                let seed = seeds.next_u64() >> 32;
                cases.push(Case { kind, seed });
                if more {
                    let kind = Kind::Pct;
                    cases.push(Case { kind, seed });
                }
            }
        }
    }
    let (mut executions, mut steps) = (0, 0);
    for case in cases {
        match run(case, scenario) {
            Ok(report) => {
                executions += report.executions;
                steps += report.steps;
            }
            Err(failure) => panic!(
                "{name}: {}\n  after {} steps; again with QUIESCENT_SHUTTLE={case} in the environment",
                failure.message, failure.report.steps
            ),
        }
    }
    println!("{name}: {executions} executions, {steps} steps");
    assert!(steps > executions, "there was only one schedule");
}
