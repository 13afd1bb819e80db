//! The host: what an RTOS for one processor adds to its kernel to have RCU.
//!
//! The tick, the context switch, and the end of a section in which its task was preempted call the engine.
//! The idle loop is a task to which the scheduler switches. [`Rcu::grace_period_work`] is a task of its own,
//! without sections, which is ready when [`Rcu::is_due`]. Interrupts are off in every call.
//!
//! A fence is nothing here: the only processor sees its own stores.

use alloc::collections::VecDeque;
use quiescent_kernel::blocked::Disabled;
use quiescent_kernel::limits::{Around, Context};
use quiescent_kernel::tick::{At, Interrupted};
use quiescent_kernel::watching::Watching;
use quiescent_kernel::{
    Config, Cpu, CpuId, EarlyQs, Effects, Global, Host, LeafId, Next, Now, Pos, Seen, TaskId, Tasks,
};

/// The only processor.
const CPU: CpuId = 0;

/// What the engine can ask about the processor.
struct Processor {
    watching: Watching,
}

impl Host for Processor {
    const TRACES: bool = false;

    fn cpus(&self) -> u32 {
        1
    }

    fn observe(&self, _: CpuId) -> Seen {
        self.watching.seen()
    }

    fn present(&self, _: LeafId) -> u64 {
        1
    }

    fn own_quiescent(&self, _: CpuId) -> bool {
        true // the grace-period work is a task without sections
    }
}

/// A task's sections.
#[derive(Clone, Copy, Default)]
struct Sections {
    /// Open ones, one in the other.
    depth: u32,
    /// It was preempted inside, and is on the engine's list.
    listed: bool,
}

/// RCU for values that `reclaim` takes back.
pub struct Rcu<T> {
    engine: Global,
    cpu: Cpu,
    host: Processor,
    tasks: alloc::vec::Vec<Sections>,
    running: Option<TaskId>,
    now: Now,
    /// The next action of the grace-period work, and whether it was woken.
    next: Next,
    woken: bool,
    /// Retired values, in the order of the engine's positions.
    retired: VecDeque<T>,
    reclaim: fn(T),
}

impl<T> Rcu<T> {
    /// At boot, for tasks numbered from 0 to below `tasks`, that of the grace-period work among them. None if
    /// there is no memory.
    pub fn new(tasks: u32, hz: u32, reclaim: fn(T)) -> Option<Rcu<T>> {
        let config = Config {
            early_qs: EarlyQs::Init, // the only processor reports when the grace period begins
            ..Config::kernel_6_12(1, hz)
        };
        let mut engine = Global::new(config);
        engine.grow(Global::new_tree(&config, 1).ok()?).ok()?;
        engine.grow_tasks(Tasks::new(tasks).ok()?).ok()?;
        assert!(engine.try_drive(Some(CPU)), "the only driver");
        Some(Rcu {
            engine,
            cpu: Cpu::new(CPU),
            host: Processor {
                watching: Watching::new(),
            },
            tasks: alloc::vec![Sections::default(); tasks as usize],
            running: None,
            now: Now::default(),
            next: Next::Done,
            woken: false,
            retired: VecDeque::new(),
            reclaim,
        })
    }

    /// The running task opens a section: it may be preempted inside.
    pub fn lock(&mut self) {
        self.sections().depth += 1;
    }

    /// It closes its innermost section.
    pub fn unlock(&mut self) {
        let sections = self.sections();
        sections.depth -= 1;
        if sections.depth == 0 && core::mem::take(&mut sections.listed) {
            let task = self.running;
            match self
                .engine
                .read_unlock(CPU, task, Disabled::Nothing, &self.host)
            {
                quiescent_kernel::blocked::Unlocked::Done(effects) => self.carry_out(effects),
                later => unreachable!("nothing is disabled: {later:?}"),
            }
        }
    }

    fn sections(&mut self) -> &mut Sections {
        let running = self.running.expect("a task runs");
        &mut self.tasks[running as usize]
    }

    /// `value` is no longer to be found; it is reclaimed when every section open now has ended.
    pub fn retire(&mut self, value: T) {
        let bytes = size_of::<T>() as u64;
        let called = self
            .cpu
            .call(&mut self.engine, bytes, self.now.ns, &self.host);
        self.woken |= called.wake_gp;
        self.retired.push_back(value);
    }

