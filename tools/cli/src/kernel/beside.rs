//! This machine's real kernel, measured, with the model's prediction beside it: `kernel bench`, and a part of
//! `reproduce`.
//!
//! It reads the kernel's facts ([`facts`]), times so many calls ([`calls`]) while it measures how busy the
//! CPUs are ([`load`]), runs every matching configuration in the model ([`predict`]), and compares the two
//! ([`verdict`]).

pub use crate::arguments::linux::kernel::KernelOptions;

use super::calls::{self, Call};
use super::facts::{self, Facts};
use super::load;
use super::place::{self, GpThread};
use super::predict::{self, CallPattern, Prediction};
use super::verdict::{self, Group, Verdict};
use quiescent_live::Machine;
use quiescent_report::rows::stats;
use quiescent_report::{Control, Error, Report, Row};
use quiescent_sim::{batch, settings};
use serde_json::{Value, json};
use std::time::Duration;

/// A kernel, measured and predicted.
#[derive(Debug, Clone)]
pub struct Beside {
    /// Its facts.
    pub facts: Facts,
    /// The runs of calls.
    pub runs: Vec<Vec<Call>>,
    /// The share of time in which the busiest CPU was not idle.
    pub busiest: Option<f64>,
    /// The model's predictions, one for each configuration.
    pub predictions: Vec<Prediction>,
    /// All calls, by the place of the grace-period thread.
    pub groups: Vec<Group>,
    /// None if nothing was measured or predicted, or the call does not wait for a grace period here.
    pub verdict: Option<Verdict>,
    /// The reason, if it does not wait.
    pub at_once: Option<&'static str>,
}

/// Reads, measures and predicts. When stopped, returns what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for a CPU or a setting that does not exist; [`Error::Failed`] when the kernel refuses the
/// call, or a file has an invalid content.
pub fn beside(
    options: &KernelOptions,
    runs: u64,
    budget: Duration,
    control: Control<'_>,
) -> Result<Beside, Error> {
    let sets = settings::assignments(&options.set);
    let sets = sets.map_err(|why| Error::Usage(why.to_string()))?;
    let machine = Machine::here();
    let facts = facts::read(&machine, batch::processors(), &sets)?;
    let is_alone = machine.online.as_ref().is_some_and(|it| it.len() == 1);
    let at_once = is_alone.then_some(AT_ONCE);
    options.cpu.map_or(Ok(()), place::pin)?;
    let thread = GpThread::find(&machine);
    let before = load::times(&machine.root);
    let runs = calls::measure(options, (runs, budget), thread.as_ref(), control)
        .map_err(|why| Error::failed("the kernel's grace periods cannot be timed", why, REFUSED))?;
    let after = load::times(&machine.root);
    let all: Vec<Call> = runs.iter().flatten().copied().collect();
    let gaps: Vec<f64> = all.iter().map(|it| it.gap_us).collect();
    let pattern = CallPattern {
        pause_ns: options.pause.as_nanos() as u64,
        gap_ns: stats::summary(&gaps).map_or(0, |it| (it.median * 1e3) as u64),
        cpu: all.last().map(|it| it.cpu),
        seed: options.seed,
    };
    let busiest = before.zip(after);
    let busiest = busiest.and_then(|(before, after)| load::busiest(&before, &after));
    let predictions = predict::predict(&facts, &pattern, control);
    let groups = verdict::groups(&all);
    let verdict = verdict::verdict(&groups, &predictions, busiest, &facts.options);
    Ok(Beside {
        verdict: verdict.filter(|_| at_once.is_none()),
        facts,
        runs,
        busiest,
        predictions,
        groups,
        at_once,
    })
}

const AT_ONCE: &str =
    "only one CPU is on line, so the kernel returns without waiting for a grace period";

const REFUSED: &str = "membarrier(2) does it: allow it where seccomp or a container's profile forbids it, \
                       boot without nohz_full, or run this on the host; `quiescent sim sync` shows what the \
                       model predicts without measuring";

impl Beside {
    /// The duration of each call, in µs.
    pub fn latencies(&self) -> Vec<f64> {
        self.runs.iter().flatten().map(|it| it.us).collect()
    }

    /// Every figure; `what` is the start of the measured cases' names.
    pub fn rows(&self, what: &str) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut add = |subject, case: &str, metric, unit, values: &[f64]| {
            rows.extend(Row::of(subject, case, metric, unit, values));
        };
        let (us, mean, high) = (
            "latency_us",
            "latency_us_pooled_mean",
            "latency_us_pooled_p99",
        );
        let all = self.latencies();
        let p99 = stats::percentile(&all, 99.0);
        add("kernel", what, us, "us", &all);
        add("kernel", what, mean, "us", stats::mean(&all).as_slice());
        add("kernel", what, high, "us", p99.as_slice());
        for (ticks, calls) in predict::in_ticks(&all, &self.facts.options) {
            let case = format!("{what}, {ticks} ticks");
            add("kernel", &case, "calls", "calls", &[calls as f64]);
        }
        for group in &self.groups {
            let Some(place) = group.place else { continue };
            let case = format!("{what}, thread {}", place.words());
            add("kernel", &case, us, "us", &group.us);
            add("kernel", &case, mean, "us", &[group.mean_us()]);
        }
        for it in &self.predictions {
            let case = format!("{what}, {}", it.case());
            add("model", &case, mean, "us", &[it.mean_us]);
            add("model", &case, "waits_per_gp", "waits", &[it.waits]);
        }
        rows
    }

    /// Facts, observations and verdict, for a report's options.
    pub fn json(&self) -> Value {
        let verdict = self.verdict.as_ref().map(|it| {
            let nearest = it.nearest.iter().map(|&it| self.predictions[it].case());
            json!({
                "verdict": if it.inside() { "inside" } else { "outside" },
                "measured_us": it.measured_us, "lowest_us": it.lowest_us, "highest_us": it.highest_us,
                "off": it.off(), "calls_as_predicted": it.as_predicted,
                "nearest": nearest.collect::<Vec<_>>(),
            })
        });
        json!({
            "facts": self.facts.list, "warnings": self.facts.warnings, "busiest_cpu": self.busiest,
            "prediction": verdict, "returns_at_once": self.at_once,
        })
    }
}

/// `kernel bench`: the report, and the parts that only its text needs.
///
/// # Errors
/// As [`beside`].
pub fn run(options: &KernelOptions, control: Control<'_>) -> Result<(Report, Beside), Error> {
    let mut report = Report::new("kernel bench", options.seed);
    let found = beside(options, 1, Duration::MAX, control)?;
    report.option("calls", options.calls);
    report.option("pause_ms", options.pause.as_secs_f64() * 1e3);
    report.option("cpu", options.cpu);
    report.option("set", options.set.clone());
    if let Value::Object(said) = found.json() {
        report.options.extend(said);
    }
    report.rows = found.rows(super::CASE);
    Ok((report, found))
}
