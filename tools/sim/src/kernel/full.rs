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
//!   [`leave_user`](Rcu::leave_user).
//! * Where a second task is ready its tick runs: every way there is ends in an interrupt or a context switch,
//!   and both look.

use quiescent_kernel::CpuId;
use quiescent_kernel::watching::Context;

use crate::kernel::state::{Rcu, System};
use crate::record::stats::FullTicks;

impl Rcu {
    /// The machine has booted: time is kept.
    pub fn begin_timekeeping(&mut self, sys: &mut System) {
        if !sys.options.nohz {
            (0..sys.options.cpus).for_each(|cpu| sys.wheel.start_tick(cpu));
            sys.expect_jiffy();
        }
        if self.full.is_empty() {
            return;
        }
        sys.stats.full = Some(FullTicks::default());
        sys.timekeeper = (0..sys.options.cpus).find(|&cpu| !self.is_full(cpu));
        if let Some(cpu) = sys.timekeeper {
            sys.wheel.start_tick(cpu);
            sys.expect_jiffy();
        }
    }

    /// Prepares a program's own work; false if other work comes first.
    pub fn enter_user(&mut self, sys: &mut System, cpu: CpuId) -> bool {
        if !self.is_full(cpu) || sys.depth(cpu) > 0 {
            return true;
        }
        self.deliver_wake(sys, cpu);
        if sys.cores[cpu as usize].resched {
            return false;
        }
        self.watch[cpu as usize].user_enter();
        true
    }

    /// The CPU is in the kernel from now on. Was it in user space?
    pub fn leave_user(&mut self, cpu: CpuId) -> bool {
        let watch = &mut self.watch[cpu as usize];
        let was = watch.context() == Context::User;
        if was {
            watch.user_exit();
        }
        was
    }

    /// An interrupt has found the CPU in the kernel. Has a grace period asked it to hurry? The end of the
    /// interrupt will see.
    pub fn irq_in_kernel(&mut self, cpu: CpuId) {
        if self.is_full(cpu) {
            let (global, cpus, ..) = self.parts();
            cpus[cpu as usize].irq_enter(global);
        }
    }

    /// What needs the tick of the CPU, which could run without, in the words of a trace: tasks that take
    /// turns, a grace period that has asked or callbacks that wait, or an expedited one.
    fn tick_kept_by(&self, sys: &System, cpu: CpuId) -> Option<&'static str> {
        if !sys.cores[cpu as usize].ready.is_empty() {
            Some("SCHED")
        } else if self.global.asked(cpu).forced_tick || self.cpus[cpu as usize].needs_cpu() {
            Some("RCU")
        } else if self.is_exp_holdout(sys, cpu) {
            Some("RCU_EXP")
        } else {
            None
        }
    }

    /// Does an expedited grace period that has turned this tick on still wait for it?
    fn is_exp_holdout(&self, sys: &System, cpu: CpuId) -> bool {
        let mut holdouts = self.global.exp_holdouts();
        sys.cores[cpu as usize].exp_tick && holdouts.any(|it| it == cpu)
    }

    /// The cause of a tick on such a CPU.
    pub fn count_full_tick(&mut self, sys: &mut System, cpu: CpuId) {
        let by = self.tick_kept_by(sys, cpu);
        let counts = sys.stats.counts(sys.now);
        if let (true, Some(full)) = (counts, &mut sys.stats.full) {
            full.ticks += 1;
            full.sched += u64::from(by == Some("SCHED"));
            full.rcu += u64::from(by == Some("RCU"));
            full.rcu_exp += u64::from(by == Some("RCU_EXP"));
        }
    }

    /// At the end of an interrupt, and when another task runs: is the tick wanted? The idle loop looks for
    /// itself.
    pub fn look_after_full_tick(&mut self, sys: &mut System, cpu: CpuId) {
        if !self.is_full(cpu) || sys.cores[cpu as usize].is_idle() {
            return;
        }
        sys.cores[cpu as usize].exp_tick = self.is_exp_holdout(sys, cpu);
        match self.tick_kept_by(sys, cpu) {
            Some(by) => {
                self.text(|| format!("tick_stop: success=0 dependency={by}"));
                sys.wheel.start_tick(cpu);
            }
            None if sys.wheel.ticks(cpu) => {
                self.text(|| "tick_stop: success=1 dependency=NONE".into());
                sys.wheel.stop_tick(cpu);
            }
            None => {}
        }
        sys.expect_jiffy();
    }

    /// An expedited grace period has waited for a tick: those that have none turn theirs on.
    pub fn hold_full_ticks(&mut self, sys: &mut System, from: CpuId) {
        let holdouts = self.global.exp_holdouts();
        let holdouts: Vec<CpuId> = holdouts.filter(|&it| self.is_full(it)).collect();
        for cpu in holdouts {
            sys.cores[cpu as usize].exp_tick = true;
            sys.send_ipi(self, cpu, from);
        }
    }
}