    /// A ticket with which a task waits for a grace period; the scheduler makes it ready when
    /// [`is_over`](Rcu::is_over).
    pub fn start_waiting(&mut self) -> Pos {
        let (ticket, effects) = self.engine.wait_for_gp(0, &self.host);
        self.carry_out(effects);
        ticket
    }

    /// Has the grace period of this ticket ended?
    pub fn is_over(&self, ticket: Pos) -> bool {
        ticket < self.engine.waiters().done()
    }

    /// The scheduler switches to a task, or to the idle loop.
    pub fn context_switch(&mut self, to: Option<TaskId>) {
        let preempted = self.running.filter(|&from| {
            let sections = &mut self.tasks[from as usize];
            sections.depth > 0 && !core::mem::replace(&mut sections.listed, true)
        });
        match self.running {
            Some(_) => {
                let effects = self.engine.context_switch(CPU, preempted, &self.host);
                self.carry_out(effects);
                let _ = self.cpu.context_switch(&mut self.engine, &self.host);
            }
            None if !self.host.watching.is_watching() => self.host.watching.idle_exit(),
            None => {}
        }
        if to.is_none() {
            self.host.watching.idle_enter();
        }
        self.running = to;
    }

    /// The tick's interrupt. Retired values are reclaimed here.
    pub fn tick(&mut self, now: Now) {
        self.now = now;
        self.host.watching.irq_enter();
        let depth = self
            .running
            .map_or(0, |task| self.tasks[task as usize].depth);
        let from = match self.running {
            Some(_) => Interrupted::Kernel,
            None => Interrupted::Idle,
        };
        let at = At {
            now,
            from,
            depth,
            ..At::default()
        };
        if self
            .cpu
            .tick(&mut self.engine, at, &self.host)
            .core
            .is_some()
        {
            let noticed = self.cpu.core(&mut self.engine, &self.host);
            self.woken |= noticed.wake_gp;
            self.reclaim_ready();
            self.cpu.core_done(&self.host);
        }
        self.host.watching.irq_exit();
    }

    fn reclaim_ready(&mut self) {
        let Some((range, batch)) = self.cpu.begin_batch(&self.engine, Context::Softirq) else {
            return;
        };
        let all = range.end.wrapping_sub(range.start);
        let around = Around {
            idle: self.running.is_none(),
            ..Around::default()
        };
        let mut invoked = 0;
        while invoked < all && !batch.stops(invoked, around) {
            let value = self
                .retired
                .pop_front()
                .expect("as many as the engine counts");
            (self.reclaim)(value);
            invoked += 1;
        }
        self.cpu.end_batch(&self.engine, range, invoked);
    }

    /// May the idle loop stop the tick? Not while this processor has values to reclaim.
    pub fn may_stop_tick(&self) -> bool {
        !self.cpu.needs_cpu() && matches!(self.next, Next::Done) && !self.woken
    }

    /// Has the grace-period work something to do?
    pub fn is_due(&self) -> bool {
        let slept = match self.next {
            Next::Done => false,
            Next::Sleep(_) => self.now.jiffies >= self.engine.next_scan_at(),
            _ => true,
        };
        self.woken || slept
    }

    /// The grace-period work: begins grace periods, looks for those who are in the way, ends grace periods.
    pub fn grace_period_work(&mut self) {
        self.woken = false;
        loop {
            self.next = match self.next {
                Next::Fence => self.engine.fenced(),
                Next::Grow(_) => unreachable!("it has the tree of its only processor since boot"),
                _ => {
                    let effects = self.engine.step_on(&mut self.cpu, self.now, &self.host);
                    self.carry_out(effects);
                    effects.next
                }
            };
            if matches!(self.next, Next::Done | Next::Sleep(_)) {
                return;
            }
        }
    }

    /// Waiters look by themselves, and there is no other processor to interrupt.
    fn carry_out(&mut self, effects: Effects) {
        self.woken |= effects.wake_gp;
        if let Some(until) = effects.deferred_until {
            self.engine.waiters_woken(until);
        }
    }

    /// Grace periods that have ended.
    pub fn grace_periods(&self) -> u64 {
        self.engine.counts().grace_periods
    }
}
