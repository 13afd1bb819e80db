//! This machine's real kernel, measured, with the model's prediction beside it: `kernel bench`, and a part of
//! `reproduce`.
//!
//! It reads the kernel's facts ([`facts`]), times so many calls ([`calls`]) while it measures the load of the
//! CPUs (`load`), runs every matching configuration in the model ([`predict`]), and compares the two
//! ([`verdict`]).

use super::calls::{self, Call, Plan};
use super::facts::{self, Facts, Sources};
use super::load::{Load, Watch};
use super::place::{self, GpThread, Pinned};
use super::predict::{self, CallPattern, Prediction};
use super::verdict::{self, Group, Verdict};
use super::{Standing, standing};
use quiescent_live::Machine;
use quiescent_report::rows::stats;
use quiescent_report::{Control, Error, Report, Row};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The options of a measurement.
#[derive(Debug, Clone)]
pub struct KernelOptions {
    /// The number of calls.
    pub calls: u64,
    /// Sleep after each call.
    pub pause: Duration,
    /// The caller is pinned to this CPU.
    pub cpu: Option<u32>,
    /// Settings of the model that are given, in place of those that would be read.
    pub sets: Vec<(String, String)>,
    /// The seed of the model.
    pub seed: u64,
}

impl Default for KernelOptions {
    fn default() -> Self {
        KernelOptions {
            calls: 100,
            pause: Duration::ZERO,
            cpu: None,
            sets: Vec::new(),
            seed: 1,
        }
    }
}

/// A kernel, measured and predicted.
#[derive(Debug, Clone)]
pub struct Beside {
    /// Its facts.
    pub facts: Facts,
    /// The runs of calls.
    pub runs: Vec<Vec<Call>>,
    /// The load of the machine.
    pub load: Option<Load>,
    /// The model's predictions, one for each configuration.
    pub predictions: Vec<Prediction>,
    /// All calls, by the place of the grace-period thread.
    pub groups: Vec<Group>,
    /// None if nothing was measured or predicted, or the call does not wait for a grace period here.
    pub verdict: Option<Verdict>,
    /// The reason, if it does not wait.
    pub at_once: Option<String>,
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
    let sets = options.sets.iter();
    let sets: Vec<_> = sets.map(|it| (it.0.as_str(), it.1.as_str())).collect();
    let facts = facts::read(&Sources::here(), &sets)?;
    let at_once = match standing() {
        Standing::Refused(why) => return Err(refused(&why)),
        Standing::ReturnsAtOnce(why) => Some(why),
        Standing::Waits => None,
    };
    let pinned = options.cpu.map(pin).transpose()?;
    let machine = Machine::here();
    let thread = GpThread::find(&machine);
    let plan = Plan {
        runs,
        calls: options.calls,
        pause: options.pause,
        budget,
        thread: thread.as_ref(),
    };
    let watch = Watch::begin(&machine.root, thread.as_ref().map(|it| it.pid));
    let runs = calls::measure(&plan, control).map_err(|why| refused(&why.to_string()))?;
    let load = watch.end();
    drop(pinned);
    Ok(compare(facts, runs, load, at_once, options, control))
}

fn refused(why: &str) -> Error {
    let remedy = "allow membarrier(2) where seccomp or a container's profile forbids it, or run this on the \
                  host; `quiescent sim sync` shows what the model predicts without measuring";
    Error::failed("the kernel's grace periods cannot be timed", why, remedy)
}

fn pin(cpu: u32) -> Result<Pinned, Error> {
    let usable = place::usable();
    let list: Vec<String> = usable.iter().map(u32::to_string).collect();
    if !usable.contains(&cpu) {
        let list = list.join(", ");
        let why = format!("--cpu {cpu}: this process may run on {list}; give one of these");
        return Err(Error::Usage(why));
    }
    Pinned::to(cpu).map_err(|why| {
        let what = format!("cannot stay on CPU {cpu}");
        Error::failed(what, why, "has it gone off line? leave out --cpu")
    })
}

