//! Published experiments without a published load: workloads stand in for it (`data/workloads`).
//!
//! Each workload's file lists its assumptions, and which figures were fitted to which published ones. Fitted
//! figures are marked and are no predictions: a verdict on them only gives the quality of the fit.

use super::Outcome;
use crate::load::workload::{Plan, Workload};
use crate::record::stats::Stats;

/// A workload that is built in, with these settings.
pub(super) fn plan(workload: &str, sets: &[(&str, &str)]) -> Plan {
    let workload = Workload::named(workload).expect("it is built in");
    workload.plan(sets).expect("a test runs it")
}

/// What it shows.
pub(super) fn run(workload: &str, sets: &[(&str, &str)]) -> Stats {
    let plan = plan(workload, sets);
    plan.run(|| false).expect("no caller stops the plan")
}

/// What it shows with each of `n` seeds that follow from this one.
pub(super) fn runs(workload: &str, n: u64, seed: u64, sets: &[(&str, &str)]) -> Vec<Stats> {
    let seeds = (0..n).map(|n| seed.wrapping_mul(1000).wrapping_add(n).to_string());
    seeds
        .map(|seed| run(workload, &[sets, &[("seed", &*seed)]].concat()))
        .collect()
}

/// The latencies of all calls, in milliseconds.
pub(super) fn latencies_ms(stats: &Stats) -> Vec<f64> {
    let calls = stats.calls.iter();
    calls.map(|it| (it.end - it.start) as f64 / 1e6).collect()
}

pub(super) fn notes(workload: &str, outcome: &mut Outcome) {
    let workload = Workload::named(workload).expect("it is built in");
    let assumed = workload.assumes().iter().map(|it| format!("assumed: {it}"));
    let fitted = workload.fitted().iter().map(|it| format!("fitted: {it}"));
    outcome.notes.extend(assumed.chain(fitted));
}
