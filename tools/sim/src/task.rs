//! Tasks: the kernel's threads that RCU needs, and what a workload does.

use quiescent_engine::offload::GroupId;
use quiescent_engine::{CpuId, Seq};

use crate::roaming::Roaming;
use crate::sections::Sections;
use crate::stats::Intervals;
use crate::syscalls::Name as SysCallName;

/// What a task does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// It computes for so many nanoseconds, in user space.
    Compute(u64),
    /// It is in the kernel for so many nanoseconds.
    Kernel(u64),
    /// It queues a callback.
    Call {
        /// The function that it calls: an index that [`Machine::func`](crate::Machine::func) gave.
        func: usize,
        /// Nobody waits for it.
        lazy: bool,
        /// Interrupts are enabled, so that threads can be woken from here.
        can_wake: bool,
    },
    /// It queues a callback, interrupts enabled, and waits until that has been invoked.
    AwaitCallback {
        /// The function that the callback calls.
        func: usize,
        /// The callback may be lazy, as if nobody waited for it.
        lazy: bool,
    },
    /// It enters a system call: what it queues until it leaves that is the call's.
    Enter {
        /// Which.
        name: SysCallName,
        /// Its argument: of `close` the descriptor.
        argument: u64,
    },
    /// It leaves the system call that it is in.
    Leave,
    /// It opens a read-side section, or nests one.
    Lock,
    /// It closes the innermost one.
    Unlock,
    /// It waits for a grace period.
    Synchronize,
    /// It waits for an expedited grace period.
    SynchronizeExpedited,
    /// It waits until every callback queued so far has been invoked.
    Barrier,
    /// It has a CPU taken offline, as soon as that one can, and does not wait for it.
    Offline(CpuId),
    /// It has a CPU brought back.
    Online(CpuId),
    /// It has a CPU's callbacks offloaded, if that can be done now; as a CPU of `nocbs` that is offline and has none, or, with
    /// `online_toggle`, online.
    Offload(CpuId),
    /// It has the CPU look after its callbacks itself again, under the same conditions.
    Deoffload(CpuId),
    /// Memory runs low: so many lazy callbacks are flushed, or a few more.
    Shrink(u64),
    /// Memory is looked at: if callbacks hold more than so much of it, it runs low, and so many lazy ones are flushed.
    Reclaim {
        /// Bytes that they may hold.
        above: u64,
        /// Callbacks, or a few more.
        lazy: u64,
    },
    /// It sleeps until then, in nanoseconds.
    SleepUntil(u64),
    /// It sleeps until then, and wakes up on that CPU: whatever wakes it does so there.
    SleepOn {
        /// In nanoseconds.
        until: u64,
        /// The CPU.
        cpu: CpuId,
        /// It is not worth a tick: the first one that the CPU has from then on wakes it.
        deferred: bool,
    },
    /// It is over, and so are its sections.
    Exit,
}

/// What a task waits for that only RCU can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// A grace period.
    ForGp {
        /// Since when, in nanoseconds.
        start: u64,
        /// The first section that it need not wait for.
        since: u64,
        /// It asked for an expedited one.
        expedited: bool,
        /// It has got one: its cookie.
        cookie: Option<Seq>,
    },
    /// All callbacks.
    ForCallbacks {
        /// Since when.
        start: u64,
        /// The barrier that it made; none if that of another covered it.
        made: Option<Seq>,
    },
}

/// A workload's task.
pub trait Work {
    /// What it does next; `now` is the time in nanoseconds.
    fn next(&mut self, now: u64) -> Op;
}

impl Work for Box<dyn Work> {
    fn next(&mut self, now: u64) -> Op {
        (**self).next(now)
    }
}

/// Work that is never over: where it would be, it sleeps.
pub(crate) struct Endless<W>(pub W);

impl<W: Work> Work for Endless<W> {
    fn next(&mut self, now: u64) -> Op {
        match self.0.next(now) {
            Op::Exit => Op::SleepUntil(u64::MAX / 2),
            op => op,
        }
    }
}

pub(crate) enum Kind {
    GpThread,
    Rcuog(GroupId),
    /// It invokes the callbacks of this CPU.
    Rcuop(CpuId),
    /// It goes on with soft interrupts.
    Ksoftirqd,
    /// It wakes waiters.
    Kworker,
    /// It drives expedited grace periods.
    ExpWorker,
    Work(Box<dyn Work>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Sleeping,
    /// It runs, or wants to.
    Awake,
    Over,
}

pub(crate) struct Task {
    pub name: String,
    pub kind: Kind,
    pub state: State,
    /// Where it runs, or ran last; none if it never did.
    pub cpu: Option<CpuId>,
    /// Where it runs from which time on, if that is an input.
    pub places: Vec<(u64, CpuId)>,
    /// Among which CPUs it moves at each wake-up, if it does.
    pub roaming: Option<Roaming>,
    /// From when on the scheduler may move it, if it moves any.
    pub moves_at: u64,
    /// Its sleep ends with a tick of its CPU, and makes none.
    pub deferred: bool,
    /// It was woken while it was about to sleep.
    pub woken: bool,
    /// Which sleep it is in: an alarm for another one is stale.
    pub round: u64,
    /// What is left of what it computes, while it does not run.
    pub left: u64,
    /// It had to give its CPU to another: those that are woken come first.
    pub gave_way: bool,
    pub waits: Option<Waits>,
    pub sections: Sections,
    pub wakeups: u64,
    pub intervals: Intervals,
    /// Time that it had a CPU in turns that are over, interrupts included, in nanoseconds.
    pub ran_ns: u64,
}

impl Task {
    pub fn new(name: String, kind: Kind, cpu: Option<CpuId>) -> Task {
        Task {
            name,
            kind,
            state: State::Sleeping,
            cpu,
            places: Vec::new(),
            roaming: None,
            moves_at: 0,
            deferred: false,
            woken: false,
            round: 0,
            left: 0,
            gave_way: false,
            waits: None,
            sections: Sections::default(),
            wakeups: 0,
            intervals: Intervals::default(),
            ran_ns: 0,
        }
    }

    /// Where it goes when `waker` wakes it at `now`.
    pub fn target(&self, now: u64, waker: CpuId) -> CpuId {
        let placed = self.places.iter().rev().find(|&&(from, _)| from <= now);
        placed.map_or_else(|| self.cpu.unwrap_or(waker), |&(_, cpu)| cpu)
    }

    /// What a trace prints for its state when it stops running.
    pub fn state_letter(&self) -> char {
        match (self.state, &self.kind) {
            (State::Awake, _) => 'R',
            (State::Over, _) => 'X',
            (State::Sleeping, Kind::GpThread) => 'I',
            (State::Sleeping, _) => 'S',
        }
    }

    /// Does a task that wakes up take the CPU from it, and do others have their turn?
    pub fn gives_way(&self) -> bool {
        matches!(self.kind, Kind::Work(_) | Kind::Ksoftirqd)
    }
}
