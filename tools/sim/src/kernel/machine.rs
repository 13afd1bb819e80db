//! The machine: its parts, and the loop that lets time pass.

use std::sync::Arc;

use quiescent_kernel::CpuId;

use crate::base::chance::Chance;
use crate::idling::package::Who;
use crate::input::op::{Endless, Work};
use crate::input::options::Options;
use crate::kernel::event::Event;
use crate::kernel::srcu::domain::Srcu;
use crate::kernel::state::{
    Barriers, Expediting, Faults, Faulty, LockTable, Rcu, SysCalls, System,
};
use crate::kernel::task::{Kind, Roaming, Task};
use crate::record::stats::Stats;

pub use crate::kernel::state::Machine;

impl Machine {
    /// A machine that has booted: no task runs, and no callback was ever queued.
    pub fn new(options: Options) -> Machine {
        let rcu = Rcu::new(&options);
        let mut it = Machine {
            events: 0,
            rcu,
            exp: Expediting::default(),
            barrier: Barriers::default(),
            srcu: Srcu::new(),
            live_tasks: 0,
            syscalls: SysCalls::default(),
            locks: LockTable::default(),
            sys: System::new(options),
        };
        it.rcu.boots(&mut it.sys);
        it
    }

    /// The number of a callback function.
    pub fn func(&mut self, name: &str) -> usize {
        self.sys.func(name)
    }

    /// The same, of a function whose callbacks hold so many bytes each.
    pub fn func_of(&mut self, name: &str, bytes: u64) -> usize {
        let func = self.sys.func(name);
        self.sys.stats.funcs[func].bytes = bytes;
        func
    }

    /// A task of the workload, which starts at `start` nanoseconds on `cpu` and stays there.
    pub fn spawn(&mut self, name: &str, cpu: CpuId, start: u64, work: impl Work + 'static) {
        let kind = Kind::Work(Box::new(work));
        let task = self.sys.add(name.to_owned(), kind, Some(cpu));
        self.live_tasks += 1;
        self.sys.set_alarm(cpu, task, start);
    }

    /// As [`spawn`](Machine::spawn), of a task that goes on for ever: [`run_tasks`](Machine::run_tasks) does
    /// not wait for it.
    pub fn spawn_endless(&mut self, name: &str, cpu: CpuId, start: u64, work: impl Work + 'static) {
        self.spawn(name, cpu, start, Endless(work));
        self.live_tasks -= 1;
    }

    /// Where a kernel thread runs, from which times (in nanoseconds) on.
    pub fn place(&mut self, name: &str, places: Vec<(u64, CpuId)>) {
        if let Some(task) = self.sys.tasks.iter_mut().find(|it| it.name == name) {
            task.places = places;
        }
    }

    /// The first sleep of the task that was spawned last is ended by a tick, and makes none.
    pub(crate) fn defer(&mut self, deferred: bool) {
        if let Some(task) = self.sys.tasks.last_mut() {
            task.deferred = deferred;
        }
    }

    /// From now on it has these, of what a running kernel lets be changed: who wakes those that wait for a
    /// grace period, when the grace-period thread's CPU reports, and the waits before scans.
    pub fn change(&mut self, options: Options) {
        let config = options.config();
        let global = &mut self.rcu.global;
        global.set_early_qs(config.early_qs);
        global.set_fqs_waits(config.first_fqs, config.next_fqs);
        self.sys.options = options;
    }

    /// Only what happens from `from` until `until` counts.
    pub fn window(&mut self, from: u64, until: u64) {
        (self.sys.stats.from, self.sys.stats.until) = (from, until);
    }

    /// Lets time pass until `until` nanoseconds.
    pub fn run(&mut self, until: u64) {
        while self.passes(until) {}
    }

    /// Lets time pass until all tasks of the workload are over, or until `until` nanoseconds. False if some
    /// are not.
    pub fn run_tasks(&mut self, until: u64) -> bool {
        while self.live_tasks > 0 && self.passes(until) {}
        self.live_tasks == 0
    }

    /// Lets time pass until the next event is over; until `until`, if there is none before.
    fn passes(&mut self, until: u64) -> bool {
        let next = self.sys.queue.take(until);
        self.sys.now = next.map_or(until, |it| it.0);
        next.map(|it| self.happen(it.1)).is_some()
    }

    /// What the run has shown so far.
    pub fn stats(&self) -> Stats {
        let mut stats = self.sys.stats.clone();
        let named = |task: &Task| (task.name.clone(), task.wakeups);
        stats.wakeups = self.sys.tasks.iter().map(named).collect();
        stats.intervals = self.sys.tasks.iter().map(|it| it.intervals).collect();
        stats.credits = self.rcu.notes().credits();
        stats.idled = self.sys.idled();
        stats.srcu = self.srcu.shown();
        stats.early = self.too_early();
        stats.syscalls = self.syscalls.records.clone();
        stats.held.pass(self.sys.now, stats.from, stats.until);
        stats.until = stats.until.min(self.sys.now);
        stats
    }

