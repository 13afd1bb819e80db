//! Tunables: the kernel's, with its names and defaults, for a modelled machine, and the thread host's policy,
//! in one type, so that one engine can run both.

use crate::common::geometry::GeometryParams;
use crate::common::limits::Limits;

mod kernel;
mod threads;

pub use kernel::{Escalation, FastNoHz, IdleRule, Offload, Policy, TickSettings};
pub use threads::{Budget, Defer, Pool};

/// When the CPU that runs the grace period reports its own quiescent state (`early_qs`).
///
/// The scan can never find that CPU idle, because it runs the scan; without an early report an otherwise idle
/// machine needs a second wait for it alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EarlyQs {
    /// Never: as in kernels until 2026.
    Off,
    /// At the first force-quiescent-state scan (the first published version).
    Scan,
    /// At the end of grace-period initialisation (the second version).
    Init,
}

/// The participants in grace periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Readers {
    /// CPUs: each is in sections of its own, or outside.
    Cpus,
    /// Two counts of sections of all threads: 0 and 1 ([`indexed`](crate::indexed)).
    Indexed,
}

/// How a grace period waits for its holdouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pace {
    /// A grace-period thread sleeps whole ticks between scans.
    Jiffies {
        /// `jiffies_till_first_fqs`: ticks before the first scan.
        first_fqs: u64,
        /// `jiffies_till_next_fqs`: ticks between later scans, at least 1.
        next_fqs: u64,
    },
    /// The caller drives: first scan at once, then spin, flag the holdouts, and sleep.
    Direct {
        /// Processor relaxations a spin.
        spin: u32,
        /// Spins with a scan each before holdouts are flagged.
        spins_before_flag: u16,
        /// Spins with a scan each between flagging and the fence that precedes sleep.
        spins_after_flag: u16,
        /// Both counts are multiplied by this for an expedited waiter.
        expedited_factor: u16,
        /// A grace period with holdouts for this number of nanoseconds is reported as stalled
        /// ([`stall`](crate::stall)); 0: never.
        stall_ns: u64,
    },
}

/// Every tunable of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The participants.
    pub readers: Readers,
    /// Shape of the tree.
    pub geometry: GeometryParams,
    /// The early report.
    pub early_qs: EarlyQs,
    /// The waits for holdouts.
    pub pace: Pace,
    /// A grace period whose only participant is the driver itself needs no fence. Sound only where an
    /// arriving CPU executes a full fence after it becomes present and before it reads.
    pub sole_needs_no_fence: bool,
    /// Waiters take the role of a driver that has made no call for this time ([`takeover`](crate::takeover)).
    /// `None`: never, as in a kernel, which has a thread for driving.
    pub takeover_after_ns: Option<u64>,
    /// A grace period skips nodes without occupied leaves below, and a scan visits only leaves that still
    /// owe. A kernel visits every node.
    pub skip_empty: bool,
    /// The largest number of `synchronize_rcu` waiters woken directly from the grace period; a work item
    /// wakes the rest (the kernel: 5).
    pub direct_wakes_max: u32,
    /// Segments of satisfied waiters that may await that work item (the kernel: 5 marker nodes).
    pub wait_markers: u8,
    /// So many `synchronize_rcu` waiters at once set a latch: new callers wait for a callback until none of
    /// them is left (Linux 7.2: 64). `None`: no latch.
    pub wait_latch: Option<u32>,
    /// Stamping requests a grace period only if a queued callback needs it. Off: as kernels before 2020,
    /// which started unneeded grace periods.
    pub accelerate_only_new: bool,
    /// How a kernel presses holdouts; `None` for hosts that cannot.
    pub escalation: Option<Escalation>,
    /// Rules of a kernel's tick.
    pub tick: TickSettings,
    /// The rule for a kernel's idle CPU with callbacks.
    pub idle: IdleRule,
    /// Batches and floods of callbacks.
    pub limits: Limits,
    /// Offloaded and lazy callbacks of a kernel.
    pub offload: Offload,
    /// The thread host's policy for callbacks.
    pub defer: Defer,
    /// The invokers of callbacks in the thread host.
    pub pool: Pool,
    /// The limits of what a domain of the thread host may hold.
    pub budget: Budget,
}

