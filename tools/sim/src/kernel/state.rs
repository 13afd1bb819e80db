//! A machine's state: plain data. What changes it stands beside this file, part by part; no part imports
//! another one for the data that it needs.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use quiescent_kernel::barrier::Barrier;
use quiescent_kernel::exp::ExpNext;
use quiescent_kernel::offload::Group;
use quiescent_kernel::watching::Watching;
use quiescent_kernel::{Cpu, CpuId, Global, Pos, Seq};
use serde::{Deserialize, Serialize};

use crate::base::chance::Chance;
use crate::base::events::Queue;
use crate::input::op::SysCallName;
use crate::input::options::Options;
use crate::kernel::cpu::Core;
use crate::kernel::event::Event;
use crate::kernel::srcu::domain::Srcu;
use crate::kernel::state::idling::Idling;
use crate::kernel::task::Task;
use crate::kernel::wheel::Wheel;
use crate::record::notes::Notes;
use crate::record::oracle::Oracle;
use crate::record::stats::{GracePeriod, Stats};
use crate::record::syscalls::SysCall;

pub(in crate::kernel) mod idling;

/// A machine.
pub struct Machine {
    pub(in crate::kernel) events: u64,
    pub(crate) sys: System,
    pub(crate) rcu: Rcu,
    pub(crate) exp: Expediting,
    pub(crate) barrier: Barriers,
    pub(crate) srcu: Srcu,
    pub(crate) live_tasks: usize,
    pub(crate) syscalls: SysCalls,
    pub(crate) locks: LockTable,
}

/// What RCU stands on: CPUs, tasks, timers, time, and what is counted. Its steps change nothing of RCU.
pub(crate) struct System {
    pub options: Options,
    pub now: u64,
    pub queue: Queue<Event>,
    pub cores: Vec<Core>,
    pub tasks: Vec<Task>,
    pub wheel: Wheel,
    pub stats: Stats,
    pub oracle: Oracle,
    pub tally: Tally,
    /// The CPU whose tick keeps the time for CPUs of `nohz_full`, if there are any.
    pub timekeeper: Option<CpuId>,
    /// The next jiffy to begin, if a CPU needs it.
    pub(in crate::kernel) jiffy_at: Option<u64>,
    /// With one CPU at a time: the one that executes, the last one, and those that want to.
    pub executing: Option<CpuId>,
    pub last: CpuId,
    pub waiting: BTreeSet<CpuId>,
    /// Sleeps that end by clocks of their own, the earliest first: time, CPU, task and round. Kept where the
    /// machine has idle states, or CPUs are serial.
    pub(in crate::kernel) alarms: BTreeSet<(u64, CpuId, usize, u64)>,
    /// The numbers of functions by their names: a trace can have as many as records.
    pub(in crate::kernel) functions: HashMap<String, usize>,
    pub chance: Chance,
    /// Injected faults, on request.
    pub faulty: Option<Box<Faulty>>,
    /// What its CPUs do when they halt, if it has idle states.
    pub idling: Option<Box<Idling>>,
}

/// What follows the beginning of a piece of work.
pub(crate) enum Act {
    /// It takes so long.
    Busy(u64),
    /// No piece of work was begun: the next kind is tried.
    Again,
    /// A program computes for so long, unless it is interrupted.
    Compute(u64),
    /// The CPU halts.
    Halt,
}

/// The engine's state, what it asks about, and the threads that work for it.
pub(crate) struct Rcu {
    pub global: Global,
    pub cpus: Vec<Cpu>,
    pub groups: Vec<Option<Group>>,
    pub gp_thread: usize,
    pub rcuogs: Vec<Option<usize>>,
    pub rcuops: Vec<Option<usize>>,
    pub kworker: usize,
    /// The task `kworker/rcu_exp`.
    pub exp_worker: usize,
    /// Tasks that the grace-period thread wakes directly.
    pub waiters: VecDeque<(Pos, usize)>,
    /// `kworker/rcu` wakes those below this.
    pub deferred: Option<Pos>,
    pub in_flight: GracePeriod,
    pub watch: Vec<Watching>,
    pub(in crate::kernel) present: Vec<u64>,
    pub(in crate::kernel) leaf_of: Vec<u16>,
    /// Which CPUs are in `nohz_full`; empty if none is.
    pub full: Vec<bool>,
    pub observed: Observed,
}

