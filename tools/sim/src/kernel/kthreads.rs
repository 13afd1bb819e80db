//! The actions of tasks: the grace-period thread, the threads of offloaded callbacks, the workload.

use quiescent_kernel::event::{Event, ExpEvent};
use quiescent_kernel::limits::Context;
use quiescent_kernel::offload::{GroupId, Rest};
use quiescent_kernel::polled::GpKind;
use quiescent_kernel::{CpuId, Next, Phase, Pos};

use crate::input::op::Op;
use crate::input::options::Smp;
use crate::kernel::cpu::Then;
use crate::kernel::state::{Act, Machine};
use crate::kernel::task::{Kind, State, Waits};
use crate::kernel::wheel::{Timer, expiry};
use crate::record::notes::What;
use crate::record::stats::{GracePeriod, Synchronized};

impl Machine {
    /// Continues the task that runs on `cpu`.
    pub(crate) fn run_task(&mut self, cpu: CpuId, task: usize) -> Act {
        match self.tasks[task].kind {
            Kind::GpThread => self.gp_thread(cpu),
            Kind::Rcuog(group) => self.rcuog(cpu, task, group),
            Kind::Rcuop(whose) => self.rcuop(cpu, whose),
            Kind::Ksoftirqd => self.ksoftirqd(cpu),
            Kind::Kworker => self.kworker(cpu),
            Kind::ExpWorker => self.exp_worker(cpu),
            Kind::SrcuWorker => self.srcu_worker(cpu),
            Kind::Work(_) => self.work(cpu, task),
        }
    }

    /// The scheduler moves one of RCU's threads now and then, if the options say so: it runs anywhere from
    /// this wake-up on.
    pub(crate) fn balance(&mut self, task: usize) {
        let Some(mean) = self.options.moves else {
            return;
        };
        let it = &mut self.tasks[task];
        let moves = matches!(it.kind, Kind::GpThread | Kind::Rcuog(_) | Kind::Rcuop(_));
        if !moves || !it.places.is_empty() || self.now < it.moves_at {
            return;
        }
        let any = self.chance.below(self.options.cpus.into()) as CpuId;
        it.cpu = Some(self.options.rcu_cpu(any));
        it.moves_at = self.now + self.chance.poisson(mean);
    }

    /// What it did takes so long; then it sleeps.
    pub(crate) fn then_sleeps(&mut self, cpu: CpuId, cost: u64) -> Act {
        self.cores[cpu as usize].sleeps = true;
        Act::Busy(cost)
    }

    /// rcu_preempt: from one sleep to the next.
    fn gp_thread(&mut self, cpu: CpuId) -> Act {
        self.rcu.drive_on(cpu);
        self.rcu.notes().gp_thread();
        let mut cost = self.options.costs.gp_thread;
        loop {
            let now = self.engine_now(cpu);
            let scanning = matches!(self.rcu.global.phase(), Phase::Scan(_));
            let owed = if scanning {
                self.rcu.global.holdouts().count() as u64
            } else {
                0
            };
            let scans_before = self.rcu.observed.scans.get();
            let before = self.rcu.global.phase();
            let (global, cpus, _, view) = self.rcu.parts();
            let effects = global.step_on(&mut cpus[cpu as usize], now, &view);
            let waits = matches!(self.rcu.global.phase(), Phase::Wait);
            if scanning {
                cost += if waits {
                    owed * self.options.costs.scan
                } else {
                    0
                };
                if scans_before == 1 && waits {
                    self.in_flight.holdouts = self.rcu.global.holdouts().collect();
                }
            }
            self.note_edges();
            self.effects(cpu, &effects);
            if self.rcu.global.pokes_all(before) {
                self.poke_all(cpu);
            }
            let ticks = match effects.next {
                Next::Again if self.takes_steps() => return Act::Busy(self.step_cost()),
                Next::Again => continue,
                Next::Fence => {
                    let Next::Again = self.rcu.global.fenced() else {
                        unreachable!("a kernel's fence is its lock");
                    };
                    continue;
                }
                Next::Sleep(ticks) => Some(ticks),
                Next::Done => None,
                other => unreachable!("a grace-period thread cannot do {other:?}"),
            };
            if let Some(ticks) = ticks {
                let at = expiry(self.jiffies(), ticks);
                self.set_timer(Timer::Wake(self.gp_thread), cpu, at);
            }
            self.took(cost);
            return self.then_sleeps(cpu, cost);
        }
    }

    /// Every CPU runs RCU's soft interrupt, those that sleep too.
    fn poke_all(&mut self, from: CpuId) {
        for cpu in 0..self.options.cpus {
            if self.cores[cpu as usize].online {
                self.cores[cpu as usize].soft_rcu = true;
                self.send_ipi(cpu, from);
            }
        }
    }

    /// Are steps taken one by one? Where one CPU executes at a time no other work could come in between.
    pub(crate) fn takes_steps(&self) -> bool {
        self.options.stepwise && self.options.smp == Smp::Parallel
    }

