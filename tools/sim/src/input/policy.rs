//! The options of a machine of threads: the library's settings, and the costs of actions.

use quiescent_engine::Config;
use quiescent_engine::budget::Budget;
use quiescent_engine::credit::Defer;

/// The settings of a program that uses the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Prompt callbacks wait so long at most, in nanoseconds. (The time of lazy ones is
    /// [`lazy_flush_ms`](crate::Options).)
    pub prompt_ns: u64,
    /// So many callbacks of a lane make a batch.
    pub batch: u64,
    /// So many bytes do.
    pub batch_bytes: u64,
    /// Bytes that may be queued; `u64::MAX` for any.
    pub budget_bytes: u64,
    /// Callbacks that may be.
    pub budget_callbacks: u64,
    /// Others than its owner free what is retired.
    pub offload: bool,
    /// Readers that block a grace period for this number of nanoseconds are reported; 0: never.
    pub stall_ns: u64,
    /// The library's clock when the run begins, in nanoseconds; none: somewhere in a second, by chance.
    pub clock: Option<u64>,
    /// The costs of actions.
    pub prices: Prices,
}

/// Costs of actions, in nanoseconds: about what `bench sync`, `bench retire` and `bench trickle` show on a
/// machine of two processors. The cost of a fence decides how large batches are; no other count depends on
/// them but by the order of things within microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    /// A process-wide fence.
    pub fence: u64,
    /// From the wake-up of a thread until it runs.
    pub wake: u64,
    /// From the start of a thread until it runs.
    pub start: u64,
    /// A step of the engine.
    pub step: u64,
    /// A spin of a driver between two scans.
    pub spin: u64,
    /// A push, or the opening or closing of a section.
    pub push: u64,
    /// A trip to the queue's lock and the engine's.
    pub help: u64,
    /// Asking one thread for a fence, and answering.
    pub ask: u64,
}

impl Policy {
    /// The library's defaults.
    pub const fn default() -> Policy {
        let (defer, budget) = (Defer::threads(), Budget::threads());
        Policy {
            prompt_ns: defer.prompt_ns,
            batch: defer.batch,
            batch_bytes: defer.batch_bytes,
            budget_bytes: budget.bytes,
            budget_callbacks: budget.count,
            offload: false,
            stall_ns: quiescent_engine::stall::DEFAULT_NS,
            clock: None,
            prices: Prices {
                fence: 2000,
                wake: 50_000,
                start: 100_000,
                step: 50,
                spin: 300,
                push: 10,
                help: 250,
                ask: 100,
            },
        }
    }

    /// The engine's tunables.
    pub(crate) fn config(&self, lazy_ms: u64) -> Config {
        let mut config = Config::threads();
        config.pace.stall_ns = self.stall_ns;
        config.defer = Defer {
            batch: self.batch,
            batch_bytes: self.batch_bytes,
            ..config.defer
        }
        .with_lazy_ns(lazy_ms.saturating_mul(1_000_000))
        .with_prompt_ns(self.prompt_ns);
        config.budget.bytes = self.budget_bytes;
        config.budget.count = self.budget_callbacks;
        config
    }
}

impl Default for Policy {
    fn default() -> Policy {
        Policy::default()
    }
}
