//! The machine's frequent actions: readers, callbacks, ticks and threads. Rare events are in `machine`.

use std::collections::VecDeque;

use quiescent_harness::host::{OgStep, TestHost};
use quiescent_kernel::limits::Context;
use quiescent_kernel::offload::Policy;
use quiescent_kernel::{Config, CpuId};

use super::fifo::{Fifos, Oracle, What};
use super::machine::Barriers;

use crate::chance::{Random, seldom};

pub const CPUS: usize = 6;
/// The last CPU is never offloaded.
pub const CHOSEN: usize = CPUS - 1;

seldom! {
    lazy, hurried, bypass_by_caller, bypass_by_rcuog, bypass_by_barrier, bypass_by_toggle, bypass_by_adopter,
    shrunk, toggled_off, toggled_on, toggled_in_batch, toggled_dead, refused, adopted, adopted_in_barrier,
    died_lazy, barriers, barrier_over_lazy, barrier_over_dead, deferred, delivered, timers,
}

pub struct Rig {
    pub host: TestHost,
    pub seldom: Seldom,
    pub random: Random,
    pub config: Config,
    pub online: [bool; CPUS],
    /// How often each CPU has died.
    pub life: [u32; CPUS],
    /// CPUs whose rcuop is awake.
    rcuop: [bool; CPUS],
    /// CPUs whose soft interrupt is raised.
    raised: [bool; CPUS],
    sections: [Option<usize>; CPUS],
    pub fifos: [Fifos; CPUS],
    pub oracle: Oracle,
    pub barriers: Barriers,
    pub hurry: bool,
}

impl Rig {
    pub fn new(config: Config, random: Random) -> Rig {
        let mut host = TestHost::kernel_with(CPUS as u32, config);
        assert!(host.try_drive(0));
        (0..CHOSEN).for_each(|cpu| host.choose(cpu as CpuId));
        for group in host.world().groups.keys().copied().collect::<Vec<_>>() {
            let _ = host.begin_pass(group, 0);
        }
        host.engine_mut().async_relax();
        Rig {
            host,
            seldom: Seldom::default(),
            random,
            config,
            online: [true; CPUS],
            life: [0; CPUS],
            rcuop: [false; CPUS],
            raised: [false; CPUS],
            sections: [None; CPUS],
            fifos: Default::default(),
            oracle: Oracle::default(),
            barriers: Barriers::default(),
            hurry: false,
        }
    }

    /// Performs a random action on a random CPU.
    pub fn deed(&mut self) {
        let at = self.random.below(CPUS as u64);
        if self.random.below(3) == 0 {
            return self.thread(at);
        }
        if !self.online[at] {
            match self.random.below(20) {
                0 => self.comes(),
                1 | 2 => self.toggle(at),
                _ => {}
            }
            return;
        }
        match self.random.below(24) {
            0 => self.enter(at),
            1..=3 => self.exit(at),
            4..=8 => self.call(at, true),
            9 => self.call(at, false),
            10..=12 => self.tick(at),
            13..=15 => self.soft_interrupt(at),
            16 if self.random.below(3) == 0 => self.toggle(at),
            17 if self.random.below(8) == 0 => self.dies(at),
            18 => self.barrier(),
            19 if self.random.below(4) == 0 => self.odds(),
            _ => self.jiffy(),
        }
    }

    // Readers.

    fn enter(&mut self, at: usize) {
        if self.sections[at].is_none() {
            self.host.enter(at as CpuId);
            self.sections[at] = Some(self.oracle.ended.len());
            self.oracle.ended.push(false);
        }
    }

    pub fn exit(&mut self, at: usize) {
        if let Some(section) = self.sections[at].take() {
            self.host.exit(at as CpuId);
            self.oracle.ended[section] = true;
        }
    }

    pub fn is_inside(&self, at: usize) -> bool {
        self.sections[at].is_some()
    }

    // Callbacks.

