//! Expedited grace periods (kernel flavour): callers, the interrupts they send, and their wake-ups.
//!
//! Each caller is a task that performs one action at a time. Interrupts are delivered on the test's request,
//! or at once ([`TestHost::exp_drive`]).

use super::TestHost;
use crate::world::check;
use quiescent_kernel::blocked::{Disabled, Later};
use quiescent_kernel::exp::{Climb, ExpBegin, ExpEffects, ExpNext, ExpWake, Handled, Interrupted};
use quiescent_kernel::host::CpuId;
use quiescent_kernel::seq::Seq;

/// A driver that sleeps for longer than this many ticks waits for a stall: it stays asleep until it is woken,
/// or until the test lets [its sleep time out](TestHost::exp_sleep_out).
const LONG: u64 = 100;

/// Does only a report, or the time of a stall, end this sleep?
fn is_long(next: ExpNext) -> bool {
    matches!(next, ExpNext::Sleep(ticks) if ticks.is_none_or(|ticks| ticks > LONG))
}

/// The next action of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doing {
    /// It climbs the funnel.
    Climbs,
    /// It sleeps at a node, in one of the node's queues.
    Sleeps(usize, u8),
    /// It asks for the driver role.
    Contends,
    /// It has the role and begins the grace period.
    Begins,
    /// It drives the grace period.
    Drives(ExpNext),
    /// It wakes the other callers.
    Wakes,
    /// It has returned.
    Returned,
}

#[derive(Clone, Copy, Debug)]
struct Caller {
    cpu: CpuId,
    cookie: Seq,
    doing: Doing,
}

/// Callers and interrupts.
#[derive(Clone, Debug, Default)]
pub(super) struct Expediting {
    callers: Vec<Caller>,
    /// The driver was woken, or a wake-up waits for it.
    pub woken: bool,
    /// Interrupts that are sent and not delivered.
    pending: Vec<CpuId>,
    /// CPUs that cannot be interrupted.
    deaf: Vec<CpuId>,
    /// What is disabled on each CPU (interrupts, soft interrupts, preemption).
    disabled: Vec<(CpuId, Disabled)>,
    /// CPUs whose running task has a hint set.
    pub hints: Vec<CpuId>,
    /// Unlocks that were deferred because something was disabled.
    pub later: Vec<(CpuId, Later)>,
    /// How often ticks were requested.
    held_ticks: u32,
    /// Stalls that a driver reported.
    stalls: u32,
    /// CPUs asked for a reschedule.
    rescheds: Vec<CpuId>,
}

impl Expediting {
    pub fn disabled_on(&self, cpu: CpuId) -> Disabled {
        let entry = self.disabled.iter().find(|(at, _)| *at == cpu);
        entry.map_or(Disabled::Nothing, |(_, what)| *what)
    }
}

impl TestHost {
    /// A task on `cpu` calls `synchronize_rcu_expedited`: it takes its cookie. Returns the caller's number.
    pub fn expedite(&mut self, cpu: CpuId) -> usize {
        let cookie = self.world.global.exp_snap(&self.machine);
        let doing = Doing::Climbs;
        self.exp.callers.push(Caller { cpu, cookie, doing });
        self.exp.callers.len() - 1
    }

    /// The next action of that caller.
    pub fn exp_doing(&self, caller: usize) -> Doing {
        self.exp.callers[caller].doing
    }

    /// The cookie of a caller.
    pub fn exp_cookie(&self, caller: usize) -> Seq {
        self.exp.callers[caller].cookie
    }

    /// The caller performs its next action. One that sleeps and was not woken does nothing.
    pub fn exp_step(&mut self, caller: usize) -> Doing {
        let Caller { cpu, cookie, doing } = self.exp.callers[caller];
        let next = match doing {
            Doing::Climbs => self.exp_climb(cpu, cookie),
            Doing::Contends if self.world.global.exp_lock() => Doing::Begins,
            Doing::Contends => doing,
            Doing::Begins => self.exp_begin(cookie),
            Doing::Drives(next) => self.exp_drive_on(cpu, next),
            Doing::Wakes => self.exp_wake(),
            Doing::Sleeps(..) | Doing::Returned => doing,
        };
        self.exp.callers[caller].doing = next;
        check(&self.world.global);
        next
    }

