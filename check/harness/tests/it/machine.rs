//! A whole kernel machine in the test host: sections, ticks, soft interrupts, idle CPUs, floods, hotplug, and
//! escalation, in a random order with fixed seeds. No grace period is too short, and no callback is lost.

mod rig;

use crate::chance::Random;
use quiescent_kernel::fast_no_hz::{FastNoHz, IdleRule};
use quiescent_kernel::geometry::GeometryParams;
use quiescent_kernel::limits::Limits;
use quiescent_kernel::tick::Settings;
use quiescent_kernel::urgency::Escalation;
use quiescent_kernel::{Config, EarlyQs};
use rig::{CPUS, Rig, Seldom};

/// Seconds are short: so many ticks.
const HZ: u32 = 10;

/// Five CPUs in three leaves; every time and every mark is small, so that all of them are reached.
fn config(random: &mut Random) -> Config {
    let idle = [
        IdleRule::Tick,
        IdleRule::FastNoHz(FastNoHz::v5_6(HZ)),
        IdleRule::FastNoHz(FastNoHz::v5_10(HZ)),
    ];
    Config {
        geometry: GeometryParams {
            leaf_fanout: 2,
            inner_fanout: 2,
            exact: true,
        },
        early_qs: [EarlyQs::Off, EarlyQs::Scan, EarlyQs::Init][random.below(3)],
        escalation: Some(Escalation {
            sched_qs: Some(4),
            stall: 24,
            cpu_time: true,
            ..Escalation::kernel_6_12(HZ)
        }),
        tick: Settings {
            preemptible: random.below(2) == 0,
            patience: [0, 3][random.below(2)],
            ..Settings::kernel_6_12()
        },
        idle: idle[random.below(3)],
        limits: Limits {
            blimit: 2,
            qhimark: 6,
            qlowmark: 1,
            qovld: [0, 5][random.below(2)],
            ..Limits::kernel_6_12()
        },
        ..Config::kernel_6_12(CPUS as u32, HZ)
    }
}

/// A run of so many actions, and then of what is left until nothing is pending.
fn run(seed: u64, deeds: u32) -> Rig {
    let mut random = Random::new(seed);
    let config = config(&mut random);
    let mut rig = Rig::new(config, random);
    for _ in 0..deeds {
        rig.deed();
        rig.check();
    }
    rig.settle();
    rig
}

#[test]
fn no_grace_period_is_too_short_and_no_callback_is_lost() {
    let mut sum = Seldom::default();
    for seed in 0..400 {
        sum.add(&run(seed, 1500).seldom);
    }
    println!("{sum:?}");
    for (name, count) in sum.named() {
        assert!(count >= 30, "{name} is hardly ever reached: {count}");
    }
}
