//! The tables of every analysis are those computed by an independent script, on whole traces of a real
//! kernel: every row, every figure, and nothing else.
//!
//! `data/traces/analyses.json` is the output of `python3 analyses.py` in that folder for the traces below, in
//! this order: `./analyses.py TRACE.txt.xz... > analyses.json`. Counts are equal; quotients and sums of
//! doubles may differ in their last bits, and the file has nine decimals.

use quiescent_trace::{Analysis, Filter, Findings, Kind, Reader, open};
use serde_json::Value;
use std::collections::BTreeMap;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/traces/");

const KINDS: [Kind; 5] = [
    Kind::Wakeups,
    Kind::Callbacks,
    Kind::Batches,
    Kind::Gps,
    Kind::Idle,
];

/// All analyses in one pass.
fn findings(name: &str) -> Vec<(Kind, Findings)> {
    let path = format!("{DATA}{name}.txt.xz");
    let mut reader = Reader::new(&path, open(&path).expect("opens"));
    let mut analyses = KINDS.map(|kind| (kind, Analysis::new(kind, Filter::default())));
    while let Some(record) = reader.next_record().expect("reads") {
        analyses
            .iter_mut()
            .for_each(|(_, analysis)| analysis.feed(&record));
    }
    let summary = reader.summary();
    let finish = |(kind, analysis): (Kind, Analysis)| {
        (kind, analysis.finish(summary).expect("has findings"))
    };
    analyses.into_iter().map(finish).collect()
}

/// Every figure by case and metric; what is not known is not there.
fn figures(found: &Findings) -> BTreeMap<(String, String), f64> {
    let mut all = BTreeMap::new();
    for table in &found.tables {
        for row in &table.rows {
            for (column, figure) in table.columns.iter().zip(&row.figures) {
                let Some(figure) = figure else { continue };
                let key = (table.case(row), column.metric.to_owned());
                let before = all.insert(key.clone(), *figure);
                assert_eq!(before, None, "{key:?}: a case and a metric name one figure");
            }
        }
    }
    all
}

fn expected(value: &Value) -> BTreeMap<(String, String), f64> {
    let mut all = BTreeMap::new();
    for (case, row) in value.as_object().expect("cases") {
        for (metric, figure) in row.as_object().expect("metrics") {
            all.insert(
                (case.clone(), metric.clone()),
                figure.as_f64().expect("a number"),
            );
        }
    }
    all
}

fn compare(name: &str) {
    let text =
        std::fs::read_to_string(format!("{DATA}analyses.json")).expect("a file of the project");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    for (kind, found) in findings(name) {
        let about = &found.about;
        assert_eq!(
            about.unparsed.count() + about.undecoded.count(),
            0,
            "{name}"
        );
        assert_eq!((about.lost, about.unitless), (0, 0), "{name}");
        let key = format!("{name} {}", kind.name());
        let (ours, theirs) = (figures(&found), expected(&all[&key]));
        let mut wrong = Vec::new();
        for (what, theirs) in &theirs {
            match ours.get(what) {
                Some(ours) if (ours - theirs).abs() <= 2e-9 + theirs.abs() * 1e-12 => {}
                ours => wrong.push(format!("{what:?}: {ours:?}, expected {theirs}")),
            }
        }
        let surplus = ours.iter().filter(|(what, _)| !theirs.contains_key(*what));
        wrong.extend(surplus.map(|(what, ours)| format!("{what:?}: {ours}, expected none")));
        assert!(
            wrong.is_empty(),
            "{key}: {} of {} differ\n{}",
            wrong.len(),
            theirs.len(),
            wrong.join("\n")
        );
    }
}

#[test]
fn soft_interrupts_with_the_early_report() {
    compare("classic-a-softirq-file100-early");
}

#[test]
fn soft_interrupts_in_the_other_idle_loop() {
    compare("a-softirq-file100-cut");
}

#[test]
fn offloaded() {
    compare("classic-b-nocb-file100");
}

#[test]
fn lazy() {
    compare("classic-c-lazy-file100");
}

#[test]
fn waiters() {
    compare("s-sync-classic-8");
}

#[test]
fn nothing_to_do() {
    compare("classic-idle");
}
