//! Expedited grace periods: callers, the worker that drives them, and what interrupts find.
//!
//! A caller takes a cookie and climbs the engine's funnel ([`quiescent_kernel::exp`]). If another caller is
//! ahead of it at a node, it sleeps there. A caller that reaches the root hands the job to `kworker/rcu_exp`,
//! at once or when the role is free, and sleeps too, so that its own priority does not delay the others. The
//! worker is the only driver: it takes the engine's steps, interrupts CPUs that are neither idle nor
//! quiescent, sleeps until the last report, and wakes all waiters.
//!
//! # Invariants
//! * A job is in `jobs`, or is the one that the worker drives: then its caller has the role. All others that
//!   contend are in `contenders`.
//! * A task that sleeps at a node has a cookie that is not done: the end of each grace period wakes the queue
//!   at every node.

use quiescent_kernel::exp::{Climb, ExpBegin, ExpNext, ExpPhase, Interrupted};
use quiescent_kernel::{CpuId, Seq};

use crate::kernel::state::{Act, Expediting, Rcu, System, WorkerStage};
use crate::kernel::task::Waits;
use crate::kernel::wheel::{Timer, expiry};

impl Expediting {
    pub fn joins(&mut self, sys: &mut System, rcu: &mut Rcu, cpu: CpuId, task: usize) -> Act {
        let cost = sys.options.costs.callback;
        let leaf = rcu.leaf_of(cpu);
        let (global, _, _, view) = rcu.parts();
        let cookie = global.exp_snap(&view);
        match global.exp_climb(leaf, cookie, &view) {
            Climb::Done => return Act::Busy(cost),
            Climb::Wait { node, queue } => {
                let those = self.waiters.entry((node, queue)).or_default();
                those.push((cookie, task));
            }
            Climb::Contend if !global.exp_lock() => self.contenders.push_back((cookie, task)),
            Climb::Contend | Climb::Begin => {
                self.job = Some((cookie, task));
                sys.wake(rcu, rcu.exp_worker, cpu);
            }
        }
        if let Some(Waits::ForGp { cookie: got, .. }) = &mut sys.tasks[task].waits {
            *got = Some(cookie);
        }
        sys.then_sleeps(cpu, cost)
    }

    /// kworker/rcu_exp: from one sleep, or wake-up of others, to the next.
    pub fn works(&mut self, sys: &mut System, rcu: &mut Rcu, cpu: CpuId) -> Act {
        let act = match self.stage {
            WorkerStage::Begins => self.begins(sys, rcu, cpu),
            WorkerStage::Drives(next) => self.drives(sys, rcu, cpu, next),
            WorkerStage::Wakes => self.wakes(sys, rcu, cpu),
        };
        if let Act::Busy(cost) = act {
            sys.took(cost);
        }
        act
    }

    fn begins(&mut self, sys: &mut System, rcu: &mut Rcu, cpu: CpuId) -> Act {
        let Some((cookie, task)) = self.job else {
            return sys.then_sleeps(cpu, 0);
        };
        let (global, _, _, view) = rcu.parts();
        match global.exp_begin(cookie, &view) {
            ExpBegin::Begun => {
                sys.tally.starts(true, &sys.oracle);
                self.stage = WorkerStage::Drives(ExpNext::Again);
            }
            ExpBegin::Done => {
                self.role_is_free(rcu);
                sys.wake(rcu, task, cpu);
            }
            ExpBegin::Grow(_) => unreachable!("the tree is as large as the machine"),
        }
        Act::Busy(sys.options.costs.gp_thread)
    }

    /// The next one that contends for the role has it.
    fn role_is_free(&mut self, rcu: &mut Rcu) {
        self.job = self.contenders.pop_front();
        if self.job.is_some() {
            assert!(rcu.global.exp_lock(), "it has just become free");
        }
    }

