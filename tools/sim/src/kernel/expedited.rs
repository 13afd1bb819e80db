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

use quiescent_kernel::exp::{Climb, ExpBegin, ExpNext, ExpPhase};
use quiescent_kernel::polled::GpKind;
use quiescent_kernel::{CpuId, Seq};

use crate::kernel::state::{Act, Machine, WorkerStage};
use crate::kernel::task::Waits;
use crate::kernel::wheel::{Timer, expiry};

impl Machine {
    /// A task waits for a grace period of this kind, or of the one that the options prescribe.
    pub(crate) fn synchronize(&mut self, cpu: CpuId, task: usize, asked: GpKind) -> Act {
        self.sys.waits_for_gp(task, asked == GpKind::Expedited);
        match self.rcu.global.choose(asked) {
            GpKind::Expedited => self.expedite(cpu, task),
            GpKind::Normal => self.synchronize_normal(cpu, task),
        }
    }

    fn expedite(&mut self, cpu: CpuId, task: usize) -> Act {
        let cost = self.sys.options.costs.callback;
        let leaf = self.rcu.leaf_of(cpu);
        let (global, _, _, view) = self.rcu.parts();
        let cookie = global.exp_snap(&view);
        match global.exp_climb(leaf, cookie, &view) {
            Climb::Done => return Act::Busy(cost),
            Climb::Wait { node, queue } => {
                let those = self.exp.waiters.entry((node, queue)).or_default();
                those.push((cookie, task));
            }
            Climb::Contend if !global.exp_lock() => self.exp.contenders.push_back((cookie, task)),
            Climb::Contend | Climb::Begin => {
                self.exp.job = Some((cookie, task));
                self.sys.wake(&self.rcu, self.rcu.exp_worker, cpu);
            }
        }
        if let Some(Waits::ForGp { cookie: got, .. }) = &mut self.sys.tasks[task].waits {
            *got = Some(cookie);
        }
        self.sys.then_sleeps(cpu, cost)
    }

    /// kworker/rcu_exp: from one sleep, or wake-up of others, to the next.
    pub(crate) fn exp_worker(&mut self, cpu: CpuId) -> Act {
        let act = match self.exp.stage {
            WorkerStage::Begins => self.exp_begins(cpu),
            WorkerStage::Drives(next) => self.exp_drives(cpu, next),
            WorkerStage::Wakes => self.exp_wakes(cpu),
        };
        if let Act::Busy(cost) = act {
            self.sys.took(cost);
        }
        act
    }

    fn exp_begins(&mut self, cpu: CpuId) -> Act {
        let Some((cookie, task)) = self.exp.job else {
            return self.sys.then_sleeps(cpu, 0);
        };
        let (global, _, _, view) = self.rcu.parts();
        match global.exp_begin(cookie, &view) {
            ExpBegin::Begun => {
                self.sys.tally.starts(true, &self.sys.oracle);
                self.exp.stage = WorkerStage::Drives(ExpNext::Again);
            }
            ExpBegin::Done => {
                self.exp_role_is_free();
                self.sys.wake(&self.rcu, task, cpu);
            }
            ExpBegin::Grow(_) => unreachable!("the tree is as large as the machine"),
        }
        Act::Busy(self.sys.options.costs.gp_thread)
    }

    /// The next one that contends for the role has it.
    fn exp_role_is_free(&mut self) {
        self.exp.job = self.exp.contenders.pop_front();
        if self.exp.job.is_some() {
            assert!(self.rcu.global.exp_lock(), "it has just become free");
        }
    }

    fn exp_drives(&mut self, cpu: CpuId, mut next: ExpNext) -> Act {
        let mut cost = 0;
        loop {
            next = match next {
                ExpNext::Again | ExpNext::Fence | ExpNext::Ask { .. } => {
                    let next = self.exp_step(cpu, next, &mut cost);
                    if next == ExpNext::Done {
                        self.sys.tally.ends(true, &mut self.sys.oracle);
                        self.sys.stats.totals.expedited +=
                            u64::from(self.sys.stats.counts(self.sys.now));
                    }
                    next
                }
                ExpNext::Sleep(ticks) => {
                    // After every wake-up it checks again.
                    self.exp.stage = WorkerStage::Drives(ExpNext::Again);
                    if let Some(ticks) = ticks {
                        let at = expiry(self.sys.jiffies(), ticks);
                        self.sys
                            .set_timer(Timer::Wake(self.rcu.exp_worker), cpu, at);
                    }
                    return self.sys.then_sleeps(cpu, cost);
                }
                ExpNext::Done => {
                    self.exp.stage = WorkerStage::Wakes;
                    return Act::Busy(cost);
                }
            };
            if self.sys.options.takes_steps() {
                self.exp.stage = WorkerStage::Drives(next);
                return Act::Busy(self.sys.step_cost());
            }
        }
    }

    /// Carries out the engine's last command, and asks for the next one.
    fn exp_step(&mut self, cpu: CpuId, next: ExpNext, cost: &mut u64) -> ExpNext {
        let costs = self.sys.options.costs;
        let now = self.sys.engine_now(cpu);
        if let ExpNext::Ask { lo, cpus } = next {
            *cost += u64::from(cpus.count_ones()) * costs.irq;
            let refused = self.exp_asks(cpu, lo, cpus);
            let (global, _, _, view) = self.rcu.parts();
            return global.exp_asked(refused, &view).next;
        }
        let (global, _, _, view) = self.rcu.parts();
        if next == ExpNext::Fence {
            global.exp_fenced(&view);
            return ExpNext::Again;
        }
        if let ExpPhase::Select(leaf) = global.exp_phase() {
            *cost += u64::from(view.at(leaf)) * costs.scan;
        }
        let effects = global.exp_step(Some(cpu), now, &view);
        if effects.hold_ticks {
            self.rcu.hold_full_ticks(&mut self.sys, cpu);
        }
        self.sys.tally.step(&self.rcu, &self.sys.oracle);
        effects.next
    }

    /// Interrupts `cpus`, from `lo` on; those that cannot be.
    fn exp_asks(&mut self, from: CpuId, lo: CpuId, cpus: u64) -> u64 {
        let mut refused = 0;
        for bit in (0..64).filter(|bit| cpus >> bit & 1 != 0) {
            if !self.sys.is_online(lo + bit) {
                refused |= 1 << bit;
                continue;
            }
            if lo + bit == from {
                // The worker has come here since the engine's command: it is outside of every section.
                self.rcu.exp_interrupt(&mut self.sys, from);
                continue;
            }
            self.sys.cores[(lo + bit) as usize].exp_asked = true;
            self.sys.send_ipi(&self.rcu, lo + bit, from);
        }
        refused
    }

    fn exp_wakes(&mut self, cpu: CpuId) -> Act {
        let (_, caller) = self.exp.job.take().expect("a task had the role");
        self.rcu.global.exp_release();
        self.sys.wake(&self.rcu, caller, cpu);
        let mut woken = 1;
        loop {
            let (global, _, _, view) = self.rcu.parts();
            let Some(wake) = global.exp_wake(&view) else {
                break;
            };
            let Some(those) = self.exp.waiters.get_mut(&(wake.node, wake.queue)) else {
                continue;
            };
            let (done, rest) = those.drain(..).partition(|it| global.exp_done(it.0));
            *those = rest;
            let done: Vec<(Seq, usize)> = done;
            for (_, task) in done {
                self.sys.wake(&self.rcu, task, cpu);
                woken += 1;
            }
        }
        self.exp_role_is_free();
        self.exp.stage = WorkerStage::Begins;
        Act::Busy(woken * self.sys.options.costs.callback)
    }
}
