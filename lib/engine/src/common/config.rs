//! The tunables.

mod threads;

pub use threads::{Budget, Defer, Pool};

/// The participants in grace periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Readers {
    /// Threads: each is in sections of its own, or outside.
    Cpus,
    /// Two counts of sections of all threads: 0 and 1 ([`indexed`](crate::indexed)).
    Indexed,
}

/// How a grace period waits for its holdouts: first scan at once, then spin, flag the holdouts, and sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pace {
    /// Processor relaxations a spin.
    pub spin: u32,
    /// Spins with a scan each before holdouts are flagged.
    pub spins_before_flag: u16,
    /// Spins with a scan each between flagging and the fence that precedes sleep.
    pub spins_after_flag: u16,
    /// Both counts are multiplied by this for an expedited waiter.
    pub expedited_factor: u16,
    /// A grace period with holdouts for this number of nanoseconds is reported as stalled
    /// ([`stall`](crate::stall)); 0: never.
    pub stall_ns: u64,
}

/// Every tunable of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The participants.
    pub readers: Readers,
    /// CPUs of a leaf, at most 64.
    pub leaf: u32,
    /// The waits for holdouts.
    pub pace: Pace,
    /// Waiters take the role of a driver that has made no call for this time ([`takeover`](crate::takeover)).
    pub takeover_after_ns: Option<u64>,
    /// When callbacks are flushed.
    pub defer: Defer,
    /// The invokers of callbacks.
    pub pool: Pool,
    /// The limits of what a domain may hold.
    pub budget: Budget,
}

impl Config {
    /// For threads.
    pub const fn threads() -> Config {
        Config {
            readers: Readers::Cpus,
            leaf: 64,
            pace: Pace {
                spin: 8,
                spins_before_flag: 12,
                spins_after_flag: 60,
                expedited_factor: 8,
                stall_ns: crate::common::stall::THREADS_NS,
            },
            takeover_after_ns: Some(100_000_000),
            defer: Defer::threads(),
            pool: Pool::threads(),
            budget: Budget::threads(),
        }
    }

    /// For counted sections, which may sleep.
    pub const fn sleepable() -> Config {
        Config {
            readers: Readers::Indexed,
            ..Config::threads()
        }
    }
}
