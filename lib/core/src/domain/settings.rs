//! Settings of one domain: flush times, budget, stall time, the thread that runs callbacks.
//!
//! A running program may change them.

use quiescent_engine::Config;

/// The settings of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The name in reports; empty for none.
    pub name: &'static str,
    /// The number in telemetry; all domains without a name share one.
    pub place: u32,
    /// Longest time until lazy callbacks are flushed, in nanoseconds.
    pub lazy_ns: u64,
    /// The same for prompt callbacks.
    pub prompt_ns: u64,
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// The budget in callbacks and objects.
    pub budget_count: u64,
    /// Time until a stall is reported, in nanoseconds; 0 for never.
    pub stall_ns: u64,
    /// Who runs and frees: bits, as below.
    pub(super) flags: u32,
}

/// Who runs code of the program: the destructors of retired values, or closures. A setting of a domain, or of
/// the process for its own.
///
/// | | code runs | for |
/// |---|---|---|
/// | `Owner` | in the thread that queued it, in later calls and at the end of sections | the lowest cost |
/// | `Worker` | on the library's worker thread | code that takes locks, or takes long |
/// | `Drained` | in the thread that calls `drain` or `drain_ready` | event loops |
///
/// What a quiet thread has left, code that hurries, and intrusive heads are always run by the worker, or
/// drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// The thread that queued it: one or two in each later call of `retire`, `store` or `defer`, or, for what
    /// it queues inside a section, at the end of its outermost one; never in a section or in other code that
    /// the library runs. The default for destructors.
    ///
    /// Closures are run so only where destructors are, too; otherwise by those who run the destructors.
    Owner,
    /// The worker, which the library starts when it first has work. The default for closures.
    Worker,
    /// The program, when it drains: closures **and** destructors, while either setting is this. The worker
    /// still starts grace periods, at the same times, and frees memory without destructors.
    Drained,
}

/// Owners run their own closures, as they do destructors.
pub const INLINE: u32 = 1;
/// Workers run destructors.
const WORKERS_RUN: u32 = 1 << 1;
/// Other threads reclaim what owners retire, unless an owner has set it otherwise.
pub const OFFLOAD: u32 = 1 << 2;
const CLOSURES_DRAINED: u32 = 1 << 3;
const DESTRUCTORS_DRAINED: u32 = 1 << 4;
/// Either: the program runs code itself, by draining.
pub const DRAINED: u32 = CLOSURES_DRAINED | DESTRUCTORS_DRAINED;
/// Any: other threads run destructors, not those that retire.
pub const OTHERS_RUN: u32 = WORKERS_RUN | DRAINED;

impl Settings {
    /// Those of a new domain with this number in telemetry.
    pub const fn new(config: &Config, place: u32) -> Settings {
        Settings {
            name: "",
            place,
            lazy_ns: config.defer.lazy_ns,
            prompt_ns: config.defer.prompt_ns,
            budget_bytes: config.budget.bytes,
            budget_count: config.budget.count,
            stall_ns: config.pace.stall_ns,
            flags: 0,
        }
    }

    /// Who runs closures.
    pub fn set_closures(&mut self, runner: Runner) {
        self.put([INLINE, 0, CLOSURES_DRAINED], runner as usize);
    }

    /// Who runs destructors.
    pub fn set_destructors(&mut self, runner: Runner) {
        self.put([0, WORKERS_RUN, DESTRUCTORS_DRAINED], runner as usize);
    }

    /// Whether other threads reclaim.
    pub fn set_offload(&mut self, offload: bool) {
        self.put([0, OFFLOAD], usize::from(offload));
    }

    /// One of these flags.
    fn put<const N: usize>(&mut self, flags: [u32; N], which: usize) {
        let others = self.flags & !flags.iter().fold(0, |all, flag| all | flag);
        self.flags = others | flags[which];
    }
}
