//! `synchronize_rcu` on a real kernel: 108 configurations of one idle machine.
//!
//! The kernel ran in a virtual machine that executes one CPU at a time; so does the model ([`Smp::Serial`]).
//! Both have the caller on another CPU than the grace-period thread. Calls come one right after the other, so
//! all but the first are in step with the tick.
//!
//! Expedited calls were measured as well. There an instruction took a nanosecond, so they say no more than an
//! order of magnitude; they stand in the notes.

use quiescent_kernel::EarlyQs;

use super::data::{Measured, Measurement, measurements};
use super::{Basis, Judged, LATENCY_MS, Outcome, mean, median};
use crate::input::options::{IdleLoop, Options, Smp};
use crate::input::work::Caller;
use crate::kernel::machine::Machine;

/// Calls of a run, as they were measured.
const CALLS: u64 = 100;

/// One configuration.
#[derive(Clone, Debug)]
struct Row {
    cpus: u32,
    idle: String,
    nocbs: bool,
    early: bool,
    wake: bool,
    jiffies: u64,
    expedited: bool,
    mean_ms: f64,
    median_ms: f64,
}

/// All configurations that were measured, in the order of the file.
fn rows() -> Vec<Row> {
    let machines = measurements().synchronize;
    machines
        .iter()
        .flat_map(|it| it.results.iter().map(|result| row(it, result)))
        .collect()
}

/// A label is `early=0,wake=1,j=def,exp=0`; `def` is the kernel's own number.
fn row(machine: &Measured, result: &Measurement) -> Row {
    let of = |key: &str| {
        let parts = result.label.split(',');
        parts
            .filter_map(|part| part.split_once('='))
            .find(|it| it.0 == key)
            .map_or("0", |it| it.1)
    };
    Row {
        cpus: machine.cpus,
        idle: machine.idle.clone(),
        nocbs: machine.nocbs,
        early: of("early") == "1",
        wake: of("wake") == "1",
        jiffies: of("j").parse().unwrap_or(3),
        expedited: of("exp") == "1",
        mean_ms: result.mean_ms,
        median_ms: result.p50_ms,
    }
}

impl Row {
    fn options(&self) -> Options {
        Options {
            smp: Smp::Serial,
            idle_loop: match self.idle.as_str() {
                "retain" => IdleLoop::Retain,
                _ => IdleLoop::Classic,
            },
            early_qs: match self.early {
                true => EarlyQs::Init,
                false => EarlyQs::Off,
            },
            wake_from_gp: self.wake,
            expedited: self.expedited,
            first_fqs: Some(self.jiffies),
            next_fqs: Some(self.jiffies),
            nocbs: (0..self.cpus).filter(|_| self.nocbs).collect(),
            ..Options::kernel_6_12(self.cpus, 1000)
        }
    }

    fn case(&self) -> String {
        format!(
            "{} cpus={} rcu_nocbs={} early_qs={} rcu_normal_wake_from_gp={} jiffies={}",
            self.idle,
            self.cpus,
            if self.nocbs { "all" } else { "none" },
            if self.early { "init" } else { "off" },
            u8::from(self.wake),
            self.jiffies
        )
    }
}

/// The latencies of calls on this machine, in milliseconds, and the scans of each grace period.
fn run(options: Options) -> (Vec<f64>, Vec<u32>) {
    let mut machine = Machine::new(options);
    machine.spawn("caller", 1, 500_000, Caller::new(CALLS + 1, 0));
    machine.run_tasks(u64::MAX);
    let stats = machine.stats();
    let calls = stats.calls.iter().skip(1); // the first is not in step
    let latencies = calls.map(|it| (it.end - it.start) as f64 / 1e6).collect();
    let scans = stats.grace_periods.iter().map(|gp| gp.scans);
    (latencies, scans.collect())
}

/// All rows without `rcu_expedited`: mean latency; medians, scans of a grace period and the rows with it in
/// the notes.
pub fn all() -> Outcome {
    let mut outcome = Outcome::default();
    let (mut one, mut two) = (0, 0);
    let mut medians = Vec::new();
    let rows = rows();
    for row in rows.iter().filter(|row| !row.expedited) {
        let (latencies, scans) = run(row.options());
        match scans.iter().max() {
            Some(2..) => two += 1,
            _ => one += 1,
        }
        let by = Judged::kernel("kernel synchronize", 0.025, Basis::Predicted);
        let model = mean(latencies.iter().copied());
        outcome.compare(by, row.case(), LATENCY_MS, [row.mean_ms, model]);
        medians.push((median(latencies) / row.median_ms - 1.0).abs());
    }
    let worst = medians.into_iter().fold(0.0, f64::max);
    outcome.notes.push(format!(
        "one CPU executes at a time, as on the machine that was measured; {one} configurations take one \
         wait a grace period, {two} take two; medians of the latency are met to {:.2} % at worst",
        100.0 * worst
    ));
    outcome.notes.push(expedited(&rows));
    outcome
}

/// The rows with `rcu_expedited`, in words: the kernel's instructions took a nanosecond each, so only the
/// order of magnitude counts.
fn expedited(rows: &[Row]) -> String {
    let rows = || rows.iter().filter(|row| row.expedited);
    let range = |values: Vec<f64>| {
        let us = |ms: f64| (1000.0 * ms).round();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        format!("{} to {} us", us(least), us(most))
    };
    format!(
        "expedited, {} configurations: measured {}, model {} (an order of magnitude: there an instruction \
         took 1 ns)",
        rows().count(),
        range(rows().map(|row| row.mean_ms).collect()),
        range(rows().map(|row| mean(run(row.options()).0)).collect())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measured_mean_is_met_by_the_mechanism() {
        let outcome = all();
        assert_eq!(outcome.comparisons.len(), 108);
        let mut errors: Vec<f64> = Vec::new();
        for it in &outcome.comparisons {
            assert_eq!(
                it.holds(),
                Some(true),
                "{}: {} and not {}",
                it.case,
                it.model,
                it.real
            );
            errors.push((it.ratio() - 1.0).abs());
        }
        errors.sort_by(f64::total_cmp);
        let median = errors[errors.len() / 2];
        assert!(median < 0.002, "half of them are off by more than {median}");
    }

    #[test]
    fn every_measured_median_is_met_and_expedited_calls_take_microseconds() {
        for row in rows() {
            let median = median(run(row.options()).0);
            let off = (median / row.median_ms - 1.0).abs();
            let allowed = if row.expedited { 9.0 } else { 0.005 };
            let case = row.case();
            assert!(off <= allowed, "{case}: {median}, not {}", row.median_ms);
            assert!(!row.expedited || median < 0.1, "{case}: {median} ms");
        }
    }
}