    fn exp_climb(&mut self, cpu: CpuId, cookie: Seq) -> Doing {
        let leaf = self.machine.leaf_of(cpu);
        match self.world.global.exp_climb(leaf, cookie, &self.machine) {
            Climb::Done => Doing::Returned,
            Climb::Wait { node, queue } => Doing::Sleeps(node, queue),
            Climb::Contend => Doing::Contends,
            Climb::Begin => Doing::Begins,
        }
    }

    fn exp_begin(&mut self, cookie: Seq) -> Doing {
        match self.world.global.exp_begin(cookie, &self.machine) {
            ExpBegin::Done => Doing::Returned,
            ExpBegin::Begun => Doing::Drives(ExpNext::Again),
            ExpBegin::Grow(cpus) => {
                if self.grow(cpus) {
                    for caller in &mut self.exp.callers {
                        if matches!(caller.doing, Doing::Sleeps(..)) {
                            caller.doing = Doing::Climbs;
                        }
                    }
                }
                Doing::Begins
            }
        }
    }

    fn exp_drive_on(&mut self, cpu: CpuId, next: ExpNext) -> Doing {
        let effects = match next {
            ExpNext::Fence => {
                self.world.global.exp_fenced(&self.machine);
                return Doing::Drives(ExpNext::Again);
            }
            ExpNext::Ask { lo, cpus } => {
                let mut refused = 0;
                for bit in (0..64).filter(|bit| cpus & 1 << bit != 0) {
                    let to = lo + bit;
                    if self.exp.deaf.contains(&to) || !self.machine.present[to as usize] {
                        refused |= 1 << bit;
                    } else {
                        self.exp.pending.push(to);
                        self.done.interrupts += 1;
                    }
                }
                self.world.global.exp_asked(refused, &self.machine)
            }
            _ if is_long(next) && !self.exp.woken => return Doing::Drives(next),
            ExpNext::Sleep(ticks) => {
                for _ in 0..ticks.filter(|_| !is_long(next)).unwrap_or(0) {
                    if !self.exp.woken {
                        self.pass_tick();
                    }
                }
                self.exp_engine_step(cpu)
            }
            ExpNext::Again => self.exp_engine_step(cpu),
            ExpNext::Done => {
                self.world.global.exp_release();
                return Doing::Wakes;
            }
        };
        self.exp.stalls += u32::from(effects.stalled);
        self.exp.held_ticks += u32::from(effects.hold_ticks);
        Doing::Drives(effects.next)
    }

    fn exp_engine_step(&mut self, cpu: CpuId) -> ExpEffects {
        self.exp.woken = false;
        let (on, now) = (Some(cpu), self.machine.now);
        self.world.global.exp_step(on, now, &self.machine)
    }

    fn exp_wake(&mut self) -> Doing {
        let Some(wake) = self.world.global.exp_wake(&self.machine) else {
            return Doing::Returned;
        };
        let ExpWake { node, queue, .. } = wake;
        self.exp.woken |= wake.wake_exp;
        let engine = &self.world.global;
        for caller in &mut self.exp.callers {
            if caller.doing == Doing::Sleeps(node, queue) && engine.exp_done(caller.cookie) {
                caller.doing = Doing::Returned;
            }
        }
        match wake.last {
            true => Doing::Returned,
            false => Doing::Wakes,
        }
    }

    /// The caller performs actions until it returns, sleeps without a waker, or has made `max_steps`.
    /// Interrupts are delivered as they are sent. True if it returned.
    pub fn exp_drive(&mut self, caller: usize, max_steps: u32) -> bool {
        for _ in 0..max_steps {
            let before = self.exp_doing(caller);
            let after = self.exp_step(caller);
            self.deliver_interrupts();
            let asleep = match after {
                Doing::Sleeps(..) => true,
                Doing::Drives(next) => is_long(next),
                _ => false,
            };
            if after == Doing::Returned || (asleep && before == after && !self.exp.woken) {
                break;
            }
        }
        self.exp_doing(caller) == Doing::Returned
    }

