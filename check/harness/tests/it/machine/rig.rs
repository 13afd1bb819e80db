//! The machine's random actions, and the oracle: it knows which sections were open when a wait began, and
//! never asks the engine about grace periods.

use std::collections::VecDeque;

use quiescent_harness::host::TestHost;
use quiescent_kernel::fast_no_hz::IdleNeeds;
use quiescent_kernel::limits::Around;
use quiescent_kernel::tick::{At, Interrupted};
use quiescent_kernel::{Config, CpuId, Pos};

use crate::chance::{Random, seldom};

pub const CPUS: usize = 5;

seldom! {
    reported, refused, gone_faster, urgent, heavy, resched, irq_work, cpu_time, stop_tick,
    forced_tick, momentary, tick_resched, ask_unlock, stalls, wake_in, slept_to_core, kept_tick,
    flooded, overloaded, adopted, forced_scan, left_alone,
}

/// A waiter, with the sections open at its beginning.
struct Waiting {
    ticket: Pos,
    open: Vec<usize>,
}

pub struct Rig {
    pub host: TestHost,
    pub seldom: Seldom,
    random: Random,
    preemptible: bool,
    online: [bool; CPUS],
    busy: [bool; CPUS],
    sections: [Option<usize>; CPUS],
    ended: Vec<bool>,
    /// For each queued callback: the sections that were open then, and whether it is lazy.
    fifos: [VecDeque<(Vec<usize>, bool)>; CPUS],
    waiting: Vec<Waiting>,
}

impl Rig {
    pub fn new(config: Config, random: Random) -> Rig {
        let mut host = TestHost::kernel_with(CPUS as u32, config);
        host.set_nohz_full(3);
        assert!(host.try_drive(0));
        Rig {
            host,
            seldom: Seldom::default(),
            random,
            preemptible: config.tick.preemptible,
            online: [true; CPUS],
            busy: [false; CPUS],
            sections: [None; CPUS],
            ended: Vec::new(),
            fifos: Default::default(),
            waiting: Vec::new(),
        }
    }

    /// Performs a random action on a random CPU.
    pub fn deed(&mut self) {
        let at = self.random.below(CPUS as u64);
        let cpu = at as CpuId;
        if !self.online[at] {
            if self.random.below(20) == 0 {
                let came = self.host.register();
                self.online[came as usize] = true;
                self.host.came_online(came);
            }
            return;
        }
        match self.random.below(24) {
            0 | 1 => self.enter(at),
            2..=4 if self.sections[at].is_some() => self.exit(at),
            5 if self.sections[at].is_none() => {
                self.busy[at] = !self.busy[at];
                self.host.set_busy(cpu, self.busy[at]);
            }
            6 | 7 => self.call(at),
            8..=11 => self.tick(at),
            12 => self.core(at),
            13 => self.batch(at),
            14 => self.switch(at),
            15 => self.idle(at),
            16 => self.wait(at),
            17 => self.odds(at),
            18 if self.random.below(10) == 0 => self.dies(at),
            19 | 20 => self.host.pass_jiffies(1),
            _ => self.thread(),
        }
    }

    fn open(&self) -> Vec<usize> {
        self.sections.iter().flatten().copied().collect()
    }

    fn enter(&mut self, at: usize) {
        if self.sections[at].is_none() {
            self.host.enter(at as CpuId);
            self.sections[at] = Some(self.ended.len());
            self.ended.push(false);
        }
    }

    fn exit(&mut self, at: usize) {
        if let Some(section) = self.sections[at].take() {
            self.host.exit(at as CpuId);
            self.ended[section] = true;
        }
    }

    fn call(&mut self, at: usize) {
        let lazy = self.random.below(3) > 0;
        let overloaded = self.host.call(at as CpuId).overloaded;
        self.seldom.overloaded += u32::from(overloaded);
        if lazy {
            self.host.queued_lazy(at as CpuId);
        }
        let open = self.open();
        self.fifos[at].push_back((open, lazy));
        let cpu = self.host.cpu(at as CpuId).expect("it called");
        self.seldom.flooded += u32::from(cpu.batch().is_flooded());
    }

    fn tick(&mut self, at: usize) {
        let cpu = at as CpuId;
        let mut how = self.host.at(cpu);
        if self.sections[at].is_none() && how.from == Interrupted::Kernel {
            how.from = [Interrupted::Kernel, Interrupted::User][self.random.below(2)];
        }
        let ticked = self.host.tick_at(cpu, how);
        self.seldom.tick_resched += u32::from(ticked.resched);
        self.seldom.ask_unlock += u32::from(ticked.ask_unlock);
        self.seldom.stalls += u32::from(ticked.stall.is_some());
        let known = self.host.cpu(cpu).expect("it looked");
        let other = At {
            nohz_full: false,
            ..how
        };
        let alone = ticked.core.is_none() && known.pending(self.host.engine(), other).is_some();
        self.seldom.left_alone += u32::from(alone);
        if ticked.core.is_some() && self.random.below(4) > 0 {
            self.core(at);
            self.batch(at);
        }
    }

    fn core(&mut self, at: usize) {
        let noticed = self.host.core(at as CpuId);
        self.seldom.reported += u32::from(noticed.reported);
        self.seldom.stop_tick += u32::from(noticed.stop_tick);
    }

    /// Runs a batch: each invoked callback has waited long enough.
    fn batch(&mut self, at: usize) {
        let around = Around {
            need_resched: self.random.below(2) == 0,
            idle: self.random.below(2) == 0,
            elapsed_ns: None,
        };
        let invoked = self.host.batch(at as CpuId, around, 100);
        let mut lazy = 0;
        for _ in 0..invoked {
            let (open, is_lazy) = self.fifos[at].pop_front().expect("it was queued");
            lazy += u64::from(is_lazy);
            for section in open {
                assert!(
                    self.ended[section],
                    "a callback ran inside section {section}"
                );
            }
        }
        self.host.on(at as CpuId, |cpu, _, _| cpu.ran_lazy(lazy));
    }

