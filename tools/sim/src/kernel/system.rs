//! CPUs, tasks, timers and time, as all parts of RCU use them.

use std::collections::{BTreeSet, HashMap};

use quiescent_kernel::{CpuId, Now};

use crate::base::chance::Chance;
use crate::base::events::Queue;
use crate::input::options::{Options, Smp};
use crate::kernel::cpu::{Core, Exec};
use crate::kernel::event::Event;
use crate::kernel::state::idling::Idling;
use crate::kernel::state::{Act, Rcu, System, Tally};
use crate::kernel::task::{Kind, State, Task, Waits};
use crate::kernel::wheel::{For, Timer, Wheel};
use crate::record::notes::What;
use crate::record::oracle::Oracle;
use crate::record::stats::{Func, Stats};

impl System {
    pub fn new(options: Options) -> System {
        let cpus = options.cpus;
        System {
            now: 0,
            queue: Queue::default(),
            cores: (0..cpus).map(|_| Core::new()).collect(),
            tasks: Vec::new(),
            wheel: Wheel::new(options.timer_migration, options.jiffies),
            stats: Stats {
                until: u64::MAX,
                interruptions: vec![(0, 0); cpus as usize],
                ..Stats::default()
            },
            oracle: Oracle::default(),
            tally: Tally::default(),
            timekeeper: None,
            jiffy_at: None,
            executing: None,
            last: cpus - 1,
            waiting: BTreeSet::new(),
            alarms: BTreeSet::new(),
            functions: HashMap::new(),
            chance: Chance::new(options.seed),
            faulty: None,
            idling: Idling::new(&options),
            options,
        }
    }

    /// Does what happens now count?
    pub fn counts(&self) -> bool {
        self.stats.counts(self.now)
    }

