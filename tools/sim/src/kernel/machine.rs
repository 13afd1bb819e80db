//! The machine: its parts, and the loop that lets time pass.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use quiescent_kernel::CpuId;

use crate::base::chance::Chance;
use crate::base::events::Queue;
use crate::idling::package::Who;
use crate::input::op::{Endless, Work};
use crate::input::options::{Options, Smp};
use crate::kernel::cpu::{Core, Exec};
use crate::kernel::event::Event;
use crate::kernel::state::idling::Idling;
use crate::kernel::state::{Barriers, Expediting, Rcu, SysCalls, Tally};
use crate::kernel::task::{Kind, State, Task, Waits};
use crate::kernel::wheel::{For, Timer, Wheel};
use crate::record::notes::What;
use crate::record::oracle::Oracle;
use crate::record::stats::{Func, GracePeriod, Stats};

pub use crate::kernel::state::Machine;

impl Machine {
    /// A machine that has booted: no task runs, and no callback was ever queued.
    pub fn new(options: Options) -> Machine {
        let cpus = options.cpus;
        let rcu = Rcu::new(&options);
        let mut it = Machine {
            now: 0,
            events: 0,
            queue: Queue::default(),
            cores: (0..cpus).map(|_| Core::new()).collect(),
            tasks: Vec::new(),
            wheel: Wheel::new(options.timer_migration, options.jiffies),
            stats: Stats {
                until: u64::MAX,
                interruptions: vec![(0, 0); cpus as usize],
                ..Stats::default()
            },
            gp_thread: 0,
            rcuogs: vec![None; rcu.groups.len()],
            rcuops: vec![None; cpus as usize],
            waiters: VecDeque::new(),
            deferred: None,
            kworker: 0,
            in_flight: GracePeriod::default(),
            exp: Expediting::default(),
            barrier: Barriers::default(),
            srcu: None,
            oracle: Oracle::default(),
            preempted: 0,
            latched: 0,
            departures: 0,
            timekeeper: None,
            jiffy_at: None,
            executing: None,
            last: cpus - 1,
            waiting: BTreeSet::new(),
            alarms: BTreeSet::new(),
            live_tasks: 0,
            functions: HashMap::new(),
            chance: Chance::new(options.seed),
            faulty: None,
            idling: Idling::new(&options),
            tally: Tally::default(),
            syscalls: SysCalls::default(),
            locks: BTreeMap::new(),
            rcu,
            options,
        };
        it.boot();
        it
    }

    fn boot(&mut self) {
        let gp_cpu = self.options.rcu_cpu(self.options.gp_cpu);
        self.gp_thread = self.add("rcu_preempt".into(), Kind::GpThread, Some(gp_cpu));
        for group in 0..self.rcu.groups.len() {
            let Some(it) = &self.rcu.groups[group] else {
                continue;
            };
            let (leader, members) = (it.leader(), it.members().to_vec());
            let name = format!("rcuog/{leader}");
            self.rcuogs[group] = Some(self.add(name, Kind::Rcuog(group as u32), Some(gp_cpu)));
            for cpu in members {
                let task = self.add(format!("rcuop/{cpu}"), Kind::Rcuop(cpu), None);
                self.rcuops[cpu as usize] = Some(task);
            }
        }
        self.kworker = self.add("kworker/rcu".into(), Kind::Kworker, None);
        self.exp.worker = self.add("kworker/rcu_exp".into(), Kind::ExpWorker, None);
        self.rcu.global.set_expedite(self.options.expedite());
        self.rcu.drive_on(gp_cpu);
        for cpu in 0..self.options.cpus {
            self.rcu.watch[cpu as usize].idle_enter();
        }
        self.begin_timekeeping();
        self.begin_polling(gp_cpu);
    }

    pub(crate) fn add(&mut self, name: String, kind: Kind, cpu: Option<CpuId>) -> usize {
        self.tasks.push(Task::new(name, kind, cpu));
        self.tasks.len() - 1
    }

    /// The number of a callback function.
    pub fn func(&mut self, name: &str) -> usize {
        if let Some(&known) = self.functions.get(name) {
            return known;
        }
        let number = self.stats.funcs.len();
        self.functions.insert(name.to_owned(), number);
        self.stats.funcs.push(Func {
            name: name.to_owned(),
            ..Func::default()
        });
        number
    }

    /// The same, of a function whose callbacks hold so many bytes each.
    pub fn func_of(&mut self, name: &str, bytes: u64) -> usize {
        let func = self.func(name);
        self.stats.funcs[func].bytes = bytes;
        func
    }

