//! SRCU: a domain whose readers may sleep, and end a section on another CPU than the one that it began on.
//!
//! A section takes the number of the count that newcomers join, and adds 1 to its CPU's locks of that count;
//! its end adds 1 to the unlocks of the same count on the CPU where it ends. Anything may come between the
//! first two: a reader that is preempted there joins a count that newcomers have left. The engine of
//! threads treats the two counts as the participants ([`quiescent_engine::indexed`]).
//!
//! `kworker/srcu` drives: it takes the engine's steps, wakes callers of `synchronize_srcu`, and invokes the
//! callbacks of `call_srcu`. It adds up all unlocks first, and then the locks; where steps are taken one by
//! one, readers come in between. If a count is not empty it looks again after [`SPIN`] nanoseconds, then sets
//! the count's flag and sleeps; the next section of that count to end wakes it. A kernel's worker looks again
//! after one tick or more.
//!
//! The domain has an oracle of its own, since its grace periods wait for its sections only. It exists from
//! its first use on.

pub(in crate::kernel) mod domain;

use quiescent_engine::{Next, Now, Pos};
use quiescent_kernel::CpuId;

use crate::input::op::SrcuOp;
use crate::kernel::cpu::{Callback, Then};
use crate::kernel::state::{Act, Rcu, System};
use crate::kernel::task::{Kind, Waits};
use crate::record::stats::SrcuStats;
use domain::{Srcu, sum};

/// What each half of opening a section costs, and closing one.
const COST: u64 = 20;

/// The time until the second look, in nanoseconds.
const SPIN: u64 = 5000;

impl Srcu {
    /// What a task does with the domain.
    pub fn op(&mut self, sys: &mut System, rcu: &Rcu, cpu: CpuId, task: usize, op: SrcuOp) -> Act {
        if self.worker.is_none() {
            self.worker = Some(sys.add("kworker/srcu".into(), Kind::SrcuWorker, None));
            self.counts.have(sys.options.cpus);
        }
        match op {
            SrcuOp::Lock => {
                sys.tasks[task].srcu.fetched = Some(self.global.joined());
                Act::Busy(COST)
            }
            SrcuOp::Unlock => {
                let open = sys.tasks[task].srcu.open.pop();
                let open = open.expect("a section is closed that is open");
                self.ends(sys, rcu, cpu, open);
                Act::Busy(COST)
            }
            SrcuOp::Synchronize => self.synchronize(sys, rcu, cpu, task),
            SrcuOp::Call(func) => self.call(sys, rcu, cpu, func),
        }
    }

    /// The second half of opening a section: a task that has fetched the number of a count joins it.
    pub fn joins(&mut self, sys: &mut System, cpu: CpuId, task: usize) -> Option<Act> {
        let count = sys.tasks[task].srcu.fetched.take()?;
        self.counts.locks[cpu as usize][count as usize] += 1;
        let number = self.oracle.opened();
        sys.tasks[task].srcu.open.push((count, number));
        Some(Act::Busy(COST))
    }

    /// The task ends: so do its sections.
    pub fn ends_all(&mut self, sys: &mut System, rcu: &Rcu, cpu: CpuId, task: usize) {
        for section in std::mem::take(&mut sys.tasks[task].srcu.open) {
            self.ends(sys, rcu, cpu, section);
        }
    }

    fn ends(&mut self, sys: &mut System, rcu: &Rcu, cpu: CpuId, (count, number): (CpuId, u64)) {
        self.oracle.closed(number);
        if self.leave(cpu, count) {
            self.stats.reader_wakeups += u64::from(sys.counts());
            self.wakes_worker(sys, rcu, cpu);
        }
    }

    fn synchronize(&mut self, sys: &mut System, rcu: &Rcu, cpu: CpuId, task: usize) -> Act {
        let (start, since) = (sys.now, self.oracle.since());
        let idle = !self.global.busy();
        let ticket = self.global.wait_for_gp(false);
        self.waiters.push_back((ticket, task));
        sys.tasks[task].waits = Some(Waits::Srcu { start, since });
        self.requested(sys, rcu, cpu, idle);
        sys.then_sleeps(cpu, sys.options.costs.callback)
    }

    fn call(&mut self, sys: &mut System, rcu: &Rcu, cpu: CpuId, func: usize) -> Act {
        let callback = Callback {
            func,
            queued_at: sys.now,
            number: self.oracle.queued(),
            since: self.oracle.since(),
            then: Then::Nothing,
            lazy: false,
            call: None,
        };
        let idle = !self.global.busy();
        let cookie = self.global.start_poll();
        self.callbacks.push_back((cookie, callback));
        sys.stats.queued(sys.now, func);
        self.requested(sys, rcu, cpu, idle);
        Act::Busy(sys.options.costs.callback)
    }

