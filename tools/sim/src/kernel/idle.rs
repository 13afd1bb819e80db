//! The idle loop: whether a CPU halts, and what wakes it up again.
//!
//! A pass of the loop delivers a wake-up that was put off, asks the engine what the CPU's callbacks need,
//! stops the tick if nothing needs it, and halts.
//!
//! | the engine says | the CPU |
//! |---|---|
//! | nothing | stops its tick; the last one to do so sets its clock for the timers of all CPUs (`wheel`) |
//! | tick | keeps its tick |
//! | wake up in so many ticks (`RCU_FAST_NO_HZ`) | stops its tick, and sets its clock for itself |
//! | soft interrupt | runs it first |
//!
//! With `nohz=0` no tick stops, whatever is needed.
//!
//! Where the machine has idle states, the governor is asked as well, and may keep a tick that runs
//! (`idling`).
//!
//! Just before it halts the engine has everything stamped, and when an interrupt ends the halt it may
//! find that callbacks have become ready; both are for `RCU_FAST_NO_HZ` only.

use quiescent_kernel::CpuId;
use quiescent_kernel::fast_no_hz::{IdleLook, IdleNeeds};

use crate::input::options::IdleLoop;
use crate::kernel::state::{Act, Machine};

impl Machine {
    /// One pass of the idle loop.
    pub(crate) fn pass_idle(&mut self, cpu: CpuId) -> Act {
        let core = &mut self.sys.cores[cpu as usize];
        if !std::mem::replace(&mut core.passing, true) {
            core.ticked_in_idle &= core.idle; // a new period begins if it comes from a task
            core.idle = true;
            return Act::Busy(self.pass_costs(cpu));
        }
        self.sys.cores[cpu as usize].passing = false;
        self.rcu.deliver_wake(&mut self.sys, cpu);
        if !self.sys.cores[cpu as usize].ready.is_empty() {
            return Act::Again;
        }
        let now = self.sys.jiffies();
        let (global, cpus, _, view) = self.rcu.parts();
        let look = cpus[cpu as usize].idle_needs(global, now, &view);
        let needs = self.idle_look(cpu, look);
        if needs == IdleNeeds::Core || self.prepare_for_idle(cpu) {
            return Act::Again;
        }
        self.look_after_tick(cpu, needs);
        let owes = matches!(needs, IdleNeeds::Tick | IdleNeeds::WakeIn(_));
        self.sys.cores[cpu as usize].looked_at = owes.then_some(now);
        self.sys.stats.totals.idle_entries += u64::from(self.sys.stats.counts(self.sys.now));
        self.rcu
            .notes()
            .text(|| format!("cpu_idle: state=1 cpu_id={cpu}"));
        let watch = &mut self.rcu.watch[cpu as usize];
        if watch.is_watching() {
            watch.idle_enter();
        }
        Act::Halt
    }

    /// What the pass costs: more where it looks whether the tick can stop.
    fn pass_costs(&self, cpu: CpuId) -> u64 {
        let costs = self.sys.options.costs;
        match self.retains(cpu) {
            true => costs.idle,
            false => costs.idle + costs.tick_off,
        }
    }

    /// Is the tick left to itself until it has come once?
    fn retains(&self, cpu: CpuId) -> bool {
        let ticked = self.sys.cores[cpu as usize].ticked_in_idle;
        self.sys.options.idle_loop == IdleLoop::Retain && !ticked
    }

    /// The tick stops, or runs, as the CPU needs it.
    fn look_after_tick(&mut self, cpu: CpuId, needs: IdleNeeds) {
        let now = self.sys.jiffies();
        let clock = match needs {
            IdleNeeds::WakeIn(ticks) => Some(now + ticks),
            _ => None,
        };
        let own = self.sys.wheel.next_own(cpu);
        let soon = own.into_iter().chain(clock).any(|at| at <= now + 1);
        let keeps = self.sys.asks_governor(cpu, needs, soon, clock);
        let retains = self.retains(cpu);
        let rung = std::mem::take(&mut self.sys.cores[cpu as usize].rung);
        if needs == IdleNeeds::Tick || self.sys.keeps_time(cpu) || !self.sys.options.nohz {
            self.sys.wheel.start_tick(cpu);
        } else if !(self.sys.wheel.ticks(cpu) && (retains || soon || keeps)) {
            self.sys.wheel.stop_tick(cpu);
            self.sys.wheel.look_after_itself(cpu, clock);
            if rung {
                self.sys.wheel.look_after_all(cpu);
            }
        }
        self.sys.expect_jiffy();
    }

    /// The result of the CPU's check of its callbacks.
    fn idle_look(&mut self, cpu: CpuId, look: IdleLook) -> IdleNeeds {
        if look.wake_gp {
            self.sys.wake(&self.rcu, self.rcu.gp_thread, cpu);
        }
        self.sys.cores[cpu as usize].soft_rcu |= look.needs == IdleNeeds::Core;
        look.needs
    }

    /// Has everything stamped. Is a callback ready now?
    fn prepare_for_idle(&mut self, cpu: CpuId) -> bool {
        let now = self.sys.jiffies();
        let (global, cpus, _, view) = self.rcu.parts();
        if cpus[cpu as usize].prepare_for_idle(global, now, &view) {
            self.sys.wake(&self.rcu, self.rcu.gp_thread, cpu);
        }
        !self.sys.cores[cpu as usize].ready.is_empty()
    }

    /// An interrupt has ended a halt.
    pub(crate) fn cleanup_after_idle(&mut self, cpu: CpuId) {
        let now = self.sys.jiffies();
        if let Some(last) = self.sys.cores[cpu as usize].looked_at.take()
            && self.sys.stats.counts(self.sys.now)
        {
            *self.sys.stats.looks.entry(now - last).or_default() += 1;
        }
        let (global, cpus, _, view) = self.rcu.parts();
        let look = cpus[cpu as usize].cleanup_after_idle(global, now, &view);
        self.idle_look(cpu, look);
    }
}
