//! The possible actions of a state, and their execution.

use quiescent_kernel::barrier::Visit;
use quiescent_kernel::offload::{Call, Place};
use quiescent_kernel::{CpuId, Now, Phase};

use super::model::{BARRIER, CPUS, Idle, State};

/// One action; CPUs by number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Deed {
    Lazy(usize),
    Hurried(usize),
    Masked(usize),
    Tick,
    Rcuog,
    Rcuop(usize),
    SoftInterrupt(usize),
    Gp,
    Toggle(usize),
    Visit(usize),
    Deliver(usize),
}

impl State {
    pub fn deeds(&self) -> Vec<Deed> {
        let (budget, mut deeds) = (self.budget, Vec::new());
        let group = &self.world.groups[&0];
        for at in 0..CPUS {
            let fifos = &self.fifos[at];
            let rcuop_is_at_it = fifos.out.as_ref().is_some_and(|out| out.0);
            let deliver = group.is_wake_due() && self.cpu(at).is_offloaded();
            let all = [
                (budget.lazy > 0, Deed::Lazy(at)),
                (budget.hurried > 0, Deed::Hurried(at)),
                (budget.masked > 0, Deed::Masked(at)),
                (budget.toggles > 0, Deed::Toggle(at)),
                (budget.visits > 0, Deed::Visit(at)),
                (deliver, Deed::Deliver(at)),
                (fifos.rcuop_woken || fifos.rcuop_awake, Deed::Rcuop(at)),
                (
                    fifos.raised || (fifos.out.is_some() && !rcuop_is_at_it),
                    Deed::SoftInterrupt(at),
                ),
            ];
            deeds.extend(all.iter().filter(|(can, _)| *can).map(|&(_, deed)| deed));
        }
        let all = [
            (budget.ticks > 0, Deed::Tick),
            (self.rcuog_runs(), Deed::Rcuog),
            (self.is_busy(), Deed::Gp),
        ];
        deeds.extend(all.iter().filter(|(can, _)| *can).map(|&(_, deed)| deed));
        deeds
    }

    fn rcuog_runs(&self) -> bool {
        let group = &self.world.groups[&0];
        group.in_pass() || group.goes_on(&self.world.global)
    }

    pub fn make(&mut self, deed: Deed) {
        let budget = &mut self.budget;
        match deed {
            Deed::Lazy(at) => {
                budget.lazy -= 1;
                self.call(at, true, true);
            }
            Deed::Hurried(at) => {
                budget.hurried -= 1;
                self.call(at, false, true);
            }
            Deed::Masked(at) => {
                budget.masked -= 1;
                self.call(at, false, false);
            }
            Deed::Tick => {
                budget.ticks -= 1;
                self.pass_tick();
            }
            Deed::Toggle(at) => {
                budget.toggles -= 1;
                self.toggle(at);
            }
            Deed::Visit(at) => {
                budget.visits -= 1;
                self.visit(at);
            }
            Deed::Deliver(at) => {
                let it = self.world.member(at as CpuId);
                let todo = it.group.deliver(at as CpuId, &Idle);
                let _ = self.asked(todo);
            }
            Deed::Rcuog => self.rcuog(),
            Deed::Rcuop(at) => self.rcuop(at),
            Deed::SoftInterrupt(at) => self.soft_interrupt(at),
            Deed::Gp => self.gp(),
        }
        self.world.global.forget_history();
    }

    fn call(&mut self, at: usize, lazy: bool, can_wake: bool) {
        let call = Call {
            bytes: 0,
            lazy,
            now: Now {
                ns: 0,
                jiffies: self.tick,
            },
            can_wake,
            early: false,
        };
        let stamp = self.world.global.published().global.snap();
        let it = self.world.member(at as CpuId);
        let queued = it.cpu.call_nocb(call, it.group, it.global, &Idle);
        let queued = self.asked(queued);
        self.flush(at, queued.flushed);
        self.push(at, queued.place, self.queued.len() as u8);
        self.queued.push((at as u8, stamp, false));
    }

    /// Time passes, and the timer fires if it is due. A CPU that invokes its own callbacks has its tick.
    pub fn pass_tick(&mut self) {
        self.tick += 1;
        if self.timer.is_some_and(|at| at <= self.tick) {
            self.timer = None;
            let (group, _) = self.world.group(0);
            let todo = group.timer_fired(self.tick, &Idle);
            let _ = self.asked(todo);
        }
        for at in 0..CPUS {
            let cpu = self.cpu(at);
            let looks = cpu.needs_cpu() && cpu.core_pending(&self.world.global);
            self.fifos[at].raised |= looks;
        }
    }