    /// A task of the workload, which starts at `start` nanoseconds on `cpu` and stays there.
    pub fn spawn(&mut self, name: &str, cpu: CpuId, start: u64, work: impl Work + 'static) {
        let task = self.add(name.to_owned(), Kind::Work(Box::new(work)), Some(cpu));
        self.live_tasks += 1;
        self.set_alarm(cpu, task, start);
    }

    /// The task's sleep ends at `at` nanoseconds.
    pub(crate) fn set_alarm(&mut self, cpu: CpuId, task: usize, at: u64) {
        let round = self.tasks[task].round;
        self.queue.put(at, Event::Alarm { cpu, task, round });
        if self.idling.is_some() || self.options.smp == Smp::Serial {
            self.alarms.insert((at, cpu, task, round));
        }
    }

    /// As [`spawn`](Machine::spawn), of a task that goes on for ever: [`run_tasks`](Machine::run_tasks) does
    /// not wait for it.
    pub fn spawn_endless(&mut self, name: &str, cpu: CpuId, start: u64, work: impl Work + 'static) {
        self.spawn(name, cpu, start, Endless(work));
        self.live_tasks -= 1;
    }

    /// Where a kernel thread runs, from which times (in nanoseconds) on.
    pub fn place(&mut self, name: &str, places: Vec<(u64, CpuId)>) {
        if let Some(task) = self.tasks.iter_mut().find(|it| it.name == name) {
            task.places = places;
        }
    }

    /// The first sleep of the task that was spawned last is ended by a tick, and makes none.
    pub(crate) fn defer(&mut self, deferred: bool) {
        if let Some(task) = self.tasks.last_mut() {
            task.deferred = deferred;
        }
    }

    /// From now on it has these, of what a running kernel lets be changed: who wakes those that wait for a
    /// grace period, when the grace-period thread's CPU reports, and the waits before scans.
    pub fn change(&mut self, options: Options) {
        let config = options.config();
        self.rcu.global.set_early_qs(config.early_qs);
        self.rcu
            .global
            .set_fqs_waits(config.first_fqs, config.next_fqs);
        self.options = options;
    }

    /// Only what happens from `from` until `until` counts.
    pub fn window(&mut self, from: u64, until: u64) {
        (self.stats.from, self.stats.until) = (from, until);
    }

    /// Lets time pass until `until` nanoseconds.
    pub fn run(&mut self, until: u64) {
        while let Some((at, event)) = self.queue.take(until) {
            self.now = at;
            self.happen(event);
        }
        self.now = until;
    }

    /// Lets time pass until all tasks of the workload are over, or until `until` nanoseconds. False if some
    /// are not.
    pub fn run_tasks(&mut self, until: u64) -> bool {
        while self.live_tasks > 0 {
            let Some((at, event)) = self.queue.take(until) else {
                self.now = until;
                return false;
            };
            self.now = at;
            self.happen(event);
        }
        true
    }

    /// What the run has shown so far.
    pub fn stats(&self) -> Stats {
        let mut stats = self.stats.clone();
        let named = |task: &Task| (task.name.clone(), task.wakeups);
        stats.wakeups = self.tasks.iter().map(named).collect();
        stats.intervals = self.tasks.iter().map(|it| it.intervals).collect();
        stats.credits = self.rcu.notes().credits();
        stats.idled = self.idled();
        stats.srcu = self.srcu_stats();
        stats.early = self.too_early();
        stats.syscalls = self.syscalls.records.clone();
        stats.held.pass(self.now, stats.from, stats.until);
        stats.until = stats.until.min(self.now);
        stats
    }

    /// CPUs that it has.
    pub fn cpus(&self) -> u32 {
        self.options.cpus
    }

    /// Events that have happened: what a run costs.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The time, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The jiffy that it is.
    pub(crate) fn jiffy_now(&self) -> u64 {
        self.options.jiffies + self.now / self.options.jiffy_ns()
    }

    /// When this jiffy begins, in nanoseconds.
    pub(crate) fn begins(&self, jiffy: u64) -> u64 {
        let after = jiffy.saturating_sub(self.options.jiffies);
        after.saturating_mul(self.options.jiffy_ns())
    }

    /// The jiffies that were counted: where CPUs are serial, one may tick before that which counts them.
    pub(crate) fn jiffies(&self) -> u64 {
        match self.options.smp {
            Smp::Parallel => self.jiffy_now(),
            Smp::Serial => self.wheel.counted(),
        }
    }

