//! The options of a machine of threads: the library's settings, and the costs of actions.

use crate::base::described;
use quiescent_engine::Config;
use quiescent_engine::budget::Budget;
use quiescent_engine::credit::Defer;

described! {
    /// The settings of a program that uses the library.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Policy {
        /// Prompt callbacks wait so long at most for company (the library's set_flush_times).
        pub prompt_ns: u64 = Defer::threads().prompt_ns,
        /// So many callbacks of a lane make a batch.
        pub batch: u64 = Defer::threads().batch,
        /// So many bytes make one.
        pub batch_bytes: u64 = Defer::threads().batch_bytes,
        /// So much may be queued (the library's set_budget).
        pub budget_bytes: u64 = Budget::threads().bytes,
        /// So many callbacks may be.
        pub budget_callbacks: u64 = Budget::threads().count,
        /// The worker frees what threads retire, and not they (the library's set_on_worker).
        pub offload: bool = false,
        /// A reader that blocks a grace period for so long is reported; 0s: never.
        pub stall_ns: u64 = quiescent_engine::stall::DEFAULT_NS,
        /// What the monotonic clock shows at the beginning: deadlines lie on its whole seconds; `any`: drawn
        /// from the seed.
        pub clock: Option<u64> = None,
        /// The costs of actions.
        pub prices: Prices = Prices::defaults(),
    }
}

described! {
    /// Costs of actions, in nanoseconds: about what `bench sync`, `bench retire` and `bench trickle` show on
    /// a machine of two processors. The cost of a fence decides how large batches are; no other count depends
    /// on them but by the order of things within microseconds.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Prices {
        /// A process-wide fence.
        pub fence: u64 = 2000,
        /// From the wake-up of a thread until it runs.
        pub wake: u64 = 50_000,
        /// From the start of a thread until it runs.
        pub start: u64 = 100_000,
        /// A step of a grace period.
        pub step: u64 = 50,
        /// A spin of a driver between two scans.
        pub spin: u64 = 300,
        /// A push, or one end of a section.
        pub push: u64 = 10,
        /// A trip of an owner to the locks.
        pub help: u64 = 250,
        /// Asking a thread for a fence, or answering.
        pub ask: u64 = 100,
    }
}

impl Policy {
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
        Policy::defaults()
    }
}
