//! The early report of the grace-period thread's own CPU, as its author published it.
//!
//! *Second version*: 32 CPUs, idle, ten runs of a hundred calls, before and after. The publication does not
//! give the placement of caller and grace-period thread, nor pauses between calls. Assumed: calls without
//! pauses, and callbacks in the soft interrupt. Then the placement decides: on one CPU a call takes one wait
//! before and after, on different ones it took two before. The published baseline shows both: eight runs of
//! 10 ms, and two that mix 6 and 10 ms. Each placement has rows of its own; in the pooled rows a scheduler
//! moves the grace-period thread, once a second, to any CPU.
//!
//! *First version*: means of 4 ms, which is exactly one wait of 3 + 1 ticks, so the caller was woken straight
//! from the grace period. Assumed: 16 CPUs, each of which queues a callback now and then: while it has one
//! its tick runs, and a CPU with a running tick takes the grace-period thread's timer. That thread's CPU then
//! has no tick in which to report itself, and the call takes a second wait, unless it is reported early.

use quiescent_engine::{CpuId, EarlyQs};
use serde::Deserialize;

use super::data::published;
use super::{Basis, Judged, LATENCY_MS, Outcome, mean};
use crate::base::chance::Chance;
use crate::input::options::Options;
use crate::input::work::{Caller, Queued, Queuer};
use crate::kernel::machine::Machine;

/// How often the scheduler moves the grace-period thread, in nanoseconds: assumed.
const MOVES: u64 = 1_000_000_000;

#[derive(Deserialize)]
struct PublishedVersions {
    calls_per_run: u64,
    baseline: Vec<PublishedRun>,
    early_qs: Vec<PublishedRun>,
}

/// A run, as it was published.
#[derive(Deserialize)]
struct PublishedRun {
    mean_ms: f64,
    min_ms: f64,
    max_ms: f64,
}

impl PublishedVersions {
    fn of(&self, early_qs: EarlyQs) -> &[PublishedRun] {
        match early_qs {
            EarlyQs::Off => &self.baseline,
            _ => &self.early_qs,
        }
    }
}

/// The rest of the system: a CPU does something short now and then, and leaves a callback behind.
fn background(machine: &mut Machine, every: u64, chance: &mut Chance) {
    let func = machine.func("background");
    for cpu in 0..machine.cpus() {
        let work = Queuer {
            every,
            vary: true,
            times: 1,
            callbacks: vec![Queued {
                lazy: false,
                ..Queued::of(func)
            }],
            work: 20_000,
            between: 0,
            stop: u64::MAX,
            chance: Chance::new(chance.next()),
            at: Default::default(),
        };
        machine.spawn_endless(&format!("background/{cpu}"), cpu, u64::from(cpu), work);
    }
}

/// One of the two versions, and what is assumed about it.
struct Version {
    name: &'static str,
    /// The machine, without the early report.
    base: Options,
    /// The early report, and its name.
    early: (EarlyQs, &'static str),
    /// Every CPU queues a callback so often.
    background: Option<u64>,
    /// What the figure before is worth.
    before: Basis,
    /// A call that takes longer has taken two waits.
    two_waits: f64,
}

/// The latencies of a run, in milliseconds.
struct CallTimes(Vec<f64>);

impl CallTimes {
    /// Of `calls` calls on `cpu`.
    fn of(options: &Options, cpu: CpuId, calls: u64, every: Option<u64>) -> CallTimes {
        let mut machine = Machine::new(options.clone());
        let mut chance = Chance::new(options.seed);
        if let Some(every) = every {
            background(&mut machine, every, &mut chance);
        }
        machine.spawn("caller", cpu, 500_000, Caller::new(calls + 1, 0));
        machine.run_tasks(u64::MAX);
        // The first call is not in step with the tick.
        let calls = machine.stats_so_far().calls[1..].iter();
        CallTimes(calls.map(|it| (it.end - it.start) as f64 / 1e6).collect())
    }

    fn mean(&self) -> f64 {
        mean(self.0.iter().copied())
    }

    fn share_above(&self, limit: f64) -> f64 {
        self.0.iter().filter(|&&it| it > limit).count() as f64 / self.0.len() as f64
    }

