//! The calls of the engine as values, and their results: [`World::apply`] makes the call.
//!
//! Read-only calls have no input, except those whose answer is a decision (is this queue due?).

mod offloading;
mod world;

pub use world::World;

use quiescent_kernel::barrier::{Begin, Visit};
use quiescent_kernel::blocked::{Disabled, TaskId, Unlocked};
use quiescent_kernel::callbacks::{Adopted, Called, Noticed};
use quiescent_kernel::exp::{
    Climb, ExpBegin, ExpEffects, ExpPoll, ExpWake, Expedite, Handled, Interrupted,
};
use quiescent_kernel::fast_no_hz::IdleLook;
use quiescent_kernel::host::{CpuId, Effects, LeafId, Next, Now, Pos};
use quiescent_kernel::limits::{Batch, Context};
use quiescent_kernel::offload::{self, Call, GroupId};
use quiescent_kernel::polled::FullCookie;
use quiescent_kernel::report::{HurryAnswer, QsReported};
use quiescent_kernel::seq::Seq;
use quiescent_kernel::tick::{At, Ticked};

/// One call of the engine. Calls that are not about a CPU's callbacks or the barrier are calls of
/// [`Global`](quiescent_kernel::Global).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "each variant is the method of the same name, with its parameters"
)]
pub enum Input {
    WaitForGp {
        leaf: LeafId,
    },
    StartPoll {
        leaf: LeafId,
    },
    TryDrive {
        cpu: Option<CpuId>,
    },
    Step {
        now: Now,
    },
    Fenced,
    Leave,
    Grow {
        cpus: u32,
    },
    ReportQs {
        cpu: CpuId,
        noted: Seq,
    },
    Departed {
        cpu: CpuId,
    },
    GrowTasks {
        tasks: u32,
    },
    ContextSwitch {
        cpu: CpuId,
        preempted: Option<TaskId>,
    },
    ReadUnlock {
        cpu: CpuId,
        task: Option<TaskId>,
        disabled: Disabled,
    },
    WaitersWoken {
        pos: Pos,
    },
    SetFqsWaits {
        first: u64,
        next: u64,
    },
    ForceQs,
    SetStallTimeout {
        seconds: u64,
    },
    ResetStalls,
    IrqWorkRan {
        cpu: CpuId,
    },
    /// A call about expedited grace periods.
    Exp(ExpInput),
    /// A call of this CPU.
    Cpu(CpuId, CpuInput),
    /// A call about offloading.
    Offload(OffloadInput),
    /// A call of the barrier.
    Barrier(BarrierInput),
}

/// One call of a [`Cpu`](quiescent_kernel::Cpu); the global state and the barrier, where it takes them, are
/// those of its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "each variant is the method of the same name, with its parameters"
)]
pub enum CpuInput {
    Call {
        bytes: u64,
        ns: u64,
    },
    NoteGpChanges,
    Stamp,
    StampUnlocked,
    CorePending,
    Core,
    BeginBatch {
        context: Context,
    },
    EndBatch {
        start: Pos,
        end: Pos,
        invoked: u64,
    },
    /// Takes over the callbacks of that CPU.
    Adopt {
        gone: CpuId,
    },
    Credited,
    EntrainBarrier,
    Tick {
        at: At,
    },
    IrqEnter,
    Online,
    NoteQs,
    CheckQs,
    ReportQs,
    ContextSwitch,
    CondResched,
    SetOffloaded {
        offloaded: bool,
    },
    QueuedLazy,
    RanLazy {
        n: u64,
    },
    IdleNeeds {
        jiffies: u64,
    },
    PrepareForIdle {
        jiffies: u64,
    },
    CleanupAfterIdle {
        jiffies: u64,
    },
}

/// One call about offloading. Groups are made by [`Choose`](OffloadInput::Choose).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "each variant is the method of the same name, with its parameters; a CPU's group is its own"
)]
pub enum OffloadInput {
    AsyncHurry,
    AsyncRelax,
    /// In a machine with this number of CPUs.
    Choose {
        cpu: CpuId,
        cpus: u32,
    },
    Offload {
        cpu: CpuId,
        online: bool,
    },
    Deoffload {
        cpu: CpuId,
        online: bool,
        tick: u64,
    },
    CallNocb {
        cpu: CpuId,
        call: Call,
    },
    Visit {
        cpu: CpuId,
        tick: u64,
    },
    BatchOver {
        cpu: CpuId,
        context: Context,
    },
    RcuopWoke {
        cpu: CpuId,
    },
    EntrainNocb {
        cpu: CpuId,
        tick: u64,
    },
    TakeOver {
        cpu: CpuId,
        gone: CpuId,
        tick: u64,
    },
    /// [`Shrink::visit`](quiescent_kernel::offload::Shrink::visit) of a scan that continues.
    Shrink {
        cpu: CpuId,
        tick: u64,
    },
    BeginPass {
        group: GroupId,
        tick: u64,
    },
    NextMember {
        group: GroupId,
    },
    EndPass {
        group: GroupId,
        tick: u64,
    },
    GoesOn {
        group: GroupId,
    },
    Deliver {
        cpu: CpuId,
    },
    TimerFired {
        group: GroupId,
        tick: u64,
    },
}

/// One call about expedited grace periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "each variant is the method of the same name, with its parameters"
)]
pub enum ExpInput {
    Snap,
    Climb { leaf: LeafId, cookie: Seq },
    Lock,
    Begin { cookie: Seq },
    Step { on: Option<CpuId>, now: Now },
    Fenced,
    Asked { refused: u64 },
    Interrupt { cpu: CpuId, at: Interrupted },
    Wake,
    Release,
    SetExpedite(Expedite),
    StartPoll { leaf: LeafId },
    PollWork { leaf: LeafId },
}

/// One call of the [`Barrier`](quiescent_kernel::barrier::Barrier).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "each variant is the method of the same name, with its parameters"
)]
pub enum BarrierInput {
    Snap,
    Start { snap: Seq },
    VisitedAll,
    OneDone,
    End,
}

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "each variant is the return value of the call that has it"
)]
pub enum Output {
    Ticket(Pos, Effects),
    Cookie(FullCookie, Effects),
    Effects(Effects),
    Next(Next),
    /// Also for calls that return nothing: true.
    Done(bool),
    Begin(Begin),
    Visit(Visit),
    Seq(Seq),
    Called(Called),
    Noticed(Noticed),
    /// Start and end of the extracted range, and the batch.
    Batch(Option<(Pos, Pos, Batch)>),
    Adopted(Adopted),
    Ticked(Ticked),
    Reported(QsReported),
    Answered(HurryAnswer),
    IdleLook(IdleLook),
    Unlocked(Unlocked),
    Queued(offload::Queued),
    Visited(offload::Visited),
    Rested(offload::Rested),
    Timer(offload::Timer),
    Todo(offload::Todo),
    AfterBatch(offload::AfterBatch),
    Toggled(Result<offload::Toggled, offload::Refused>),
    Entrained(offload::Entrained),
    TakenOver(Option<offload::TakenOver>),
    Flushed(offload::Flushed),
    Member(Option<CpuId>),
    Climb(Climb),
    ExpBegin(ExpBegin),
    ExpEffects(ExpEffects),
    Handled(Handled),
    ExpWake(Option<ExpWake>),
    ExpPoll(ExpPoll),
    /// A call about callbacks was given to a [`Global`](quiescent_kernel::Global) alone. No call returns
    /// this.
    Elsewhere,
}
