//! Predictions for kernels whose latencies were measured elsewhere (`data/kernel-measurements.json`), by
//! placement.

use super::*;
use quiescent_sim::{IdleLoop, Smp};

const THIRD: &str = "another CPU busy";

fn facts(cpus: u32, hz: u32, j: u64, wake_from_gp: bool) -> Facts {
    Facts {
        list: Vec::new(),
        options: Options {
            first_fqs: Some(j),
            next_fqs: Some(j),
            wake_from_gp,
            ..Options::kernel_6_12(cpus, hz)
        },
        idle_loops: vec![IdleLoop::Classic],
        smps: vec![Smp::Parallel, Smp::Serial],
        cpus: (10..10 + cpus).collect(),
        warnings: Vec::new(),
    }
}

fn predictions(facts: &Facts) -> Vec<Prediction> {
    let calls = CallPattern {
        pause_ns: 0,
        gap_ns: 0,
        cpu: Some(11),
        seed: 1,
    };
    predict(facts, &calls, Control::none())
}

fn of<'a>(all: &'a [Prediction], place: ThreadPlace, load: &str) -> &'a Prediction {
    let mut found = all.iter().filter(|it| (it.place, it.load) == (place, load));
    let first = found.next().unwrap();
    assert_eq!(found.next(), None, "parallel and serial are the same here");
    assert_eq!(first.ways.len(), 2);
    first
}

#[test]
fn an_idle_machine_waits_as_the_measured_one_did() {
    // Linux 6.12, 8 CPUs, HZ=1000, woken by a callback: 10.00 ms in two waits; on the thread's own CPU 6.00
    // ms in one.
    let all = predictions(&facts(8, 1000, 3, false));
    let other = of(&all, ThreadPlace::Other, IDLE);
    assert!((other.mean_us / 10_000.0 - 1.0).abs() < 0.005, "{other:?}");
    assert!((other.waits - 2.0).abs() < 0.05 && other.ticks[&10] >= 99);
    let same = of(&all, ThreadPlace::Same, IDLE);
    assert!((same.mean_us / 6_000.0 - 1.0).abs() < 0.005, "{same:?}");
    // Woken by the grace period: 4.00 ms in one.
    let all = predictions(&facts(8, 1000, 3, true));
    let other = of(&all, ThreadPlace::Other, IDLE);
    assert!((other.mean_us / 4_000.0 - 1.0).abs() < 0.005, "{other:?}");
}

#[test]
fn what_else_runs_is_distinguished() {
    let all = predictions(&facts(4, 250, 1, true));
    let waits = |load| {
        let those = all
            .iter()
            .filter(|it| (it.place, it.load) == (ThreadPlace::Other, load));
        those.map(|it| it.waits).fold(0.0, f64::max)
    };
    assert!(waits(IDLE) < 1.1);
    assert!(waits(THIRD) > 1.9, "it takes the thread's timer");
}

#[test]
fn small_machines_have_no_other_cpus() {
    let one = predictions(&facts(1, 250, 1, true));
    assert!(!one.is_empty() && one.iter().all(|it| it.place == ThreadPlace::Same));
    let two = predictions(&facts(2, 250, 1, true));
    let third = |it: &&Prediction| (it.place, it.load) == (ThreadPlace::Other, THIRD);
    assert_eq!(two.iter().find(third), None);
}

#[test]
fn stopped_it_runs_nothing() {
    let calls = CallPattern {
        pause_ns: 0,
        gap_ns: 0,
        cpu: None,
        seed: 1,
    };
    assert!(predict(&facts(2, 250, 1, true), &calls, Control::cancelled()).is_empty());
}
