//! What a domain of the program's own may have otherwise than the others: how long things wait, how much it may hold, who invokes.

use crate::inner::domain::process::Core;
use crate::watch::stall::DEFAULT_NS;
use crate::watch::telemetry;

use quiescent_engine::{Config, Pace};

/// The policy of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    /// What reports call it; empty: nothing.
    pub(crate) name: &'static str,
    /// Its number in telemetry, where those without a name have one together.
    pub(crate) place: u32,
    pub(crate) lazy_ns: u64,
    pub(crate) prompt_ns: u64,
    pub(crate) budget_bytes: u64,
    pub(crate) budget_count: u64,
    pub(crate) stall_ns: u64,
    /// The program runs its code itself, when it drains.
    pub(crate) drained: bool,
}

impl Policy {
    /// That of the process's domain at its start.
    pub(crate) const DEFAULT: Policy = {
        let config = Config::threads();
        Policy {
            name: "",
            place: telemetry::UNNAMED,
            lazy_ns: config.defer.lazy_ns,
            prompt_ns: config.defer.prompt_ns,
            budget_bytes: config.budget.bytes,
            budget_count: config.budget.count,
            stall_ns: DEFAULT_NS,
            drained: false,
        }
    };

    /// What an engine has been told.
    pub(crate) fn of(core: &Core, drained: bool) -> Policy {
        let budget = core.engine.budget();
        Policy {
            budget_bytes: budget.bytes,
            budget_count: budget.count,
            drained,
            ..Policy::of_config(core.engine.config())
        }
    }

    /// That with which an engine starts.
    pub(crate) fn of_config(config: &Config) -> Policy {
        let stall_ns = match config.pace {
            Pace::Direct { stall_ns, .. } => stall_ns,
            _ => DEFAULT_NS,
        };
        Policy {
            lazy_ns: config.defer.lazy_ns,
            prompt_ns: config.defer.prompt_ns,
            budget_bytes: config.budget.bytes,
            budget_count: config.budget.count,
            stall_ns,
            ..Policy::DEFAULT
        }
    }

    /// Tells an engine. True: its worker is to look.
    pub(crate) fn tell(&self, core: &mut Core) -> bool {
        core.set_flush_times(self.lazy_ns, self.prompt_ns);
        core.set_stall_ns(self.stall_ns);
        core.set_drained(self.drained);
        core.set_budget(self.budget_bytes, self.budget_count)
    }
}
