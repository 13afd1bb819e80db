//! The actions of tasks: the grace-period thread, the threads of offloaded callbacks, the workload.

use quiescent_kernel::event::{Event, ExpEvent};
use quiescent_kernel::limits::Context;
use quiescent_kernel::offload::{GroupId, Rest};
use quiescent_kernel::polled::GpKind;
use quiescent_kernel::{CpuId, Next, Phase};

use crate::input::op::{Op, Queued};
use crate::kernel::cpu::Then;
use crate::kernel::state::{Act, LockTable, Machine, Rcu, System};
use crate::kernel::task::{Kind, State, Waits};
use crate::kernel::wheel::{Timer, expiry};
use crate::record::notes::What;
use crate::record::stats::{GracePeriod, Synchronized};

impl Machine {
    /// Continues the task that runs on `cpu`.
    pub(crate) fn run_task(&mut self, cpu: CpuId, task: usize) -> Act {
        match self.sys.tasks[task].kind {
            Kind::GpThread => self.rcu.gp_thread(&mut self.sys, cpu),
            Kind::Rcuog(group) => {
                let locks = &mut self.locks;
                self.rcu.rcuog(&mut self.sys, locks, cpu, task, group)
            }
            Kind::Rcuop(whose) => self.rcuop(cpu, whose),
            Kind::Ksoftirqd => self.ksoftirqd(cpu),
            Kind::Kworker => self.rcu.kworker(&mut self.sys, cpu),
            Kind::ExpWorker => self.exp.works(&mut self.sys, &mut self.rcu, cpu),
            Kind::SrcuWorker => self.srcu.works(&mut self.sys, &self.rcu, cpu),
            Kind::Work(_) => self.work(cpu, task),
        }
    }

    /// Invokes callbacks of the CPU `whose`.
    fn rcuop(&mut self, cpu: CpuId, whose: CpuId) -> Act {
        let mut cost = self.sys.options.costs.rcuop;
        loop {
            let (global, cpus, _, view) = self.rcu.parts();
            let it = &mut cpus[whose as usize];
            if it.rcuop_woke(&view) {
                self.rcu.watch[cpu as usize].momentary_eqs();
                cost += self.batch(whose, cpu, Context::Rcuop);
            } else {
                // Another invoker has invoked them, or does: this thread may sleep, which the engine has to
                // know.
                let group = it.member().group();
                let after = it.batch_over(Context::Rcuop, global, &view);
                self.rcu.carry_out(&mut self.sys, cpu, group, after.todo);
            }
            if self.rcu.cpus[whose as usize].member().rcuop_sleeps() {
                break;
            }
        }
        self.sys.took(cost);
        self.sys.then_sleeps(cpu, cost)
    }

    /// A workload's task.
    fn work(&mut self, cpu: CpuId, task: usize) -> Act {
        let core = &mut self.sys.cores[cpu as usize];
        let left = std::mem::take(&mut self.sys.tasks[task].left).max(core.left);
        core.left = left;
        if left > 0 {
            return Act::Compute(left);
        }
        if self.barrier.has_turn(task) {
            return self.barrier.goes_on(&mut self.sys, &mut self.rcu, cpu);
        }
        self.returns(task);
        if let Some(act) = self.srcu.joins(&mut self.sys, cpu, task) {
            return act;
        }
        let now = self.sys.now;
        let Kind::Work(work) = &mut self.sys.tasks[task].kind else {
            unreachable!("the kernel's threads have their own work");
        };
        match work.next(now) {
            Op::Compute(ns) => {
                self.sys.cores[cpu as usize].left = ns;
                Act::Compute(ns)
            }
            Op::Kernel(ns) => Act::Busy(ns),
            Op::Call(it) => {
                let locks = self.call(cpu, it, Then::Nothing);
                Act::Busy(self.sys.options.costs.callback + locks)
            }
            Op::Enter { name, argument } => {
                let call = (name, argument);
                self.syscalls.enter(&self.sys, &self.rcu, cpu, task, call)
            }
            Op::Leave => self.syscalls.leave(&self.sys, &self.rcu, task),
            Op::Lock => self.sys.lock(task),
            Op::Unlock => self.rcu.unlock(&mut self.sys, cpu, task),
            Op::Srcu(op) => self.srcu.op(&mut self.sys, &self.rcu, cpu, task, op),
            Op::Synchronize => self.synchronize(cpu, task, GpKind::Normal),
            Op::SynchronizeExpedited => self.synchronize(cpu, task, GpKind::Expedited),
            Op::Barrier => self.barrier.begins(&mut self.sys, &mut self.rcu, cpu, task),
            Op::Offline(which) => self.plug_by_task(which, false),
            Op::Online(which) => self.plug_by_task(which, true),
            Op::Offload(which) => self.rcu.toggle(&mut self.sys, cpu, which, true),
            Op::Deoffload(which) => self.rcu.toggle(&mut self.sys, cpu, which, false),
            Op::Shrink(lazy) => self.rcu.shrink(&mut self.sys, cpu, lazy),
            Op::Reclaim { above, lazy } => self.rcu.reclaim(&mut self.sys, cpu, above, lazy),
            Op::AwaitCallback(it) => {
                self.sys.waits_for_gp(task, false);
                let can_wake = true;
                let it = Queued { can_wake, ..it };
                let locks = self.call(cpu, it, Then::Wakes(task));
                let cost = self.sys.options.costs.callback + locks;
                self.sys.then_sleeps(cpu, cost)
            }
            Op::SleepUntil(at) => {
                self.sys.tasks[task].deferred = false;
                self.sys.set_alarm(cpu, task, at.max(now + 1));
                self.sys.then_sleeps(cpu, 0)
            }
            Op::SleepOn {
                until,
                cpu: there,
                deferred,
            } => {
                self.sys.tasks[task].deferred = deferred;
                self.sys.set_alarm(there, task, until.max(now + 1));
                self.sys.tasks[task].cpu = Some(there);
                self.sys.then_sleeps(cpu, 0)
            }
            Op::Exit => {
                self.rcu.unlock_all(&mut self.sys, cpu, task);
                self.srcu.ends_all(&mut self.sys, &self.rcu, cpu, task);
                self.sys.tasks[task].state = State::Over;
                self.live_tasks -= 1;
                self.sys.then_sleeps(cpu, 0)
            }
        }
    }

