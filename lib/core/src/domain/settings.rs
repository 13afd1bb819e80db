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

/// Owners run their own closures, as they do destructors.
pub const INLINE: u32 = 1;
/// The program runs the callbacks itself, by draining.
pub const DRAINED: u32 = 1 << 1;
/// Workers run destructors, not the threads that retire.
pub const WORKERS_RUN: u32 = 1 << 2;
/// Other threads reclaim what owners retire, unless an owner has set it otherwise.
pub const OFFLOAD: u32 = 1 << 3;

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

    pub fn put(&mut self, flag: u32, is_set: bool) {
        self.flags = if is_set {
            self.flags | flag
        } else {
            self.flags & !flag
        };
    }
}