    fn rcuog(&mut self) {
        let tick = self.tick;
        let (group, global) = self.world.group(0);
        if !group.in_pass() {
            let timer = group.begin_pass(tick, global, &Idle);
            self.rcuog_woken = false;
            let _ = self.asked(timer);
        } else if let Some(cpu) = group.next_member() {
            let it = self.world.member(cpu);
            let visited = it.cpu.visit(tick, it.group, it.global, &Idle);
            let visited = self.asked(visited);
            self.flush(cpu as usize, visited.flushed);
        } else {
            let rested = group.end_pass(tick, global, &Idle);
            let _ = self.asked(rested);
        }
    }

    fn rcuop(&mut self, at: usize) {
        let fifos = &mut self.fifos[at];
        fifos.rcuop_awake |= std::mem::take(&mut fifos.rcuop_woken);
        if fifos.out.as_ref().is_some_and(|out| out.0) {
            self.end_batch(at);
        } else {
            self.begin_batch(at, true);
        }
    }

    fn soft_interrupt(&mut self, at: usize) {
        if self.fifos[at].out.as_ref().is_some_and(|out| !out.0) {
            return self.end_batch(at);
        }
        self.fifos[at].raised = false;
        let (cpu, global) = self.world.cpu(at as CpuId);
        let _ = cpu.core(global, &Idle);
        if self.cpu(at).invokes() {
            self.begin_batch(at, false);
        }
    }

    fn begin_batch(&mut self, at: usize, rcuop: bool) {
        let (cpu, global) = self.world.cpu(at as CpuId);
        let Some((range, _)) = cpu.begin_batch(global, State::context(rcuop)) else {
            return self.batch_over(at, rcuop);
        };
        let (start, end) = (range.start, range.end);
        let n = end.wrapping_sub(start) as usize;
        let fifos = &mut self.fifos[at];
        assert!(fifos.out.is_none(), "two batches of a CPU are out");
        fifos.out = Some((rcuop, start, end, fifos.list.drain(..n).collect()));
    }

    /// Runs all extracted callbacks, and ends the batch.
    fn end_batch(&mut self, at: usize) {
        let (rcuop, start, end, all) = self.fifos[at].out.take().expect("a batch is out");
        all.into_iter().for_each(|what| self.invoke(what));
        let invoked = end.wrapping_sub(start);
        let (cpu, global) = self.world.cpu(at as CpuId);
        cpu.end_batch(global, start..end, invoked);
        self.batch_over(at, rcuop);
    }

    fn batch_over(&mut self, at: usize, rcuop: bool) {
        let it = self.world.member(at as CpuId);
        let after = it.cpu.batch_over(State::context(rcuop), it.global, &Idle);
        let after = self.asked(after);
        if rcuop {
            self.fifos[at].rcuop_awake = after.again;
        } else {
            self.fifos[at].raised |= after.again;
        }
    }

    /// A grace period continues: its start, all steps up to its end, the leaf's notification, the end.
    fn gp(&mut self) {
        use quiescent_kernel::Next::Fence;
        let before = self.phase();
        loop {
            let now = Now { ns: 0, jiffies: 0 };
            let global = &mut self.world.global;
            if matches!(global.step(now, &Idle).next, Fence) {
                let _ = global.fenced();
            }
            global.forget_history();
            let after = self.phase();
            let stops = matches!(after, Phase::Hotplug(_) | Phase::Cleanup(_) | Phase::End);
            let idle = after == Phase::Idle;
            if (stops && after != before) || idle {
                return;
            }
        }
    }

    fn toggle(&mut self, at: usize) {
        let it = self.world.member(at as CpuId);
        let toggled = if it.cpu.is_offloaded() {
            it.cpu
                .deoffload(true, self.tick, it.group, it.global, &Idle)
        } else {
            it.cpu.offload(true, it.group, it.global, &Idle)
        };
        let toggled = self.asked(toggled.expect("online CPUs may be toggled"));
        self.flush(at, toggled.flushed);
    }

    fn visit(&mut self, at: usize) {
        let it = self.world.member(at as CpuId);
        let visited = it
            .cpu
            .entrain_nocb(self.tick, it.barrier, it.group, it.global, &Idle);
        let visited = self.asked(visited);
        self.flush(at, visited.flushed);
        if visited.visit == Visit::Noted {
            self.push(at, Place::List, BARRIER);
        }
    }

    /// Performs every action that is possible, until none is.
    pub fn run_all(&mut self) {
        for _ in 0..500 {
            let runs = |deed: &Deed| {
                matches!(
                    deed,
                    Deed::Rcuog | Deed::Rcuop(_) | Deed::SoftInterrupt(_) | Deed::Gp
                )
            };
            let Some(deed) = self.deeds().into_iter().find(runs) else {
                return;
            };
            self.make(deed);
        }
        panic!("the machine never rests");
    }
}
