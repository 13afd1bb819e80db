//! The machine: its parts, its threads, and how time passes.
//!
//! A thread is a stack of [`Frame`]s, each a function of the library that has begun and is to go on: the innermost goes on first, and puts
//! itself back if there is more to do. So what is one blocking function there is a function a piece here, in the same order.

use std::collections::{BTreeMap, VecDeque};

use quiescent_engine::barrier::Barrier;
use quiescent_engine::{Global, Now, Pos, Seq};

use super::queue::Queue;
use super::slots::{Slots, Told};
use super::worker::Alarm;
use super::{Verb, barrier, deliver, drive, program, sweep, wait, worker};
use crate::base::chance::Chance;
use crate::base::events;
use crate::input::op::Work;
use crate::input::options::Options;
use crate::record::counted::Counted;
use crate::record::oracle::Oracle;
use crate::record::stats::{Func, GracePeriod, Intervals, Stats};

/// Something that happens at a time of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A thread has done its piece, or runs after it was woken.
    Run { thread: usize },
    /// A thread's sleep ends, if it is still this one.
    Timeout { thread: usize, round: u64 },
    /// The worker's timer, if it is still set so.
    Timer { number: u64 },
    /// Things count from now on.
    Window,
}

/// What a thread is in the middle of.
#[derive(Clone, Debug)]
pub(super) enum Frame {
    Program(program::Next),
    Deliver(deliver::Help),
    Carry(deliver::Carry),
    Wait(wait::Wait),
    Drive(drive::Drive),
    Sweep(sweep::Sweep),
    Run(sweep::Run),
    Worker(worker::Stage),
    Barrier(barrier::Stage),
}

/// How a piece ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The next one follows at once.
    Go,
    /// It takes so long.
    Busy(u64),
    /// The thread sleeps.
    Asleep,
}

/// What a thread sleeps on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    /// Nothing: it is awake.
    Nothing,
    /// Its own affairs.
    Time,
    /// The word of a driver that sleeps.
    Sleeper,
    /// The word of a waiter.
    Turn,
    /// The worker's `epoll`.
    Epoll,
    /// Somebody else's sweep.
    Sweep,
    /// Somebody else's barrier, or its own to be complete.
    Barrier,
}

/// A thread.
pub(super) struct Thread {
    pub name: String,
    pub frames: Vec<Frame>,
    pub work: Option<Box<dyn Work>>,
    pub on: On,
    pub round: u64,
    /// Its slot, and the queue that it pushes to without the lock.
    pub slot: Option<usize>,
    pub queue: Option<usize>,
    /// Its open sections, the oracle's number of the outermost.
    pub section: Option<u64>,
    /// What became of its word as a waiter.
    pub turn: wait::Turn,
    /// What the innermost function that has ended has to say.
    pub ended: drive::End,
    pub swept: u32,
    pub ran: u64,
    /// What it has done that it has not been busy for.
    pub debt: u64,
    /// Processor time, in nanoseconds.
    pub busy_ns: u64,
    pub wakeups: u64,
    pub intervals: Intervals,
}

/// A machine of threads.
pub struct Threads {
    pub(super) options: Options,
    pub(super) now: u64,
    /// The library's clock at time 0.
    origin: u64,
    pub(super) events: events::Queue<Event>,
    pub(super) global: Global,
    pub(super) slots: Slots,
    pub(super) told: Told,
    pub(super) queues: Vec<Queue>,
    pub(super) threads: Vec<Thread>,
    /// Waiters that are linked, and their threads.
    pub(super) waiters: BTreeMap<Pos, usize>,
    /// The word of a driver that sleeps, and who sleeps on it.
    pub(super) sleeper: u32,
    pub(super) on_sleeper: VecDeque<usize>,
    pub(super) sweeping: Option<usize>,
    pub(super) barrier: Barrier,
    pub(super) barriers: barrier::State,
    pub(super) alarm: Alarm,
    pub(super) worker: Option<usize>,
    /// The program is to be told that the budget is passed.
    pub(super) untold: bool,
    /// The verb of each function.
    pub(super) verbs: Vec<Verb>,
    pub(super) stats: Stats,
    pub(super) in_flight: GracePeriod,
    pub(super) counted: Counted,
    before: Counted,
    pub(super) oracle: Oracle,
    pub(super) live: usize,
}

