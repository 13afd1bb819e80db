//! Callbacks over the whole engine: lists on several CPUs, the grace-period thread, CPUs that come and go,
//! and barriers. The order is random, with fixed seeds.

mod rig;

use quiescent_kernel::geometry::GeometryParams;
use quiescent_kernel::limits::{Context, Limits};
use quiescent_kernel::{Config, Phase};
use rig::{Rig, Seldom};

/// Four CPUs in two leaves below a root; small batches, and a flood is so many callbacks.
fn config(only_new: bool, qhimark: u64) -> Config {
    let geometry = GeometryParams {
        leaf_fanout: 2,
        inner_fanout: 2,
        exact: true,
    };
    Config {
        geometry,
        accelerate_only_new: only_new,
        limits: Limits {
            blimit: 2,
            qhimark,
            qlowmark: 1,
            ..Limits::kernel_6_12()
        },
        ..Config::kernel_6_12(4, 1000)
    }
}

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n) as usize
    }
}

/// One run of so many actions, and then of what is left until nothing is pending.
fn run(seed: u64, actions: u32, only_new: bool) -> Seldom {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut rig = Rig::new(4, config(only_new, [5, 10_000][random.below(2)]));
    // Some runs are slow to drive, or to notice, or queue little, so that other orders occur.
    let (drives, looks) = (1 + random.below(6), 1 + random.below(6));
    let (calls, sweeps) = (1 + random.below(8) as u64, 1 + random.below(6));
    for _ in 0..actions {
        let (cpu, other) = (random.below(4), random.below(4));
        match random.below(24) {
            0 | 1 => rig.enter(cpu),
            2..=4 => rig.exit(cpu),
            5..=7 if random.below(calls) == 0 => rig.call(cpu),
            8 | 9 => (0..looks).for_each(|_| rig.tick(random.below(4))),
            10 => rig.core(cpu),
            11 => rig.report(cpu),
            12 => rig.begin_batch(cpu, Context::Softirq),
            13..=15 => rig.invoke(cpu),
            16 => rig.end_batch(cpu),
            17 if random.below(2) == 0 => rig.hotplug(cpu, other),
            18 if random.below(4) == 0 => rig.call_barrier(),
            19 => (0..sweeps).for_each(|_| {
                rig.step_barrier();
                rig.check();
            }),
            _ => (0..drives).for_each(|_| rig.drive()),
        }
        let flooded = rig.cpus.iter().any(|cpu| cpu.batch().is_flooded());
        rig.seldom.flooded += u32::from(flooded);
        rig.check();
    }
    rig.settle(if only_new { 5 } else { 8 });
    rig.seldom
}

fn add(sum: &mut Seldom, one: Seldom) {
    sum.adopted_in_gp += one.adopted_in_gp;
    sum.adopted_in_barrier += one.adopted_in_barrier;
    sum.barriers += one.barriers;
    sum.covered += one.covered;
    sum.outlived += one.outlived;
    sum.no_slot += one.no_slot;
    sum.put_back += one.put_back;
    sum.useless += one.useless;
    sum.flooded += one.flooded;
}

#[test]
fn no_callback_is_ready_too_early_and_none_is_lost() {
    for only_new in [true, false] {
        let mut sum = Seldom::default();
        for seed in 0..300 {
            add(&mut sum, run(seed, 400, only_new));
        }
        // The runs reached the states that matter.
        println!("only new {only_new}: {sum:?}");
        assert!(sum.adopted_in_gp > 100 && sum.adopted_in_barrier > 20);
        assert!(sum.barriers.min(sum.outlived) > 100 && sum.covered > 20);
        assert!(sum.no_slot.min(sum.put_back).min(sum.flooded) > 50);
        assert_eq!(sum.useless > 20, !only_new, "{sum:?}");
    }
}

/// One callback, while all CPUs make passes all the time.
fn one_callback(only_new: bool) -> u64 {
    let mut rig = Rig::new(4, config(only_new, 10_000));
    rig.call(1);
    rig.settle(10);
    rig.host.engine().counts().grace_periods
}

#[test]
fn a_callback_costs_one_grace_period_and_before_2020_two() {
    assert_eq!(one_callback(true), 1);
    assert_eq!(one_callback(false), 2);
}

#[test]
fn callbacks_queued_at_any_time_in_a_grace_period_share_the_next() {
    let phases = [Phase::Fence, Phase::Init(2), Phase::Cleanup(0), Phase::End];
    for phase in phases {
        let mut rig = Rig::new(4, config(true, 10_000));
        rig.call(0);
        rig.core(0);
        assert!(rig.host.run_until(phase, 200), "{phase:?}");
        for cpu in 0..4 {
            rig.call(cpu);
            rig.core(cpu);
            rig.check();
        }
        rig.settle(3);
        let grace_periods = rig.host.engine().counts().grace_periods;
        // A CPU that has not noticed the start of the first grace period has its callbacks stamped one pass
        // later.
        assert!(
            (2..=3).contains(&grace_periods),
            "{phase:?}: {grace_periods}"
        );
    }
}

#[test]
fn with_nothing_queued_a_barrier_is_over_at_once_and_no_grace_period_runs() {
    let mut rig = Rig::new(4, config(true, 10_000));
    rig.call_barrier();
    for _ in 0..7 {
        rig.step_barrier(); // start, four visits, the guard, the end
        rig.check();
    }
    assert_eq!(rig.seldom.barriers, 1);
    assert_eq!(rig.host.engine().counts().grace_periods, 0);
}
