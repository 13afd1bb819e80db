//! Offload threads: the rcuog of each group, and the threads that the engine has woken.
//!
//! The test decides which thread runs: [`step_rcuog`](TestHost::step_rcuog) is one step of a group's thread,
//! which does nothing while it rests and was not woken. A thread that waits for a grace period is woken
//! through its leaf's queue only, so that a test detects a wrong queue. The test itself keeps the callbacks
//! and chooses the thread that invokes them.

use std::collections::{BTreeMap, BTreeSet};

use super::TestHost;
use crate::calls::{Input, OffloadInput, Output};
use quiescent_kernel::host::CpuId;
use quiescent_kernel::offload::{Call, GpEnd, GroupId, Queued, Rest, Rested, Timer, Todo, Visited};

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
    /// Makes any call about offloading. The threads that it wakes run later.
    pub fn offload(&mut self, input: OffloadInput) -> Output {
        let output = self.apply(Input::Offload(input));
        let (todo, timer) = match output {
            Output::Queued(it) => (it.todo, it.todo.timer),
            Output::Visited(it) => (it.todo, it.todo.timer),
            Output::Todo(todo) => (todo, todo.timer),
            Output::AfterBatch(it) => (it.todo, it.todo.timer),
            Output::Toggled(Ok(it)) => (it.todo, it.todo.timer),
            Output::Entrained(it) => (it.todo, it.todo.timer),
            Output::Flushed(it) => (it.todo, it.todo.timer),
            Output::TakenOver(Some(it)) => {
                self.woken |= it.adopted.wake_gp;
                (it.todo, it.todo.timer)
            }
            Output::Timer(timer) => (Todo::default(), timer),
            Output::Rested(rested) => (Todo::default(), rested.timer),
            _ => (Todo::default(), Timer::Keep),
        };
        if timer != Timer::Keep {
            let group = self.group_meant(input).expect("the timer is a group's");
            self.set_timer(group, timer);
        }
        self.wake(todo);
        self.tell_owed();
        output
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

    fn group_meant(&self, input: OffloadInput) -> Option<GroupId> {
        let cpu = match input {
            OffloadInput::BeginPass { group, .. }
            | OffloadInput::EndPass { group, .. }
            | OffloadInput::TimerFired { group, .. } => return Some(group),
            OffloadInput::CallNocb { cpu, .. }
            | OffloadInput::Visit { cpu, .. }
            | OffloadInput::Offload { cpu, .. }
            | OffloadInput::Deoffload { cpu, .. }
            | OffloadInput::EntrainNocb { cpu, .. }
            | OffloadInput::TakeOver { cpu, .. }
            | OffloadInput::Shrink { cpu, .. }
            | OffloadInput::Deliver { cpu } => cpu,
            _ => return None,
        };
        self.world.cpus.get(&cpu)?.member().group()
    }

    /// Offloads `cpu` from boot on.
    pub fn choose(&mut self, cpu: CpuId) {
        let cpus = self.machine.cpus.len() as u32;
        self.offload(OffloadInput::Choose { cpu, cpus });
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
        match self.offload(OffloadInput::CallNocb { cpu, call }) {
            Output::Queued(queued) => queued,
            other => unreachable!("{other:?}"),
        }
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
            self.offload(OffloadInput::BeginPass { group, tick });
            return OgStep::Begins;
        }
        if let Output::Member(Some(cpu)) = self.offload(OffloadInput::NextMember { group }) {
            let Output::Visited(visited) = self.offload(OffloadInput::Visit { cpu, tick }) else {
                unreachable!("what a visit returns");
            };
            return OgStep::Visits(cpu, visited);
        }
        let Output::Rested(rested) = self.offload(OffloadInput::EndPass { group, tick }) else {
            unreachable!("what the end of a pass returns");
        };
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
        woken && self.offload(OffloadInput::GoesOn { group }) == Output::Done(true)
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
            self.offload(OffloadInput::TimerFired { group, tick });
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