impl Config {
    /// The defaults of Linux 6.12 for `nr_cpus` CPUs at `hz` ticks a second, with
    /// `rcu_normal_wake_from_gp` on.
    ///
    /// Both waits are `1 + (hz > 250) + (hz > 500) + nr_cpus / 256` ticks.
    pub const fn kernel_6_12(nr_cpus: u32, hz: u32) -> Config {
        let ticks = 1 + (hz > 250) as u64 + (hz > 500) as u64 + (nr_cpus / 256) as u64;
        Config {
            readers: Readers::Cpus,
            geometry: GeometryParams {
                leaf_fanout: 16,
                inner_fanout: 64,
                exact: false,
            },
            early_qs: EarlyQs::Off,
            pace: Pace::Jiffies {
                first_fqs: ticks,
                next_fqs: ticks,
            },
            sole_needs_no_fence: false,
            takeover_after_ns: None,
            skip_empty: false,
            direct_wakes_max: 5,
            wait_markers: 5,
            wait_latch: None,
            accelerate_only_new: true,
            escalation: Some(Escalation::kernel_6_12(hz)),
            tick: TickSettings::kernel_6_12(),
            idle: IdleRule::Tick,
            limits: Limits::kernel_6_12(),
            offload: Offload::kernel_6_12(hz),
            defer: Defer::threads(),
            pool: Pool::threads(),
            budget: Budget::none(),
        }
    }

    /// The policy of the thread host: a CPU is a registered thread, the first scan follows initialisation at
    /// once, and the only fence is one membarrier a grace period.
    ///
    /// Full leaves of 64 (`exact`), so that a leaf is one word of the host's bitmap and the tree can grow
    /// without moving a CPU. The spin counts were chosen for this host: about the cost of going to sleep and
    /// being woken.
    pub const fn threads() -> Config {
        Config {
            readers: Readers::Cpus,
            geometry: GeometryParams {
                leaf_fanout: 64,
                inner_fanout: 64,
                exact: true,
            },
            early_qs: EarlyQs::Off,
            pace: Pace::Direct {
                spin: 8,
                spins_before_flag: 12,
                spins_after_flag: 60,
                expedited_factor: 8,
                stall_ns: crate::common::stall::THREADS_NS,
            },
            sole_needs_no_fence: true,
            takeover_after_ns: Some(100_000_000),
            skip_empty: true,
            direct_wakes_max: u32::MAX,
            wait_markers: 1,
            wait_latch: None,
            accelerate_only_new: true,
            escalation: None,
            tick: TickSettings::kernel_6_12(),
            idle: IdleRule::Tick,
            limits: Limits::kernel_6_12(),
            offload: Offload::quiescent(1000),
            defer: Defer::threads(),
            pool: Pool::threads(),
            budget: Budget::threads(),
        }
    }

    /// The policy of the thread host where readers may sleep, and end a section on another thread than the
    /// one that opened it: as [`threads`](Config::threads), with two counts of sections in place of the
    /// threads ([`indexed`](crate::indexed)).
    pub const fn sleepable() -> Config {
        Config {
            readers: Readers::Indexed,
            // Both counts always take part; presence is queried only to decide about the fence.
            skip_empty: false,
            ..Config::threads()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_waits_follow_the_table() {
        for (hz, nr, want) in [
            (100, 8, 1),
            (250, 8, 1),
            (300, 8, 2),
            (500, 8, 2),
            (501, 8, 3),
            (1000, 8, 3),
            (1000, 255, 3),
            (1000, 512, 5),
        ] {
            let Pace::Jiffies {
                first_fqs,
                next_fqs,
            } = Config::kernel_6_12(nr, hz).pace
            else {
                panic!("a kernel waits in ticks");
            };
            assert_eq!((first_fqs, next_fqs), (want, want), "hz {hz}, {nr} CPUs");
        }
    }
}
