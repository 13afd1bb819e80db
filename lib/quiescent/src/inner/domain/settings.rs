//! What a domain may have otherwise than the others: how long things wait, how much it may hold, who runs code.

use quiescent_engine::Config;

use crate::inner::domain::numbers::Numbers;
use crate::inner::domain::state::State;
use crate::inner::prim::Ordering;
use crate::watch::stall::DEFAULT_NS;
use crate::watch::telemetry;

/// The settings of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
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
    /// What its memory had done for earlier owners.
    pub(crate) before: Numbers,
}

impl Settings {
    /// Those of the process's domain at its start.
    pub(crate) const DEFAULT: Settings = {
        let config = Config::threads();
        Settings {
            name: "",
            place: telemetry::UNNAMED,
            lazy_ns: config.defer.lazy_ns,
            prompt_ns: config.defer.prompt_ns,
            budget_bytes: config.budget.bytes,
            budget_count: config.budget.count,
            stall_ns: DEFAULT_NS,
            drained: false,
            before: Numbers::ZERO,
        }
    };

    /// The same, for a domain with this number in telemetry.
    pub(crate) const fn default_at(place: u32) -> Settings {
        let mut settings = Settings::DEFAULT;
        settings.place = place;
        settings
    }

    /// Tells an engine. True: its worker is to look, or a driver that sleeps.
    pub(crate) fn tell(&self, state: &'static State) -> bool {
        state
            .drained
            .store(u32::from(self.drained), Ordering::Relaxed);
        state.set_place(self.place);
        let mut core = state.lock();
        core.set_flush_times(self.lazy_ns, self.prompt_ns);
        core.set_drained(self.drained);
        let asleep = core.set_stall_ns(self.stall_ns);
        let over = core.set_budget(self.budget_bytes, self.budget_count);
        state.show_level(&core);
        asleep | over
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::DEFAULT
    }
}