    /// CPUs that it has.
    pub fn cpus(&self) -> u32 {
        self.sys.options.cpus
    }

    /// Events that have happened: what a run costs.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The time, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.sys.now
    }

    fn happen(&mut self, event: Event) {
        self.events += 1;
        match event {
            Event::Jiffy => self.sys.jiffy(&self.rcu),
            Event::Done { cpu, work } => {
                if self.sys.cores[cpu as usize].work == work {
                    self.done(cpu);
                }
            }
            Event::Ipi { cpu } => {
                self.sys.interrupt_arrives(cpu);
                if self.sys.cores[cpu as usize].online {
                    self.sys.cores[cpu as usize].ipi = true;
                    self.sys.poke(cpu);
                }
            }
            Event::Plug { cpu, online } => self.rcu.plugged(&mut self.sys, cpu, online),
            Event::Late { task, waker } => self.sys.wake_late(&self.rcu, task, waker),
            Event::Alarm { cpu, task, round } => {
                self.sys.alarms.remove(&(self.sys.now, cpu, task, round));
                let cpu = self.sys.heir(cpu);
                if self.sys.tasks[task].deferred {
                    self.sys.cores[cpu as usize].deferred.push((task, round));
                    return;
                }
                self.sys.blames(&self.rcu, cpu, Who::Task(task));
                self.sys.cores[cpu as usize].alarms.push((task, round));
                self.sys.poke(cpu);
            }
        }
    }

    /// Injects these faults from now on, with the random numbers of `seed`.
    pub fn faulty(&mut self, faults: Faults, seed: u64) {
        let faulty = Faulty::new(faults, seed, self.sys.options.cpus);
        self.sys.faulty = Some(Box::new(faulty));
    }

    /// Nothing goes wrong from now on, and what was lost is made up for. Clocks stay as they are: they never
    /// go back.
    pub fn calm(&mut self) {
        let Some(it) = &mut self.sys.faulty else {
            return;
        };
        it.faults = Faults::default();
        let lost = std::mem::take(&mut it.lost);
        let interrupts = std::mem::take(&mut it.lost_interrupts);
        for task in lost {
            self.sys.wake_late(&self.rcu, task, 0);
        }
        for cpu in interrupts {
            self.sys.queue.put(self.sys.now, Event::Ipi { cpu });
        }
    }

    /// The task that was spawned last runs, from each wake-up on, on one of these CPUs.
    ///
    /// ```
    /// use quiescent_sim::chance::Chance;
    /// use quiescent_sim::{Machine, Options, Steps, Time};
    ///
    /// let mut machine = Machine::new(Options::kernel_6_12(4, 1000));
    /// let chance = Chance::new(1);
    /// let turn = |it: Steps| it.run(Time::of(50_000)).sleep(Time::of(5_000_000));
    /// let work = Steps::default().repeat(None, turn);
    /// machine.spawn_endless("daemon", 1, 0, work);
    /// machine.roam(vec![1, 2, 3], chance);
    /// machine.keep_trace();
    /// machine.run(100_000_000);
    /// let mut text = Vec::new();
    /// machine.write_trace(&mut text)?;
    /// let text = String::from_utf8_lossy(&text);
    /// let wakes = text.lines().filter(|it| it.contains("sched_wakeup: comm=daemon"));
    /// let mut targets: Vec<&str> = wakes.filter_map(|it| it.rsplit('=').next()).collect();
    /// targets.sort_unstable();
    /// targets.dedup();
    /// assert_eq!(targets, ["001", "002", "003"]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn roam(&mut self, cpus: impl Into<Arc<[CpuId]>>, chance: Chance) {
        let cpus = cpus.into();
        if let Some(task) = self.sys.tasks.last_mut() {
            task.roaming = Some(Roaming { cpus, chance });
        }
    }

    /// Waits, calls and callbacks that were over while a section was open that they had to outlive; barriers
    /// that were over before a callback. 0, unless the engine is wrong.
    pub fn too_early(&self) -> u64 {
        self.sys.oracle.early() + self.srcu.oracle.early()
    }

    /// Is no grace period in progress, none requested, and nothing in force that only load explains? Grace
    /// periods of SRCU count too.
    pub fn is_quiet(&self) -> bool {
        !self.rcu.global.busy() && !self.srcu.global.busy() && !self.rcu.latch_is_stuck()
    }

    /// Callbacks that were queued and have not been invoked.
    pub fn owed(&self) -> u64 {
        self.sys.oracle.owed() + self.srcu.oracle.owed()
    }
}
