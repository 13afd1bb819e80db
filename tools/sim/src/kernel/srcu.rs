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
use crate::kernel::state::{Act, Machine};
use crate::kernel::task::{Kind, Waits};
use crate::record::stats::SrcuStats;
use domain::{Srcu, sum};

/// What each half of opening a section costs, and closing one.
const COST: u64 = 20;

/// The time until the second look, in nanoseconds.
const SPIN: u64 = 5000;

impl Machine {
    /// The domain, from its first use on.
    fn srcu(&mut self) -> &mut Srcu {
        if self.srcu.is_none() {
            let worker = self.sys.add("kworker/srcu".into(), Kind::SrcuWorker, None);
            self.srcu = Some(Box::new(Srcu::new(self.sys.options.cpus, worker)));
        }
        self.srcu.as_mut().expect("made just now")
    }

    /// What a task does with the domain.
    pub(crate) fn srcu_op(&mut self, cpu: CpuId, task: usize, op: SrcuOp) -> Act {
        match op {
            SrcuOp::Lock => {
                self.sys.tasks[task].srcu.fetched = Some(self.srcu().global.joined());
                Act::Busy(COST)
            }
            SrcuOp::Unlock => {
                let open = self.sys.tasks[task].srcu.open.pop();
                self.srcu_ends(cpu, open.expect("a section is closed that is open"));
                Act::Busy(COST)
            }
            SrcuOp::Synchronize => self.synchronize_srcu(cpu, task),
            SrcuOp::Call(func) => self.call_srcu(cpu, func),
        }
    }

    /// The second half of opening a section: a task that has fetched the number of a count joins it.
    pub(crate) fn srcu_joins(&mut self, cpu: CpuId, task: usize) -> Option<Act> {
        let count = self.sys.tasks[task].srcu.fetched.take()?;
        let it = self.srcu();
        it.counts.locks[cpu as usize][count as usize] += 1;
        let number = it.oracle.opened();
        self.sys.tasks[task].srcu.open.push((count, number));
        Some(Act::Busy(COST))
    }

    /// The task ends: so do its sections.
    pub(crate) fn srcu_ends_all(&mut self, cpu: CpuId, task: usize) {
        for section in std::mem::take(&mut self.sys.tasks[task].srcu.open) {
            self.srcu_ends(cpu, section);
        }
    }

    fn srcu_ends(&mut self, cpu: CpuId, (count, number): (CpuId, u64)) {
        let counted = self.sys.stats.counts(self.sys.now);
        let it = self.srcu();
        it.oracle.closed(number);
        if it.leave(cpu, count) {
            it.stats.reader_wakeups += u64::from(counted);
            let worker = it.worker;
            self.sys.wake(&self.rcu, worker, cpu);
        }
    }

    fn synchronize_srcu(&mut self, cpu: CpuId, task: usize) -> Act {
        let start = self.sys.now;
        let it = self.srcu();
        let since = it.oracle.since();
        let idle = !it.global.busy();
        let ticket = it.global.wait_for_gp(false);
        it.waiters.push_back((ticket, task));
        self.sys.tasks[task].waits = Some(Waits::Srcu { start, since });
        self.srcu_requested(cpu, idle);
        self.sys.then_sleeps(cpu, self.sys.options.costs.callback)
    }

    fn call_srcu(&mut self, cpu: CpuId, func: usize) -> Act {
        let queued_at = self.sys.now;
        let it = self.srcu();
        let callback = Callback {
            func,
            queued_at,
            number: it.oracle.queued(),
            since: it.oracle.since(),
            then: Then::Nothing,
            lazy: false,
            call: None,
        };
        let idle = !it.global.busy();
        let cookie = it.global.start_poll();
        it.callbacks.push_back((cookie, callback));
        self.sys.stats.holds(self.sys.now, func, true);
        if self.sys.stats.counts(self.sys.now) {
            self.sys.stats.funcs[func].queued += 1;
        }
        self.srcu_requested(cpu, idle);
        Act::Busy(self.sys.options.costs.callback)
    }

    /// A grace period was requested; the worker sleeps if there was none before.
    fn srcu_requested(&mut self, cpu: CpuId, idle: bool) {
        if idle {
            let worker = self.srcu().worker;
            self.sys.wake(&self.rcu, worker, cpu);
        }
    }

    /// `synchronize_srcu` has returned.
    pub(crate) fn srcu_returns(&mut self, start: u64, since: u64) {
        let (now, counts) = (self.sys.now, self.sys.stats.counts(self.sys.now));
        let it = self.srcu();
        it.oracle.waited(since);
        if counts {
            it.stats.calls.push((start, now));
        }
    }

