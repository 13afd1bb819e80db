//! The figures of every trace of `data/traces` are those that an independent program computed.
//!
//! Whole traces are compared with `data/kernel-measurements.json`, which came with them. The three `-cut`
//! ones end 2.5 s after their first mark, to keep the repository small; their figures are
//! `data/traces/cut-figures.json`, computed by `data/traces/figures.py`: another language, another way, and
//! the same program gives the numbers of `kernel-measurements.json` for the whole traces.

use quiescent_trace::{Figures, Percentiles, Reader, measure, open};
use serde_json::Value;
use std::collections::BTreeMap;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/");

const WHOLE: [&str; 6] = [
    "classic-a-softirq-file100",
    "classic-a-softirq-file100-early",
    "classic-b-nocb-file100",
    "classic-c-lazy-file100",
    "classic-d-nocb-j32-file100",
    "classic-idle",
];

const CUT: [&str; 3] = [
    "a-softirq-file100-cut",
    "b-nocb-file100-cut",
    "classic-d-nocb-j8-file100-cut",
];

fn json(name: &str) -> Value {
    let text = std::fs::read_to_string(format!("{DATA}{name}")).expect("a file of the project");
    serde_json::from_str(&text).expect("JSON")
}

fn figures(name: &str) -> Figures {
    let path = format!("{DATA}traces/{name}.txt.xz");
    let mut reader = Reader::new(&path, open(&path).expect("opens"));
    let figures = measure(&mut reader, None).expect("has figures");
    let summary = reader.summary();
    assert_eq!(summary.malformed.count(), 0, "{name}: {summary:?}");
    assert_eq!((summary.lost, summary.backwards), (0, 0), "{name}");
    assert_eq!(figures.undecoded.count(), 0, "{name}");
    figures
}

#[test]
fn whole_traces_have_the_published_figures() {
    let all = json("kernel-measurements.json");
    for name in WHOLE {
        compare(name, &figures(name), &all["callback_traces"][name]);
    }
}

#[test]
fn cut_traces_have_the_figures_of_an_independent_calculation() {
    let all = json("traces/cut-figures.json");
    for name in CUT {
        let (figures, expected) = (figures(name), &all[name]);
        compare(name, &figures, expected);
        for (function, of) in &figures.by_function {
            let expected = &expected["cb_latency_ms_by_function"][function];
            times(&format!("{name} {function}"), of.delay, expected);
        }
    }
}

fn compare(name: &str, f: &Figures, expected: &Value) {
    assert!(expected.is_object(), "{name}: is in the data");
    let count = |what: &str, ours: u64| {
        assert_eq!(Some(ours), expected[what].as_u64(), "{name} {what}");
    };
    count("grace_periods", f.grace_periods);
    count("callbacks", f.callbacks);
    // The data counts `rcu_invoke_callback` alone.
    count("callbacks_invoked_in_window", f.invoked - f.kvfree);
    times(name, f.gp_duration, &expected["gp_duration_ms"]);
    times(name, f.gp_gap, &expected["gp_gap_ms"]);
    times(name, f.callback_delay, &expected["cb_latency_ms"]);
    batches(name, f, &expected["batch_CBs"]);

    let scans = f.scans_per_gp.iter().map(|(k, n)| (k.to_string(), *n));
    counts(name, scans.collect(), &expected["fqs_scans_per_gp"]);
    let classes = serde_json::to_value(f.holdouts_after_first_scan).expect("JSON");
    let classes: BTreeMap<String, u64> = serde_json::from_value(classes).expect("counts");
    counts(name, classes, &expected["holdouts_after_first_fqs"]);
    counts(name, f.nocb_wake.clone(), &expected["nocb_wake"]);
    let functions = f.by_function.iter().map(|(k, v)| (k.clone(), v.queued));
    counts(name, functions.collect(), &expected["cb_functions"]);

    let rate = |what: &str, count: u64| near(name, f, count, &expected[what]);
    rate("grace_periods_per_s", f.grace_periods);
    rate("total_wakeups_per_s", f.total_wakeups());
    rate("ticks_per_s_total", f.ticks);
    rate("ticks_per_s_on_idle_total", f.total_ticks_on_idle());
    rate("idle_entries_per_s", f.total_idle_entries());
    rate("rcu_softirqs_per_s", f.rcu_softirqs);
    let wakeups = expected["wakeups_per_s"].as_object().expect("a table");
    for (kind, rate) in wakeups {
        let ours = f.wakeups.get(kind).copied().unwrap_or(0);
        near(&format!("{name} {kind}"), f, ours, rate);
    }
    by_cpu(
        name,
        f,
        &f.ticks_on_idle,
        &expected["ticks_on_idle_per_s_by_cpu"],
    );
    by_cpu(
        name,
        f,
        &f.idle_entries,
        &expected["idle_entries_per_s_by_cpu"],
    );
}

/// A rate to the two digits that the data has.
fn near(name: &str, f: &Figures, count: u64, expected: &Value) {
    let (ours, expected) = (f.per_second(count), expected.as_f64().expect("a rate"));
    assert!(
        (ours - expected).abs() < 0.0051,
        "{name}: {ours} {expected}"
    );
}

fn by_cpu(name: &str, f: &Figures, ours: &[u64], expected: &Value) {
    let expected = expected.as_object().expect("a table");
    assert_eq!(ours.len(), expected.len(), "{name}: CPUs");
    for (cpu, count) in ours.iter().enumerate() {
        near(name, f, *count, &expected[&cpu.to_string()]);
    }
}

/// Counts by name; the data leaves zeros out.
fn counts(name: &str, mut ours: BTreeMap<String, u64>, expected: &Value) {
    ours.retain(|_, n| *n > 0);
    let expected: BTreeMap<String, u64> = serde_json::from_value(expected.clone()).expect("counts");
    assert_eq!(ours, expected, "{name}");
}

/// Percentiles in ms, to the microsecond of the traces' clock.
fn times(name: &str, ours: Option<Percentiles>, expected: &Value) {
    let Some(p) = ours else {
        let none = expected["n"] == 0 || expected["mean"].is_null();
        assert!(none, "{name}: {expected}");
        return;
    };
    let us = |what: &str| {
        expected[what]
            .as_f64()
            .map(|ms| (ms * 1000.0).round() as u64)
    };
    let all = [
        ("min", p.min),
        ("max", p.max),
        ("p10", p.p10),
        ("p25", p.p25),
        ("p50", p.p50),
        ("p75", p.p75),
        ("p90", p.p90),
        ("p99", p.p99),
    ];
    let mut compared = 0;
    for (what, ns) in all {
        if let Some(expected) = us(what) {
            assert_eq!(ns, expected * 1000, "{name} {what}");
            compared += 1;
        }
    }
    assert!(compared >= 6, "{name}: {expected}");
    let mean = expected["mean"].as_f64().expect("a mean");
    assert!((p.mean / 1e6 - mean).abs() < 0.00006, "{name} mean {mean}");
    if let Some(n) = expected["n"].as_u64() {
        assert_eq!(p.n, n, "{name}");
    }
}

fn batches(name: &str, f: &Figures, expected: &Value) {
    let Some(p) = f.batches else {
        assert_eq!(expected["n"].as_u64().unwrap_or(0), 0, "{name}");
        return;
    };
    assert_eq!(Some(p.n), expected["n"].as_u64(), "{name}");
    assert_eq!(Some(p.max), expected["max"].as_u64(), "{name}");
    let mean = expected["mean"].as_f64().expect("a mean");
    assert!((p.mean - mean).abs() < 0.0006, "{name} {mean}");
}