    fn call(&mut self, at: usize, lazy: bool) {
        let open = self.sections.iter().flatten().copied().collect();
        let now = self.host.now().jiffies;
        let id = self.oracle.queued((at, self.life[at]), open, now);
        let what = What::Callback(id);
        if at >= CHOSEN {
            let pos = self.host.call(at as CpuId).pos;
            return self.fifos[at].push(quiescent_kernel::offload::Place::List, what, pos);
        }
        let can_wake = self.random.below(3) > 0;
        let queued = self.host.call_nocb(at as CpuId, lazy, can_wake);
        let flushed = self.fifos[at].flush(queued.flushed);
        self.fifos[at].push(queued.place, what, queued.pos);
        self.seldom.bypass_by_caller += u32::from(flushed);
        *(if queued.lazy {
            &mut self.seldom.lazy
        } else {
            &mut self.seldom.hurried
        }) += 1;
    }

    /// A tick; an offloaded CPU delivers its deferred wake-up.
    pub fn tick(&mut self, at: usize) {
        let cpu = at as CpuId;
        let group = self.host.cpu(cpu).and_then(|cpu| cpu.member().group());
        let due = group.is_some_and(|group| self.host.group(group).is_wake_due());
        self.seldom.deferred += u32::from(due);
        let at_tick = quiescent_kernel::tick::At {
            deferred_wake: due,
            ..self.host.at(cpu)
        };
        self.raised[at] |= self.host.tick_at(cpu, at_tick).core.is_some();
        if due {
            let woken = self.host.deliver(cpu).rcuog.is_some();
            self.seldom.delivered += u32::from(woken);
        }
    }

    /// Part of the soft interrupt: its check and the begin of a batch, or the batch's next callback.
    pub fn soft_interrupt(&mut self, at: usize) {
        let cpu = at as CpuId;
        self.raised[at] = (self.raised[at] | self.host.take_core(cpu)) && self.online[at];
        let running = self.fifos[at].out.as_ref().map(|out| out.context);
        if running == Some(Context::Softirq) {
            self.invoke(at);
        } else if self.raised[at] {
            self.raised[at] = false;
            let _ = self.host.core(cpu);
            if self.host.cpu(cpu).is_some_and(|cpu| cpu.invokes()) {
                self.begin_batch(at, Context::Softirq);
            }
        }
    }

    fn begin_batch(&mut self, at: usize, context: Context) {
        match self.host.begin_batch(at as CpuId, context) {
            Some(range) => self.fifos[at].take(context, range),
            None => self.batch_over(at, context),
        }
    }

    /// Invokes the next callback of the extracted batch, or ends the batch.
    pub fn invoke(&mut self, at: usize) {
        let out = self.fifos[at].out.as_mut().expect("a batch is out");
        match out.left.pop_front().map(|entry| entry.what) {
            Some(What::Callback(id)) => self.oracle.invoked(id),
            Some(What::Barrier) => self.share_done(),
            None => self.end_batch(at),
        }
    }

    fn end_batch(&mut self, at: usize) {
        let out = self.fifos[at].out.take().expect("a batch is out");
        self.host.end_batch(at as CpuId, out.range);
        self.batch_over(at, out.context);
    }

    fn batch_over(&mut self, at: usize, context: Context) {
        let cpu = at as CpuId;
        if at >= CHOSEN {
            let more = self.host.cpu(cpu).is_some_and(|cpu| cpu.invokes());
            self.raised[at] |= more;
            return;
        }
        let after = self.host.batch_over(cpu, context);
        match context {
            Context::Rcuop => self.rcuop[at] = after.again,
            _ => self.raised[at] |= after.again,
        }
    }

    // Threads.

    fn thread(&mut self, at: usize) {
        match self.random.below(4) {
            0 => self.host.run_thread(),
            1 => self.rcuop(at),
            _ => {
                let groups = self.host.world().groups.len() as u64;
                let group = self.random.below(groups) as u32;
                self.rcuog(group);
            }
        }
    }

    /// A step of a group's thread. False if it rests.
    pub fn rcuog(&mut self, group: u32) -> bool {
        match self.host.step_rcuog(group) {
            OgStep::Rests => return false,
            OgStep::Visits(cpu, visited) => {
                let flushed = self.fifos[cpu as usize].flush(visited.flushed);
                self.seldom.bypass_by_rcuog += u32::from(flushed);
            }
            OgStep::Begins | OgStep::Ends(_) => {}
        }
        true
    }