    /// Mean, least and longest, as the publication has it.
    fn line(&self) -> String {
        let least = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.0.iter().copied().fold(0.0, f64::max);
        format!("{:.2} ({least:.2} to {most:.2})", self.mean())
    }
}

impl PublishedRun {
    fn line(&self) -> String {
        format!(
            "{:.2} ({:.2} to {:.2})",
            self.mean_ms, self.min_ms, self.max_ms
        )
    }
}

impl Version {
    /// Before and after.
    fn both(&self) -> [(EarlyQs, &'static str); 2] {
        [(EarlyQs::Off, "off"), self.early]
    }

    /// As many runs as were published; each has its caller on any CPU.
    fn runs(&self, early_qs: EarlyQs, experiment: &PublishedVersions) -> Vec<CallTimes> {
        let n = experiment.of(early_qs).len() as u64;
        let runs = (0..n).map(|n| {
            let options = Options {
                early_qs,
                seed: self.base.seed.wrapping_mul(1000).wrapping_add(n),
                ..self.base.clone()
            };
            let cpu = Chance::new(!options.seed).below(options.cpus.into()) as CpuId;
            CallTimes::of(&options, cpu, experiment.calls_per_run, self.background)
        });
        runs.collect()
    }

    /// Pooled means of all runs, before and after; each run, and how many calls took two waits, in notes.
    fn pooled(&self, experiment: &PublishedVersions, outcome: &mut Outcome) {
        for (early_qs, name) in self.both() {
            let runs = self.runs(early_qs, experiment);
            let published = experiment.of(early_qs);
            let real = mean(published.iter().map(|run| run.mean_ms));
            let all = CallTimes(runs.iter().flat_map(|it| it.0.iter().copied()).collect());
            let case = format!("{} early_qs={name}", self.name);
            let basis = match early_qs {
                EarlyQs::Off => self.before,
                _ => Basis::Assumed,
            };
            let by = Judged::published(self.name, 0.05, basis);
            outcome.compare(by, case, LATENCY_MS, [real, all.mean()]);
            let limit = self.two_waits;
            let longer = runs.iter().filter(|it| it.share_above(limit) > 0.0);
            let published_longer = published.iter().filter(|it| it.max_ms > limit);
            outcome.notes.push(format!(
                "early_qs={name}: {:.1} % of the calls took two waits (more than {limit} ms); runs that \
                 have such a call: published {} of {}, model {}",
                100.0 * all.share_above(limit),
                published_longer.count(),
                published.len(),
                longer.count()
            ));
            let lines = |lines: Vec<String>| lines.join("; ");
            outcome.notes.push(format!(
                "early_qs={name}, mean (least to longest) ms of each run, published: {}",
                lines(published.iter().map(PublishedRun::line).collect())
            ));
            outcome.notes.push(format!(
                "early_qs={name}, the same, model: {}",
                lines(runs.iter().map(CallTimes::line).collect())
            ));
        }
    }
}

/// The second version, `early-qs-v2`.
pub fn v2(seed: u64) -> Outcome {
    let experiment: PublishedVersions = published("early-qs-v2");
    let version = Version {
        name: "early-qs-v2",
        base: Options {
            seed,
            moves: Some(MOVES),
            ..Options::kernel_6_12(32, 1000)
        },
        early: (EarlyQs::Init, "init"),
        background: None,
        before: Basis::Assumed,
        two_waits: 8.0,
    };
    let mut outcome = Outcome::default();
    version.pooled(&experiment, &mut outcome);
    placed(&version, &experiment, &mut outcome);
    let pooled = mean(experiment.baseline.iter().map(|run| run.mean_ms));
    outcome.notes.push(format!(
        "one wait takes 6 ms and two take 10, so the published baseline needs {:.1} % of its calls with two",
        100.0 * (pooled - 6.0) / 4.0
    ));
    outcome.notes.push(
        "assumed: CPUs in parallel, calls one after the other, callbacks in the soft interrupt; in the \
         pooled rows the grace-period thread is moved once a second to any CPU"
            .into(),
    );
    outcome
}

/// Each regime by itself: the caller on the grace-period thread's CPU, or elsewhere, without moves.
///
/// A published run whose shortest call took one wait had both on one CPU for a while: its shortest call is
/// what that regime takes. All other runs had them on different ones.
fn placed(version: &Version, experiment: &PublishedVersions, outcome: &mut Outcome) {
    for (early_qs, name) in version.both() {
        let runs = experiment.of(early_qs);
        let one_wait = runs.iter().filter(|run| run.min_ms < version.two_waits);
        let two_waits = runs.iter().filter(|run| run.min_ms >= version.two_waits);
        let same = mean(one_wait.map(|run| run.min_ms));
        let other = match early_qs {
            EarlyQs::Off => mean(two_waits.map(|run| run.mean_ms)),
            _ => mean(runs.iter().map(|run| run.mean_ms)), // which run was which does not show
        };
        for (place, cpu, real) in [("one CPU", 0, same), ("different CPUs", 1, other)] {
            let options = Options {
                early_qs,
                moves: None,
                ..version.base.clone()
            };
            let latencies = CallTimes::of(&options, cpu, experiment.calls_per_run, None);
            let case = format!("{} early_qs={name}, both on {place}", version.name);
            let by = Judged::published(version.name, 0.05, Basis::Assumed);
            outcome.compare(by, case, LATENCY_MS, [real, latencies.mean()]);
        }
    }
    outcome.notes.push(
        "on one CPU: the shortest calls of the runs that have calls of one wait; on different CPUs: the \
         runs that have none (with early_qs=init all runs: it makes no difference)"
            .into(),
    );
}

/// The first version, `early-qs-rfc`.
pub fn rfc(seed: u64) -> Outcome {
    let experiment: PublishedVersions = published("early-qs-rfc");
    let version = Version {
        name: "early-qs-rfc",
        base: Options {
            seed,
            wake_from_gp: true,
            ..Options::kernel_6_12(16, 1000)
        },
        early: (EarlyQs::Scan, "scan"),
        background: Some(8_000_000_000),
        before: Basis::Fitted,
        two_waits: 6.0,
    };
    let mut outcome = Outcome::default();
    version.pooled(&experiment, &mut outcome);
    outcome.notes.push(
        "assumed: CPUs in parallel, rcu_normal_wake_from_gp=1 (a mean of 4 ms is one wait and nothing \
         else), 16 CPUs each \
         of which queues a callback every eight seconds (fitted: half of the published runs before have a \
         call of two waits)"
            .into(),
    );
    outcome
}

#[cfg(test)]
mod tests;
