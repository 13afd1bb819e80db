//! `nohz_full`: CPUs that run without a tick while one task runs there.
//!
//! An ordinary CPU has its tick whenever it is not idle. One of the set `nohz_full` has it only for one of
//! these reasons:
//!
//! | reason | while |
//! |---|---|
//! | the scheduler | a second task is ready, so that they take turns |
//! | RCU | a grace period has waited for this CPU, has asked it to hurry, and it has not reported |
//! | RCU | callbacks wait here that are not offloaded (`rcu_nocbs=none`) |
//! | an expedited grace period | it has waited for this CPU for a tick |
//!
//! Without a tick the CPU does no RCU work of its own. Grace periods end all the same, by these rules:
//!
//! * its callbacks are offloaded, whatever CPUs `rcu_nocbs` names
//!   ([`Options::offloaded`](crate::Options::offloaded)); with `rcu_nocbs=none` they keep the tick on, as on
//!   a CPU that idles;
//! * user space is an extended quiescent state there, which scans see. (On other CPUs it is not: their tick
//!   notes it.);
//! * a CPU in the kernel without a tick is interrupted by a scan; that interrupt turns the tick on
//!   ([`Cpu::irq_enter`](quiescent_kernel::Cpu::irq_enter)), and the tick reports.
//!
//! # Housekeeping
//! The first CPU outside of the set keeps the time for those in it: its tick never stops, and it does not go
//! offline (documented in the kernel's `no_hz.rst`). RCU's threads run outside of the set, so `gp_cpu` must
//! be outside. Not modelled: a kernel keeps the ticks of all CPUs on while a CPU comes or goes; in the model
//! that takes no time.
//!
//! # Invariants
//! * A CPU of the set is in user space only while it computes there: whatever else it does begins with
//!   [`leave_user`](Machine::leave_user).
//! * Where a second task is ready its tick runs: every way there is ends in an interrupt or a context switch,
//!   and both look.

use quiescent_kernel::CpuId;
use quiescent_kernel::watching::Context;

use crate::kernel::state::Machine;
use crate::kernel::task::Kind;
use crate::record::stats::FullTicks;

impl Machine {
    /// Does it run without a tick where it can?
    pub(crate) fn is_full(&self, cpu: CpuId) -> bool {
        self.rcu.full.get(cpu as usize).copied().unwrap_or(false)
    }

    /// Does its tick keep the time for those that have none?
    pub(crate) fn keeps_time(&self, cpu: CpuId) -> bool {
        self.timekeeper == Some(cpu)
    }

    /// The machine has booted: time is kept.
    pub(crate) fn begin_timekeeping(&mut self) {
        if !self.options.nohz {
            (0..self.options.cpus).for_each(|cpu| self.wheel.start_tick(cpu));
            self.expect_jiffy();
        }
        if self.rcu.full.is_empty() {
            return;
        }
        self.stats.full = Some(FullTicks::default());
        self.timekeeper = (0..self.options.cpus).find(|&cpu| !self.is_full(cpu));
        if let Some(cpu) = self.timekeeper {
            self.wheel.start_tick(cpu);
            self.expect_jiffy();
        }
    }

    /// Prepares a program's own work; false if other work comes first.
    pub(crate) fn enter_user(&mut self, cpu: CpuId) -> bool {
        if !self.is_full(cpu) || self.depth(cpu) > 0 {
            return true;
        }
        self.deliver_wake(cpu);
        if self.cores[cpu as usize].resched {
            return false;
        }
        self.rcu.watch[cpu as usize].user_enter();
        true
    }

    /// The CPU is in the kernel from now on. Was it in user space?
    pub(crate) fn leave_user(&mut self, cpu: CpuId) -> bool {
        let watch = &mut self.rcu.watch[cpu as usize];
        let was = watch.context() == Context::User;
        if was {
            watch.user_exit();
        }
        was
    }

    /// An interrupt has found the CPU in the kernel. Has a grace period asked it to hurry? The end of the
    /// interrupt will see.
    pub(crate) fn irq_in_kernel(&mut self, cpu: CpuId) {
        if self.is_full(cpu) {
            let (global, cpus, ..) = self.rcu.parts();
            cpus[cpu as usize].irq_enter(global);
        }
    }

