//! The tunables, with a kernel's names and defaults.

use crate::periods::geometry::GeometryParams;
use crate::periods::limits::Limits;

mod cpu;

pub use cpu::{Escalation, FastNoHz, IdleRule, Offload, Policy, TickSettings};

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

/// Every tunable of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Shape of the tree.
    pub geometry: GeometryParams,
    /// The early report.
    pub early_qs: EarlyQs,
    /// `jiffies_till_first_fqs`: ticks before the first scan.
    pub first_fqs: u64,
    /// `jiffies_till_next_fqs`: ticks between later scans, at least 1.
    pub next_fqs: u64,
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
    /// How holdouts are pressed; `None` for hosts that cannot.
    pub escalation: Option<Escalation>,
    /// Rules of the tick.
    pub tick: TickSettings,
    /// The rule for an idle CPU with callbacks.
    pub idle: IdleRule,
    /// Batches and floods of callbacks.
    pub limits: Limits,
    /// Offloaded and lazy callbacks.
    pub offload: Offload,
}

impl Config {
    /// The defaults of Linux 6.12 for `nr_cpus` CPUs at `hz` ticks a second, with
    /// `rcu_normal_wake_from_gp` on.
    ///
    /// Both waits are `1 + (hz > 250) + (hz > 500) + nr_cpus / 256` ticks.
    pub const fn kernel_6_12(nr_cpus: u32, hz: u32) -> Config {
        let ticks = 1 + (hz > 250) as u64 + (hz > 500) as u64 + (nr_cpus / 256) as u64;
        Config {
            geometry: GeometryParams {
                leaf_fanout: 16,
                inner_fanout: 64,
                exact: false,
            },
            early_qs: EarlyQs::Off,
            first_fqs: ticks,
            next_fqs: ticks,
            direct_wakes_max: 5,
            wait_markers: 5,
            wait_latch: None,
            accelerate_only_new: true,
            escalation: Some(Escalation::kernel_6_12(hz)),
            tick: TickSettings::kernel_6_12(),
            idle: IdleRule::Tick,
            limits: Limits::kernel_6_12(),
            offload: Offload::kernel_6_12(hz),
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
            let Config {
                first_fqs,
                next_fqs,
                ..
            } = Config::kernel_6_12(nr, hz);
            assert_eq!((first_fqs, next_fqs), (want, want), "hz {hz}, {nr} CPUs");
        }
    }
}
