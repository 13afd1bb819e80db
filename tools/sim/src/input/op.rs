//! The steps of tasks, and the trait of a workload's task.

use quiescent_kernel::CpuId;

/// What a task does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// It computes for so many nanoseconds, in user space.
    Compute(u64),
    /// It is in the kernel for so many nanoseconds.
    Kernel(u64),
    /// It queues a callback.
    Call(Queued),
    /// It queues a callback, interrupts enabled, and waits until that has been invoked.
    AwaitCallback(Queued),
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
    /// It does this with the SRCU domain.
    Srcu(SrcuOp),
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
    /// It has a CPU's callbacks offloaded, if that can be done now; as a CPU of `nocbs` that is offline and
    /// has none, or, with `online_toggle`, online.
    Offload(CpuId),
    /// It has the CPU look after its callbacks itself again, under the same conditions.
    Deoffload(CpuId),
    /// Memory runs low: so many lazy callbacks are flushed, or a few more.
    Shrink(u64),
    /// Memory is looked at: if callbacks hold more than so much of it, it runs low, and so many lazy ones are
    /// flushed.
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

/// A callback that is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Its function: an index that [`Machine::func`](crate::Machine::func) gave.
    pub func: usize,
    /// Without a waiter, or as if it had none.
    pub lazy: bool,
    /// Interrupts are enabled where it is queued, so that threads can be woken from there.
    pub can_wake: bool,
}

impl Queued {
    /// A lazy callback of this function, queued where threads can be woken.
    pub const fn of(func: usize) -> Queued {
        Queued {
            func,
            lazy: true,
            can_wake: true,
        }
    }

    /// The same callback, lazy or not.
    pub const fn lazy(self, lazy: bool) -> Queued {
        Queued { lazy, ..self }
    }
}

/// What a task does with the SRCU domain, whose sections may sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SrcuOp {
    /// It opens a section.
    Lock,
    /// It closes the one that it has opened last.
    Unlock,
    /// It waits for a grace period.
    Synchronize,
    /// It queues a callback of this function.
    Call(usize),
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

/// What some steps of a task are instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instead {
    /// Sections, waits and callbacks of SRCU.
    Srcu,
    /// A wait for an expedited grace period, where it waits for a normal one.
    Expedited,
    /// A wait for all callbacks, where it waits for a grace period.
    Barrier,
}

/// Work some of whose steps are others.
pub(crate) struct Changed<W>(pub W, pub Instead);

impl<W: Work> Work for Changed<W> {
    fn next(&mut self, now: u64) -> Op {
        match (self.1, self.0.next(now)) {
            (Instead::Srcu, Op::Lock) => Op::Srcu(SrcuOp::Lock),
            (Instead::Srcu, Op::Unlock) => Op::Srcu(SrcuOp::Unlock),
            (Instead::Srcu, Op::Synchronize) => Op::Srcu(SrcuOp::Synchronize),
            (Instead::Srcu, Op::Call(it)) => Op::Srcu(SrcuOp::Call(it.func)),
            (Instead::Expedited, Op::Synchronize) => Op::SynchronizeExpedited,
            (Instead::Barrier, Op::Synchronize) => Op::Barrier,
            (_, op) => op,
        }
    }
}

/// A system call by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SysCallName {
    /// `close(fd)`: drops the descriptor, and with the last one the file.
    Close,
}

impl SysCallName {
    /// Its number on x86-64, as `raw_syscalls` events have it.
    pub const fn number(self) -> u32 {
        match self {
            SysCallName::Close => 3,
        }
    }
}
