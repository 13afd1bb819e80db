//! The figures of every trace of `data/traces` are those that an independent program computed.
//!
//! Whole traces are compared with `data/kernel-measurements.json`, which came with them. The three `-cut`
//! ones end 2.5 s after their first mark, to keep the repository small; their figures are
//! `data/traces/cut-figures.json`, computed by `data/traces/figures.py`: another language, another way, and
//! the same program gives the numbers of `kernel-measurements.json` for the whole traces.

use quiescent_trace::{
    Analysis, Distribution, Figures, Filter, Kind, Options, Percentiles, Reader, Recorded, Table,
    open, recorded,
};
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

/// What a replay is given of a trace, and the figures that it is held against.
fn read(name: &str) -> (Recorded, Figures) {
    let path = format!("{DATA}traces/{name}.txt.xz");
    let mut reader = Reader::new(&path, open(&path).expect("opens"));
    // No ticks are in the trace of an idle machine that is short.
    let known = Options {
        hz: Some(1000),
        window: None,
    };
    let (recorded, figures) = recorded(&mut reader, known).expect("has figures");
    let summary = reader.summary();
    assert_eq!(summary.malformed.count(), 0, "{name}: {summary:?}");
    assert_eq!((summary.lost, summary.backwards), (0, 0), "{name}");
    assert_eq!(recorded.undecoded.count(), 0, "{name}");
    (recorded, figures)
}

/// The first table of an analysis.
fn table(name: &str, kind: Kind) -> Table {
    let path = format!("{DATA}traces/{name}.txt.xz");
    let mut reader = Reader::new(&path, open(&path).expect("opens"));
    let mut analysis = Analysis::new(kind, Filter::default());
    while let Some(record) = reader.next_record().expect("is whole") {
        analysis.feed(&record);
    }
    let findings = analysis.finish(reader.summary()).expect("has a window");
    findings.tables.into_iter().next().expect("a table")
}

#[test]
fn whole_traces_have_the_published_figures() {
    let all = json("kernel-measurements.json");
    for name in WHOLE {
        compare(name, &all["callback_traces"][name]);
    }
}

#[test]
fn cut_traces_have_the_figures_of_an_independent_calculation() {
    let all = json("traces/cut-figures.json");
    for name in CUT {
        compare(name, &all[name]);
    }
}

fn compare(name: &str, expected: &Value) {
    assert!(expected.is_object(), "{name}: is in the data");
    let (recorded, f) = &read(name);
    let count = |what: &str, ours: usize| {
        assert_eq!(Some(ours as u64), expected[what].as_u64(), "{name} {what}");
    };
    count("grace_periods", f.ended().count());
    count("callbacks", recorded.in_window().count());
    let of = |all: &mut dyn Iterator<Item = u64>| {
        let mut distribution = Distribution::default();
        all.for_each(|it| distribution.add(it));
        distribution.percentiles()
    };
    let durations = of(&mut f.ended().filter_map(|it| it.duration_ns()));
    times(name, durations, &expected["gp_duration_ms"]);
    let gaps = f.gps.windows(2).filter_map(|it| {
        it[1].end_ns?;
        Some(it[1].start_ns - it[0].end_ns?)
    });
    times(name, of(&mut { gaps }), &expected["gp_gap_ms"]);
    times(name, f.callback_delay, &expected["cb_latency_ms"]);
    batches(name, &expected["batch_CBs"]);

    let mut scans: BTreeMap<String, u64> = BTreeMap::new();
    f.ended()
        .for_each(|it| *scans.entry(it.scans.to_string()).or_default() += 1);
    counts(name, scans, &expected["fqs_scans_per_gp"]);
    let functions = table(name, Kind::Callbacks);
    let queued =
        |row: &quiescent_trace::Line| Some((row.labels[0].clone(), row.figures[0]? as u64));
    let mut functions: BTreeMap<String, u64> = functions.rows.iter().filter_map(queued).collect();
    functions.remove("(all)");
    counts(name, functions, &expected["cb_functions"]);

    let rate = |what: &str, count: u64| near(name, f, count, &expected[what]);
    rate("grace_periods_per_s", f.ended().count() as u64);
    rate("total_wakeups_per_s", f.wakeups.values().sum());
    rate("ticks_per_s_on_idle_total", f.idle_ticks);
    rate("idle_entries_per_s", f.idle_entries);
    let wakeups = expected["wakeups_per_s"].as_object().expect("a table");
    for (kind, rate) in wakeups {
        let ours = f.wakeups.get(kind).copied().unwrap_or(0);
        near(&format!("{name} {kind}"), f, ours, rate);
    }
}

/// A rate to the two digits that the data has.
fn near(name: &str, f: &Figures, count: u64, expected: &Value) {
    let (ours, expected) = (f.per_second(count), expected.as_f64().expect("a rate"));
    assert!(
        (ours - expected).abs() < 0.0051,
        "{name}: {ours} {expected}"
    );
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

fn batches(name: &str, expected: &Value) {
    let table = table(name, Kind::Batches);
    let of = |metric| table.figure("(all)", metric);
    let n = expected["n"].as_f64().unwrap_or(0.0);
    assert_eq!(of("batches").unwrap_or(0.0), n, "{name}");
    if n > 0.0 {
        assert_eq!(of("batch_ready_max"), expected["max"].as_f64(), "{name}");
    }
}
