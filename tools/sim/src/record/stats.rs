//! A run's statistics: grace periods, calls, callbacks by function, counters.

use std::collections::BTreeMap;

use quiescent_kernel::CpuId;

/// Ticks on CPUs of `nohz_full`, and what needed them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FullTicks {
    /// All of them.
    pub ticks: u64,
    /// Tasks took turns.
    pub sched: u64,
    /// A grace period waited.
    pub rcu: u64,
    /// An expedited one did.
    pub rcu_exp: u64,
}

/// A grace period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GracePeriod {
    /// When it started, in nanoseconds.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// Scans that it took.
    pub scans: u32,
    /// The holdouts after the first scan.
    pub holdouts: Vec<CpuId>,
}

/// A call of `synchronize_rcu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synchronized {
    /// When it was made, in nanoseconds.
    pub start: u64,
    /// When it returned.
    pub end: u64,
    /// The caller requested an expedited grace period, whichever it got.
    pub expedited: bool,
}

/// A callback's function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Func {
    /// Its name.
    pub name: String,
    /// Bytes that a callback of it holds.
    pub bytes: u64,
    /// Callbacks queued.
    pub queued: u64,
    /// Those of them that were queued to wait for company.
    pub lazily: u64,
    /// Those that ended the laziness of others, since they were not.
    pub broke: u64,
    /// Callbacks invoked.
    pub invoked: u64,
    /// Callbacks whose queueing mainline's `rcu_callback` event shows: not those that go to a bypass.
    pub shown: u64,
    /// Callbacks invoked while a reader of the events has such an entry for the function, as `rcutop` counts.
    pub shown_invoked: u64,
    /// How long each of those waited, in nanoseconds.
    pub delays: Vec<u64>,
}

/// Which events credited a CPU with a quiescent state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credits {
    /// A scan saw that it was, or had been, in an extended quiescent state.
    pub scan: u64,
    /// Its own report, from its soft interrupt.
    pub own: u64,
    /// The early report of the grace-period thread's own CPU.
    pub early: u64,
}

/// Times between a task's wake-ups, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Intervals {
    /// How many.
    pub count: u64,
    /// The shortest.
    pub min: u64,
    /// The longest.
    pub max: u64,
    /// All of them together.
    pub total: u64,
    /// When it was woken last.
    pub(crate) last: Option<u64>,
}

impl Intervals {
    pub(crate) fn woken(&mut self, now: u64) {
        if let Some(last) = self.last.replace(now) {
            let since = now - last;
            self.min = if self.count == 0 {
                since
            } else {
                self.min.min(since)
            };
            self.max = self.max.max(since);
            self.total += since;
            self.count += 1;
        }
    }
}

/// What callbacks hold that have not been invoked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Callbacks, and bytes, now.
    pub now: (u64, u64),
    /// The most of each at one time in the window.
    pub most: (u64, u64),
    /// Bytes times nanoseconds in the window.
    pub area: u128,
    pub(crate) since: u64,
}

impl Held {
    /// Time has passed, until `now`; only what lies in the window counts.
    pub(crate) fn pass(&mut self, now: u64, from: u64, until: u64) {
        let (start, end) = (self.since.max(from), now.min(until));
        if start < end {
            self.area += u128::from(self.now.1) * u128::from(end - start);
            self.most = (self.most.0.max(self.now.0), self.most.1.max(self.now.1));
        }
        self.since = now;
    }
}

/// Counters. Only ever grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Ticks that hit a CPU in the idle loop.
    pub idle_ticks: u64,
    /// All other ticks.
    pub busy_ticks: u64,
    /// Passes of the idle loop.
    pub idle_entries: u64,
    /// Expedited grace periods that ended.
    pub expedited: u64,
    /// Interrupts sent to other CPUs.
    pub ipis: u64,
    /// RCU's soft interrupts.
    pub softirqs: u64,
    /// Batches of callbacks.
    pub batches: u64,
    /// CPU time that RCU took, in nanoseconds: its threads with the switches to and from them, soft
    /// interrupts, callbacks, and locks of offloaded ones.
    pub rcu_ns: u64,
    /// Times that a CPU found a lock of offloaded callbacks held by another.
    pub lock_waits: u64,
    /// How long CPUs waited for such locks, in nanoseconds.
    pub lock_wait_ns: u64,
}