    fn drives(&mut self, sys: &mut System, rcu: &mut Rcu, cpu: CpuId, mut next: ExpNext) -> Act {
        let mut cost = 0;
        loop {
            next = match next {
                ExpNext::Again | ExpNext::Fence | ExpNext::Ask { .. } => {
                    let next = rcu.exp_step(sys, cpu, next, &mut cost);
                    if next == ExpNext::Done {
                        sys.tally.ends(true, &mut sys.oracle);
                        sys.stats.totals.expedited += u64::from(sys.counts());
                    }
                    next
                }
                ExpNext::Sleep(ticks) => {
                    // After every wake-up it checks again.
                    self.stage = WorkerStage::Drives(ExpNext::Again);
                    if let Some(ticks) = ticks {
                        let at = expiry(sys.jiffies(), ticks);
                        sys.set_timer(Timer::Wake(rcu.exp_worker), cpu, at);
                    }
                    return sys.then_sleeps(cpu, cost);
                }
                ExpNext::Done => {
                    self.stage = WorkerStage::Wakes;
                    return Act::Busy(cost);
                }
            };
            if sys.options.takes_steps() {
                self.stage = WorkerStage::Drives(next);
                return Act::Busy(sys.step_cost());
            }
        }
    }

    fn wakes(&mut self, sys: &mut System, rcu: &mut Rcu, cpu: CpuId) -> Act {
        let (_, caller) = self.job.take().expect("a task had the role");
        rcu.global.exp_release();
        sys.wake(rcu, caller, cpu);
        let mut woken = 1;
        loop {
            let (global, _, _, view) = rcu.parts();
            let Some(wake) = global.exp_wake(&view) else {
                break;
            };
            let Some(those) = self.waiters.get_mut(&(wake.node, wake.queue)) else {
                continue;
            };
            let (done, rest) = those.drain(..).partition(|it| global.exp_done(it.0));
            *those = rest;
            let done: Vec<(Seq, usize)> = done;
            for (_, task) in done {
                sys.wake(rcu, task, cpu);
                woken += 1;
            }
        }
        self.role_is_free(rcu);
        self.stage = WorkerStage::Begins;
        Act::Busy(woken * sys.options.costs.callback)
    }
}

impl Rcu {
    /// Carries out the engine's last command, and asks for the next one.
    fn exp_step(&mut self, sys: &mut System, cpu: CpuId, next: ExpNext, cost: &mut u64) -> ExpNext {
        let costs = sys.options.costs;
        let now = sys.engine_now(cpu);
        if let ExpNext::Ask { lo, cpus } = next {
            *cost += u64::from(cpus.count_ones()) * costs.irq;
            let refused = self.exp_asks(sys, cpu, lo, cpus);
            let (global, _, _, view) = self.parts();
            return global.exp_asked(refused, &view).next;
        }
        let (global, _, _, view) = self.parts();
        if next == ExpNext::Fence {
            global.exp_fenced(&view);
            return ExpNext::Again;
        }
        if let ExpPhase::Select(leaf) = global.exp_phase() {
            *cost += u64::from(view.at(leaf)) * costs.scan;
        }
        let effects = global.exp_step(Some(cpu), now, &view);
        if effects.hold_ticks {
            self.hold_full_ticks(sys, cpu);
        }
        sys.tally.step(self, &sys.oracle);
        effects.next
    }

    /// Interrupts `cpus`, from `lo` on; those that cannot be.
    fn exp_asks(&mut self, sys: &mut System, from: CpuId, lo: CpuId, cpus: u64) -> u64 {
        let mut refused = 0;
        for bit in (0..64).filter(|bit| cpus >> bit & 1 != 0) {
            if !sys.is_online(lo + bit) {
                refused |= 1 << bit;
                continue;
            }
            if lo + bit == from {
                // The worker has come here since the engine's command: it is outside of every section.
                self.exp_interrupt(sys, from);
                continue;
            }
            sys.cores[(lo + bit) as usize].exp_asked = true;
            sys.send_ipi(self, lo + bit, from);
        }
        refused
    }

    /// The interrupt of an expedited grace period has arrived at `cpu`.
    pub fn exp_interrupt(&mut self, sys: &mut System, cpu: CpuId) {
        let at = match sys.depth(cpu) {
            0 => Interrupted::Quiescent,
            _ if sys.options.preempt => Interrupted::Section,
            _ => Interrupted::Disabled,
        };
        let handled = self.global.exp_interrupt(cpu, at);
        let core = &mut sys.cores[cpu as usize];
        core.resched |= handled.resched && core.current.is_some();
        if let (true, Some(task)) = (handled.hint, sys.cores[cpu as usize].current) {
            sys.tasks[task].sections.hint = true;
        }
        if handled.wake_exp {
            sys.wake(self, self.exp_worker, cpu);
        }
    }
}
