//! The state of a run beside the library's own: threads, queued objects, the oracle, and statistics.

use std::cell::RefCell;

use quiescent_engine::{Global, Phase};
use quiescent_virtual as time;

use super::Verb;
use super::process::{OpenSection, Process};
use crate::input::op::Work;
use crate::input::options::Options;
use crate::record::oracle::Oracle;
use crate::record::stats::{Func, GracePeriod, Intervals, Stats};

/// A queued object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Item {
    func: usize,
    /// When.
    at: u64,
    /// Its number, and the first section that it need not outlive: the oracle's.
    number: u64,
    since: u64,
}

/// A thread.
pub(super) struct Thread {
    pub name: String,
    /// What it does, and whether it reads before anything else; none of the worker.
    pub work: Option<(Box<dyn Work>, bool)>,
    /// Its number as a reader.
    pub slot: Option<u32>,
    /// Its open sections, and the oracle's number of the outermost.
    pub sections: Vec<OpenSection>,
    pub section: Option<u64>,
    /// It is in a call that waits.
    pub waits: bool,
    pub wakeups: u64,
    pub intervals: Intervals,
}

/// The part that changes.
#[derive(Default)]
pub(super) struct Known {
    pub threads: Vec<Thread>,
    /// Threads of the program that are not over.
    pub live: usize,
    worker: Option<usize>,
    /// The verb of each function.
    pub verbs: Vec<Verb>,
    /// Queued objects by their number in the library, less one; and the free places there.
    items: Vec<Option<Item>>,
    free: Vec<usize>,
    pub oracle: Oracle,
    pub stats: Stats,
    /// The grace period under way, if there is one.
    in_flight: Option<GracePeriod>,
    /// Grace periods that have ended, and scans before the one under way.
    ended: u64,
    scans: u64,
}

/// The state of a run beside the library's own.
pub(super) struct World {
    pub options: Options,
    pub process: Process,
    /// From this size on the bytes of one object may use up a credit.
    pub small: u64,
    pub known: RefCell<Known>,
}

impl World {
    pub fn new(options: Options, process: Process, small: u64) -> World {
        let mut known = Known::default();
        known.stats.until = u64::MAX;
        World {
            options,
            process,
            small,
            known: RefCell::new(known),
        }
    }

    pub fn func(&self, name: &str, bytes: u64, verb: Verb) -> usize {
        let known = &mut *self.known.borrow_mut();
        if let Some(known) = known.stats.funcs.iter().position(|it| it.name == name) {
            return known;
        }
        known.stats.funcs.push(Func {
            name: name.to_owned(),
            bytes,
            ..Func::default()
        });
        known.verbs.push(verb);
        known.verbs.len() - 1
    }

    /// A thread; its number, which is that of its fiber.
    pub fn add(&self, name: &str, work: Option<(Box<dyn Work>, bool)>) -> usize {
        let threads = &mut self.known.borrow_mut().threads;
        threads.push(Thread {
            name: name.to_owned(),
            work,
            slot: None,
            sections: Vec::new(),
            section: None,
            waits: false,
            wakeups: 0,
            intervals: Intervals::default(),
        });
        threads.len() - 1
    }

    /// Notes a queued object; returns its number for the library.
    pub fn queued(&self, func: usize) -> usize {
        let (now, known) = (time::now(), &mut *self.known.borrow_mut());
        known.stats.holds(now, func, true);
        if known.stats.counts(now) {
            let counted = &mut known.stats.funcs[func];
            counted.queued += 1;
            counted.lazily += u64::from(known.verbs[func].is_lazy());
        }
        let item = Item {
            func,
            at: now,
            number: known.oracle.queued(),
            since: known.oracle.since(),
        };
        match known.free.pop() {
            Some(place) => {
                known.items[place] = Some(item);
                place + 1
            }
            None => {
                known.items.push(Some(item));
                known.items.len()
            }
        }
    }

    /// It is freed, or run.
    fn gone(&self, object: usize) {
        let (now, known) = (time::now(), &mut *self.known.borrow_mut());
        let item = known.items[object - 1]
            .take()
            .expect("queued, and not freed yet");
        known.free.push(object - 1);
        known.oracle.invoked(item.number, item.since);
        known.stats.holds(now, item.func, false);
        if known.stats.counts(now) {
            let func = &mut known.stats.funcs[item.func];
            func.invoked += 1;
            func.delays.push(now - item.at);
        }
    }
}

impl time::Host for World {
    fn live(&self, thread: usize) {
        self.process.enter();
        let is_worker = self.known.borrow().worker == Some(thread);
        match is_worker {
            true => self.process.serve(),
            false => self.run_program(thread),
        }
    }

    fn woken(&self, thread: usize) {
        let (now, known) = (time::now(), &mut *self.known.borrow_mut());
        if known.stats.counts(now) {
            let it = &mut known.threads[thread];
            it.wakeups += 1;
            it.intervals.woken(now);
        }
    }

    fn freed(&self, object: usize) {
        self.gone(object);
        // Of an owner, the price of its push covers what that frees.
        if time::me().is_some() && time::me() == self.known.borrow().worker {
            time::charge(self.options.threads.prices.push);
        }
    }

    fn run(&self, object: usize) {
        self.gone(object);
        time::busy(self.options.costs.callback);
    }

    /// What the step was in the life of the grace period.
    fn stepped(&self, engine: &Global) {
        let (now, known) = (time::now(), &mut *self.known.borrow_mut());
        let counts = engine.counts();
        let ended =
            std::mem::replace(&mut known.ended, counts.grace_periods) != counts.grace_periods;
        let under_way = engine.published().state() != 0;
        let new = || GracePeriod {
            start: now,
            end: 0,
            scans: 0,
            holdouts: Vec::new(),
        };
        if known.in_flight.is_none() && (ended || under_way) {
            known.in_flight = Some(new());
        }
        if let Some(it) = &mut known.in_flight {
            it.scans = (counts.scans - known.scans) as u32;
            if it.scans == 1 && matches!(engine.phase(), Phase::Wait(_)) {
                it.holdouts = engine.holdouts().collect();
            }
        }
        if ended {
            known.scans = counts.scans;
            let next = under_way.then(new);
            let over = std::mem::replace(&mut known.in_flight, next);
            if known.stats.counts(now) {
                let over = over.map(|it| GracePeriod { end: now, ..it });
                known.stats.grace_periods.extend(over);
            }
        }
    }

    fn need_worker(&self) {
        if self.known.borrow().worker.is_some() {
            return;
        }
        let me = self.add("quiescent", None);
        self.known.borrow_mut().worker = Some(me);
        let fiber = time::spawn(self.options.threads.prices.start);
        debug_assert_eq!(fiber, me);
    }
}