    /// The caller performs actions until its next action is the wanted one; interrupts are not delivered.
    ///
    /// # Panics
    /// If it does not get there in 200 actions.
    pub fn exp_until(&mut self, caller: usize, wanted: impl Fn(Doing) -> bool) {
        for _ in 0..200 {
            if wanted(self.exp_doing(caller)) {
                return;
            }
            self.exp_step(caller);
        }
        panic!("it does {:?}", self.exp_doing(caller));
    }

    /// Delivers all interrupts that were sent.
    pub fn deliver_interrupts(&mut self) {
        for cpu in std::mem::take(&mut self.exp.pending) {
            let _ = self.interrupt(cpu);
        }
    }

    /// The interrupt of an expedited grace period arrives at `cpu`.
    pub fn interrupt(&mut self, cpu: CpuId) -> Handled {
        let disabled = self.exp.disabled_on(cpu) != Disabled::Nothing;
        let at = match (self.machine.cpus[cpu as usize].depth(), disabled) {
            (0, false) => Interrupted::Quiescent,
            (0, true) => Interrupted::Disabled,
            _ => Interrupted::Section,
        };
        let handled = self.world.global.exp_interrupt(cpu, at);
        self.exp.woken |= handled.wake_exp;
        self.exp.hints.extend(handled.hint.then_some(cpu));
        self.exp.rescheds.extend(handled.resched.then_some(cpu));
        handled
    }

    /// With `deaf`, interrupts to `cpu` fail from now on.
    pub fn set_deaf(&mut self, cpu: CpuId, deaf: bool) {
        self.exp.deaf.retain(|&at| at != cpu);
        self.exp.deaf.extend(deaf.then_some(cpu));
    }

    /// Disables `what` on `cpu`. With nothing disabled any more, a deferred unlock is completed.
    pub fn disable(&mut self, cpu: CpuId, what: Disabled) {
        self.exp.disabled.retain(|(at, _)| *at != cpu);
        self.exp.disabled.push((cpu, what));
        let left = self.exp.later.iter().any(|(at, _)| *at == cpu);
        if what == Disabled::Nothing && left {
            self.exp.later.retain(|(at, _)| *at != cpu);
            let task = self.tasks.on(cpu);
            self.unlock_slow_path(cpu, task);
        }
        self.idle(cpu);
    }

    /// The deferred unlocks, and how each is completed.
    pub fn left_for_later(&self) -> &[(CpuId, Later)] {
        &self.exp.later
    }

    /// A context switch between tasks that are in no section, as after a reschedule.
    pub fn switch(&mut self, cpu: CpuId) {
        self.exp.rescheds.retain(|&at| at != cpu);
        let global = &mut self.world.global;
        let effects = global.context_switch(cpu, None, &self.machine);
        self.carry_out(effects);
    }

    /// CPUs asked for a reschedule that have not switched since.
    pub fn rescheds(&self) -> &[CpuId] {
        &self.exp.rescheds
    }

    /// How often ticks were requested.
    pub fn held_ticks(&self) -> u32 {
        self.exp.held_ticks
    }

    /// Lets the sleep of a caller that drives time out; returns its length in ticks.
    ///
    /// # Panics
    /// If the caller does not sleep, or sleeps without a time limit.
    pub fn exp_sleep_out(&mut self, caller: usize) -> u64 {
        let doing = self.exp_doing(caller);
        let Doing::Drives(ExpNext::Sleep(Some(ticks))) = doing else {
            panic!("it does {doing:?}");
        };
        self.pass_jiffies(ticks);
        self.exp.woken = true;
        self.exp_step(caller);
        ticks
    }

    /// Stalls of expedited grace periods that a driver reported.
    pub fn exp_stalls(&self) -> u32 {
        self.exp.stalls
    }

    /// Starts an expedited poll on `cpu`.
    pub fn start_poll_expedited(&mut self, cpu: CpuId) -> quiescent_kernel::exp::ExpPoll {
        let leaf = self.machine.leaf_of(cpu);
        self.world.global.start_poll_expedited(leaf)
    }

    /// Runs the polling work of the leaf of `cpu`: does it have to wait once more?
    pub fn exp_poll_work(&mut self, cpu: CpuId) -> bool {
        let leaf = self.machine.leaf_of(cpu);
        self.world.global.exp_poll_work(leaf)
    }
}
