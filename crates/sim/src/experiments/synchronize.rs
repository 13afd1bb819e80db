//! `synchronize_rcu` on a real kernel: 108 configurations of one idle machine.
//!
//! The kernel ran in a virtual machine that executes one CPU at a time; so does the model ([`Smp::Serial`]). Both have
//! the caller on another CPU than the grace-period thread. Calls come one right after the other, so all but the
//! first are in step with the tick.

use quiescent_engine::EarlyQs;

use super::data::{Measured, Measurement, measurements};
use super::{Basis, Comparison, Outcome, Source, mean};
use crate::{Caller, IdleLoop, Machine, Options, Smp};

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

/// The mean latency of calls on this machine, in milliseconds, and the scans of each grace period.
fn run(options: Options) -> (f64, Vec<u32>) {
    let mut machine = Machine::new(options);
    machine.spawn("caller", 1, 500_000, Caller::new(CALLS + 1, 0));
    machine.run_tasks(u64::MAX);
    let stats = machine.stats();
    let in_step = &stats.calls[1..];
    let latency = mean(
        in_step
            .iter()
            .map(|call| (call.end - call.start) as f64 / 1e6),
    );
    (
        latency,
        stats.grace_periods.iter().map(|gp| gp.scans).collect(),
    )
}

/// All rows without `rcu_expedited`: mean latency, and scans of a grace period in the notes.
pub fn all() -> Outcome {
    let mut outcome = Outcome::default();
    let (mut one, mut two) = (0, 0);
    for row in rows().iter().filter(|row| !row.expedited) {
        let (model, scans) = run(row.options());
        match scans.iter().max() {
            Some(2..) => two += 1,
            _ => one += 1,
        }
        outcome.comparisons.push(Comparison {
            experiment: "kernel synchronize",
            case: row.case(),
            metric: "latency_ms",
            unit: "ms",
            source: Source::Kernel,
            real: row.mean_ms,
            model,
            allowed: 0.025,
            basis: Basis::Predicted,
        });
    }
    outcome.notes.push(format!(
        "one CPU executes at a time, as on the machine that was measured; {one} configurations take one wait a grace \
         period, {two} take two"
    ));
    outcome
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
            assert!(it.holds(), "{}: {} and not {}", it.case, it.model, it.real);
            errors.push((it.ratio() - 1.0).abs());
        }
        errors.sort_by(f64::total_cmp);
        let median = errors[errors.len() / 2];
        assert!(median < 0.002, "half of them are off by more than {median}");
    }
}