    /// Part of an rcuop's work: the begin of a batch, or its next callback.
    pub fn rcuop(&mut self, at: usize) {
        let cpu = at as CpuId;
        if self.host.take_rcuop(cpu) {
            assert!(!self.rcuop[at], "an rcuop was woken that is awake");
            self.rcuop[at] = true;
            self.host.rcuop_woke(cpu);
        }
        let running = self.fifos[at].out.as_ref().map(|out| out.context);
        if running == Some(Context::Rcuop) {
            self.invoke(at);
        } else if self.rcuop[at] {
            self.begin_batch(at, Context::Rcuop);
        }
    }

    /// Does anything that belongs to this CPU run, or will it?
    pub fn is_active(&self, at: usize) -> bool {
        self.rcuop[at] || self.raised[at] || self.fifos[at].out.is_some()
    }

    /// Lets time pass: timers fire, and offload threads finish their work.
    pub fn jiffy(&mut self) {
        self.host.pass_jiffies(1);
        self.seldom.timers += self.host.fire_timers();
        for group in 0..self.host.world().groups.len() as u32 {
            let mut steps = 0;
            while self.rcuog(group) {
                steps += 1;
                assert!(steps < 100, "rcuog of group {group} never rests");
            }
        }
        self.check_times();
    }

    // The oracle.

    /// No lazy callback waits longer than promised.
    fn check_times(&self) {
        let (now, offload) = (self.host.now().jiffies, self.config.offload);
        let promised = match offload.policy {
            // The whole time may start again once, and one tick passes each time.
            Policy::Kernel612 => 2 * offload.lazy_flush + 3,
            Policy::Quiescent => offload.lazy_flush,
        };
        for at in 0..CHOSEN {
            let cpu = self.host.cpu(at as CpuId).expect("it was chosen");
            let Some(id) = self.fifos[at].oldest_lazy(cpu.member().lazy()) else {
                continue;
            };
            let waited = now - self.oracle.callbacks[id].queued_at;
            assert!(
                waited <= promised,
                "callback {id} has been lazy for {waited}"
            );
        }
    }

    /// All conditions that hold after every action.
    pub fn check(&mut self) {
        for (fifos, cpu) in self.fifos.iter().zip(0..) {
            if let Some(cpu) = self.host.cpu(cpu) {
                fifos.check(cpu.list(), cpu.member().bypass());
                let served = self.online[cpu.id() as usize] || cpu.is_offloaded();
                assert!(served || fifos.is_empty(), "CPU {} has gone", cpu.id());
            }
        }
        for group in self.host.world().groups.values() {
            let resting = group.rest() == Some(quiescent_kernel::offload::Rest::Unbounded);
            if !resting || group.goes_on(self.host.engine()) || group.timer().is_some() {
                continue;
            }
            for &cpu in group.members() {
                let it = self.host.cpu(cpu).expect("it was chosen");
                let list = it.list();
                let pending = list.end().wrapping_sub(list.done_end());
                assert!(
                    it.member().lazy() == 0 && it.member().bypass() == 0 && pending == 0,
                    "rcuog sleeps for ever, and CPU {cpu} has callbacks"
                );
            }
        }
    }

    /// All readers leave, and all threads run: a barrier completes soon, and nothing is left in the end.
    pub fn settle(&mut self) {
        (0..CPUS).for_each(|at| self.exit(at));
        let flush = self.config.offload.lazy_flush;
        for tick in 0..3 * flush {
            self.jiffy();
            for at in 0..CPUS {
                if self.online[at] {
                    self.tick(at);
                }
                for step in 0.. {
                    self.soft_interrupt(at);
                    self.rcuop(at);
                    if !self.is_active(at) {
                        break;
                    }
                    assert!(step < 10_000, "CPU {at} is never done");
                }
            }
            self.host.run_thread();
            self.step_barrier();
            self.check();
            let over = self.barriers.is_over();
            assert!(
                over || tick < flush - 10,
                "a barrier waits for lazy callbacks"
            );
        }
        let left: VecDeque<usize> = self.oracle.owed().into();
        assert!(left.is_empty(), "callbacks were lost: {left:?}");
        assert!(self.fifos.iter().all(Fifos::is_empty));
        assert!(
            !self.host.engine().busy(),
            "the engine is busy without a request"
        );
    }
}