    /// A context switch, or a point where one is possible.
    fn switch(&mut self, at: usize) {
        if self.sections[at].is_some() || !self.busy[at] {
            return;
        }
        let answer = match self.random.below(2) {
            0 => self.host.context_switch(at as CpuId),
            _ => self.host.cond_resched(at as CpuId),
        };
        assert!(!(answer.momentary_eqs && self.preemptible));
        self.seldom.momentary += u32::from(answer.momentary_eqs);
    }

    fn idle(&mut self, at: usize) {
        if self.sections[at].is_some() || self.busy[at] {
            return;
        }
        let (cpu, jiffies) = (at as CpuId, self.host.now().jiffies);
        let look = match self.random.below(3) {
            0 => self.host.idle_needs(cpu),
            1 => {
                self.host.prepare_for_idle(cpu);
                return;
            }
            _ => self.host.cleanup_after_idle(cpu),
        };
        let it = &mut self.seldom;
        match look.needs {
            IdleNeeds::Core => it.slept_to_core += 1,
            IdleNeeds::WakeIn(ticks) => {
                it.wake_in += 1;
                assert!(ticks > 0 && (jiffies + ticks).is_multiple_of(2));
            }
            IdleNeeds::Tick => it.kept_tick += 1,
            IdleNeeds::Nothing => {}
        }
    }

    fn wait(&mut self, at: usize) {
        if self.waiting.len() < 4 {
            let ticket = self.host.wait_for_gp(at as CpuId);
            let open = self.open();
            self.waiting.push(Waiting { ticket, open });
        }
    }

    /// Rare calls.
    fn odds(&mut self, at: usize) {
        let cpu = at as CpuId;
        match self.random.below(6) {
            0 => self.seldom.forced_scan += u32::from(self.host.force_qs()),
            1 => self.host.engine_mut().irq_work_ran(cpu),
            2 => {
                let (first, next) = (self.random.below(4) as u64, self.random.below(4) as u64);
                self.host.engine_mut().set_fqs_waits(first, next);
            }
            3 if at == 3 => {
                let forced = self.host.irq_enter(cpu);
                self.seldom.forced_tick += u32::from(forced);
            }
            4 => {
                // Without a check of the edge, as if it had been missed.
                let noted = self.host.cpu(cpu).is_some_and(|cpu| cpu.qs().noted());
                let report = self.host.report_qs(cpu);
                let known = self.host.cpu(cpu).expect("it reported").qs();
                self.seldom.refused += u32::from(noted && known.missing);
                self.seldom.gone_faster += u32::from(noted && !known.needed && !report.counted);
            }
            _ => drop(self.host.check_qs(cpu)),
        }
    }

    /// The CPU dies, and the next one takes over its callbacks.
    fn dies(&mut self, at: usize) {
        if at == 0 || self.sections[at].is_some() {
            return; // the grace-period thread runs on CPU 0
        }
        self.busy[at] = false;
        self.host.set_busy(at as CpuId, false);
        self.host.unregister(at as CpuId);
        self.online[at] = false;
        let adopted = self.host.adopt(0, at as CpuId);
        let pending = self.fifos[at].split_off(adopted.merged.done as usize);
        for entry in std::mem::take(&mut self.fifos[at]).into_iter().rev() {
            self.fifos[0].push_front(entry);
        }
        self.seldom.adopted += u32::from(!pending.is_empty());
        self.fifos[0].extend(pending);
    }

    fn thread(&mut self) {
        self.host.run_thread();
        let it = &mut self.seldom;
        for nudge in self.host.take_nudges() {
            it.urgent += nudge.urgent.count_ones();
            it.heavy += nudge.heavy.count_ones();
            it.resched += nudge.resched.count_ones();
            it.irq_work += nudge.irq_work.count_ones();
            it.cpu_time += nudge.cpu_time.count_ones();
            it.stop_tick += nudge.stop_tick.count_ones();
        }
    }

    /// All conditions that hold after every action.
    pub fn check(&mut self) {
        let host = &self.host;
        let ended = &self.ended;
        self.waiting.retain(|it| {
            let satisfied = host.satisfied(it.ticket);
            for &section in it.open.iter().filter(|_| satisfied) {
                assert!(ended[section], "a grace period did not wait for {section}");
            }
            !satisfied
        });
        let in_flight = self.host.engine().published().global.state() != 0;
        for cpu in 0..CPUS as CpuId {
            let asked = self.host.engine().asked(cpu);
            let any = asked.urgent || asked.heavy || asked.forced_tick;
            assert!(in_flight || !any, "asked between grace periods: {asked:?}");
        }
    }

    /// All readers leave, all CPUs tick: nothing is pending after some ticks.
    pub fn settle(&mut self) {
        (0..CPUS).for_each(|at| self.exit(at));
        for _ in 0..60 {
            self.host.pass_jiffies(1);
            for at in 0..CPUS {
                if self.online[at] {
                    self.tick(at);
                    self.core(at);
                    self.batch(at);
                }
            }
            self.thread();
            self.check();
        }
        assert!(self.waiting.is_empty(), "a waiter is left");
        let left: usize = self.fifos.iter().map(VecDeque::len).sum();
        assert_eq!(left, 0, "callbacks were lost");
        assert!(
            !self.host.engine().busy(),
            "the engine is busy without a request"
        );
    }
}
