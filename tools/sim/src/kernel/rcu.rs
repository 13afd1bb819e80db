//! The engine's host: its queries, and its requests.
//!
//! [`Rcu`] keeps the engine's state apart from the rest of the machine, so that a call can have the engine's
//! parts and the [`View`] that answers its queries at the same time. A call's requests are carried out after
//! it has returned: a task that this wakes may queue callbacks, and never re-enters the engine. A kernel's
//! locks need not be modelled: a piece of work (`exec`) is never interrupted by another CPU's.

use std::collections::VecDeque;

use quiescent_kernel::event::{Event, GpEvent};
use quiescent_kernel::offload::{self, Group, GroupId, Timer as Timing, Todo};
use quiescent_kernel::watching::Watching;
use quiescent_kernel::{Config, Cpu, CpuId, Effects, Global, Host, LeafId, Pos, Seen};

use crate::input::options::Options;
use crate::kernel::state::{Observed, Rcu, System};
use crate::kernel::task::{Kind, State};
use crate::kernel::wheel::{Timer, expiry};
use crate::record::notes::Notes;
use crate::record::stats::GracePeriod;

/// What the engine asks.
pub(crate) struct View<'a> {
    watch: &'a [Watching],
    present: &'a [u64],
    full: &'a [bool],
    observed: &'a Observed,
}

impl View<'_> {
    /// CPUs of this leaf.
    pub fn at(&self, leaf: LeafId) -> u32 {
        self.present[leaf].count_ones()
    }
}

impl Host for View<'_> {
    fn cpus(&self) -> u32 {
        self.watch.len() as u32
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        self.watch[cpu as usize].seen()
    }

    fn present(&self, leaf: LeafId) -> u64 {
        self.present[leaf]
    }

    fn own_quiescent(&self, _: CpuId) -> bool {
        true
    }

    fn nohz_full(&self, cpu: CpuId) -> bool {
        self.full.get(cpu as usize).copied().unwrap_or(false)
    }

    fn trace(&self, event: &Event) {
        self.observed.notes.event(event);
        if let Event::GracePeriod { event, .. } = event {
            match event {
                GpEvent::Start => {
                    self.observed.started.set(true);
                    self.observed.scans.set(0);
                }
                GpEvent::Fqsstart => self.observed.scans.set(self.observed.scans.get() + 1),
                GpEvent::End => self.observed.ended.set(true),
                _ => {}
            }
        }
    }
}

impl Rcu {
    pub fn new(options: &Options) -> Rcu {
        let (config, cpus): (Config, u32) = (options.config(), options.cpus);
        let mut global = Global::new(config);
        global.set_fqs_waits(config.first_fqs, config.next_fqs);
        let tree = Global::new_tree(&config, cpus).expect("the options were checked");
        let geometry = tree.geometry();
        let leaf_level = geometry.levels() - 1;
        let mut present = vec![0; geometry.leaves()];
        let mut leaf_of = Vec::with_capacity(cpus as usize);
        for cpu in 0..cpus {
            let (leaf, bit) = geometry.leaf_of(cpu);
            present[leaf] |= 1 << bit;
            leaf_of.push(leaf as u16);
        }
        assert!(global.grow(tree).is_ok(), "the first tree");
        global.async_relax(); // booted: lazy callbacks may be lazy
        let mut it = Rcu {
            global,
            cpus: (0..cpus).map(Cpu::new).collect(),
            groups: Vec::new(),
            gp_thread: 0,
            rcuogs: Vec::new(),
            rcuops: vec![None; cpus as usize],
            kworker: 0,
            exp_worker: 0,
            waiters: VecDeque::new(),
            deferred: None,
            in_flight: GracePeriod::default(),
            watch: vec![Watching::new(); cpus as usize],
            present,
            leaf_of,
            full: match options.nohz_full.as_slice() {
                [] => Vec::new(),
                those => (0..cpus).map(|cpu| those.contains(&cpu)).collect(),
            },
            observed: Observed {
                notes: Notes::new(cpus, leaf_level),
                ..Observed::default()
            },
        };
        let stride = offload::stride(cpus, config.offload.stride);
        it.groups
            .resize_with((cpus as usize).div_ceil(stride as usize), || None);
        it.rcuogs = vec![None; it.groups.len()];
        for cpu in options.offloaded() {
            let group = offload::group_of(cpu, stride);
            let group = it.groups[group as usize].get_or_insert_with(|| Group::new(group, stride));
            it.cpus[cpu as usize].choose(group);
        }
        it
    }

