//! Offload threads: the rcuog of each group, and the threads that the engine has woken.
//!
//! The test decides which thread runs: [`step_rcuog`](TestHost::step_rcuog) is one step of a group's thread,
//! which does nothing while it rests and was not woken. A thread that waits for a grace period is woken
//! through its leaf's queue only, so that a test detects a wrong queue. The test itself keeps the callbacks
//! and chooses the thread that invokes them.

use std::collections::{BTreeMap, BTreeSet};

use super::TestHost;
use super::machine::Machine;
use crate::world::{Asks, Member};
use quiescent_kernel::Global;
use quiescent_kernel::host::CpuId;
use quiescent_kernel::limits::Context;
use quiescent_kernel::offload::{
    AfterBatch, Call, Entrained, Flushed, GpEnd, Group, GroupId, Queued, Refused, Rest, Rested,
    Shrink, TakenOver, Timer, Todo, Toggled, Visited,
};

/// The woken threads that have not run yet, and the timers.
#[derive(Clone, Debug, Default)]
pub(super) struct Offloading {
    rcuogs: BTreeSet<GroupId>,
    rcuops: BTreeSet<CpuId>,
    cores: BTreeSet<CpuId>,
    timers: BTreeMap<GroupId, u64>,
    polls: BTreeMap<GroupId, u64>,
    counts: Wakeups,
}

/// Wake-ups of offload threads. The counters only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wakeups {
    /// Wake-ups of an rcuog by a call or by the timer.
    pub rcuog: u64,
    /// Wake-ups of an rcuog by the end of the grace period that it waited for.
    pub gp_end: u64,
    /// Wake-ups of an rcuop.
    pub rcuop: u64,
    /// How often a timer was set.
    pub timers_set: u64,
}

/// What a step of an rcuog did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OgStep {
    /// Nothing: it rests.
    Rests,
    /// It begins a pass.
    Begins,
    /// It has visited this CPU.
    Visits(CpuId, Visited),
    /// It has visited all, and rests.
    Ends(Rested),
}