    /// The time of one step of many, where steps are taken one by one: mostly microseconds, and now and then
    /// as long as if another task had taken the CPU.
    pub(crate) fn step_cost(&mut self) -> u64 {
        let most = if self.chance.permille(100) {
            3 * self.options.jiffy_ns()
        } else {
            10_000
        };
        self.chance.below(most)
    }

    /// Grace periods that have begun, or ended.
    fn note_edges(&mut self) {
        self.tally.step(&self.rcu, &self.oracle);
        if self.rcu.observed.ended.take() {
            self.tally.ends(false, &mut self.oracle);
            let ended = GracePeriod {
                end: self.now,
                scans: self.rcu.observed.scans.get(),
                ..self.in_flight.clone()
            };
            if self.stats.counts(self.now) {
                self.stats.grace_periods.push(ended);
            }
        }
        if self.rcu.observed.started.take() {
            self.tally.starts(false, &self.oracle);
            self.in_flight.start = self.now;
            self.in_flight.holdouts.clear();
        }
    }

    /// Offload groups' threads that poll begin on this CPU: nothing wakes them later.
    pub(crate) fn begin_polling(&mut self, cpu: CpuId) {
        if self.options.nocb_poll {
            let those: Vec<usize> = self.rcuogs.iter().copied().flatten().collect();
            those.into_iter().for_each(|task| self.wake(task, cpu));
            self.poke(cpu);
        }
    }

    /// One look of an offload group's thread.
    fn rcuog(&mut self, cpu: CpuId, task: usize, group: GroupId) -> Act {
        let tick = self.jiffies();
        let (global, _, groups, view) = self.rcu.parts();
        let it = groups[group as usize].as_mut().expect("it has a thread");
        if !it.in_pass() {
            if !it.goes_on(global) && !self.options.nocb_poll {
                return self.then_sleeps(cpu, 0);
            }
            let timer = it.begin_pass(tick, global, &view);
            self.set_group_timer(cpu, group, timer);
        }
        let mut cost = self.options.costs.rcuog;
        loop {
            let (global, cpus, groups, view) = self.rcu.parts();
            let it = groups[group as usize].as_mut().expect("it has a thread");
            let Some(member) = it.next_member() else {
                break;
            };
            let visited = cpus[member as usize].visit(tick, it, global, &view);
            cost += self.looks_under_lock(cpu, member, cost, visited.flushed > 0);
            cost += self.options.costs.scan;
            self.carry_out(cpu, Some(group), visited.todo);
            if self.takes_steps() {
                return Act::Busy(self.step_cost());
            }
        }
        let (global, _, groups, view) = self.rcu.parts();
        let it = groups[group as usize].as_mut().expect("it has a thread");
        let rested = it.end_pass(tick, global, &view);
        let again = it.goes_on(global);
        self.set_group_timer(cpu, group, rested.timer);
        self.took(cost);
        if let Rest::Poll { ticks } = rested.rest {
            self.set_timer(Timer::Wake(task), cpu, expiry(tick, ticks));
        } else if again {
            return Act::Busy(cost);
        }
        self.then_sleeps(cpu, cost)
    }

    /// The work item that wakes the waiters left to it by the grace-period thread.
    fn kworker(&mut self, cpu: CpuId) -> Act {
        let Some(until) = self.deferred.take() else {
            return self.then_sleeps(cpu, 0);
        };
        let woken = self.wake_waiters(until, cpu);
        self.rcu.global.waiters_woken(until);
        let cost = woken * self.options.costs.callback;
        self.took(cost);
        Act::Busy(cost)
    }

    /// Wakes all waiters below. How many those were.
    pub(crate) fn wake_waiters(&mut self, until: Pos, cpu: CpuId) -> u64 {
        let mut woken = 0;
        while let Some(&(ticket, task)) = self.waiters.front()
            && ticket < until
        {
            self.waiters.pop_front();
            self.wake(task, cpu);
            woken += 1;
        }
        woken
    }