    /// What needs the tick of the CPU, which could run without, in the words of a trace: tasks that take
    /// turns, a grace period that has asked or callbacks that wait, or an expedited one.
    fn tick_kept_by(&self, cpu: CpuId) -> Option<&'static str> {
        if !self.cores[cpu as usize].ready.is_empty() {
            Some("SCHED")
        } else if self.rcu.global.asked(cpu).forced_tick || self.rcu.cpus[cpu as usize].needs_cpu()
        {
            Some("RCU")
        } else if self.is_exp_holdout(cpu) {
            Some("RCU_EXP")
        } else {
            None
        }
    }

    /// Does an expedited grace period that has turned this tick on still wait for it?
    fn is_exp_holdout(&self, cpu: CpuId) -> bool {
        let mut holdouts = self.rcu.global.exp_holdouts();
        self.cores[cpu as usize].exp_tick && holdouts.any(|it| it == cpu)
    }

    /// The cause of a tick on such a CPU.
    pub(crate) fn count_full_tick(&mut self, cpu: CpuId) {
        let by = self.tick_kept_by(cpu);
        let counts = self.stats.counts(self.now);
        if let (true, Some(full)) = (counts, &mut self.stats.full) {
            full.ticks += 1;
            full.sched += u64::from(by == Some("SCHED"));
            full.rcu += u64::from(by == Some("RCU"));
            full.rcu_exp += u64::from(by == Some("RCU_EXP"));
        }
    }

    /// At the end of an interrupt, and when another task runs: is the tick wanted? The idle loop looks for
    /// itself.
    pub(crate) fn look_after_full_tick(&mut self, cpu: CpuId) {
        if !self.is_full(cpu) || self.cores[cpu as usize].is_idle() {
            return;
        }
        self.cores[cpu as usize].exp_tick = self.is_exp_holdout(cpu);
        match self.tick_kept_by(cpu) {
            Some(by) => {
                self.rcu
                    .notes()
                    .text(|| format!("tick_stop: success=0 dependency={by}"));
                self.wheel.start_tick(cpu);
            }
            None if self.wheel.ticks(cpu) => {
                self.rcu
                    .notes()
                    .text(|| "tick_stop: success=1 dependency=NONE".into());
                self.wheel.stop_tick(cpu);
            }
            None => {}
        }
        self.expect_jiffy();
    }

    /// An expedited grace period has waited for a tick: those that have none turn theirs on.
    pub(crate) fn hold_full_ticks(&mut self, from: CpuId) {
        let holdouts = self.rcu.global.exp_holdouts();
        let holdouts: Vec<CpuId> = holdouts.filter(|&it| self.is_full(it)).collect();
        for cpu in holdouts {
            self.cores[cpu as usize].exp_tick = true;
            self.send_ipi(cpu, from);
        }
    }

    /// The CPU of a task that would run on `target`: RCU's threads do not run on such CPUs, and if `rcu_cpus`
    /// names CPUs for them, on those alone.
    pub(crate) fn housekeeping(&self, task: usize, target: CpuId) -> CpuId {
        let it = &self.tasks[task];
        let confined = match it.kind {
            Kind::GpThread | Kind::ExpWorker => Some(target),
            Kind::Rcuog(group) => Some(group),
            Kind::Rcuop(whose) => Some(whose),
            _ => None,
        };
        if let (Some(cpu), true) = (confined, it.places.is_empty())
            && self.options.rcu_cpu(target) != target
        {
            return self.options.rcu_cpu(cpu);
        }
        let unbound = match it.kind {
            Kind::GpThread | Kind::Rcuog(_) | Kind::Rcuop(_) | Kind::ExpWorker => true,
            Kind::Kworker | Kind::SrcuWorker | Kind::Ksoftirqd | Kind::Work(_) => false,
        };
        match unbound && it.places.is_empty() && self.is_full(target) {
            true => self.options.gp_cpu,
            false => target,
        }
    }
}
