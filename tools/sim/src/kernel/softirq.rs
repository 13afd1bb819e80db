//! Callbacks that are queued, RCU's soft interrupt, the batches that it invokes, and `ksoftirqd`.
//!
//! A tick raises the soft interrupt; a batch that was stopped raises it again. It runs at the end of the
//! interrupt, round after round. After ten rounds, or two milliseconds, or when a task wants the CPU, the
//! rest is handed to `ksoftirqd`, a task that shares the CPU with others. So a flood of callbacks delays a
//! CPU's programs, but does not stop them. The count of rounds begins again with the next interrupt.
//!
//! # Invariant
//! While the soft interrupt is raised, the CPU is in an interrupt that will run it, or its `ksoftirqd` is
//! awake, or it is in its idle loop, which runs it before it halts.

use quiescent_kernel::CpuId;
use quiescent_kernel::fast_no_hz::IdleRule;
use quiescent_kernel::limits::{Around, Context};
use quiescent_kernel::offload::{self, Todo};

use crate::input::op::Queued;
use crate::kernel::cpu::{Callback, Then};
use crate::kernel::state::{Act, Machine};
use crate::record::notes::{Level, What};

/// Rounds in an interrupt.
const MOST_ROUNDS: u8 = 10;

/// Nanoseconds after which no other round begins in an interrupt.
const MOST_NS: u64 = 2_000_000;

impl Machine {
    /// RCU's soft interrupt, at the end of an interrupt. If it has been raised again and again, a thread goes
    /// on.
    pub(crate) fn softirq_in_irq(&mut self, cpu: CpuId) -> Act {
        let core = &mut self.sys.cores[cpu as usize];
        core.rounds += 1;
        if core.rounds == 1 {
            core.soft_since = self.sys.now;
        }
        let cost = self.softirq(cpu);
        let core = &mut self.sys.cores[cpu as usize];
        let long = self.sys.now + cost - core.soft_since >= MOST_NS;
        let wanted = core.resched || (core.is_idle() && !core.ready.is_empty());
        if core.soft_rcu && (core.rounds >= MOST_ROUNDS || long || wanted) {
            core.handed = true;
            let task = self.sys.ksoftirqd_of(cpu);
            self.sys.wake(&self.rcu, task, cpu);
        }
        Act::Busy(cost)
    }

    /// ksoftirqd: one round, as long as there is work.
    pub(crate) fn ksoftirqd(&mut self, cpu: CpuId) -> Act {
        if self.sys.cores[cpu as usize].soft_rcu {
            return Act::Busy(self.softirq(cpu));
        }
        self.sys.cores[cpu as usize].begins_softirqs();
        self.sys.then_sleeps(cpu, 0)
    }

    /// RCU's soft interrupt. What it costs.
    fn softirq(&mut self, cpu: CpuId) -> u64 {
        self.sys.cores[cpu as usize].soft_rcu = false;
        self.rcu.notes().level(Level::Softirq);
        self.rcu.text(|| "softirq_entry: vec=9 [action=RCU]".into());
        let (global, cpus, _, view) = self.rcu.parts();
        let it = &mut cpus[cpu as usize];
        let noticed = it.core(global, &view);
        let invokes = it.invokes();
        self.rcu.wake_gp(&mut self.sys, noticed.wake_gp, cpu);
        let mut cost = self.sys.options.costs.softirq;
        if invokes {
            cost += self.batch(cpu, cpu, Context::Softirq);
        }
        self.rcu.deliver_wake(&mut self.sys, cpu);
        let (_, cpus, _, view) = self.rcu.parts();
        cpus[cpu as usize].core_done(&view);
        self.rcu.text(|| "softirq_exit: vec=9 [action=RCU]".into());
        self.sys.took(cost);
        self.sys.stats.totals.softirqs += u64::from(self.sys.counts());
        cost
    }