    /// `kworker/srcu`: from one sleep, or piece of work, to the next.
    pub(crate) fn srcu_worker(&mut self, cpu: CpuId) -> Act {
        let mut cost = self.sys.options.costs.gp_thread;
        loop {
            let next = self.srcu().next;
            let sleeps = match next {
                Next::Again if !self.srcu_step(cpu, &mut cost) => {
                    return Act::Busy(self.sys.step_cost());
                }
                Next::Again => false,
                Next::Fence(_) => {
                    // Readers have full fences of their own.
                    let it = self.srcu();
                    it.next = it.global.fenced();
                    false
                }
                Next::FlagHoldouts { arm } => {
                    let it = self.srcu();
                    it.next = it.flag(arm);
                    false
                }
                Next::Spin(_) => {
                    self.srcu().next = Next::Again;
                    self.sys.took(cost + SPIN);
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
                self.srcu().next = Next::Again;
                self.sys.took(cost);
                return self.sys.then_sleeps(cpu, cost);
            }
            if self.sys.options.takes_steps() {
                return Act::Busy(self.sys.step_cost());
            }
        }
    }

    /// One step of the engine, and its effects; false if only the first half of a scan was done.
    fn srcu_step(&mut self, cpu: CpuId, cost: &mut u64) -> bool {
        let ns = self.sys.engine_now(cpu).ns;
        let counts = self.sys.stats.counts(self.sys.now);
        let (time, steps) = (self.sys.now, self.sys.options.takes_steps());
        let scan = u64::from(self.sys.options.cpus) * self.sys.options.costs.scan;
        let it = self.srcu();
        if it.scans() && it.counts.ended.is_none() {
            it.counts.ended = Some(it.counts.add_up_unlocks());
            if steps {
                return false;
            }
        }
        if it.scans() {
            *cost += scan;
        }
        let before = (it.global.phase(), it.global.counts().scans);
        let most = if it.scans() { 2 } else { 1 }; // a whole scan at a time
        it.next = it.global.step(Now { ns }, &it.counts, most);
        it.counts.ended = None;
        if it.note_edges(before, time, counts) {
            let until = it.global.waiters().done();
            let woken = self.srcu_wakes(cpu, until);
            *cost += (woken + self.srcu_invokes()) * self.sys.options.costs.callback;
        }
        true
    }

    /// Wakes the callers below; how many those were.
    fn srcu_wakes(&mut self, cpu: CpuId, until: Pos) -> u64 {
        let mut woken = 0;
        while let Some(&(ticket, task)) = self.srcu().waiters.front()
            && ticket < until
        {
            self.srcu().waiters.pop_front();
            if let Some(Waits::Srcu { since, .. }) = self.sys.tasks[task].waits {
                self.srcu().oracle.waited(since);
            }
            self.sys.wake(&self.rcu, task, cpu);
            woken += 1;
        }
        woken
    }

    /// Invokes the callbacks whose grace period is over; how many those were.
    fn srcu_invokes(&mut self) -> u64 {
        let mut invoked = 0;
        while let Some(callback) = self.srcu().ready() {
            self.sys.stats.holds(self.sys.now, callback.func, false);
            if self.sys.stats.counts(self.sys.now) {
                let func = &mut self.sys.stats.funcs[callback.func];
                func.invoked += 1;
                func.delays.push(self.sys.now - callback.queued_at);
            }
            invoked += 1;
        }
        invoked
    }

    /// What the domain has shown, if it was ever used.
    pub(crate) fn srcu_stats(&self) -> Option<SrcuStats> {
        self.srcu.as_ref().map(|it| SrcuStats {
            spanned: it.spanned,
            turns: it.global.counts().turns,
            ..it.stats.clone()
        })
    }

    /// Its violations, and the callbacks that it owes.
    pub(crate) fn srcu_oracle(&self) -> (u64, u64) {
        let it = self.srcu.as_ref().map(|it| &it.oracle);
        it.map_or((0, 0), |it| (it.early(), it.owed()))
    }

    /// Is one of its grace periods in progress, or asked for?
    pub(crate) fn srcu_busy(&self) -> bool {
        self.srcu.as_ref().is_some_and(|it| it.global.busy())
    }

    /// What it has still to do, in words.
    pub(crate) fn srcu_pending(&self) -> Option<String> {
        let it = self.srcu.as_ref()?;
        let (owed, waits) = (it.oracle.owed(), it.waiters.len());
        (it.global.busy() || owed > 0).then(|| {
            let open = |count| {
                sum(&it.counts.locks, count).wrapping_sub(sum(&it.counts.unlocks, count))
            };
            let worker = crate::kernel::pending::state(self.sys.tasks[it.worker].state);
            format!(
                "SRCU: {:?}, {} and {} sections open, {waits} callers, {owed} callbacks; its worker is \
                 {worker}",
                it.global.phase(),
                open(0),
                open(1),
            )
        })
    }
}
