//! The calls of the engine as values, their results, and a host's answers during a call.
//!
//! Read-only calls have no input, except those whose answer is a decision (is this queue due?).

use quiescent_engine::Interest;
use quiescent_engine::barrier::{Begin, Visit};
use quiescent_engine::blocked::{Disabled, TaskId, Unlocked};
use quiescent_engine::callbacks::{Adopted, Called, Noticed};
use quiescent_engine::cpu::{LANES, Lane};
use quiescent_engine::credit::{Cause, Queued, Refill, Urgency};
use quiescent_engine::exp::{
    Climb, ExpBegin, ExpEffects, ExpPoll, ExpWake, Expedite, Handled, Interrupted,
};
use quiescent_engine::fast_no_hz::IdleLook;
use quiescent_engine::host::{CpuId, Effects, LeafId, Next, Now, Pos, Published, Seen};
use quiescent_engine::limits::{Batch, Context};
use quiescent_engine::offload::{self, Call, GroupId};
use quiescent_engine::polled::FullCookie;
use quiescent_engine::pool::TurnId;
use quiescent_engine::pressure::Low;
use quiescent_engine::report::{HurryAnswer, QsReported};
use quiescent_engine::seq::Seq;
use quiescent_engine::takeover::Look;
use quiescent_engine::tick::{At, Ticked};

/// One call of the engine. Calls that are not about a CPU's callbacks or the barrier are calls of
/// [`Global`](quiescent_engine::Global).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "each variant is the method of the same name, with its parameters"
)]
#[allow(
    clippy::large_enum_variant,
    reason = "most inputs of a record are reports of all lanes"
)]
pub enum Input {
    WaitForGp {
        leaf: LeafId,
        expedited: bool,
    },
    SoleGp {
        cpu: Option<CpuId>,
        expedited: bool,
    },
    StartPoll {
        leaf: LeafId,
    },
    TryDrive {
        cpu: Option<CpuId>,
        interest: Interest,
    },
    Step {
        now: Now,
    },
    Fenced,
    Flagged {
        newly: u32,
    },
    Leave,
    TakeOver {
        cpu: Option<CpuId>,
        interest: Interest,
        now_ns: u64,
        sleeping: bool,
    },
    Resume {
        epoch: u32,
    },
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
    Arm {
        deadline_ns: u64,
    },
    Disarm,
    SetBudget {
        bytes: u64,
        count: u64,
    },
    SweepsAll,
    CallsOverflow,
    StandDown {
        idle: bool,
    },
    SetWorkers {
        workers: u32,
    },
    FenceEnded {
        took_ns: u64,
        now_ns: u64,
    },
    SetFlushTimes {
        lazy_ns: u64,
        prompt_ns: u64,
    },
    SetDrained {
        drained: bool,
    },
    MemoryLow {
        now: Now,
    },
    TakePressure {
        now: Now,
    },
    Calm,
    SetFqsWaits {
        first: u64,
        next: u64,
    },
    ForceQs,
    SetStallNs {
        ns: u64,
    },
    SetStallTimeout {
        seconds: u64,
    },
    ResetStalls,
    IrqWorkRan {
        cpu: CpuId,
    },
    /// A call about expedited grace periods.
    Exp(ExpInput),
    Forked,
    /// A call of this CPU.
    Cpu(CpuId, CpuInput),
    /// A call about offloading.
    Offload(OffloadInput),
    /// A call of the barrier.
    Barrier(BarrierInput),
}

/// One call of a [`Cpu`](quiescent_engine::Cpu); the global state and the barrier, where it takes them, are those
/// of its domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "each variant is the method of the same name, with its parameters"
)]
pub enum CpuInput {
    // Calls of a thread host.
    Refill {
        queued: [Queued; LANES],
        urgency: Urgency,
        now: Now,
    },
    Taken {
        queued: [Queued; LANES],
        cause: Cause,
        now: Now,
    },
    Admit {
        queued: [Queued; LANES],
        bytes: u64,
        now: Now,
    },
    Untold,
    Tell,
    TakeTurn {
        who: TurnId,
    },
    EndTurn {
        who: TurnId,
    },
    Advance,
    Extract {
        lane: Lane,
        max: u64,
    },
    Ran {
        lane: Lane,
        start: Pos,
        end: Pos,
    },
    Due {
        now: Now,
        low: bool,
    },
    Deadline,
    Retime {
        now_ns: u64,
    },
    Hurry,
    VisitBarrier,
    Forked {
        queued: [Queued; LANES],
        run_code: bool,
        now: Now,
    },
    // Calls of a kernel.
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
    BarrierShareDone,
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
    /// [`Shrink::visit`](crate::offload::Shrink::visit) of a scan that continues.
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

/// One call of the [`Barrier`](crate::barrier::Barrier).
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
    Forked,
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
    Refill(Refill),
    /// Start and end of a range of positions.
    Range(Pos, Pos),
    Deadline(Option<u64>),
    Due(Option<Cause>),
    Low(Low),
    Count(u64),
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
    Sole(Option<Published>),
    Look(Look),
    /// A call about callbacks was given to a [`Global`](quiescent_engine::Global) alone. No call returns this.
    Elsewhere,
}

/// An answer of the host to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each variant is the question of the same name")]
pub enum Answer {
    Cpus(u32),
    Observe(CpuId, Seen),
    Present(LeafId, u64),
    Occupied(usize, u64),
    OwnQuiescent(CpuId, bool),
    NohzFull(CpuId, bool),
    OwedCallbacks(CpuId, u64),
}