    /// `call_rcu` on `cpu` of a callback that does this. What its locks take.
    pub(crate) fn call(&mut self, cpu: CpuId, queued: Queued, then: Then) -> u64 {
        let Queued {
            func,
            lazy,
            can_wake,
        } = queued;
        let offloaded = self.rcu.cpus[cpu as usize].is_offloaded();
        let counts = lazy && !offloaded;
        let knows_lazy =
            matches!(self.sys.options.idle_rule, IdleRule::FastNoHz(it) if it.lazy_delay.is_some());
        let callback = Callback {
            func,
            queued_at: self.sys.now,
            number: self.sys.oracle.queued(),
            since: self.sys.oracle.since(),
            then,
            lazy: counts,
            call: self.syscalls.owes(&self.sys, cpu, func),
        };
        let now = self.sys.engine_now(cpu);
        let (global, cpus, groups, view) = self.rcu.parts();
        let it = &mut cpus[cpu as usize];
        let group = it.member().group();
        let lazy_before = it.member().lazy();
        let (pos, todo, wake_gp, hidden) = match group {
            Some(group) => {
                let group = groups[group as usize].as_mut().expect("it has members");
                let call = offload::Call {
                    bytes: 1,
                    lazy,
                    now,
                    can_wake,
                    early: false,
                };
                let queued = it.call_nocb(call, group, global, &view);
                let hidden = queued.place == offload::Place::Bypass;
                (queued.pos, queued.todo, false, hidden)
            }
            None => {
                let called = it.call(global, 1, now.ns, &view);
                (called.pos, Todo::default(), called.wake_gp, false)
            }
        };
        let lazy_now = it.member().lazy();
        if counts {
            it.queued_lazy();
        }
        let core = &mut self.sys.cores[cpu as usize];
        core.fifo.push_back(callback);
        let n_cbs = core.fifo.len() as u64;
        self.rcu.notes().say(What::Queued {
            whose: cpu,
            pos,
            func,
            n_cbs,
        });
        if let Some(counted) = self.sys.stats.queued(self.sys.now, func) {
            counted.shown += u64::from(!hidden);
            counted.lazily += u64::from(lazy_now > lazy_before || counts && knows_lazy);
            counted.broke += u64::from(!lazy && lazy_now < lazy_before);
        }
        self.rcu.wake_gp(&mut self.sys, wake_gp, cpu);
        self.rcu.carry_out(&mut self.sys, cpu, group, todo);
        match offloaded {
            true => self.locks.queues(&mut self.sys, cpu, hidden),
            false => 0,
        }
    }

    /// Invokes a batch of callbacks of the CPU `whose` on `cpu`. Returns its cost.
    pub(crate) fn batch(&mut self, whose: CpuId, cpu: CpuId, context: Context) -> u64 {
        let (global, cpus, _, view) = self.rcu.parts();
        let begun = cpus[whose as usize].begin_batch_traced(global, context, &view);
        let Some((range, batch)) = begun else {
            return 0;
        };
        let each = self.sys.options.costs.callback;
        let (mut invoked, mut lazy) = (0, 0);
        let all = range.end.wrapping_sub(range.start);
        while invoked < all {
            let core = &mut self.sys.cores[whose as usize];
            let callback = core.fifo.pop_front().expect("it was queued");
            let (pos, func) = (range.start.wrapping_add(invoked), callback.func);
            self.rcu.notes().say(What::Invoke { whose, pos, func });
            let stats = &mut self.sys.stats;
            if let Some(func) = stats.invoked(self.sys.now, func, callback.queued_at) {
                func.shown_invoked += u64::from(func.shown > 0);
            }
            self.sys.oracle.invoked(callback.number, callback.since);
            self.syscalls.repaid(self.sys.now, callback.call);
            match callback.then {
                Then::Nothing => {}
                Then::Wakes(task) => self.sys.wake(&self.rcu, task, cpu),
                Then::Barrier => self.barrier.callback(&mut self.sys, &self.rcu, cpu),
            }
            invoked += 1;
            lazy += u64::from(callback.lazy);
            let core = &self.sys.cores[cpu as usize];
            let around = Around {
                need_resched: core.resched || (core.is_idle() && !core.ready.is_empty()),
                idle: core.is_idle(),
                elapsed_ns: batch.wants_clock(invoked).then_some(invoked * each),
            };
            if batch.stops(invoked, around) {
                break;
            }
        }
        self.sys.stats.totals.batches += u64::from(self.sys.counts());
        let core = &self.sys.cores[cpu as usize];
        let around = Around {
            need_resched: !core.ready.is_empty(),
            idle: core.is_idle(),
            elapsed_ns: None,
        };
        let (global, cpus, _, view) = self.rcu.parts();
        let it = &mut cpus[whose as usize];
        let more = it.end_batch_traced(global, (range, context), invoked, around, &view);
        it.ran_lazy(lazy);
        if it.member().group().is_none() {
            self.sys.cores[whose as usize].soft_rcu |= more;
            return invoked * each;
        }
        let group = it.member().group();
        let after = it.batch_over(context, global, &view);
        if after.again && context == Context::Softirq {
            self.sys.cores[whose as usize].soft_rcu = true;
        }
        self.rcu.carry_out(&mut self.sys, cpu, group, after.todo);
        invoked * each + self.locks.invokes(&mut self.sys, whose, cpu, invoked)
    }
}
