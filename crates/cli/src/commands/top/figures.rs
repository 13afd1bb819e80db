//! Figures of all intervals of `top`, as rows of one report.

use super::Origin;
use crate::arguments::top::Top;
use quiescent_bench::{Report, Row};
use quiescent_live::Rung;
use quiescent_top::{Interval, Order, View};
use std::collections::BTreeMap;

/// Counters that are told as rates, of those that the source counts.
const RATES: [(&str, &str); 8] = [
    ("grace_periods", "grace_periods_per_s"),
    ("fences_take", "fences_take_per_s"),
    ("scans", "scans_per_s"),
    ("softirqs", "softirqs_per_s"),
    ("batches", "batches_per_s"),
    ("ipis", "ipis_per_s"),
    ("idle_ticks", "idle_ticks_per_s"),
    ("busy_ticks", "busy_ticks_per_s"),
];

/// A row of the report: case, metric, unit.
type Key = (String, &'static str, &'static str);

/// Figures of all intervals.
#[derive(Default)]
pub struct Figures {
    values: BTreeMap<Key, Vec<f64>>,
}

impl Figures {
    pub fn add(&mut self, interval: &Interval, view: &View) {
        let mut put = |case: &str, metric, unit, value| self.put(case, metric, unit, value);
        let whole = match interval.counts("softirqs") {
            true => "machine",
            false => "process",
        };
        for (counter, metric) in RATES {
            if interval.counts(counter) {
                put(whole, metric, "1/s", interval.rate(counter));
            }
        }
        if interval.counts("fences_gp") {
            put(whole, "fences_per_s", "1/s", interval.fences_per_s());
        }
        if interval.counts("rcu_ns") {
            put(whole, "rcu_cpu_pct", "%", interval.rate("rcu_ns") / 1e7);
        }
        let (held, held_bytes) = interval.held();
        let holdouts = interval.holdouts.len() as f64;
        put(whole, "backlog", "callbacks", held as f64);
        put(whole, "held_bytes", "bytes", held_bytes as f64);
        put(whole, "holdouts", "readers", holdouts);
        for (of, metric) in [
            ("worker_wakeups", "wakeups_per_s"),
            ("flushes", "flushes_per_s"),
        ] {
            for (cause, rate) in interval.causes(of) {
                put(&format!("by {cause}"), metric, "1/s", rate);
            }
        }
        for row in view.rows(interval) {
            let case = match row.domain.as_str() {
                "process" | "machine" => row.name.clone(),
                domain => format!("{domain}: {}", row.name),
            };
            put(&case, "queued_per_s", "1/s", row.queued_per_s);
            put(&case, "executed_per_s", "1/s", row.executed_per_s);
            put(&case, "backlog", "callbacks", row.held as f64);
            put(&case, "held_bytes", "bytes", row.held_bytes as f64);
            put(&case, "broke_per_s", "1/s", row.broke_per_s);
            if let Some(delay) = row.delay_ms {
                put(&case, "delay_ms", "ms", delay);
            }
            if let Some(lazy) = row.lazy_pct {
                put(&case, "lazy_pct", "%", lazy);
            }
        }
        self.add_threads(interval);
    }

    pub(super) fn add_threads(&mut self, interval: &Interval) {
        for thread in &interval.threads {
            let case = format!("thread {} {}", thread.id, thread.name);
            self.put(&case, "wakeups_per_s", "1/s", thread.wakeups_per_s);
            self.put(&case, "cpu_pct", "%", thread.cpu_pct);
        }
    }

    /// What is no number is not known.
    pub(super) fn put(&mut self, case: &str, metric: &'static str, unit: &'static str, value: f64) {
        if !value.is_nan() {
            let key = (case.to_owned(), metric, unit);
            self.values.entry(key).or_default().push(value);
        }
    }

    pub fn report(&self, options: &Top, sort: Order, origin: Origin) -> Report {
        let mut report = Report::new("top", options.seed.unwrap_or_default());
        let (subject, source, exact) = match origin {
            Origin::Process => ("quiescent", "process", true),
            Origin::Kernel(rung) => ("kernel", rung.word(), rung != Rung::Frees),
            Origin::Simulated => ("model", "simulated", true),
        };
        report.option("pid", options.pid);
        report.option("workload", options.sim.clone());
        report.option("set", options.set.clone());
        report.option("delay_s", options.delay.as_secs_f64());
        report.option("sort", sort.word());
        report.option("filter", options.filter.clone());
        report.option("source", source);
        report.option("exact", exact);
        for ((case, metric, unit), values) in &self.values {
            let row = Row::of(subject, case, metric, unit, values);
            report.rows.extend(row);
        }
        report
    }
}