/// What a run has shown, within its window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The start of the counted time, in nanoseconds.
    pub from: u64,
    /// Until when.
    pub until: u64,
    /// Counters.
    pub totals: Totals,
    /// Grace periods that ended in it.
    pub grace_periods: Vec<GracePeriod>,
    /// Calls that returned in it.
    pub calls: Vec<Synchronized>,
    /// Calls of `rcu_barrier` that returned in it: from when until when, in nanoseconds.
    pub barriers: Vec<(u64, u64)>,
    /// By function.
    pub funcs: Vec<Func>,
    /// Wake-ups, by task.
    pub wakeups: Vec<(String, u64)>,
    /// Times between them, in the same order.
    pub intervals: Vec<Intervals>,
    /// Who credited each CPU.
    pub credits: Vec<Credits>,
    /// What callbacks hold.
    pub held: Held,
    /// How often each CPU was interrupted, and the longest time that it was in an interrupt and the soft
    /// interrupts after it, in nanoseconds.
    pub interruptions: Vec<(u64, u64)>,
    /// How many ticks CPUs that idled and owed callbacks halted until they looked at them again, and how
    /// often each number was.
    pub looks: BTreeMap<u64, u64>,
    /// Ticks on CPUs of `nohz_full`; none if there are no such CPUs.
    pub full: Option<FullTicks>,
    /// System calls that were entered in it and whose callbacks are followed, in the order of their numbers.
    pub syscalls: Vec<crate::record::syscalls::SysCall>,
    /// Idle states, if the machine has any.
    pub idled: Option<crate::idling::Idled>,
    /// Of a replay: how long before its end the input was over, in nanoseconds.
    pub uncovered: u64,
    /// The SRCU domain, if it was used.
    pub srcu: Option<SrcuStats>,
    /// Violations that the oracle counted. Anything but 0 is a bug.
    pub early: u64,
}

/// What the SRCU domain has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SrcuStats {
    /// Grace periods that ended in the window.
    pub grace_periods: Vec<GracePeriod>,
    /// Calls of `synchronize_srcu` that returned in it: from when until when, in nanoseconds.
    pub calls: Vec<(u64, u64)>,
    /// How often the end of a section woke the worker.
    pub reader_wakeups: u64,
    /// Since the start of the run: how often new sections were sent to the other count.
    pub turns: u64,
    /// Since the start of the run: grace periods that began while a section was open.
    pub spanned: u64,
}

/// Bytes that the statistics keep for each CPU.
pub(crate) const BYTES_PER_CPU: usize = size_of::<Credits>() + size_of::<(u64, u64)>();

impl Stats {
    /// A callback of this function was queued, or (`false`) is finished.
    fn holds(&mut self, now: u64, func: usize, more: bool) {
        self.held.pass(now, self.from, self.until);
        let bytes = self.funcs[func].bytes;
        let (count, held) = &mut self.held.now;
        if more {
            (*count, *held) = (*count + 1, *held + bytes);
        } else {
            (*count, *held) = (*count - 1, *held - bytes);
        }
    }

    /// A callback of this function is queued: the function's counts, if that counts.
    pub(crate) fn queued(&mut self, now: u64, func: usize) -> Option<&mut Func> {
        self.holds(now, func, true);
        let it = self.counts(now).then_some(&mut self.funcs[func])?;
        it.queued += 1;
        Some(it)
    }

    /// One that was queued then is invoked: the same.
    pub(crate) fn invoked(&mut self, now: u64, func: usize, queued: u64) -> Option<&mut Func> {
        self.holds(now, func, false);
        let it = self.counts(now).then_some(&mut self.funcs[func])?;
        it.invoked += 1;
        it.delays.push(now - queued);
        Some(it)
    }

    pub(crate) fn counts(&self, now: u64) -> bool {
        self.from <= now && now < self.until
    }

    /// Seconds of the window.
    pub fn seconds(&self) -> f64 {
        (self.until - self.from) as f64 / 1e9
    }

    /// Wake-ups of tasks whose name begins so.
    pub fn wakeups_of(&self, prefix: &str) -> u64 {
        let those = self.wakeups.iter().filter(|it| it.0.starts_with(prefix));
        those.map(|it| it.1).sum()
    }
}
