//! The early report of the grace-period thread's own CPU, as its author published it.
//!
//! *Second version*: 32 CPUs, idle, ten runs of a hundred calls, before and after. The publication does not say where caller
//! and grace-period thread ran, nor whether calls paused. Assumed: calls right one after the other, callbacks in the soft
//! interrupt, and a scheduler that moves the grace-period thread once a second to any CPU. Where both
//! are on one CPU a call takes one wait, on different ones two: the published baseline mixes both.
//!
//! *First version*: means of 4 ms, which is one wait of 3 + 1 ticks and nothing else, so the caller was woken
//! straight from the grace period. Assumed: 16 CPUs, and background work that keeps some CPU's tick running
//! now and then; whoever's tick runs takes the grace-period thread's timer, and then that call takes a second wait.

use quiescent_engine::{CpuId, EarlyQs};
use serde::Deserialize;

use super::{Basis, Comparison, Outcome, Source, mean, parse};
use crate::chance::Chance;
use crate::task::{Op, Work};
use crate::{Caller, Machine, Options};

const DATA: &str = include_str!("../../../../data/published-figures.json");

/// How often the scheduler moves the grace-period thread, in nanoseconds: assumed.
const MOVES: u64 = 1_000_000_000;

#[derive(Deserialize)]
struct File {
    experiments: Experiments,
}

#[derive(Deserialize)]
struct Experiments {
    #[serde(rename = "early-qs-v2")]
    v2: Experiment,
    #[serde(rename = "early-qs-rfc")]
    rfc: Experiment,
}

#[derive(Deserialize)]
struct Experiment {
    calls_per_run: u64,
    runs: u64,
    baseline: Vec<Run>,
    early_qs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    mean_ms: f64,
}

impl Experiment {
    fn published(&self, early_qs: EarlyQs) -> f64 {
        let runs = match early_qs {
            EarlyQs::Off => &self.baseline,
            _ => &self.early_qs,
        };
        mean(runs.iter().map(|run| run.mean_ms))
    }
}

/// Work that nobody asked about: it wakes up now and then, and computes for a while.
struct Background {
    chance: Chance,
    every: u64,
    sleeps: bool,
}

impl Work for Background {
    fn next(&mut self, now: u64) -> Op {
        self.sleeps = !self.sleeps;
        match self.sleeps {
            true => Op::SleepUntil(now + self.chance.poisson(self.every)),
            false => Op::Compute(self.chance.poisson(500_000)),
        }
    }
}

/// Where the scheduler has the grace-period thread, over `seconds`.
fn moves(chance: &mut Chance, cpus: u32, seconds: u64) -> Vec<(u64, CpuId)> {
    let mut places = Vec::new();
    let mut at = 0;
    while at < seconds * 1_000_000_000 {
        places.push((at, chance.below(u64::from(cpus)) as CpuId));
        at += chance.poisson(MOVES);
    }
    places
}

/// All latencies of a run, in milliseconds.
fn run(options: &Options, calls: u64, background: Option<u64>) -> Vec<f64> {
    let mut machine = Machine::new(options.clone());
    let mut chance = Chance::new(options.seed);
    let seconds = calls / 20 + 10;
    machine.place("rcu_preempt", moves(&mut chance, options.cpus, seconds));
    let caller = chance.below(u64::from(options.cpus)) as CpuId;
    for cpu in 0..options.cpus {
        let Some(every) = background else { break };
        let work = Background {
            chance: Chance::new(chance.next()),
            every,
            sleeps: false,
        };
        machine.spawn(&format!("background/{cpu}"), cpu, u64::from(cpu), work);
    }
    machine.spawn("caller", caller, 500_000, Caller::new(calls + 1, 0));
    let mut until = 0;
    while machine.stats_so_far().calls.len() as u64 <= calls {
        until += 100_000_000;
        machine.run(until);
    }
    let calls = &machine.stats_so_far().calls[1..];
    calls
        .iter()
        .map(|call| (call.end - call.start) as f64 / 1e6)
        .collect()
}

