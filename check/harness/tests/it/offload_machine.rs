//! A kernel machine with offloaded CPUs, lazy callbacks, a barrier, toggling and hotplug, in a random order
//! with fixed seeds, under both policies. No callback is lost, runs twice, runs too early or out of order,
//! and no lazy callback waits longer than promised.

mod fifo;
mod machine;
mod rig;

use crate::chance::Random;
use quiescent_kernel::geometry::GeometryParams;
use quiescent_kernel::limits::Limits;
use quiescent_kernel::offload::{Offload, Policy};
use quiescent_kernel::{Config, EarlyQs};
use rig::{CPUS, Rig, Seldom};

/// Seconds are short: so many ticks.
const HZ: u32 = 10;

/// Six CPUs in three leaves; every time and every mark is small, so that all of them are reached.
fn config(random: &mut Random, policy: Policy) -> Config {
    let offload = match policy {
        Policy::Kernel612 => Offload::kernel_6_12(HZ),
        Policy::Quiescent => Offload::quiescent(HZ),
    };
    Config {
        geometry: GeometryParams {
            leaf_fanout: 2,
            inner_fanout: 2,
            exact: true,
        },
        early_qs: [EarlyQs::Off, EarlyQs::Scan, EarlyQs::Init][random.below(3)],
        limits: Limits {
            blimit: 2,
            qhimark: 6,
            qlowmark: 1,
            ..Limits::kernel_6_12()
        },
        offload: Offload {
            lazy_flush: 40,
            direct_limit: 2,
            stride: Some([2, 3, 6][random.below(3)]),
            poll: random.below(8) == 0,
            online_toggle: true,
            ..offload
        },
        ..Config::kernel_6_12(CPUS as u32, HZ)
    }
}

/// A run of so many actions, and then of what is left until nothing is pending.
fn run(seed: u64, policy: Policy, deeds: u32) -> Rig {
    let mut random = Random::new(seed);
    let config = config(&mut random, policy);
    let mut rig = Rig::new(config, random);
    for _ in 0..deeds {
        rig.deed();
        rig.check();
    }
    rig.settle();
    rig
}

fn random_runs(policy: Policy) {
    let mut sum = Seldom::default();
    for seed in 0..200 {
        sum.add(&run(seed, policy, 1500).seldom);
    }
    println!("{policy:?}: {sum:?}");
    for (name, count) in sum.named() {
        // Without a bypass nothing is flushed from it.
        let never = policy == Policy::Quiescent && name.starts_with("bypass");
        assert_eq!(count == 0, never, "{name}: {count}");
        assert!(
            never || count >= 30,
            "{name} is hardly ever reached: {count}"
        );
    }
}

#[test]
fn nothing_is_lost_early_late_or_out_of_order_as_6_12_does_it() {
    random_runs(Policy::Kernel612);
}

#[test]
fn nothing_is_lost_early_late_or_out_of_order_as_we_do_it() {
    random_runs(Policy::Quiescent);
}