    /// The machine boots: RCU has its threads.
    pub fn boots(&mut self, sys: &mut System) {
        let gp_cpu = sys.options.rcu_cpu(sys.options.gp_cpu);
        self.gp_thread = sys.add("rcu_preempt".into(), Kind::GpThread, Some(gp_cpu));
        for group in 0..self.groups.len() {
            let Some(it) = &self.groups[group] else {
                continue;
            };
            let (leader, members) = (it.leader(), it.members().to_vec());
            let name = format!("rcuog/{leader}");
            self.rcuogs[group] = Some(sys.add(name, Kind::Rcuog(group as u32), Some(gp_cpu)));
            for cpu in members {
                let task = sys.add(format!("rcuop/{cpu}"), Kind::Rcuop(cpu), None);
                self.rcuops[cpu as usize] = Some(task);
            }
        }
        self.kworker = sys.add("kworker/rcu".into(), Kind::Kworker, None);
        self.exp_worker = sys.add("kworker/rcu_exp".into(), Kind::ExpWorker, None);
        self.global.set_expedite(sys.options.expedite());
        self.drive_on(gp_cpu);
        for cpu in 0..sys.options.cpus {
            self.watch[cpu as usize].idle_enter();
        }
        self.begin_timekeeping(sys);
        self.begin_polling(sys, gp_cpu);
    }

    /// The engine's parts, and the view that it asks.
    pub fn parts(&mut self) -> (&mut Global, &mut [Cpu], &mut [Option<Group>], View<'_>) {
        let view = View {
            watch: &self.watch,
            present: &self.present,
            full: &self.full,
            observed: &self.observed,
        };
        (&mut self.global, &mut self.cpus, &mut self.groups, view)
    }

    /// Does it run without a tick where it can?
    pub fn is_full(&self, cpu: CpuId) -> bool {
        self.full.get(cpu as usize).copied().unwrap_or(false)
    }

    /// A line of the trace, if there is one.
    pub fn text(&self, text: impl FnOnce() -> String) {
        self.observed.notes.text(text);
    }

    pub fn notes(&self) -> &Notes {
        &self.observed.notes
    }

    pub fn leaf_of(&self, cpu: CpuId) -> LeafId {
        self.leaf_of[cpu as usize].into()
    }

    /// `cpu` does not take part any more: it has been reported as departed.
    pub fn leave(&mut self, cpu: CpuId) {
        let (leaf, bit) = self.place_of(cpu);
        self.present[leaf] &= !bit;
    }

    /// `cpu` takes part from the next grace period on.
    pub fn arrive(&mut self, cpu: CpuId) {
        let (leaf, bit) = self.place_of(cpu);
        self.present[leaf] |= bit;
        self.watch[cpu as usize].online();
        let (global, cpus, _, view) = self.parts();
        cpus[cpu as usize].online(global, &view);
    }

    fn place_of(&self, cpu: CpuId) -> (LeafId, u64) {
        let tree = self
            .global
            .tree()
            .expect("a kernel has its tree from boot on");
        let (leaf, bit) = tree.geometry().leaf_of(cpu);
        (leaf, 1 << bit)
    }

    /// The group that serves this CPU now.
    pub fn group_of(&self, cpu: CpuId) -> Option<GroupId> {
        let cpu = &self.cpus[cpu as usize];
        cpu.member().group().filter(|_| cpu.is_offloaded())
    }

    /// Has this CPU a wake-up to deliver that was put off?
    pub fn owes_wake(&self, cpu: CpuId) -> bool {
        let group = self.group_of(cpu);
        group.is_some_and(|it| {
            self.groups[it as usize]
                .as_ref()
                .is_some_and(Group::is_wake_due)
        })
    }

    /// The driver and its CPU.
    pub fn drive_on(&mut self, cpu: CpuId) {
        self.global.leave();
        assert!(self.global.try_drive(Some(cpu)));
    }