    /// Is it online?
    pub fn is_online(&self, cpu: CpuId) -> bool {
        self.cores[cpu as usize].online
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

    pub fn add(&mut self, name: String, kind: Kind, cpu: Option<CpuId>) -> usize {
        self.tasks.push(Task::new(name, kind, cpu));
        self.tasks.len() - 1
    }

    /// The task's sleep ends at `at` nanoseconds.
    pub fn set_alarm(&mut self, cpu: CpuId, task: usize, at: u64) {
        let round = self.tasks[task].round;
        self.queue.put(at, Event::Alarm { cpu, task, round });
        if self.idling.is_some() || self.options.smp == Smp::Serial {
            self.alarms.insert((at, cpu, task, round));
        }
    }

    /// The jiffy that it is.
    pub fn jiffy_now(&self) -> u64 {
        self.options.jiffies + self.now / self.options.jiffy_ns()
    }

    /// When this jiffy begins, in nanoseconds.
    pub fn begins(&self, jiffy: u64) -> u64 {
        let after = jiffy.saturating_sub(self.options.jiffies);
        after.saturating_mul(self.options.jiffy_ns())
    }

    /// The jiffies that were counted: where CPUs are serial, one may tick before that which counts them.
    pub fn jiffies(&self) -> u64 {
        match self.options.smp {
            Smp::Parallel => self.jiffy_now(),
            Smp::Serial => self.wheel.counted(),
        }
    }

    /// A jiffy begins.
    pub fn jiffy(&mut self, rcu: &Rcu) {
        if self.jiffy_at != Some(self.now) {
            return; // asked for twice
        }
        self.jiffy_at = None;
        let rung = self.wheel.ring(self.jiffy_now());
        let mut due: BTreeSet<CpuId> = self.wheel.active().collect();
        due.extend(rung.iter().map(|it| it.0));
        self.blames_jiffy(rcu, due.iter().copied(), &rung);
        for &cpu in &due {
            self.cores[cpu as usize].tick = true;
        }
        for (cpu, _) in rung.into_iter().filter(|it| it.1 == For::All) {
            self.cores[cpu as usize].rung = true;
        }
        for &cpu in &due {
            self.wants(cpu);
        }
        self.go_off(&due);
        self.start_some();
        self.expect_jiffy();
    }

    /// Schedules the next jiffy in which a CPU ticks.
    pub fn expect_jiffy(&mut self) {
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

    pub fn set_timer(&mut self, timer: Timer, cpu: CpuId, at: u64) {
        self.wheel.set(timer, cpu, at);
        self.expect_jiffy();
    }

    /// `waker` wakes a task.
    pub fn wake(&mut self, rcu: &Rcu, task: usize, waker: CpuId) {
        let rcus = self.tasks[task].is_rcus();
        let faulty = self.faulty.as_mut().filter(|_| rcus);
        match faulty.and_then(|it| it.delays(&self.options, task)) {
            None => self.wake_now(rcu, task, waker),
            Some(None) => {}
            Some(Some(ns)) => self.queue.put(self.now + ns, Event::Late { task, waker }),
        }
    }

    /// A late wake-up arrives; the waker may be doing something else by now, so the CPU is interrupted in any
    /// case.
    pub fn wake_late(&mut self, rcu: &Rcu, task: usize, waker: CpuId) {
        self.wake_now(rcu, task, self.heir(waker));
        if let Some(cpu) = self.tasks[task].cpu {
            self.queue.put(self.now, Event::Ipi { cpu });
        }
    }

    pub fn wake_now(&mut self, rcu: &Rcu, task: usize, waker: CpuId) {
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
        let target = self.housekeeping(rcu, task, target);
        rcu.notes().say(What::Wakeup { task, target });
        self.wheel.stop(Timer::Wake(task));
        self.make_ready(rcu, task, self.heir(target), waker);
    }

    /// A task wants to run on `target`.
    pub fn make_ready(&mut self, rcu: &Rcu, task: usize, target: CpuId, waker: CpuId) {
        self.tasks[task].cpu = Some(target);
        let core = &mut self.cores[target as usize];
        core.ready.push_back(task);
        let gives_way = core.current.is_some_and(|it| self.tasks[it].gives_way());
        let core = &mut self.cores[target as usize];
        core.resched |= gives_way;
        if matches!(core.exec, Exec::Halted | Exec::Computing) {
            self.sends_for(task);
            self.send_ipi(rcu, target, waker);
        }
    }

    /// The CPU runs no task any more; returns the task that ran, and its time.
    pub fn turn_ends(&mut self, cpu: CpuId) -> Option<usize> {
        let core = &mut self.cores[cpu as usize];
        let task = core.current.take()?;
        self.tasks[task].ran_ns += self.now - core.runs_since;
        Some(task)
    }

    pub fn say_switch(&self, rcu: &Rcu, cpu: CpuId, next: Option<usize>) {
        let state = |task: usize| self.tasks[task].state_letter();
        rcu.notes().switched(cpu, next, state);
    }

    /// The scheduler moves one of RCU's threads now and then, if the options say so: it runs anywhere from
    /// this wake-up on.
    pub fn balance(&mut self, task: usize) {
        let Some(mean) = self.options.moves else {
            return;
        };
        let it = &mut self.tasks[task];
        let moves = matches!(it.kind, Kind::GpThread | Kind::Rcuog(_) | Kind::Rcuop(_));
        if !moves || !it.places.is_empty() || self.now < it.moves_at {
            return;
        }
        let any = self.chance.below(self.options.cpus.into()) as CpuId;
        it.cpu = Some(self.options.rcu_cpu(any));
        it.moves_at = self.now + self.chance.poisson(mean);
    }

    /// What it did takes so long; then it sleeps.
    pub fn then_sleeps(&mut self, cpu: CpuId, cost: u64) -> Act {
        self.cores[cpu as usize].sleeps = true;
        Act::Busy(cost)
    }

    /// The time of one step of many, where steps are taken one by one: mostly microseconds, and now and then
    /// as long as if another task had taken the CPU.
    pub fn step_cost(&mut self) -> u64 {
        let most = if self.chance.permille(100) {
            3 * self.options.jiffy_ns()
        } else {
            10_000
        };
        self.chance.below(most)
    }

    /// From now on the task waits for a grace period.
    pub fn waits_for_gp(&mut self, task: usize, expedited: bool) {
        self.tasks[task].waits = Some(Waits::ForGp {
            start: self.now,
            since: self.oracle.since(),
            expedited,
            cookie: None,
        });
    }

    /// This CPU, or the last one before it that is online.
    pub fn heir(&self, cpu: CpuId) -> CpuId {
        let all = self.options.cpus;
        let mut at = cpu;
        while !self.cores[at as usize].online {
            at = (at + all - 1) % all;
        }
        at
    }

    /// RCU has taken so much CPU time.
    pub fn took(&mut self, ns: u64) {
        if self.counts() {
            self.stats.totals.rcu_ns += ns;
        }
    }

    pub fn ksoftirqd_of(&mut self, cpu: CpuId) -> usize {
        let task = match self.cores[cpu as usize].ksoftirqd {
            Some(task) => task as usize,
            None => self.add(format!("ksoftirqd/{cpu}"), Kind::Ksoftirqd, None),
        };
        self.cores[cpu as usize].ksoftirqd = Some(task as u32);
        if self.tasks[task].state == State::Sleeping {
            self.tasks[task].cpu = Some(cpu);
        }
        task
    }

    /// The time, as `cpu`'s clock has it.
    pub fn engine_now(&self, cpu: CpuId) -> Now {
        let faulty = self.faulty.as_ref();
        let ahead = faulty.map_or(0, |it| it.ahead[cpu as usize]);
        Now {
            ns: self.now + ahead,
            jiffies: self.jiffies(),
        }
    }

    /// Ticks unrelated to RCU: CPU, and time in nanoseconds.
    pub fn outside_ticks(&mut self, ticks: &[(CpuId, u64)]) {
        let (jiffy, first) = (self.options.jiffy_ns(), self.options.jiffies);
        for &(cpu, at) in ticks {
            let cpu = cpu.min(self.options.cpus - 1);
            self.wheel.ring_outside(cpu, first + at / jiffy);
        }
        self.expect_jiffy();
    }

    /// Interrupts without an effect: CPU, and time in nanoseconds.
    pub fn outside_interrupts(&mut self, interrupts: &[(CpuId, u64)]) {
        for &(cpu, at) in interrupts {
            let cpu = cpu.min(self.options.cpus - 1);
            self.queue.put(at, Event::Ipi { cpu });
        }
    }

    /// The CPU of a task that would run on `target`: RCU's threads do not run on such CPUs, and if `rcu_cpus`
    /// names CPUs for them, on those alone.
    pub fn housekeeping(&self, rcu: &Rcu, task: usize, target: CpuId) -> CpuId {
        let it = &self.tasks[task];
        let rcus = match it.kind {
            Kind::GpThread | Kind::ExpWorker => Some(target),
            Kind::Rcuog(group) => Some(group),
            Kind::Rcuop(whose) => Some(whose),
            _ => None,
        };
        match rcus.filter(|_| it.places.is_empty()) {
            Some(cpu) if self.options.rcu_cpu(target) != target => self.options.rcu_cpu(cpu),
            Some(_) if rcu.is_full(target) => self.options.gp_cpu,
            _ => target,
        }
    }
}
