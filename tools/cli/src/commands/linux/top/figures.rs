//! Figures of all intervals of `top`, as rows of one report.

use super::Origin;
use crate::arguments::linux::top::Top;
use quiescent_report::{Report, Row};
use quiescent_top::{Interval, Order, SOFTIRQS, Subject, View};
use std::collections::BTreeMap;

/// Counters that are shown as rates, if the source has them.
const RATES: [(&str, &str); 8] = [
    ("grace_periods", "grace_periods_per_s"),
    ("fences_take", "fences_take_per_s"),
    ("scans", "scans_per_s"),
    (SOFTIRQS, "softirqs_per_s"),
    ("batches", "batches_per_s"),
    ("ipis", "ipis_per_s"),
    ("idle_ticks", "idle_ticks_per_s"),
    ("busy_ticks", "busy_ticks_per_s"),
];

/// Counters that are also counted by cause, and shown as rates.
const CAUSES: [(&str, &str); 3] = [
    ("worker_wakeups", "wakeups_per_s"),
    ("flushes", "flushes_per_s"),
    (SOFTIRQS, "softirqs_per_s"),
];

/// Counters of errors, shown with their last values.
const TOTALS: [(&str, &str, &str); 2] = [
    ("lost_events", "lost_events", "events"),
    ("unread_lines", "errors", "lines"),
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
        let whole = interval.subject.word();
        let counted = |counter: &str, value: f64| interval.counts(counter).then_some(value);
        for (counter, metric) in RATES {
            self.put(
                whole,
                metric,
                "1/s",
                counted(counter, interval.rate(counter)),
            );
        }
        let (fences, rcu) = (interval.fences_per_s(), interval.rate("rcu_ns") / 1e7);
        self.put(whole, "fences_per_s", "1/s", counted("fences_gp", fences));
        self.put(whole, "rcu_cpu_pct", "%", counted("rcu_ns", rcu));
        for (counter, metric, unit) in TOTALS {
            let total = interval.counter(counter) as f64;
            self.put(whole, metric, unit, counted(counter, total));
        }
        self.add_held(interval);
        for (of, metric) in CAUSES {
            for (cause, rate) in interval.causes(of) {
                self.put(&format!("by {cause}"), metric, "1/s", Some(rate));
            }
        }
        self.add_rows(interval, view);
        for thread in &interval.threads {
            let case = format!("thread {} {}", thread.id, thread.name);
            self.put(&case, "wakeups_per_s", "1/s", Some(thread.wakeups_per_s));
            self.put(&case, "cpu_pct", "%", Some(thread.cpu_pct));
        }
    }

    /// The amount held, and the holdouts. The running kernel does not name its holdouts; other sources have
    /// none before the first callback.
    fn add_held(&mut self, interval: &Interval) {
        let whole = interval.subject.word();
        if interval.subject == Subject::Kernel {
            let held = interval.held().map(|it| it as f64);
            return self.put(whole, "backlog", "callbacks", held);
        }
        let (own, others) = interval.held_beside_budget();
        let has_others = interval.functions.iter().any(|it| it.domain != whole);
        let cases = [(whole, own), ("other domains", others)];
        for (case, held) in &cases[..1 + usize::from(has_others)] {
            self.put(case, "backlog", "callbacks", Some(held.count as f64));
            self.put(case, "held_bytes", "bytes", Some(held.bytes as f64));
        }
        for (name, unit) in [("budget_callbacks", "callbacks"), ("budget_bytes", "bytes")] {
            let limit = Some(interval.counter(name)).filter(|it| *it != u64::MAX);
            let limit = limit.filter(|_| interval.counts(name));
            self.put(whole, name, unit, limit.map(|it| it as f64));
        }
        let holdouts = interval.holdouts.len() as f64;
        self.put(whole, "holdouts", "readers", Some(holdouts));
    }

    fn add_rows(&mut self, interval: &Interval, view: &View) {
        for row in view.rows(interval) {
            let case = match row.domain == interval.subject.word() {
                true => row.name.clone(),
                false => format!("{}: {}", row.domain, row.name),
            };
            let (held, held_bytes) = (row.held, row.held_bytes);
            for (metric, unit, value) in [
                ("executed_per_s", "1/s", Some(row.executed_per_s)),
                ("queued_per_s", "1/s", row.queued_per_s),
                ("backlog", "callbacks", held.map(|it| it as f64)),
                ("held_bytes", "bytes", held_bytes.map(|it| it as f64)),
                ("broke_per_s", "1/s", row.broke_per_s),
                ("delay_ms", "ms", row.delay_ms),
                ("lazy_pct", "%", row.lazy_pct),
            ] {
                self.put(&case, metric, unit, value);
            }
        }
    }

    /// Unknown figures are left out.
    fn put(&mut self, case: &str, metric: &'static str, unit: &'static str, value: Option<f64>) {
        let Some(value) = value else { return };
        let key = (case.to_owned(), metric, unit);
        self.values.entry(key).or_default().push(value);
    }

    pub fn report(&self, options: &Top, sort: Order, origin: &Origin) -> Report {
        let mut report = Report::new("top", options.seed.unwrap_or_default());
        let workload = options.sim.as_ref();
        report.option("pid", options.pid);
        report.option("workload", workload.map(|it| it.display().to_string()));
        report.option("set", options.set.clone());
        report.option("delay_s", options.delay.as_secs_f64());
        report.option("sort", sort.word());
        report.option("filter", options.filter.clone());
        report.option("source", origin.source);
        report.option("exact", origin.exact);
        for ((case, metric, unit), values) in &self.values {
            let row = Row::of(origin.subject, case, metric, unit, values);
            report.rows.extend(row);
        }
        report
    }
}