impl Threads {
    /// A process that has just been started: no thread has read, and nothing is queued.
    pub fn new(options: Options) -> Threads {
        let config = options.threads.config(options.lazy_flush_ms);
        let mut chance = Chance::new(options.seed ^ 0x7468_7265_6164_7321);
        let somewhere = 1000 * SECOND + chance.below(SECOND);
        let mut global = Global::new(config);
        global.set_workers(1);
        Threads {
            origin: options.threads.clock.unwrap_or(somewhere),
            now: 0,
            events: events::Queue::default(),
            global,
            slots: Slots::new(),
            told: Told::default(),
            queues: Vec::new(),
            threads: Vec::new(),
            waiters: BTreeMap::new(),
            sleeper: drive::NOBODY,
            on_sleeper: VecDeque::new(),
            sweeping: None,
            barrier: Barrier::new(),
            barriers: barrier::State::default(),
            alarm: Alarm::default(),
            worker: None,
            untold: false,
            verbs: Vec::new(),
            stats: Stats {
                until: u64::MAX,
                ..Stats::default()
            },
            in_flight: GracePeriod {
                start: 0,
                end: 0,
                scans: 0,
                holdouts: Vec::new(),
            },
            counted: Counted::default(),
            before: Counted::default(),
            oracle: Oracle::default(),
            live: 0,
            options,
        }
    }

    /// The number of a function: callbacks of it weigh so many bytes each, and are handed over so.
    pub fn func(&mut self, name: &str, bytes: u64, verb: Verb) -> usize {
        if let Some(known) = self.stats.funcs.iter().position(|it| it.name == name) {
            return known;
        }
        self.stats.funcs.push(Func {
            name: name.to_owned(),
            bytes,
            ..Func::default()
        });
        self.verbs.push(verb);
        self.verbs.len() - 1
    }

    /// A thread of the program, which starts at `start` nanoseconds; `registered`: it has read before anything else.
    pub fn spawn(&mut self, name: &str, start: u64, registered: bool, work: impl Work + 'static) {
        let first = match registered {
            true => program::Next::Register,
            false => program::Next::Ask,
        };
        let thread = self.add(name, Frame::Program(first));
        self.threads[thread].work = Some(Box::new(work));
        self.live += 1;
        self.events.put(start, Event::Run { thread });
    }

    /// As [`spawn`](Threads::spawn), of a thread that goes on for ever: [`run_tasks`](Threads::run_tasks) does not wait for it.
    pub fn spawn_endless(
        &mut self,
        name: &str,
        start: u64,
        registered: bool,
        work: impl Work + 'static,
    ) {
        self.spawn(name, start, registered, crate::input::op::Endless(work));
        self.live -= 1;
    }

    pub(super) fn add(&mut self, name: &str, frame: Frame) -> usize {
        self.threads.push(Thread {
            name: name.to_owned(),
            frames: vec![frame],
            work: None,
            on: On::Nothing,
            round: 0,
            slot: None,
            queue: None,
            section: None,
            turn: wait::Turn::Waiting,
            ended: drive::End::Home,
            swept: 0,
            ran: 0,
            debt: 0,
            busy_ns: 0,
            wakeups: 0,
            intervals: Intervals::default(),
        });
        self.threads.len() - 1
    }

    /// Only what happens from `from` until `until` counts. (Counters of the library's part count until they are looked at.)
    pub fn window(&mut self, from: u64, until: u64) {
        (self.stats.from, self.stats.until) = (from, until);
        self.events.put(from, Event::Window);
    }

    /// Lets time pass until `until` nanoseconds.
    pub fn run(&mut self, until: u64) {
        while self.once(until) {}
        self.now = until;
    }

    /// Lets time pass until all threads of the program are over, or until `until` nanoseconds. False if some are not.
    pub fn run_tasks(&mut self, until: u64) -> bool {
        while self.live > 0 {
            if !self.once(until) {
                self.now = until;
                return false;
            }
        }
        true
    }

    /// Lets time pass until nothing is owed any more, or until `until` nanoseconds. False if something is.
    pub fn run_out(&mut self, until: u64) -> bool {
        while self.oracle.owed() > 0 {
            if !self.once(until) {
                self.now = until;
                return false;
            }
        }
        true
    }

    fn once(&mut self, until: u64) -> bool {
        let Some((at, event)) = self.events.take(until) else {
            return false;
        };
        self.now = at;
        match event {
            Event::Run { thread } => self.go_on(thread),
            Event::Timeout { thread, round } => {
                if self.threads[thread].round == round {
                    self.wake(thread);
                }
            }
            Event::Timer { number } => self.timer(number),
            Event::Window => self.before = self.counted(),
        }
        true
    }