    /// What the task waited for, if anything, is over.
    fn returns(&mut self, task: usize) {
        let (end, counts) = (self.sys.now, self.sys.counts());
        match self.sys.tasks[task].waits.take() {
            Some(Waits::ForGp {
                start,
                since,
                expedited,
                cookie,
            }) => {
                self.sys.oracle.waited(since);
                if let Some(gp_seq) = cookie {
                    // A kernel's caller looks once more when it wakes up.
                    let event = ExpEvent::Done;
                    let done = Event::ExpGracePeriod { gp_seq, event };
                    self.rcu.notes().say(What::Rcu(done));
                }
                if counts {
                    self.sys.stats.calls.push(Synchronized {
                        start,
                        end,
                        expedited,
                    });
                }
            }
            Some(Waits::Srcu { start, since }) => {
                self.srcu.returns(&mut self.sys, start, since);
            }
            Some(Waits::ForCallbacks { start, made }) => {
                if let Some(seq) = made {
                    self.barrier.says(&self.rcu, "Inc2", None, seq);
                }
                if counts {
                    self.sys.stats.barriers.push((start, end));
                }
            }
            None => {}
        }
    }

    fn plug_by_task(&mut self, cpu: CpuId, online: bool) -> Act {
        self.plug(self.sys.now, cpu, online);
        Act::Busy(self.sys.options.costs.work)
    }

    /// A task waits for a grace period of this kind, or of the one that the options prescribe.
    pub(crate) fn synchronize(&mut self, cpu: CpuId, task: usize, asked: GpKind) -> Act {
        self.sys.waits_for_gp(task, asked == GpKind::Expedited);
        match self.rcu.global.choose(asked) {
            GpKind::Expedited => self.exp.joins(&mut self.sys, &mut self.rcu, cpu, task),
            GpKind::Normal => self.synchronize_normal(cpu, task),
        }
    }

    pub(crate) fn synchronize_normal(&mut self, cpu: CpuId, task: usize) -> Act {
        let mut cost = self.sys.options.costs.callback;
        let takes = self.rcu.global.takes_waiters();
        self.sys.tally.latched += u64::from(self.sys.options.wake_from_gp && !takes);
        if self.sys.options.wake_from_gp && takes {
            let leaf = self.rcu.leaf_of(cpu);
            let (global, _, _, view) = self.rcu.parts();
            let (ticket, effects) = global.wait_for_gp(leaf, &view);
            self.rcu.waiters.push_back((ticket, task));
            self.rcu.effects(&mut self.sys, cpu, &effects);
        } else {
            let queued = Queued::of(self.sys.func("wakeme_after_rcu"));
            cost += self.call(cpu, queued.lazy(false), Then::Wakes(task));
        }
        self.sys.then_sleeps(cpu, cost)
    }
}

