//! The machine as a whole: a process in virtual time, and the length of its run.

use std::rc::Rc;

use quiescent_virtual::{Machine, Prices, Setup};

use super::Verb;
use super::process::Process;
use super::world::World;
use crate::base::chance::Chance;
use crate::input::op::{Endless, Work};
use crate::input::options::Options;
use crate::record::counted::Counted;
use crate::record::stats::Stats;

/// In nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// A machine of threads.
pub struct Threads {
    pub(super) machine: Machine,
    pub(super) world: Rc<World>,
    /// The start of the counted time, until it has come.
    opens: Option<u64>,
    before: Counted,
}

impl Threads {
    /// A process that has just been started: no thread has read, and nothing is queued.
    pub fn new(options: Options) -> Threads {
        let policy = &options.threads;
        let mut chance = Chance::new(options.seed ^ 0x7468_7265_6164_7321);
        let somewhere = 1000 * SECOND + chance.below(SECOND);
        let prices = &policy.prices;
        let machine = Machine::new(Setup {
            origin: policy.clock.unwrap_or(somewhere),
            tick_ns: options.jiffy_ns(),
            stepwise: options.stepwise,
            prices: Prices {
                fence: prices.fence,
                wake: prices.wake,
                step: prices.step,
                spin: prices.spin,
                help: prices.help,
                ask: prices.ask,
            },
        });
        let config = policy.config(options.lazy_flush_ms);
        let process = machine.enter(|| {
            let process = Process::new(config);
            process.set_offload(policy.offload);
            process
        });
        let world = Rc::new(World::new(options, process, u64::from(config.budget.small)));
        machine.set_host(world.clone());
        Threads {
            machine,
            world,
            opens: None,
            before: Counted::default(),
        }
    }

    /// The number of a function: callbacks of it weigh so many bytes each, and are handed over so.
    pub fn func(&mut self, name: &str, bytes: u64, verb: Verb) -> usize {
        self.world.func(name, bytes, verb)
    }

    /// A thread of the program, which starts at `start` nanoseconds; `registered`: it has read before
    /// anything else.
    pub fn spawn(&mut self, name: &str, start: u64, registered: bool, work: impl Work + 'static) {
        let me = self.world.add(name, Some((Box::new(work), registered)));
        let fiber = self.machine.spawn(start);
        debug_assert_eq!(fiber, me);
        self.world.known.borrow_mut().live += 1;
    }

    /// As [`spawn`](Threads::spawn), of a thread that goes on for ever: [`run_tasks`](Threads::run_tasks)
    /// does not wait for it.
    pub fn spawn_endless(
        &mut self,
        name: &str,
        start: u64,
        registered: bool,
        work: impl Work + 'static,
    ) {
        self.spawn(name, start, registered, Endless(work));
        self.world.known.borrow_mut().live -= 1;
    }

    /// Only what happens from `from` until `until` counts. (Counters of the library count until they are
    /// looked at.)
    pub fn window(&mut self, from: u64, until: u64) {
        let stats = &mut self.world.known.borrow_mut().stats;
        (stats.from, stats.until) = (from, until);
        self.opens = Some(from);
    }

    /// Lets time pass until `until` nanoseconds.
    pub fn run(&mut self, until: u64) {
        while self.once(until) {}
        self.machine.pass(until);
    }

    /// Lets time pass until all threads of the program are over, or until `until` nanoseconds. False if some
    /// are not.
    pub fn run_tasks(&mut self, until: u64) -> bool {
        self.run_while(until, |world| world.known.borrow().live > 0)
    }

    /// Lets time pass until nothing is owed any more, or until `until` nanoseconds. False if something is.
    pub fn run_out(&mut self, until: u64) -> bool {
        self.run_while(until, |world| world.known.borrow().oracle.owed() > 0)
    }

    fn run_while(&mut self, until: u64, goes_on: impl Fn(&World) -> bool) -> bool {
        while goes_on(&self.world) {
            if !self.once(until) {
                self.machine.pass(until);
                return false;
            }
        }
        true
    }

    fn once(&mut self, until: u64) -> bool {
        let next = self.machine.next().unwrap_or(u64::MAX).min(until);
        if let Some(from) = self.opens.take_if(|from| *from <= next) {
            self.machine.pass(from);
            self.before = self.counted();
            return true;
        }
        self.machine.step(until)
    }

    // Looks.

    /// The time, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.machine.now()
    }

    /// What the library has counted so far.
    pub fn counted(&self) -> Counted {
        self.machine.enter(|| self.world.process.counted())
    }

    /// What the run has shown so far.
    pub fn stats(&self) -> Stats {
        let counted = self.counted();
        let known = self.world.known.borrow();
        let mut stats = known.stats.clone();
        stats.until = stats.until.min(self.now());
        stats.held.pass(self.now(), stats.from, stats.until);
        let threads = &known.threads;
        stats.wakeups = threads
            .iter()
            .map(|it| (it.name.clone(), it.wakeups))
            .collect();
        stats.intervals = threads.iter().map(|it| it.intervals).collect();
        stats.counted = Some(counted.since(&self.before));
        stats.left = known.oracle.owed();
        stats.early = known.oracle.early();
        stats
    }

    /// Waits, callbacks and barriers that were over too early. Anything but 0 is a bug, of the engine or of
    /// the library.
    pub fn too_early(&self) -> u64 {
        self.world.known.borrow().oracle.early()
    }

    /// Callbacks that are queued, or being run.
    pub fn owed(&self) -> u64 {
        self.world.known.borrow().oracle.owed()
    }

    /// Is the machine at rest: no driver, no waiter, and no timer set? (A grace period may be requested
    /// without a waiter; the next driver finds it.)
    pub fn is_quiet(&self) -> bool {
        let waits = self.world.known.borrow().threads.iter().any(|it| it.waits);
        !waits && !self.machine.enter(|| self.world.process.is_busy())
    }
}