fn pooled(
    base: &Options,
    early_qs: EarlyQs,
    experiment: &Experiment,
    background: Option<u64>,
) -> Vec<f64> {
    let runs = (0..experiment.runs).map(|n| Options {
        early_qs,
        seed: base.seed.wrapping_mul(1000).wrapping_add(n),
        ..base.clone()
    });
    runs.flat_map(|options| run(&options, experiment.calls_per_run, background))
        .collect()
}

fn share_above(latencies: &[f64], limit: f64) -> f64 {
    latencies.iter().filter(|&&it| it > limit).count() as f64 / latencies.len() as f64
}

/// The second version, `early-qs-v2`.
pub fn v2(seed: u64) -> Outcome {
    let experiment = parse::<File>(DATA).experiments.v2;
    let base = Options {
        seed,
        ..Options::kernel_6_12(32, 1000)
    };
    let mut outcome = Outcome::default();
    for (early_qs, name) in [(EarlyQs::Off, "off"), (EarlyQs::Init, "init")] {
        let latencies = pooled(&base, early_qs, &experiment, None);
        outcome.comparisons.push(Comparison {
            experiment: "early-qs-v2",
            case: format!("early-qs-v2 early_qs={name}"),
            metric: "latency_ms",
            unit: "ms",
            source: Source::Published,
            real: experiment.published(early_qs),
            model: mean(latencies.iter().copied()),
            allowed: 0.05,
            basis: Basis::Assumed,
        });
        let (two, share) = (share_above(&latencies, 8.0), experiment.published(early_qs));
        outcome.notes.push(format!(
            "early_qs={name}: {:.1} % of the calls took two waits; the published mean needs {:.1} %",
            100.0 * two,
            100.0 * ((share - 6.0) / 4.0).max(0.0)
        ));
    }
    outcome.notes.push(
        "assumed: CPUs in parallel, calls one after the other, callbacks in the soft interrupt, the grace-period thread \
         moved once a second to any CPU"
            .into(),
    );
    outcome
}

/// The first version, `early-qs-rfc`.
pub fn rfc(seed: u64) -> Outcome {
    let experiment = parse::<File>(DATA).experiments.rfc;
    let base = Options {
        seed,
        wake_from_gp: true,
        ..Options::kernel_6_12(16, 1000)
    };
    let mut outcome = Outcome::default();
    for (early_qs, name) in [(EarlyQs::Off, "off"), (EarlyQs::Scan, "scan")] {
        let latencies = pooled(&base, early_qs, &experiment, Some(4_000_000_000));
        outcome.comparisons.push(Comparison {
            experiment: "early-qs-rfc",
            case: format!("early-qs-rfc early_qs={name}"),
            metric: "latency_ms",
            unit: "ms",
            source: Source::Published,
            real: experiment.published(early_qs),
            model: mean(latencies.iter().copied()),
            allowed: 0.05,
            basis: Basis::Assumed,
        });
        outcome.notes.push(format!(
            "early_qs={name}: {:.1} % of the calls took more than 6 ms",
            100.0 * share_above(&latencies, 6.0)
        ));
    }
    outcome.notes.push(
        "assumed: CPUs in parallel, rcu_normal_wake_from_gp=1 (a mean of 4 ms is one wait and nothing else), 16 CPUs each \
         of which computes for half a millisecond every four seconds"
            .into(),
    );
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_regimes_appear_and_the_means_are_the_published_ones() {
        for seed in [1, 2, 3] {
            let outcome = v2(seed);
            for it in &outcome.comparisons {
                assert!(it.holds(), "seed {seed}: {it:?}");
            }
        }
    }

    #[test]
    fn a_second_wait_is_rare_before_and_rarer_after() {
        for seed in [1, 2, 3] {
            let outcome = rfc(seed);
            for it in &outcome.comparisons {
                assert!(it.holds(), "seed {seed}: {it:?}");
            }
        }
    }
}