    /// Wakes the threads that the engine names for offloading.
    pub fn carry_out(&mut self, sys: &mut System, cpu: CpuId, group: Option<GroupId>, todo: Todo) {
        self.wake_gp(sys, todo.gp, cpu);
        if let Some(group) = todo.rcuog {
            let task = self.rcuogs[group as usize].expect("the group has a thread");
            sys.wake(self, task, cpu);
        }
        if let Some(whose) = todo.rcuop {
            let task = self.rcuops[whose as usize].expect("the CPU has a thread");
            sys.wake(self, task, cpu);
        }
        if let Some(at) = todo.core {
            sys.cores[at as usize].soft_rcu = true;
            sys.send_ipi(self, at, cpu);
        }
        if let Some(group) = group {
            self.set_group_timer(sys, cpu, group, todo.timer);
        }
    }

    pub fn set_group_timer(&mut self, sys: &mut System, cpu: CpuId, group: GroupId, timer: Timing) {
        match timer {
            Timing::Keep => {}
            Timing::Stop => sys.wheel.stop(Timer::Group(group)),
            Timing::Set(at) => {
                let now = sys.jiffies();
                let at = expiry(now, at.saturating_sub(now));
                sys.set_timer(Timer::Group(group), cpu, at);
            }
        }
    }

    /// Wakes the grace-period thread, if the engine wants that.
    pub fn wake_gp(&self, sys: &mut System, wanted: bool, cpu: CpuId) {
        if wanted {
            sys.wake(self, self.gp_thread, cpu);
        }
    }

    /// Carries out the requests of a step of a grace period; `cpu` is where the step was.
    pub fn effects(&mut self, sys: &mut System, cpu: CpuId, effects: &Effects) {
        self.wake_gp(sys, effects.wake_gp, cpu);
        if effects.wake_exp {
            sys.wake(self, self.exp_worker, cpu);
        }
        if let Some(until) = effects.waiters_until {
            self.wake_waiters(sys, until, cpu);
        }
        if let Some(until) = effects.deferred_until {
            self.deferred = self.deferred.max(Some(until));
            if sys.tasks[self.kworker].state == State::Sleeping {
                sys.tasks[self.kworker].cpu = Some(cpu); // its queue is the CPU's
            }
            sys.wake(self, self.kworker, cpu);
        }
        if let Some(end) = effects.gp_end {
            for group in 0..self.groups.len() {
                let Some(it) = &self.groups[group] else {
                    continue;
                };
                let waits = matches!(it.rest(), Some(offload::Rest::Gp { leaf, queue, .. })
                    if (leaf, queue) == (end.leaf, end.queue));
                if waits && it.goes_on(&self.global) {
                    let task = self.rcuogs[group].expect("the group has a thread");
                    sys.wake(self, task, cpu);
                }
            }
        }
        if let Some(nudge) = effects.nudge {
            for bit in 0..64 {
                if (nudge.resched | nudge.irq_work) >> bit & 1 == 0 {
                    continue;
                }
                let target = nudge.lo + bit;
                if nudge.irq_work >> bit & 1 != 0 {
                    self.global.irq_work_ran(target);
                }
                sys.cores[target as usize].resched |= nudge.resched >> bit & 1 != 0;
                sys.send_ipi(self, target, cpu);
            }
        }
    }

    /// Wakes all waiters below. How many those were.
    pub fn wake_waiters(&mut self, sys: &mut System, until: Pos, cpu: CpuId) -> u64 {
        let mut woken = 0;
        while let Some(&(ticket, task)) = self.waiters.front()
            && ticket < until
        {
            self.waiters.pop_front();
            sys.wake(self, task, cpu);
            woken += 1;
        }
        woken
    }

    /// A wake-up of an offload thread that was put off is made now.
    pub fn deliver_wake(&mut self, sys: &mut System, cpu: CpuId) {
        if !self.owes_wake(cpu) {
            return;
        }
        let group = self.group_of(cpu).expect("it owes a wake-up");
        let (.., groups, view) = self.parts();
        let it = groups[group as usize].as_mut().expect("it has a thread");
        let todo = it.deliver(cpu, &view);
        self.carry_out(sys, cpu, Some(group), todo);
    }
}