/// What the trace events of the engine have shown.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// The grace period in flight started (set by its event, taken by the machine).
    pub started: Cell<bool>,
    pub ended: Cell<bool>,
    pub scans: Cell<u32>,
    pub notes: Notes,
}

/// The barrier in flight, and the tasks that want the next one.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    pub engine: Barrier,
    /// The task of the current barrier.
    pub(in crate::kernel) turn: Option<BarrierCaller>,
    pub(in crate::kernel) waiting: VecDeque<BarrierCaller>,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::kernel) struct BarrierCaller {
    pub(in crate::kernel) task: usize,
    pub(in crate::kernel) snap: Seq,
    /// Callbacks below this are waited for.
    pub(in crate::kernel) until: u64,
    /// CPUs below this have been visited, since it had its turn.
    pub(in crate::kernel) visited: Option<CpuId>,
    /// All have been.
    pub(in crate::kernel) sleeps: bool,
}

/// Callers, and what the worker does.
#[derive(Debug, Default)]
pub(crate) struct Expediting {
    pub(in crate::kernel) stage: WorkerStage,
    /// The holder of the role: its cookie, and the task that waits.
    pub(in crate::kernel) job: Option<(Seq, usize)>,
    /// Tasks that want the role, in the order of their arrival.
    pub(in crate::kernel) contenders: VecDeque<(Seq, usize)>,
    /// Sleep at a node, on a queue of it.
    pub(in crate::kernel) waiters: BTreeMap<(usize, u8), Vec<(Seq, usize)>>,
}

/// What the worker does next.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::kernel) enum WorkerStage {
    /// Begins the job, if there is one.
    #[default]
    Begins,
    /// The next step.
    Drives(ExpNext),
    /// Wakes the tasks whose grace period is over.
    Wakes,
}

/// The frequencies of faults, out of a thousand; and the largest difference between clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    /// Wake-ups that are a few jiffies late.
    pub late: u32,
    /// Wake-ups that are seconds late.
    pub starved: u32,
    /// Wake-ups that do not arrive.
    pub lost: u32,
    /// Interrupts that are late.
    pub late_interrupts: u32,
    /// Interrupts that do not arrive.
    pub lost_interrupts: u32,
    /// Pieces of work in which a CPU stands still for a while.
    pub standstills: u32,
    /// Nanoseconds.
    pub skew: u64,
}

/// A machine's faults, and what they hold up.
#[derive(Debug)]
pub(crate) struct Faulty {
    pub(in crate::kernel) faults: Faults,
    pub(in crate::kernel) chance: Chance,
    /// How far each CPU's clock is ahead.
    pub(in crate::kernel) ahead: Vec<u64>,
    /// Threads with a pending wake-up.
    pub(in crate::kernel) lost: BTreeSet<usize>,
    /// CPUs with a pending interrupt.
    pub(in crate::kernel) lost_interrupts: BTreeSet<CpuId>,
    pub(in crate::kernel) happened: u64,
}

/// The locks of offloaded CPUs that have queued.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockTable(pub(in crate::kernel) BTreeMap<CpuId, Locks>);

/// Both locks of a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Locks {
    pub(in crate::kernel) list: Lock,
    pub(in crate::kernel) bypass: Lock,
    /// Something is in the bypass.
    pub hidden: bool,
}

/// A lock: who holds it last of all, and when.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::kernel) struct Lock {
    pub(in crate::kernel) owner: Option<CpuId>,
    pub(in crate::kernel) from: u64,
    pub(in crate::kernel) until: u64,
    /// Who has it until that stretch begins.
    pub(in crate::kernel) before: Option<CpuId>,
}

/// The calls of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct SysCalls {
    /// How many there were.
    pub(in crate::kernel) count: u64,
    pub records: Vec<SysCall>,
    /// By task the call that it is in, and where its record is, if it has one.
    pub(in crate::kernel) inside: BTreeMap<usize, (SysCallName, Option<usize>)>,
}

/// The counts of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// States are counted.
    pub on: bool,
    pub states: BTreeSet<u64>,
    pub looked: u64,
    pub spanned: u64,
    pub preempted: u64,
    pub latched: u64,
    pub departures: u64,
    pub toggles: u64,
    pub shrunk: u64,
    /// The first section that the normal one under way, and the expedited one, need not wait for.
    pub(in crate::kernel) under_way: [Option<u64>; 2],
}