impl Rcu {
    /// rcu_preempt: from one sleep to the next.
    fn gp_thread(&mut self, sys: &mut System, cpu: CpuId) -> Act {
        self.drive_on(cpu);
        self.notes().gp_thread();
        let mut cost = sys.options.costs.gp_thread;
        loop {
            let now = sys.engine_now(cpu);
            let scanning = matches!(self.global.phase(), Phase::Scan(_));
            let owed = scanning.then(|| self.global.holdouts().count() as u64);
            let scans_before = self.observed.scans.get();
            let before = self.global.phase();
            let (global, cpus, _, view) = self.parts();
            let effects = global.step_on(&mut cpus[cpu as usize], now, &view);
            if let (Some(owed), Phase::Wait) = (owed, self.global.phase()) {
                cost += owed * sys.options.costs.scan;
                if scans_before == 1 {
                    self.in_flight.holdouts = self.global.holdouts().collect();
                }
            }
            self.note_edges(sys);
            self.effects(sys, cpu, &effects);
            if self.global.pokes_all(before) {
                self.poke_all(sys, cpu);
            }
            let ticks = match effects.next {
                Next::Again if sys.options.takes_steps() => {
                    return Act::Busy(sys.step_cost());
                }
                Next::Again => continue,
                Next::Fence => {
                    let Next::Again = self.global.fenced() else {
                        unreachable!("a kernel's fence is its lock");
                    };
                    continue;
                }
                Next::Sleep(ticks) => Some(ticks),
                Next::Done => None,
                other => unreachable!("a grace-period thread cannot do {other:?}"),
            };
            if let Some(ticks) = ticks {
                let at = expiry(sys.jiffies(), ticks);
                sys.set_timer(Timer::Wake(self.gp_thread), cpu, at);
            }
            sys.took(cost);
            return sys.then_sleeps(cpu, cost);
        }
    }

    /// Every CPU runs RCU's soft interrupt, those that sleep too.
    fn poke_all(&mut self, sys: &mut System, from: CpuId) {
        for cpu in 0..sys.options.cpus {
            if sys.cores[cpu as usize].online {
                sys.cores[cpu as usize].soft_rcu = true;
                sys.send_ipi(self, cpu, from);
            }
        }
    }

    /// Grace periods that have begun, or ended.
    fn note_edges(&mut self, sys: &mut System) {
        sys.tally.step(self, &sys.oracle);
        if self.observed.ended.take() {
            sys.tally.ends(false, &mut sys.oracle);
            let ended = GracePeriod {
                end: sys.now,
                scans: self.observed.scans.get(),
                ..self.in_flight.clone()
            };
            if sys.counts() {
                sys.stats.grace_periods.push(ended);
            }
        }
        if self.observed.started.take() {
            sys.tally.starts(false, &sys.oracle);
            self.in_flight.start = sys.now;
            self.in_flight.holdouts.clear();
        }
    }

    /// Offload groups' threads that poll begin on this CPU: nothing wakes them later.
    pub fn begin_polling(&mut self, sys: &mut System, cpu: CpuId) {
        if sys.options.nocb_poll {
            let those: Vec<usize> = self.rcuogs.iter().copied().flatten().collect();
            those.into_iter().for_each(|task| sys.wake(self, task, cpu));
            sys.poke(cpu);
        }
    }

    /// One look of an offload group's thread.
    fn rcuog(
        &mut self,
        sys: &mut System,
        locks: &mut LockTable,
        cpu: CpuId,
        task: usize,
        group: GroupId,
    ) -> Act {
        let tick = sys.jiffies();
        let (global, _, groups, view) = self.parts();
        let it = groups[group as usize].as_mut().expect("it has a thread");
        if !it.in_pass() {
            if !it.goes_on(global) && !sys.options.nocb_poll {
                return sys.then_sleeps(cpu, 0);
            }
            let timer = it.begin_pass(tick, global, &view);
            self.set_group_timer(sys, cpu, group, timer);
        }
        let mut cost = sys.options.costs.rcuog;
        loop {
            let (global, cpus, groups, view) = self.parts();
            let it = groups[group as usize].as_mut().expect("it has a thread");
            let Some(member) = it.next_member() else {
                break;
            };
            let visited = cpus[member as usize].visit(tick, it, global, &view);
            cost += locks.looks(sys, (cpu, member), cost, visited.flushed > 0);
            cost += sys.options.costs.scan;
            self.carry_out(sys, cpu, Some(group), visited.todo);
            if sys.options.takes_steps() {
                return Act::Busy(sys.step_cost());
            }
        }
        let (global, _, groups, view) = self.parts();
        let it = groups[group as usize].as_mut().expect("it has a thread");
        let rested = it.end_pass(tick, global, &view);
        let again = it.goes_on(global);
        self.set_group_timer(sys, cpu, group, rested.timer);
        sys.took(cost);
        if let Rest::Poll { ticks } = rested.rest {
            sys.set_timer(Timer::Wake(task), cpu, expiry(tick, ticks));
        } else if again {
            return Act::Busy(cost);
        }
        sys.then_sleeps(cpu, cost)
    }

    /// The work item that wakes the waiters left to it by the grace-period thread.
    fn kworker(&mut self, sys: &mut System, cpu: CpuId) -> Act {
        let Some(until) = self.deferred.take() else {
            return sys.then_sleeps(cpu, 0);
        };
        let woken = self.wake_waiters(sys, until, cpu);
        self.global.waiters_woken(until);
        let cost = woken * sys.options.costs.callback;
        sys.took(cost);
        Act::Busy(cost)
    }
}
