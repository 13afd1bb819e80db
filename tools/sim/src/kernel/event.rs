//! Events with a time of their own.

use quiescent_kernel::CpuId;

/// An event with a time of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A jiffy begins: every CPU with a running tick takes it.
    Jiffy,
    /// The CPU has done what it was doing, if this is still the same piece of work.
    Done { cpu: CpuId, work: u64 },
    /// An interrupt from another CPU arrives.
    Ipi { cpu: CpuId },
    /// A CPU goes offline, or comes back.
    Plug { cpu: CpuId, online: bool },
    /// A wake-up that was late arrives.
    Late { task: usize, waker: CpuId },
    /// A task's sleep ends: a high-resolution timer on the CPU.
    Alarm { cpu: CpuId, task: usize, round: u64 },
}
