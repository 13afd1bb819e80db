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
use crate::kernel::state::{Act, Rcu, System};

impl Rcu {
    /// One pass of the idle loop.
    pub fn pass_idle(&mut self, sys: &mut System, cpu: CpuId) -> Act {
        let core = &mut sys.cores[cpu as usize];
        if !std::mem::replace(&mut core.passing, true) {
            core.ticked_in_idle &= core.idle; // a new period begins if it comes from a task
            core.idle = true;
            // More where it looks whether the tick can stop.
            let costs = sys.options.costs;
            let look = if self.retains(sys, cpu) {
                0
            } else {
                costs.tick_off
            };
            return Act::Busy(costs.idle + look);
        }
        sys.cores[cpu as usize].passing = false;
        self.deliver_wake(sys, cpu);
        if !sys.cores[cpu as usize].ready.is_empty() {
            return Act::Again;
        }
        let now = sys.jiffies();
        let (global, cpus, _, view) = self.parts();
        let look = cpus[cpu as usize].idle_needs(global, now, &view);
        let needs = self.idle_look(sys, cpu, look);
        if needs == IdleNeeds::Core || self.prepare_for_idle(sys, cpu) {
            return Act::Again;
        }
        self.look_after_tick(sys, cpu, needs);
        let owes = matches!(needs, IdleNeeds::Tick | IdleNeeds::WakeIn(_));
        sys.cores[cpu as usize].looked_at = owes.then_some(now);
        sys.stats.totals.idle_entries += u64::from(sys.counts());
        self.text(|| format!("cpu_idle: state=1 cpu_id={cpu}"));
        let watch = &mut self.watch[cpu as usize];
        if watch.is_watching() {
            watch.idle_enter();
        }
        Act::Halt
    }

    /// Is the tick left to itself until it has come once?
    fn retains(&self, sys: &System, cpu: CpuId) -> bool {
        let ticked = sys.cores[cpu as usize].ticked_in_idle;
        sys.options.idle_loop == IdleLoop::Retain && !ticked
    }

    /// The tick stops, or runs, as the CPU needs it.
    fn look_after_tick(&mut self, sys: &mut System, cpu: CpuId, needs: IdleNeeds) {
        let now = sys.jiffies();
        let clock = match needs {
            IdleNeeds::WakeIn(ticks) => Some(now + ticks),
            _ => None,
        };
        let own = sys.wheel.next_own(cpu);
        let soon = own.into_iter().chain(clock).any(|at| at <= now + 1);
        let keeps = sys.asks_governor(cpu, needs, soon, clock);
        let retains = self.retains(sys, cpu);
        let rung = std::mem::take(&mut sys.cores[cpu as usize].rung);
        if needs == IdleNeeds::Tick || sys.timekeeper == Some(cpu) || !sys.options.nohz {
            sys.wheel.start_tick(cpu);
        } else if !(sys.wheel.ticks(cpu) && (retains || soon || keeps)) {
            sys.wheel.stop_tick(cpu);
            sys.wheel.look_after_itself(cpu, clock);
            if rung {
                sys.wheel.look_after_all(cpu);
            }
        }
        sys.expect_jiffy();
    }

    /// The result of the CPU's check of its callbacks.
    fn idle_look(&mut self, sys: &mut System, cpu: CpuId, look: IdleLook) -> IdleNeeds {
        self.wake_gp(sys, look.wake_gp, cpu);
        sys.cores[cpu as usize].soft_rcu |= look.needs == IdleNeeds::Core;
        look.needs
    }

    /// Has everything stamped. Is a callback ready now?
    fn prepare_for_idle(&mut self, sys: &mut System, cpu: CpuId) -> bool {
        let now = sys.jiffies();
        let (global, cpus, _, view) = self.parts();
        let ready = cpus[cpu as usize].prepare_for_idle(global, now, &view);
        self.wake_gp(sys, ready, cpu);
        !sys.cores[cpu as usize].ready.is_empty()
    }

    /// An interrupt has ended a halt.
    pub fn cleanup_after_idle(&mut self, sys: &mut System, cpu: CpuId) {
        let now = sys.jiffies();
        if let Some(last) = sys.cores[cpu as usize].looked_at.take()
            && sys.counts()
        {
            *sys.stats.looks.entry(now - last).or_default() += 1;
        }
        let (global, cpus, _, view) = self.parts();
        let look = cpus[cpu as usize].cleanup_after_idle(global, now, &view);
        self.idle_look(sys, cpu, look);
    }
}
