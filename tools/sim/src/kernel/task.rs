//! Tasks: the kernel's threads that RCU needs, and those of a workload.

use std::sync::Arc;

use quiescent_kernel::offload::GroupId;
use quiescent_kernel::{CpuId, Seq};

use crate::base::chance::Chance;
use crate::input::op::Work;
use crate::record::stats::Intervals;

/// What a task waits for that only RCU can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// A grace period.
    ForGp {
        /// Since when, in nanoseconds.
        start: u64,
        /// The first section that it need not wait for.
        since: u64,
        /// It requested an expedited one.
        expedited: bool,
        /// It has got one: its cookie.
        cookie: Option<Seq>,
    },
    /// A grace period of SRCU.
    Srcu {
        /// Since when.
        start: u64,
        /// The first section that it need not wait for.
        since: u64,
    },
    /// All callbacks.
    ForCallbacks {
        /// Since when.
        start: u64,
        /// The barrier that it made; none if that of another covered it.
        made: Option<Seq>,
    },
}

pub(crate) enum Kind {
    GpThread,
    Rcuog(GroupId),
    /// It invokes the callbacks of this CPU.
    Rcuop(CpuId),
    /// It continues with soft interrupts.
    Ksoftirqd,
    /// It wakes waiters.
    Kworker,
    /// It drives expedited grace periods.
    ExpWorker,
    /// It drives grace periods of SRCU.
    SrcuWorker,
    Work(Box<dyn Work>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Sleeping,
    /// It runs, or wants to.
    Awake,
    Over,
}

/// Where a task may run: from each wake-up on, on any of some CPUs, chosen by chance.
///
/// A scheduler that looks for an idle CPU spreads one thread's callbacks over the lists of many CPUs, and so
/// the work of RCU's threads. Which CPU the scheduler prefers is not modelled: each is equally likely, and a
/// wake-up on another CPU costs an interrupt there. RCU's own threads stay on their CPU, or move by `moves`.
#[derive(Clone, Debug)]
pub(crate) struct Roaming {
    /// Shared: all tasks of a section have the same.
    pub(in crate::kernel) cpus: Arc<[CpuId]>,
    pub(in crate::kernel) chance: Chance,
}

impl Roaming {
    /// Where it runs from this wake-up on.
    pub fn next(&mut self) -> Option<CpuId> {
        let which = self.chance.below(self.cpus.len() as u64);
        self.cpus.get(which as usize).copied()
    }
}

/// The sections of a task.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sections {
    /// How many are open, one inside the other.
    pub depth: u32,
    /// The outermost one's number.
    pub(in crate::kernel) number: u64,
    /// It was switched out in them.
    pub(in crate::kernel) queued: bool,
    /// An expedited grace period waits for the end.
    pub hint: bool,
    /// A normal one has requested help.
    pub asked: bool,
}

/// The sections of a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct SrcuSections {
    /// It is about to join this count.
    pub(in crate::kernel) fetched: Option<CpuId>,
    /// Open ones: the count that each has joined, and its number for the oracle.
    pub(in crate::kernel) open: Vec<(CpuId, u64)>,
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
    pub srcu: SrcuSections,
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
            srcu: SrcuSections::default(),
            wakeups: 0,
            intervals: Intervals::default(),
            ran_ns: 0,
        }
    }

    /// The CPU on which it runs when `waker` wakes it at `now`.
    pub fn target(&self, now: u64, waker: CpuId) -> CpuId {
        let placed = self.places.partition_point(|it| it.0 <= now).checked_sub(1);
        placed.map_or_else(|| self.cpu.unwrap_or(waker), |it| self.places[it].1)
    }

    /// What a trace prints for its state when it stops running.
    pub fn state_letter(&self) -> char {
        match (self.state, &self.kind) {
            (State::Awake, _) => 'R',
            (State::Over, _) => 'X',
            (State::Sleeping, Kind::GpThread) => 'I',
            (State::Sleeping, _) if self.waits.is_some() => 'D',
            (State::Sleeping, _) => 'S',
        }
    }

    /// Is it one of RCU's threads?
    pub fn is_rcus(&self) -> bool {
        !matches!(self.kind, Kind::Work(_))
    }

    /// Does a task that wakes up take the CPU from it, and do others have their turn?
    pub fn gives_way(&self) -> bool {
        matches!(self.kind, Kind::Work(_) | Kind::Ksoftirqd)
    }
}