    /// A grace period was requested; the worker sleeps if there was none before.
    fn requested(&self, sys: &mut System, rcu: &Rcu, cpu: CpuId, idle: bool) {
        if idle {
            self.wakes_worker(sys, rcu, cpu);
        }
    }

    fn wakes_worker(&self, sys: &mut System, rcu: &Rcu, cpu: CpuId) {
        sys.wake(rcu, self.worker.expect("it was used"), cpu);
    }

    /// `synchronize_srcu` has returned.
    pub fn returns(&mut self, sys: &mut System, start: u64, since: u64) {
        self.oracle.waited(since);
        if sys.counts() {
            self.stats.calls.push((start, sys.now));
        }
    }

    /// `kworker/srcu`: from one sleep, or piece of work, to the next.
    pub fn works(&mut self, sys: &mut System, rcu: &Rcu, cpu: CpuId) -> Act {
        let mut cost = sys.options.costs.gp_thread;
        loop {
            let next = self.next;
            let sleeps = match next {
                Next::Again if !self.step(sys, rcu, cpu, &mut cost) => {
                    return Act::Busy(sys.step_cost());
                }
                Next::Again => false,
                Next::Fence(_) => {
                    // Readers have full fences of their own.
                    self.next = self.global.fenced();
                    false
                }
                Next::FlagHoldouts { arm } => {
                    self.next = self.flag(arm);
                    false
                }
                Next::Spin(_) => {
                    self.next = Next::Again;
                    sys.took(cost + SPIN);
                    return Act::Busy(cost + SPIN);
                }
                Next::Done => true,
                // Until a section ends: there is no report of stalls.
                Next::Sleep(_) => true,
                Next::Grow(_) | Next::HandOver | Next::Report => {
                    unreachable!("a worker cannot do {next:?}")
                }
            };
            if sleeps {
                self.next = Next::Again;
                sys.took(cost);
                return sys.then_sleeps(cpu, cost);
            }
            if sys.options.takes_steps() {
                return Act::Busy(sys.step_cost());
            }
        }
    }

    /// One step of the engine, and its effects; false if only the first half of a scan was done.
    fn step(&mut self, sys: &mut System, rcu: &Rcu, cpu: CpuId, cost: &mut u64) -> bool {
        if self.scans() && self.counts.ended.is_none() {
            self.counts.ended = Some(self.counts.add_up_unlocks());
            if sys.options.takes_steps() {
                return false;
            }
        }
        if self.scans() {
            *cost += u64::from(sys.options.cpus) * sys.options.costs.scan;
        }
        let before = (self.global.phase(), self.global.counts().scans);
        let most = if self.scans() { 2 } else { 1 }; // a whole scan at a time
        let ns = sys.engine_now(cpu).ns;
        self.next = self.global.step(Now { ns }, &self.counts, most);
        self.counts.ended = None;
        if self.note_edges(before, sys.now, sys.counts()) {
            let until = self.global.waiters().done();
            let woken = self.wakes(sys, rcu, cpu, until);
            *cost += (woken + self.invokes(sys)) * sys.options.costs.callback;
        }
        true
    }

    /// Wakes the callers below; how many those were.
    fn wakes(&mut self, sys: &mut System, rcu: &Rcu, cpu: CpuId, until: Pos) -> u64 {
        let mut woken = 0;
        while let Some(&(ticket, task)) = self.waiters.front()
            && ticket < until
        {
            self.waiters.pop_front();
            if let Some(Waits::Srcu { since, .. }) = sys.tasks[task].waits {
                self.oracle.waited(since);
            }
            sys.wake(rcu, task, cpu);
            woken += 1;
        }
        woken
    }

    /// Invokes the callbacks whose grace period is over; how many those were.
    fn invokes(&mut self, sys: &mut System) -> u64 {
        let mut invoked = 0;
        while let Some(callback) = self.ready() {
            let (func, queued) = (callback.func, callback.queued_at);
            sys.stats.invoked(sys.now, func, queued);
            invoked += 1;
        }
        invoked
    }

    /// What it has still to do, in words.
    pub fn pending(&self, sys: &System) -> Option<String> {
        let worker = self.worker?;
        let (owed, waits) = (self.oracle.owed(), self.waiters.len());
        (self.global.busy() || owed > 0).then(|| {
            let open = |count| {
                sum(&self.counts.locks, count).wrapping_sub(sum(&self.counts.unlocks, count))
            };
            let worker = crate::kernel::pending::state(sys.tasks[worker].state);
            format!(
                "SRCU: {:?}, {} and {} sections open, {waits} callers, {owed} callbacks; its worker is \
                 {worker}",
                self.global.phase(),
                open(0),
                open(1),
            )
        })
    }

    /// What the domain has shown, if it was ever used.
    pub fn shown(&self) -> Option<SrcuStats> {
        self.worker.map(|_| SrcuStats {
            spanned: self.spanned,
            turns: self.global.counts().turns,
            ..self.stats.clone()
        })
    }
}