fn compare(
    facts: Facts,
    runs: Vec<Vec<Call>>,
    load: Option<Load>,
    at_once: Option<String>,
    options: &KernelOptions,
    control: Control<'_>,
) -> Beside {
    let all: Vec<Call> = runs.iter().flatten().copied().collect();
    let gaps: Vec<f64> = all.iter().map(|it| it.gap_us).collect();
    let gap = stats::summary(&gaps).map_or(0.0, |it| it.median);
    let how = CallPattern {
        pause_ns: options.pause.as_nanos() as u64,
        gap_ns: (gap * 1e3) as u64,
        cpu: most(all.iter().filter_map(|it| it.cpu)),
        load: load.clone(),
        seed: options.seed,
    };
    let predictions = predict::predict(&facts, &how, control);
    let groups = verdict::groups(&all);
    let verdict = match at_once {
        None => {
            let tick_us = facts.options.jiffy_ns() as f64 / 1e3;
            verdict::verdict(&groups, &predictions, load.as_ref(), tick_us)
        }
        Some(_) => None,
    };
    Beside {
        facts,
        runs,
        load,
        predictions,
        groups,
        verdict,
        at_once,
    }
}

/// The most frequent value.
fn most(all: impl Iterator<Item = u32>) -> Option<u32> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for it in all {
        *counts.entry(it).or_insert(0) += 1;
    }
    let most = counts.into_iter().max_by_key(|it| it.1);
    most.map(|it| it.0)
}

impl Beside {
    /// The duration of each call, in µs.
    pub fn latencies(&self) -> Vec<f64> {
        self.runs.iter().flatten().map(|it| it.us).collect()
    }

    /// The number of calls with each duration in ticks.
    pub fn ticks(&self) -> BTreeMap<u64, u64> {
        let tick = self.facts.options.jiffy_ns() as f64 / 1e3;
        let mut ticks = BTreeMap::new();
        for us in self.latencies() {
            *ticks.entry((us / tick).round() as u64).or_insert(0) += 1;
        }
        ticks
    }

    /// Every figure; `what` is the start of the measured cases' names.
    pub fn rows(&self, what: &str) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut add = |subject, case: &str, metric, unit, values: &[f64]| {
            rows.extend(Row::of(subject, case, metric, unit, values));
        };
        let all = self.latencies();
        add("kernel", what, "latency_us", "us", &all);
        for (metric, value) in [
            ("latency_us_pooled_mean", stats::mean(&all)),
            ("latency_us_pooled_p99", stats::percentile(&all, 99.0)),
        ] {
            add("kernel", what, metric, "us", value.as_slice());
        }
        for (ticks, calls) in self.ticks() {
            let case = format!("{what}, {ticks} ticks");
            add("kernel", &case, "calls", "calls", &[calls as f64]);
        }
        for group in &self.groups {
            if let Some(place) = group.place {
                let case = format!("{what}, thread {}", place.words());
                add("kernel", &case, "latency_us", "us", &group.us);
                let mean = group.mean_us();
                add("kernel", &case, "latency_us_pooled_mean", "us", &[mean]);
            }
        }
        for it in &self.predictions {
            let case = format!("{what}, {}", it.case());
            add(
                "model",
                &case,
                "latency_us_pooled_mean",
                "us",
                &[it.mean_us],
            );
            add("model", &case, "waits_per_gp", "waits", &[it.waits]);
        }
        rows
    }

    /// Facts, observations and verdict, for a report's options.
    pub fn json(&self) -> Value {
        let facts: Vec<Value> = self.facts.list.iter().map(|it| it.json()).collect();
        let load = self.load.as_ref().map(|load| {
            let busy = load.busy.iter().map(|it| (it.0.to_string(), json!(it.1)));
            let busy: serde_json::Map<_, _> = busy.collect();
            json!({"busy": busy, "wakeups_per_s": load.wakeups_per_s, "idle": load.idle()})
        });
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
            "facts": facts, "warnings": self.facts.warnings, "load": load, "prediction": verdict,
            "returns_at_once": self.at_once,
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
    let sets = options.sets.iter();
    let sets = sets.map(|it| format!("{}={}", it.0, it.1));
    report.option("set", sets.collect::<Vec<_>>());
    if let Value::Object(said) = found.json() {
        report.options.extend(said);
    }
    report.rows = found.rows(super::CASE);
    Ok((report, found))
}
