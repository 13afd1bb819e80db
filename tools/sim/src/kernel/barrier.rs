//! `rcu_barrier`: waits for every callback queued so far.
//!
//! One barrier runs at a time. Its caller visits all CPUs; where callbacks are queued, the engine puts one of
//! the barrier's own behind them ([`quiescent_kernel::barrier`]). A CPU that is not offloaded is interrupted
//! for that. The caller sleeps until the last of these callbacks has been invoked. Then the next caller has
//! its turn, and often finds that a whole barrier has passed since it came.

use quiescent_kernel::barrier::{Begin, Visit};
use quiescent_kernel::offload::Todo;
use quiescent_kernel::{CpuId, Seq};

use crate::kernel::cpu::{Callback, Then};
use crate::kernel::state::{Act, BarrierCaller, Machine};
use crate::kernel::task::Waits;

impl Machine {
    /// The barrier under way, in words.
    pub(crate) fn barrier_pending(&self) -> Option<String> {
        let turn = self.barrier.turn?;
        let name = &self.sys.tasks[turn.task].name;
        let behind = self.barrier.waiting.len();
        Some(format!(
            "{name} waits for a barrier, {behind} others behind it"
        ))
    }

    /// A task waits for all callbacks.
    pub(crate) fn barrier(&mut self, cpu: CpuId, task: usize) -> Act {
        self.sys.tasks[task].waits = Some(Waits::ForCallbacks {
            start: self.sys.now,
            made: None,
        });
        self.barrier_says("Begin", None, self.barrier.engine.snap());
        let caller = BarrierCaller {
            task,
            snap: self.barrier.engine.snap(),
            until: self.sys.oracle.until(),
            visited: None,
            sleeps: false,
        };
        if self.barrier.turn.is_some() {
            self.barrier.waiting.push_back(caller);
            return self.sys.then_sleeps(cpu, self.sys.options.costs.callback);
        }
        self.barrier.turn = Some(caller);
        self.barrier_goes_on(cpu)
    }

    /// Is the current barrier this task's, and can it make progress?
    pub(crate) fn has_turn(&self, task: usize) -> bool {
        let turn = self.barrier.turn;
        turn.is_some_and(|it| it.task == task && !it.sleeps)
    }

    /// Begins the current barrier on `cpu`, or continues its visits.
    pub(crate) fn barrier_goes_on(&mut self, cpu: CpuId) -> Act {
        let mut cost = self.sys.options.costs.callback;
        let turn = self.barrier.turn.expect("it has its turn");
        if turn.visited.is_none() {
            let Begin::Started { seq } = self.barrier.engine.start(turn.snap) else {
                self.barrier_says("EarlyExit", None, self.barrier.engine.seq());
                self.barrier_over(cpu);
                return Act::Busy(cost);
            };
            if let Some(Waits::ForCallbacks { made, .. }) = &mut self.sys.tasks[turn.task].waits {
                *made = Some(seq);
            }
            self.barrier_says("Inc1", None, seq);
        }
        for whose in turn.visited.unwrap_or(0)..self.sys.options.cpus {
            self.barrier_visits(whose, cpu);
            cost += self.sys.options.costs.scan;
            if self.sys.options.takes_steps() {
                let turn = self.barrier.turn.as_mut().expect("it goes on");
                turn.visited = Some(whose + 1);
                // Long ones: CPUs are to go in the middle of it.
                return Act::Busy(self.sys.chance.below(self.sys.options.jiffy_ns()));
            }
        }
        let turn = self.barrier.turn.as_mut().expect("it goes on");
        turn.sleeps = true;
        if self.barrier.engine.visited_all() {
            self.barrier.engine.end();
            self.barrier_over(cpu);
            return Act::Busy(cost);
        }
        self.sys.then_sleeps(cpu, cost)
    }

    fn barrier_visits(&mut self, whose: CpuId, cpu: CpuId) {
        let tick = self.sys.jiffies();
        let barrier = &mut self.barrier.engine;
        let (global, cpus, groups, view) = self.rcu.parts();
        let it = &mut cpus[whose as usize];
        let group = it.member().group();
        let (visit, todo) = match group {
            Some(group) => {
                let group = groups[group as usize].as_mut().expect("it has members");
                let entrained = it.entrain_nocb(tick, barrier, group, global, &view);
                (entrained.visit, entrained.todo)
            }
            None => (it.entrain_barrier(barrier), Todo::default()),
        };
        let itself = !it.is_offloaded();
        let seq = barrier.seq();
        match visit {
            Visit::Empty => self.barrier_says("NQ", Some(whose), seq),
            Visit::Noted if self.sys.is_online(whose) => {
                self.barrier_says("OnlineQ", Some(whose), seq);
            }
            Visit::Noted => self.barrier_says("OfflineNoCBQ", Some(whose), seq),
            Visit::Already => {}
        }
        if visit == Visit::Noted {
            self.push_barrier(whose);
            if itself {
                self.sys.cores[whose as usize].barrier_asked = whose != cpu;
                self.sys.send_ipi(&self.rcu, whose, cpu);
            }
        }
        self.rcu.carry_out(&mut self.sys, cpu, group, todo);
    }

    /// The barrier's callback, behind all others of `whose`: the engine has put it there.
    pub(crate) fn push_barrier(&mut self, whose: CpuId) {
        let callback = Callback {
            func: self.sys.func("rcu_barrier_callback"),
            queued_at: self.sys.now,
            number: self.sys.oracle.queued(),
            since: 0, // it waits for those before it, and for no section
            then: Then::Barrier,
            lazy: false,
            call: None,
        };
        self.sys.stats.holds(self.sys.now, callback.func, true);
        self.sys.cores[whose as usize].fifo.push_back(callback);
        if self.sys.stats.counts(self.sys.now) {
            self.sys.stats.funcs[callback.func].queued += 1;
        }
    }

    /// The barrier's callback was invoked on `cpu`.
    pub(crate) fn barrier_callback(&mut self, cpu: CpuId) {
        let seq = self.barrier.engine.seq();
        let last = self.barrier.engine.one_done();
        self.barrier_says(if last { "LastCB" } else { "CB" }, None, seq);
        if last {
            self.barrier.engine.end();
            let caller = self.barrier_over(cpu);
            self.sys.wake(&self.rcu, caller, cpu);
        }
    }

    /// A line of the trace, in the kernel's words.
    pub(crate) fn barrier_says(&self, step: &'static str, whose: Option<CpuId>, seq: Seq) {
        let engine = &self.barrier.engine;
        let remaining = match seq == engine.seq() {
            true => engine.remaining(),
            false => 0, // not begun, or over
        };
        let (whose, seq) = (whose.map_or(-1, i64::from), seq.raw());
        self.rcu.notes().text(|| {
            format!("rcu_barrier: rcu_preempt {step} cpu {whose} remaining {remaining} # {seq}")
        });
    }

    /// The current barrier is complete; returns its task, and begins the next one.
    fn barrier_over(&mut self, cpu: CpuId) -> usize {
        let over = self.barrier.turn.take().expect("it had its turn");
        self.sys.oracle.drained(over.until);
        self.barrier.turn = self.barrier.waiting.pop_front();
        if let Some(next) = self.barrier.turn {
            self.sys.wake(&self.rcu, next.task, cpu);
        }
        over.task
    }
}
