//! A CPU of the model, but for what the engine keeps of it.

use std::collections::VecDeque;

/// What a CPU is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Exec {
    /// Nothing: it idles, and waits for an interrupt.
    #[default]
    Halted,
    /// It has something to do, and its turn has not come.
    Waiting,
    /// A piece of kernel work, which nothing interrupts.
    Running,
    /// A program's work, which any interrupt interrupts.
    Computing,
}

/// A callback, in the FIFO of the CPU that queued it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callback {
    /// Index of its function's name.
    pub func: usize,
    pub queued_at: u64,
    /// It wakes this task.
    pub wakes: Option<usize>,
}

/// A CPU.
#[derive(Debug, Default)]
pub(crate) struct Core {
    pub exec: Exec,
    /// Which piece of work it does: one that has ended otherwise is stale.
    pub work: u64,
    /// A tick is due.
    pub tick: bool,
    /// The tick that is due comes from a clock that was set while the tick was stopped.
    pub rung: bool,
    /// An interrupt from another CPU has arrived.
    pub ipi: bool,
    /// Sleeps that have ended here.
    pub alarms: Vec<(usize, u64)>,
    /// Soft interrupts that are raised.
    pub soft_timers: bool,
    pub soft_rcu: bool,
    /// It is in an interrupt, its soft interrupts included.
    pub in_irq: bool,
    /// Since when.
    pub irq_since: u64,
    /// That interrupt came while the CPU was halted.
    pub from_halt: bool,
    /// Tasks that want to run, in the order of their wake-ups.
    pub ready: VecDeque<usize>,
    /// The task that runs; none in the idle loop.
    pub current: Option<usize>,
    /// The task that runs goes to sleep when this piece of work is done.
    pub sleeps: bool,
    /// It is in the idle loop.
    pub idle: bool,
    /// It has paid for the pass of the idle loop that is under way.
    pub passing: bool,
    /// A tick has arrived since it became idle.
    pub ticked_in_idle: bool,
    /// The running task is to give way.
    pub resched: bool,
    /// What is left of what the running task computes, and since when it does.
    pub left: u64,
    pub since: u64,
    /// Callbacks queued here, and the position of the first.
    pub fifo: VecDeque<Callback>,
    pub fifo_base: u64,
}

impl Core {
    /// A CPU that has booted, and is about to idle.
    pub fn new() -> Core {
        Core {
            idle: true,
            ..Core::default()
        }
    }

    /// Is an interrupt due?
    pub fn has_irq(&self) -> bool {
        self.tick || self.ipi || !self.alarms.is_empty()
    }

    /// It is in the idle loop, and nothing else.
    pub fn is_idle(&self) -> bool {
        self.idle && self.current.is_none()
    }
}
