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
use crate::kernel::state::{Act, BarrierCaller, Barriers, Rcu, System};
use crate::kernel::task::Waits;

impl Barriers {
    /// The barrier under way, in words.
    pub fn pending(&self, sys: &System) -> Option<String> {
        let turn = self.turn?;
        let name = &sys.tasks[turn.task].name;
        let behind = self.waiting.len();
        Some(format!(
            "{name} waits for a barrier, {behind} others behind it"
        ))
    }

    /// A task waits for all callbacks.
    pub fn begins(&mut self, sys: &mut System, rcu: &mut Rcu, cpu: CpuId, task: usize) -> Act {
        sys.tasks[task].waits = Some(Waits::ForCallbacks {
            start: sys.now,
            made: None,
        });
        self.says(rcu, "Begin", None, self.engine.snap());
        let caller = BarrierCaller {
            task,
            snap: self.engine.snap(),
            until: sys.oracle.until(),
            visited: None,
            sleeps: false,
        };
        if self.turn.is_some() {
            self.waiting.push_back(caller);
            return sys.then_sleeps(cpu, sys.options.costs.callback);
        }
        self.turn = Some(caller);
        self.goes_on(sys, rcu, cpu)
    }

    /// Is the current barrier this task's, and can it make progress?
    pub fn has_turn(&self, task: usize) -> bool {
        let turn = self.turn;
        turn.is_some_and(|it| it.task == task && !it.sleeps)
    }

    /// Begins the current barrier on `cpu`, or continues its visits.
    pub fn goes_on(&mut self, sys: &mut System, rcu: &mut Rcu, cpu: CpuId) -> Act {
        let mut cost = sys.options.costs.callback;
        let turn = self.turn.expect("it has its turn");
        if turn.visited.is_none() {
            let Begin::Started { seq } = self.engine.start(turn.snap) else {
                self.says(rcu, "EarlyExit", None, self.engine.seq());
                self.over(sys, rcu, cpu);
                return Act::Busy(cost);
            };
            if let Some(Waits::ForCallbacks { made, .. }) = &mut sys.tasks[turn.task].waits {
                *made = Some(seq);
            }
            self.says(rcu, "Inc1", None, seq);
        }
        for whose in turn.visited.unwrap_or(0)..sys.options.cpus {
            self.visits(sys, rcu, whose, cpu);
            cost += sys.options.costs.scan;
            if sys.options.takes_steps() {
                let turn = self.turn.as_mut().expect("it goes on");
                turn.visited = Some(whose + 1);
                // Long ones: CPUs are to go in the middle of it.
                return Act::Busy(sys.chance.below(sys.options.jiffy_ns()));
            }
        }
        let turn = self.turn.as_mut().expect("it goes on");
        turn.sleeps = true;
        if self.engine.visited_all() {
            self.engine.end();
            self.over(sys, rcu, cpu);
            return Act::Busy(cost);
        }
        sys.then_sleeps(cpu, cost)
    }

    fn visits(&mut self, sys: &mut System, rcu: &mut Rcu, whose: CpuId, cpu: CpuId) {
        let tick = sys.jiffies();
        let barrier = &mut self.engine;
        let (global, cpus, groups, view) = rcu.parts();
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
            Visit::Empty => self.says(rcu, "NQ", Some(whose), seq),
            Visit::Noted if sys.is_online(whose) => {
                self.says(rcu, "OnlineQ", Some(whose), seq);
            }
            Visit::Noted => self.says(rcu, "OfflineNoCBQ", Some(whose), seq),
            Visit::Already => {}
        }
        if visit == Visit::Noted {
            self.push(sys, whose);
            if itself {
                sys.cores[whose as usize].barrier_asked = whose != cpu;
                sys.send_ipi(rcu, whose, cpu);
            }
        }
        rcu.carry_out(sys, cpu, group, todo);
    }

    /// The barrier's callback, behind all others of `whose`: the engine has put it there.
    pub fn push(&mut self, sys: &mut System, whose: CpuId) {
        let callback = Callback {
            func: sys.func("rcu_barrier_callback"),
            queued_at: sys.now,
            number: sys.oracle.queued(),
            since: 0, // it waits for those before it, and for no section
            then: Then::Barrier,
            lazy: false,
            call: None,
        };
        sys.stats.queued(sys.now, callback.func);
        sys.cores[whose as usize].fifo.push_back(callback);
    }

    /// The barrier's callback was invoked on `cpu`.
    pub fn callback(&mut self, sys: &mut System, rcu: &Rcu, cpu: CpuId) {
        let seq = self.engine.seq();
        let last = self.engine.one_done();
        self.says(rcu, if last { "LastCB" } else { "CB" }, None, seq);
        if last {
            self.engine.end();
            let caller = self.over(sys, rcu, cpu);
            sys.wake(rcu, caller, cpu);
        }
    }

    /// A line of the trace, in the kernel's words.
    pub fn says(&self, rcu: &Rcu, step: &'static str, whose: Option<CpuId>, seq: Seq) {
        let engine = &self.engine;
        let remaining = match seq == engine.seq() {
            true => engine.remaining(),
            false => 0, // not begun, or over
        };
        let (whose, seq) = (whose.map_or(-1, i64::from), seq.raw());
        rcu.text(|| {
            format!("rcu_barrier: rcu_preempt {step} cpu {whose} remaining {remaining} # {seq}")
        });
    }

    /// The current barrier is complete; returns its task, and begins the next one.
    fn over(&mut self, sys: &mut System, rcu: &Rcu, cpu: CpuId) -> usize {
        let over = self.turn.take().expect("it had its turn");
        sys.oracle.drained(over.until);
        self.turn = self.waiting.pop_front();
        if let Some(next) = self.turn {
            sys.wake(rcu, next.task, cpu);
        }
        over.task
    }
}
