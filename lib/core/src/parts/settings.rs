//! Settings of one domain: flush times, budget, stall time, the thread that runs callbacks.

use quiescent_engine::Config;

use crate::parts::numbers::Numbers;
use crate::parts::stall::DEFAULT_NS;
use crate::queue::meter::UNNAMED;

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
    /// The program runs the callbacks itself, by draining.
    pub drained: bool,
    /// Workers run destructors, not the threads that retire.
    pub workers_run: bool,
    /// The counters of earlier owners of this memory.
    pub before: Numbers,
}

impl Settings {
    /// The settings of the process's domain at its start.
    pub const DEFAULT: Settings = {
        let config = Config::threads();
        Settings {
            name: "",
            place: UNNAMED,
            lazy_ns: config.defer.lazy_ns,
            prompt_ns: config.defer.prompt_ns,
            budget_bytes: config.budget.bytes,
            budget_count: config.budget.count,
            stall_ns: DEFAULT_NS,
            drained: false,
            workers_run: false,
            before: Numbers::ZERO,
        }
    };

    /// The same, for a domain with this number in telemetry.
    pub const fn default_at(place: u32) -> Settings {
        let mut settings = Settings::DEFAULT;
        settings.place = place;
        settings
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::DEFAULT
    }
}