impl TestHost {
    /// Makes a call of a CPU that was chosen. The threads that it wakes run later.
    fn member<T: Asks>(
        &mut self,
        cpu: CpuId,
        call: impl FnOnce(Member<'_>, u64, &Machine) -> T,
    ) -> T {
        let member = self.world.member(cpu);
        let group = member.group.id();
        let result = call(member, self.machine.now.jiffies, &self.machine);
        self.asked_by(group, result)
    }

    /// Makes a call of a group.
    fn of_group<T: Asks>(
        &mut self,
        group: GroupId,
        call: impl FnOnce(&mut Group, &Global, &Machine) -> T,
    ) -> T {
        let (it, global) = self.world.group(group);
        let result = call(it, global, &self.machine);
        self.asked_by(group, result)
    }

    fn asked_by<T: Asks>(&mut self, group: GroupId, result: T) -> T {
        let todo = result.todo();
        self.set_timer(group, todo.timer);
        self.wake(todo);
        self.tell_owed();
        result
    }

    /// A CPU's callbacks are to be offloaded, or no longer.
    ///
    /// # Errors
    /// Why that is not possible.
    pub fn toggle(&mut self, cpu: CpuId, to: bool, online: bool) -> Result<Toggled, Refused> {
        self.member(cpu, |it, tick, host| match to {
            true => it.cpu.offload(online, it.group, it.global, host),
            false => it.cpu.deoffload(online, tick, it.group, it.global, host),
        })
    }

    /// It delivers the wake-up that it has put off.
    pub fn deliver(&mut self, cpu: CpuId) -> Todo {
        self.member(cpu, |it, _, host| it.group.deliver(cpu, host))
    }

    /// It takes over the callbacks of `gone`, unless those are offloaded.
    pub fn take_over(&mut self, cpu: CpuId, gone: CpuId) -> Option<TakenOver> {
        let tick = self.machine.now.jiffies;
        let taken = self.world.take_over(cpu, gone, tick, &self.machine);
        self.woken |= taken.as_ref().is_some_and(|it| it.adopted.wake_gp);
        let group = self.world.member(cpu).group.id();
        self.asked_by(group, taken)
    }

    /// The shrinker visits it.
    pub fn shrink(&mut self, cpu: CpuId) -> Flushed {
        self.member(cpu, |it, tick, host| {
            Shrink::new(1).visit(it.cpu, tick, it.group, it.global, host)
        })
    }

    /// The barrier visits it.
    pub fn entrain_nocb(&mut self, cpu: CpuId) -> Entrained {
        self.member(cpu, |it, tick, host| {
            it.cpu
                .entrain_nocb(tick, it.barrier, it.group, it.global, host)
        })
    }

    /// A batch of its callbacks was invoked.
    pub fn batch_over(&mut self, cpu: CpuId, context: Context) -> AfterBatch {
        self.member(cpu, |it, _, host| {
            it.cpu.batch_over(context, it.global, host)
        })
    }

    /// Its rcuop runs; false if there is nothing to invoke.
    pub fn rcuop_woke(&mut self, cpu: CpuId) -> bool {
        self.on(cpu, |cpu, _, host| cpu.rcuop_woke(host))
    }

    /// A group's thread begins a pass.
    pub fn begin_pass(&mut self, group: GroupId, tick: u64) -> Timer {
        self.of_group(group, |it, global, host| it.begin_pass(tick, global, host))
    }

    /// A group's timer has fired.
    pub fn timer_fired(&mut self, group: GroupId, tick: u64) -> Todo {
        self.of_group(group, |it, _, host| it.timer_fired(tick, host))
    }

    fn wake(&mut self, todo: Todo) {
        let it = &mut self.offloading;
        it.counts.rcuog += u64::from(todo.rcuog.is_some());
        it.counts.rcuop += u64::from(todo.rcuop.is_some());
        it.rcuogs.extend(todo.rcuog);
        it.rcuops.extend(todo.rcuop);
        it.cores.extend(todo.core);
        self.woken |= todo.gp;
    }

    fn set_timer(&mut self, group: GroupId, timer: Timer) {
        let it = &mut self.offloading;
        match timer {
            Timer::Keep => {}
            Timer::Set(at) => {
                it.counts.timers_set += 1;
                it.timers.insert(group, at);
            }
            Timer::Stop => {
                it.timers.remove(&group);
            }
        }
    }

    /// Offloads `cpu` from boot on.
    pub fn choose(&mut self, cpu: CpuId) {
        let cpus = self.machine.cpus.len() as u32;
        self.world.choose(cpu, cpus);
        self.tell_owed();
    }

    /// Queues a callback on `cpu` at the present time; lazily if requested and possible.
    pub fn call_nocb(&mut self, cpu: CpuId, lazy: bool, can_wake: bool) -> Queued {
        let call = Call {
            bytes: 8,
            lazy,
            now: self.machine.now,
            can_wake,
            early: false,
        };
        self.call_nocb_as(cpu, call)
    }

    /// Queues a callback on `cpu` in any way.
    pub fn call_nocb_as(&mut self, cpu: CpuId, call: Call) -> Queued {
        self.member(cpu, |it, _, host| {
            it.cpu.call_nocb(call, it.group, it.global, host)
        })
    }

    /// The engine's state of a group.
    ///
    /// # Panics
    /// If none of its CPUs was chosen.
    pub fn group(&self, group: GroupId) -> &quiescent_kernel::offload::Group {
        &self.world.groups[&group]
    }

    /// One step of a group's thread.
    pub fn step_rcuog(&mut self, group: GroupId) -> OgStep {
        let tick = self.machine.now.jiffies;
        let it = self.group(group);
        if !it.in_pass() {
            if !self.rest_is_over(group) {
                return OgStep::Rests;
            }
            let _ = self.begin_pass(group, tick);
            return OgStep::Begins;
        }
        if let Some(cpu) = it.next_member() {
            let visited = self.member(cpu, |it, tick, host| {
                it.cpu.visit(tick, it.group, it.global, host)
            });
            return OgStep::Visits(cpu, visited);
        }
        let rested = self.of_group(group, |it, global, host| it.end_pass(tick, global, host));
        if let Rest::Poll { ticks } = rested.rest {
            self.offloading.polls.insert(group, tick + ticks);
        } else if self.group(group).goes_on(self.engine()) {
            self.offloading.rcuogs.insert(group); // it checks before it sleeps
        }
        OgStep::Ends(rested)
    }

    fn rest_is_over(&mut self, group: GroupId) -> bool {
        if matches!(self.group(group).rest(), Some(Rest::Poll { .. })) {
            let at = self.offloading.polls.get(&group).copied();
            return at.is_none_or(|at| at <= self.machine.now.jiffies);
        }
        let woken = self.offloading.rcuogs.remove(&group);
        woken && self.group(group).goes_on(self.engine())
    }

    /// The leaf of the waiting threads has been notified of the end of a grace period.
    pub(super) fn wake_queue(&mut self, end: GpEnd) {
        for (&id, group) in &self.world.groups {
            let waits = matches!(group.rest(), Some(Rest::Gp { leaf, queue, .. })
                if (leaf, queue) == (end.leaf, end.queue));
            if waits && group.goes_on(&self.world.global) && self.offloading.rcuogs.insert(id) {
                self.offloading.counts.gp_end += 1;
            }
        }
    }

    /// Fires the timers that are due; returns how many.
    pub fn fire_timers(&mut self) -> u32 {
        let tick = self.machine.now.jiffies;
        let mut fired = 0;
        while let Some(group) = self.due_timer(tick) {
            self.offloading.timers.remove(&group);
            let _ = self.timer_fired(group, tick);
            fired += 1;
        }
        fired
    }

    fn due_timer(&self, tick: u64) -> Option<GroupId> {
        let mut timers = self.offloading.timers.iter();
        Some(*timers.find(|&(_, &at)| at <= tick)?.0)
    }

    /// The time to which a group's timer is set.
    pub fn group_timer(&self, group: GroupId) -> Option<u64> {
        self.offloading.timers.get(&group).copied()
    }

    /// Was the rcuop of `cpu` woken? It counts as run afterwards: the next answer is no.
    pub fn take_rcuop(&mut self, cpu: CpuId) -> bool {
        self.offloading.rcuops.remove(&cpu)
    }

    /// Was the soft interrupt of `cpu` requested by its de-offloading? It counts as run afterwards.
    pub fn take_core(&mut self, cpu: CpuId) -> bool {
        self.offloading.cores.remove(&cpu)
    }

    /// Counters of wake-ups.
    pub fn wakeups(&self) -> Wakeups {
        self.offloading.counts
    }
}
