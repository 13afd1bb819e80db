//! A CPU of the model, but for what the engine keeps of it.

use std::collections::VecDeque;

/// What a CPU is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Exec {
    /// It idles, and waits for an interrupt.
    #[default]
    Halted,
    /// It has work, and waits for its turn.
    Waiting,
    /// A piece of kernel work; interrupts wait for its end.
    Running,
    /// A program's work, which any interrupt interrupts.
    Computing,
}

/// Where a callback's record is: of which call, and which of its callbacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whose {
    pub(in crate::kernel) call: u32,
    pub(in crate::kernel) index: u32,
}

/// A callback, in the FIFO of the CPU that queued it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callback {
    /// Index of its function's name.
    pub func: usize,
    pub queued_at: u64,
    /// Its number, and the number of the first section that it need not wait for.
    pub number: u64,
    pub since: u64,
    /// What it does.
    pub then: Then,
    /// Its CPU serves it, and knows that it has no waiter.
    pub lazy: bool,
    /// The system call that has queued it, if that has a record.
    pub call: Option<Whose>,
}

/// The effect of a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Nothing.
    Nothing,
    /// It wakes this task.
    Wakes(usize),
    /// A share of the barrier is done.
    Barrier,
}

/// A CPU.
#[derive(Debug, Default)]
pub(crate) struct Core {
    pub exec: Exec,
    /// Which piece of work it does: one that has ended otherwise is stale.
    pub work: u64,
    /// A tick is due.
    pub tick: bool,
    /// The due tick comes from a clock that was set while the tick was stopped.
    pub rung: bool,
    /// An interrupt from another CPU has arrived.
    pub ipi: bool,
    /// An expedited grace period wants to know what that interrupt finds.
    pub exp_asked: bool,
    /// A barrier has put a callback behind the others here.
    pub barrier_asked: bool,
    /// Sleeps that have ended here.
    pub alarms: Vec<(usize, u64)>,
    /// Sleeps that have ended here and wait for a tick.
    pub deferred: Vec<(usize, u64)>,
    /// Soft interrupts that are raised.
    pub soft_timers: bool,
    pub soft_rcu: bool,
    /// Rounds of RCU's in this interrupt, and since when; what is left was handed to the thread.
    pub rounds: u8,
    pub soft_since: u64,
    pub handed: bool,
    /// That thread, if it was ever needed.
    pub ksoftirqd: Option<u32>,
    /// It is in an interrupt, its soft interrupts included.
    pub in_irq: bool,
    /// Since when.
    pub irq_since: u64,
    /// It has set its clock to what comes next of all: other CPUs have their turns first (`smp`).
    pub hands_over: bool,
    /// How late its clock goes off, in picoseconds; negative: how early.
    pub late_ps: i64,
    /// That interrupt came while the CPU was halted.
    pub from_halt: bool,
    /// Tasks that want to run, in the order of their wake-ups.
    pub ready: VecDeque<usize>,
    /// The task that runs; none in the idle loop.
    pub current: Option<usize>,
    /// Since when it does.
    pub runs_since: u64,
    /// The task that runs goes to sleep when this piece of work is done.
    pub sleeps: bool,
    /// It is in the idle loop.
    pub idle: bool,
    /// It has paid for the pass of the idle loop that is under way.
    pub passing: bool,
    /// A tick has arrived since it became idle.
    pub ticked_in_idle: bool,
    /// It has halted and owes callbacks: the jiffy of its last look at them.
    pub looked_at: Option<u64>,
    /// An expedited grace period has waited for a tick, and wants this one on (`nohz_full`).
    pub exp_tick: bool,
    /// The running task is to give way.
    pub resched: bool,
    /// What is left of what the running task computes, and since when it does.
    pub left: u64,
    pub since: u64,
    /// Callbacks queued here.
    pub fifo: VecDeque<Callback>,
    /// It is there at all.
    pub online: bool,
    /// It is to go.
    pub dying: bool,
}

impl Core {
    /// A CPU that has booted, and is about to idle.
    pub fn new() -> Core {
        Core {
            idle: true,
            online: true,
            ..Core::default()
        }
    }

    /// Soft interrupts are run in interrupts from now on.
    pub fn begins_softirqs(&mut self) {
        self.handed = false;
        self.rounds = 0;
    }

    /// Is an interrupt due?
    pub fn has_irq(&self) -> bool {
        self.tick || self.ipi || !self.alarms.is_empty()
    }

    /// Is it in the idle loop, without any other work?
    pub fn is_idle(&self) -> bool {
        self.idle && self.current.is_none()
    }
}