    /// Invokes callbacks of the CPU `whose`.
    fn rcuop(&mut self, cpu: CpuId, whose: CpuId) -> Act {
        let mut cost = self.options.costs.rcuop;
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
                self.carry_out(cpu, group, after.todo);
            }
            if self.rcu.cpus[whose as usize].member().rcuop_sleeps() {
                break;
            }
        }
        self.took(cost);
        self.then_sleeps(cpu, cost)
    }

    /// A workload's task.
    fn work(&mut self, cpu: CpuId, task: usize) -> Act {
        let core = &mut self.cores[cpu as usize];
        let left = std::mem::take(&mut self.tasks[task].left).max(core.left);
        core.left = left;
        if left > 0 {
            return Act::Compute(left);
        }
        if self.has_turn(task) {
            return self.barrier_goes_on(cpu);
        }
        self.returns(task);
        if let Some(act) = self.srcu_joins(cpu, task) {
            return act;
        }
        let now = self.now;
        let Kind::Work(work) = &mut self.tasks[task].kind else {
            unreachable!("the kernel's threads have their own work");
        };
        match work.next(now) {
            Op::Compute(ns) => {
                self.cores[cpu as usize].left = ns;
                Act::Compute(ns)
            }
            Op::Kernel(ns) => Act::Busy(ns),
            Op::Call {
                func,
                lazy,
                can_wake,
            } => {
                let locks = self.call(cpu, (func, Then::Nothing), lazy, can_wake);
                Act::Busy(self.options.costs.callback + locks)
            }
            Op::Enter { name, argument } => self.enter_call(cpu, task, name, argument),
            Op::Leave => self.leave_call(task),
            Op::Lock => self.lock(task),
            Op::Unlock => self.unlock(cpu, task),
            Op::Srcu(op) => self.srcu_op(cpu, task, op),
            Op::Synchronize => self.synchronize(cpu, task, GpKind::Normal),
            Op::SynchronizeExpedited => self.synchronize(cpu, task, GpKind::Expedited),
            Op::Barrier => self.barrier(cpu, task),
            Op::Offline(which) => self.plug_by_task(which, false),
            Op::Online(which) => self.plug_by_task(which, true),
            Op::Offload(which) => self.toggle(cpu, which, true),
            Op::Deoffload(which) => self.toggle(cpu, which, false),
            Op::Shrink(lazy) => self.shrink(cpu, lazy),
            Op::Reclaim { above, lazy } => self.reclaim(cpu, above, lazy),
            Op::AwaitCallback { func, lazy } => {
                self.waits_for_gp(task, false);
                let locks = self.call(cpu, (func, Then::Wakes(task)), lazy, true);
                self.then_sleeps(cpu, self.options.costs.callback + locks)
            }
            Op::SleepUntil(at) => {
                self.tasks[task].deferred = false;
                self.set_alarm(cpu, task, at.max(now + 1));
                self.then_sleeps(cpu, 0)
            }
            Op::SleepOn {
                until,
                cpu: there,
                deferred,
            } => {
                self.tasks[task].deferred = deferred;
                self.set_alarm(there, task, until.max(now + 1));
                self.tasks[task].cpu = Some(there);
                self.then_sleeps(cpu, 0)
            }
            Op::Exit => {
                self.unlock_all(cpu, task);
                self.srcu_ends_all(cpu, task);
                self.tasks[task].state = State::Over;
                self.live_tasks -= 1;
                self.then_sleeps(cpu, 0)
            }
        }
    }

    /// From now on the task waits for a grace period.
    pub(crate) fn waits_for_gp(&mut self, task: usize, expedited: bool) {
        self.tasks[task].waits = Some(Waits::ForGp {
            start: self.now,
            since: self.oracle.since(),
            expedited,
            cookie: None,
        });
    }

    /// What the task waited for, if anything, is over.
    fn returns(&mut self, task: usize) {
        let (end, counts) = (self.now, self.stats.counts(self.now));
        match self.tasks[task].waits.take() {
            Some(Waits::ForGp {
                start,
                since,
                expedited,
                cookie,
            }) => {
                self.oracle.waited(since);
                if let Some(gp_seq) = cookie {
                    // A kernel's caller looks once more when it wakes up.
                    let event = ExpEvent::Done;
                    let done = Event::ExpGracePeriod { gp_seq, event };
                    self.rcu.notes().say(What::Rcu(done));
                }
                if counts {
                    self.stats.calls.push(Synchronized {
                        start,
                        end,
                        expedited,
                    });
                }
            }
            Some(Waits::Srcu { start, since }) => self.srcu_returns(start, since),
            Some(Waits::ForCallbacks { start, made }) => {
                if let Some(seq) = made {
                    self.barrier_says("Inc2", None, seq);
                }
                if counts {
                    self.stats.barriers.push((start, end));
                }
            }
            None => {}
        }
    }

    fn plug_by_task(&mut self, cpu: CpuId, online: bool) -> Act {
        self.plug(self.now, cpu, online);
        Act::Busy(self.options.costs.work)
    }

    pub(crate) fn synchronize_normal(&mut self, cpu: CpuId, task: usize) -> Act {
        let mut cost = self.options.costs.callback;
        let takes = self.rcu.global.takes_waiters();
        self.latched += u64::from(self.options.wake_from_gp && !takes);
        if self.options.wake_from_gp && takes {
            let leaf = self.rcu.leaf_of(cpu);
            let (global, _, _, view) = self.rcu.parts();
            let (ticket, effects) = global.wait_for_gp(leaf, &view);
            self.waiters.push_back((ticket, task));
            self.effects(cpu, &effects);
        } else {
            let func = self.func("wakeme_after_rcu");
            cost += self.call(cpu, (func, Then::Wakes(task)), false, true);
        }
        self.then_sleeps(cpu, cost)
    }
}