    fn go_on(&mut self, thread: usize) {
        while let Some(frame) = self.threads[thread].frames.pop() {
            let flow = match frame {
                Frame::Program(next) => self.program(thread, next),
                Frame::Deliver(help) => self.helped(thread, help),
                Frame::Carry(carry) => self.carry(thread, carry),
                Frame::Wait(wait) => self.wait(thread, wait),
                Frame::Drive(drive) => self.drive(thread, drive),
                Frame::Sweep(sweep) => self.sweep(thread, sweep),
                Frame::Run(run) => self.run_ready(thread, run),
                Frame::Worker(stage) => self.work(thread, stage),
                Frame::Barrier(stage) => self.barrier(thread, stage),
            };
            match flow {
                Flow::Go => {}
                Flow::Busy(ns) => {
                    let debt = std::mem::take(&mut self.threads[thread].debt);
                    self.threads[thread].busy_ns += ns + debt;
                    self.events.put(self.now + ns + debt, Event::Run { thread });
                    return;
                }
                Flow::Asleep => return,
            }
        }
        self.live -= usize::from(self.threads[thread].work.take().is_some());
    }

    pub(super) fn push(&mut self, thread: usize, frame: Frame) {
        self.threads[thread].frames.push(frame);
    }

    // Sleeping.

    /// The thread sleeps until it is woken, or until this time of the library's clock.
    pub(super) fn sleep(&mut self, thread: usize, on: On, until: Option<u64>) -> Flow {
        let it = &mut self.threads[thread];
        it.on = on;
        it.round += 1;
        let round = it.round;
        if let Some(until) = until {
            let at = until.saturating_sub(self.origin).max(self.now);
            self.events.put(at, Event::Timeout { thread, round });
        }
        Flow::Asleep
    }

    /// Wakes a thread, if it sleeps.
    pub(super) fn wake(&mut self, thread: usize) {
        let counts = self.stats.counts(self.now);
        let it = &mut self.threads[thread];
        if std::mem::replace(&mut it.on, On::Nothing) == On::Nothing {
            return;
        }
        it.round += 1;
        if counts {
            it.wakeups += 1;
            it.intervals.woken(self.now);
        }
        let at = self.now + self.options.threads.prices.wake;
        self.events.put(at, Event::Run { thread });
    }

    // Time.

    /// The library's clock.
    pub(super) fn clock(&self) -> u64 {
        self.origin + self.now
    }

    /// The same as of the last tick.
    pub(super) fn coarse(&self) -> u64 {
        let clock = self.clock();
        clock - clock % self.options.jiffy_ns()
    }

    /// A time of the library's clock for the engine; jiffies are milliseconds there.
    pub(super) fn at(ns: u64) -> Now {
        Now {
            ns,
            jiffies: ns / 1_000_000,
        }
    }

    /// The time of a run at which the library's clock shows this.
    pub(super) fn time_of(&self, clock: u64) -> u64 {
        clock.saturating_sub(self.origin)
    }

    pub(super) fn root(&self) -> Seq {
        self.global.published().root
    }

    // Looks.

    /// The time, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// What the library has counted so far.
    pub fn counted(&self) -> Counted {
        self.counted.with(&self.global.counts())
    }

    /// What the run has shown so far.
    pub fn stats(&self) -> Stats {
        let mut stats = self.stats.clone();
        stats.until = stats.until.min(self.now);
        stats.held.pass(self.now, stats.from, stats.until);
        stats.wakeups = self
            .threads
            .iter()
            .map(|it| (it.name.clone(), it.wakeups))
            .collect();
        stats.intervals = self.threads.iter().map(|it| it.intervals).collect();
        stats.counted = Some(self.counted().since(&self.before));
        stats.left = self.oracle.owed();
        stats.early = self.oracle.early();
        stats
    }

    /// Waits, callbacks and barriers that were over too early. Anything but 0 is a bug, of the engine or of the library's part.
    pub fn too_early(&self) -> u64 {
        self.oracle.early()
    }

    /// Callbacks that are queued, or being run.
    pub fn owed(&self) -> u64 {
        self.oracle.owed()
    }

    /// Is nobody going to do anything: nobody drives or waits, and no timer is set? (A grace period may be asked for that nobody needs
    /// any more; whoever drives next finds it.)
    pub fn is_quiet(&self) -> bool {
        !self.global.is_driven() && self.waiters.is_empty() && !self.alarm.is_set()
    }
}

/// In nanoseconds.
const SECOND: u64 = 1_000_000_000;
