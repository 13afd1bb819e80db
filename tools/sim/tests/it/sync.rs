//! `synchronize_rcu` on idle machines: how many waits it takes, and how long that is.
//!
//! The figures are those of a real kernel on which only one CPU executed at a time
//! (`data/kernel-measurements.json`); the closed forms are in ticks: `F * (j + 1)`, and two ticks more where
//! a callback wakes the caller.

use quiescent_kernel::EarlyQs;
use quiescent_sim::{Hog, IdleLoop, Machine, Options, Smp, Stats, Steps};

const CALLS: u64 = 100;

fn run(options: &Options, caller: u32, hog: Option<u32>) -> Stats {
    let mut machine = Machine::new(options.clone());
    machine.spawn("caller", caller, 500_000, Steps::caller(CALLS, 0));
    if let Some(cpu) = hog {
        machine.spawn("hog", cpu, 0, Hog);
    }
    let most = 100 * (CALLS + 2) * options.jiffy_ns();
    machine.run(most);
    let stats = machine.stats();
    assert_eq!(stats.calls.len() as u64, CALLS);
    stats
}

/// The mean in ticks, the first call left out: it begins anywhere within a tick.
fn ticks(options: &Options, caller: u32) -> f64 {
    let stats = run(options, caller, None);
    let later = &stats.calls[1..];
    let total: u64 = later.iter().map(|call| call.end - call.start).sum();
    total as f64 / later.len() as f64 / options.jiffy_ns() as f64
}

fn machines() -> impl Iterator<Item = Options> {
    let loops = [IdleLoop::Classic, IdleLoop::Retain];
    let smps = [Smp::Serial, Smp::Parallel];
    [(2, 1000), (8, 1000), (8, 250), (40, 1000)]
        .into_iter()
        .flat_map(move |size| loops.map(move |idle_loop| (size, idle_loop)))
        .flat_map(move |(size, idle_loop)| smps.map(move |smp| (size, idle_loop, smp)))
        .flat_map(|(size, idle_loop, smp)| [1, 3, 8, 32].map(move |j| (size, idle_loop, smp, j)))
        .map(|((cpus, hz), idle_loop, smp, j)| Options {
            idle_loop,
            smp,
            first_fqs: Some(j),
            next_fqs: Some(j),
            ..Options::kernel_6_12(cpus, hz)
        })
}

/// Waits that a grace period takes on an idle machine whose caller is not on the grace-period thread's CPU.
fn waits(options: &Options) -> u64 {
    let by_softirq = options.nocbs.is_empty() && !options.wake_from_gp;
    let remote = options.idle_loop == IdleLoop::Classic && by_softirq;
    match options.early_qs {
        EarlyQs::Off if remote => 2,
        _ => 1,
    }
}

fn expected(options: &Options, waits: u64) -> f64 {
    let j = options.first_fqs.expect("every machine here sets it");
    let by_softirq = options.nocbs.is_empty() && !options.wake_from_gp;
    (waits * (j + 1) + 2 * u64::from(by_softirq)) as f64
}

#[test]
fn the_number_of_waits_is_the_measured_one() {
    for base in machines() {
        for nocbs in [false, true] {
            for early_qs in [EarlyQs::Off, EarlyQs::Init] {
                for wake_from_gp in [false, true] {
                    let options = Options {
                        early_qs,
                        wake_from_gp,
                        nocbs: (0..base.cpus).filter(|_| nocbs).collect(),
                        ..base.clone()
                    };
                    for caller in [0, 1] {
                        let waits = if caller == options.gp_cpu {
                            1
                        } else {
                            waits(&options)
                        };
                        let (got, want) = (ticks(&options, caller), expected(&options, waits));
                        // With waits of one tick CPUs that retain theirs still tick when the timer is due:
                        // where CPUs are serial chance decides whether that is noticed in time.
                        let late = options.smp == Smp::Serial
                            && options.idle_loop == IdleLoop::Retain
                            && options.first_fqs == Some(1);
                        let most = want * if late { 1.6 } else { 1.001 };
                        assert!(
                            (0.999 * want..most).contains(&got),
                            "{got} and not {want}, caller on {caller}: {options:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_grace_periods_themselves_show_the_waits_and_who_was_in_the_way() {
    let options = Options {
        smp: Smp::Serial,
        ..Options::kernel_6_12(8, 1000)
    };
    let stats = run(&options, 1, None);
    assert!(stats.grace_periods.iter().all(|gp| gp.scans == 2));
    assert!(
        stats
            .grace_periods
            .iter()
            .all(|gp| gp.holdouts == [options.gp_cpu])
    );
    let early = Options {
        early_qs: EarlyQs::Init,
        ..options.clone()
    };
    let stats = run(&early, 1, None);
    assert!(
        stats
            .grace_periods
            .iter()
            .all(|gp| gp.scans == 1 && gp.holdouts.is_empty())
    );
}

#[test]
fn a_busy_cpu_takes_every_timer_and_so_costs_a_wait() {
    // It ticks for good: the grace-period thread's timer is never taken on the thread's own CPU.
    let options = Options {
        wake_from_gp: true,
        ..Options::kernel_6_12(4, 1000)
    };
    let scans = |options: &Options| {
        let stats = run(options, 1, Some(3));
        let gps = &stats.grace_periods[1..];
        gps.iter().map(|gp| u64::from(gp.scans)).sum::<u64>() as f64 / gps.len() as f64
    };
    assert!(scans(&options) > 1.9, "{}", scans(&options));
    let early = Options {
        early_qs: EarlyQs::Init,
        ..options.clone()
    };
    assert!(scans(&early) < 1.1, "{}", scans(&early));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let options = Options::kernel_6_12(8, 1000);
    assert_eq!(run(&options, 1, Some(2)), run(&options, 1, Some(2)));
}

#[test]
fn a_caller_that_is_woken_comes_before_a_program_that_gave_way() {
    // Both CPUs compute, and thread, caller and a program share one of them: each CPU reports by itself in
    // two ticks.
    let options = Options {
        wake_from_gp: true,
        ..Options::kernel_6_12(2, 250)
    };
    let mut machine = Machine::new(options.clone());
    for cpu in 0..2 {
        machine.spawn_endless("hog", cpu, 0, Hog);
    }
    machine.spawn("caller", options.gp_cpu, 500_000, Steps::caller(CALLS, 0));
    assert!(machine.run_tasks(10_000_000_000));
    let later = &machine.stats().calls[1..];
    let total: u64 = later.iter().map(|call| call.end - call.start).sum();
    let ticks = total as f64 / later.len() as f64 / options.jiffy_ns() as f64;
    assert!((ticks / 2.0 - 1.0).abs() < 0.01, "{ticks}");
}

#[test]
fn waits_are_limited_to_a_second_as_in_a_kernel() {
    let of = |hz, first, next| {
        let options = Options {
            first_fqs: Some(first),
            next_fqs: Some(next),
            ..Options::kernel_6_12(4, hz)
        };
        let mut machine = Machine::new(options);
        machine.spawn("caller", 1, 500_000, Steps::caller(1, 0));
        machine.run(60_000_000_000);
        machine.stats().grace_periods[0].end - machine.stats().grace_periods[0].start
    };
    for hz in [100, 1000] {
        let most = u64::from(hz);
        assert_eq!(of(hz, 5000, 5000), of(hz, most, most), "HZ={hz}");
        assert!(of(hz, most / 2, most / 2) < of(hz, most, most), "HZ={hz}");
    }
    assert_eq!(
        of(1000, 3, 0),
        of(1000, 3, 1),
        "the next scan is a tick later at least"
    );
}
