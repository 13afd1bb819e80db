//! A film of a run: spans that cover a part of it without a gap and without an overlap, for each CPU and for
//! the package.

use crate::base::span::Span;

/// What a CPU does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// A task of the workload, in user space or in the kernel.
    Task,
    /// The grace-period thread, and what works for it.
    GracePeriod,
    /// A thread of offloaded callbacks: `rcuog` or `rcuop`.
    Callbacks,
    /// RCU's soft interrupt, or `ksoftirqd`.
    Softirq,
    /// An interrupt, a tick, or the timers' soft interrupt.
    Interrupt,
    /// The scheduler, and the idle loop while it works.
    Scheduler,
    /// It leaves an idle state.
    Waking,
    /// It is in the idle state of this depth, from 1; where there is no table of them, in the only one.
    Idle(u8),
}

/// What was filmed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Film {
    /// From when, in nanoseconds.
    pub from: u64,
    /// Until when.
    pub until: u64,
    /// Of each CPU what it did, without gaps.
    pub cpus: Vec<Vec<Span<Doing>>>,
    /// Of each CPU its idle states' names, the shallowest first: `Idle(1)` is the first one.
    pub states: Vec<Vec<String>>,
    /// Where the package was; empty where there are no idle states.
    pub package: Vec<Span<u8>>,
    /// The names of its states, from state 0.
    pub package_states: Vec<String>,
}

impl Film {
    /// Nanoseconds that all CPUs together spent so.
    pub fn total(&self, is: impl Fn(Doing) -> bool) -> u64 {
        let all = self.cpus.iter().flatten().filter(|it| is(it.what));
        all.map(|it| it.until - it.from).sum()
    }

    /// Times that a CPU was woken.
    pub fn woken(&self) -> usize {
        let woken = |it: &&[Span<Doing>]| {
            let idle = |at: usize| matches!(it[at].what, Doing::Idle(_));
            idle(0) && !idle(1)
        };
        let of = |spans: &Vec<Span<Doing>>| spans.windows(2).filter(woken).count();
        self.cpus.iter().map(of).sum()
    }

    /// Nanoseconds that the package was in this state, or a deeper one.
    pub fn asleep(&self, depth: u8) -> u64 {
        let those = self.package.iter().filter(|it| it.what >= depth);
        those.map(|it| it.until - it.from).sum()
    }
}