    fn happen(&mut self, event: Event) {
        self.events += 1;
        match event {
            Event::Jiffy => self.jiffy(),
            Event::Done { cpu, work } => {
                if self.cores[cpu as usize].work == work {
                    self.done(cpu);
                }
            }
            Event::Ipi { cpu } => {
                self.interrupt_arrives(cpu);
                if self.cores[cpu as usize].online {
                    self.cores[cpu as usize].ipi = true;
                    self.poke(cpu);
                }
            }
            Event::Plug { cpu, online } => self.plugged(cpu, online),
            Event::Late { task, waker } => self.wake_late(task, waker),
            Event::Alarm { cpu, task, round } => {
                self.alarms.remove(&(self.now, cpu, task, round));
                let cpu = self.heir(cpu);
                if self.tasks[task].deferred {
                    self.cores[cpu as usize].deferred.push((task, round));
                    return;
                }
                self.blames(cpu, Who::Task(task));
                self.cores[cpu as usize].alarms.push((task, round));
                self.poke(cpu);
            }
        }
    }

    // Ticks.

    /// A jiffy begins.
    fn jiffy(&mut self) {
        if self.jiffy_at != Some(self.now) {
            return; // asked for twice
        }
        self.jiffy_at = None;
        let rung = self.wheel.ring(self.jiffy_now());
        let mut due: BTreeSet<CpuId> = self.wheel.active().collect();
        due.extend(rung.iter().map(|it| it.0));
        self.blames_jiffy(due.iter().copied(), &rung);
        for &cpu in &due {
            self.cores[cpu as usize].tick = true;
        }
        for (cpu, _) in rung.into_iter().filter(|it| it.1 == For::All) {
            self.cores[cpu as usize].rung = true;
        }
        self.go_off(&due);
        for &cpu in &due {
            self.wants(cpu);
        }
        self.start_some();
        self.expect_jiffy();
    }

    /// Schedules the next jiffy in which a CPU ticks.
    pub(crate) fn expect_jiffy(&mut self) {
        let next = self.jiffy_now() + 1;
        let Some(jiffy) = self.wheel.next_jiffy(next) else {
            return;
        };
        let at = self.begins(jiffy);
        if self.jiffy_at.is_none_or(|known| at < known) {
            self.jiffy_at = Some(at);
            self.queue.put(at, Event::Jiffy);
        }
    }

    pub(crate) fn set_timer(&mut self, timer: Timer, cpu: CpuId, at: u64) {
        self.wheel.set(timer, cpu, at);
        self.expect_jiffy();
    }

    // The task that runs.

    /// `waker` wakes a task.
    pub(crate) fn wake(&mut self, task: usize, waker: CpuId) {
        if !self.wake_goes_wrong(task, waker) {
            self.wake_now(task, waker);
        }
    }

    pub(crate) fn wake_now(&mut self, task: usize, waker: CpuId) {
        let it = &mut self.tasks[task];
        match it.state {
            State::Sleeping => {}
            State::Awake => {
                it.woken = true;
                return;
            }
            State::Over => return,
        }
        if let Some(Waits::ForGp { since, .. }) = it.waits {
            self.oracle.waited(since);
        }
        self.balance(task);
        let it = &mut self.tasks[task];
        if let Some(roaming) = &mut it.roaming {
            it.cpu = roaming.next();
        }
        it.state = State::Awake;
        it.woken = false;
        it.round += 1;
        if self.stats.counts(self.now) {
            it.wakeups += 1;
            it.intervals.woken(self.now);
        }
        let target = it.target(self.now, waker);
        let target = self.housekeeping(task, target);
        self.rcu.notes().say(What::Wakeup { task, target });
        self.wheel.stop(Timer::Wake(task));
        self.make_ready(task, self.heir(target), waker);
    }

    /// A task wants to run on `target`.
    pub(crate) fn make_ready(&mut self, task: usize, target: CpuId, waker: CpuId) {
        self.tasks[task].cpu = Some(target);
        let core = &mut self.cores[target as usize];
        core.ready.push_back(task);
        let gives_way = core.current.is_some_and(|it| self.tasks[it].gives_way());
        let core = &mut self.cores[target as usize];
        core.resched |= gives_way;
        if matches!(core.exec, Exec::Halted | Exec::Computing) {
            self.sends_for(task);
            self.send_ipi(target, waker);
        }
    }
}
