//! Grace periods: each end looks back for its start, and each phase for its two events between them.

use super::{Case, GP, Table, What, cases, config, least, mean, most, percentile};
use proptest::prelude::*;
use quiescent_trace::Kind;
use std::collections::BTreeMap;

/// Starts and ends of grace periods in the window, whole ones.
fn whole(case: &Case) -> Vec<(usize, usize)> {
    let ends = case.places().filter(|i| says(case, *i) == "end");
    let both = ends.filter_map(|end| {
        let start = last(case, 0, end, &["start", "end"])?;
        let counts = says(case, start) == "start" && case.inside(start) && case.inside(end);
        counts.then_some((start, end))
    });
    both.collect()
}

fn says(case: &Case, i: usize) -> &'static str {
    match case.entries[i].what {
        What::Gp { what } => GP[what],
        _ => "",
    }
}

/// The last event in front of `end`, from `start` on, that says one of these.
fn last(case: &Case, start: usize, end: usize, what: &[&str]) -> Option<usize> {
    (start..end).rev().find(|i| what.contains(&says(case, *i)))
}

/// From each event that says `from` to the next one that says `to`, inside a grace period.
fn spans(case: &Case, (start, end): (usize, usize), from: &str, to: &str) -> Vec<u64> {
    let ends = (start + 1..end).filter(|i| says(case, *i) == to);
    let spans = ends.filter_map(|until| {
        let since = last(case, start + 1, until, &[from, to])?;
        let whole = says(case, since) == from;
        whole.then(|| case.entries[until].time_us - case.entries[since].time_us)
    });
    spans.collect()
}

/// From the end of a whole one to the start of the next one, if that is whole too.
fn gaps(case: &Case) -> Vec<u64> {
    let all = whole(case);
    let gap = |(start, _): &(usize, usize)| {
        let before = last(case, 0, *start, &["start", "end"])?;
        let known = all.iter().any(|(_, end)| *end == before);
        known.then(|| case.entries[*start].time_us - case.entries[before].time_us)
    };
    all.iter().filter_map(gap).collect()
}

const PHASES: [&str; 6] = [
    "request to start",
    "init",
    "wait",
    "scan",
    "start to end",
    "end to next start",
];

fn slow(case: &Case, _: (u64, u64)) -> Table {
    let mut phases: BTreeMap<&str, Vec<u64>> = PHASES.map(|name| (name, Vec::new())).into();
    let mut scans: BTreeMap<usize, usize> = BTreeMap::new();
    for (start, end) in whole(case) {
        let time = |i: usize| case.entries[i].time_us;
        let mut add = |phase, durations| {
            phases
                .entry(phase)
                .or_default()
                .extend::<Vec<u64>>(durations)
        };
        let since = last(case, 0, start, &["start"]).map_or(0, |before| before + 1);
        let request = (since..start).find(|i| says(case, *i) == "newreq");
        add(
            "request to start",
            request.map(|i| time(start) - time(i)).into_iter().collect(),
        );
        let init = (start..end).find(|i| says(case, *i) == "fqswait");
        add(
            "init",
            init.map(|i| time(i) - time(start)).into_iter().collect(),
        );
        add("wait", spans(case, (start, end), "fqswait", "fqsstart"));
        let scanned = spans(case, (start, end), "fqsstart", "fqsend");
        *scans.entry(scanned.len()).or_default() += 1;
        add("scan", scanned);
        add("start to end", vec![time(end) - time(start)]);
    }
    phases.insert("end to next start", gaps(case));
    let mut table = Table::default();
    for (phase, durations) in &phases {
        table.put(phase, "n", Some(durations.len() as f64));
        table.put(phase, "duration_us_min", least(durations));
        table.put(phase, "duration_us_avg", mean(durations));
        table.put(phase, "duration_us_p50", percentile(durations, 50));
        table.put(phase, "duration_us_p99", percentile(durations, 99));
        table.put(phase, "duration_us_max", most(durations));
    }
    for (n, gps) in scans {
        table.put(&format!("scans {n}"), "grace_periods", Some(gps as f64));
    }
    table
}

proptest! {
    #![proptest_config(config(3000))]

    #[test]
    fn phases_of_grace_periods(case in cases(&[18, 18, 18, 18])) {
        let phases = ["request", "init", "wait", "scan", "start to", "end to", "scans"];
        case.compare(Kind::Gps, &phases, slow)?;
    }

    #[test]
    fn figures_of_grace_periods(case in cases(&[18, 18, 18, 18])) {
        let Some(figures) = case.figures()? else {
            return Ok(());
        };
        let time = |i: usize| case.entries[i].time_us;
        let durations = whole(&case).into_iter().map(|(from, to)| 1000 * (time(to) - time(from)));
        let ours = figures.ended().filter_map(|it| it.duration_ns());
        prop_assert!(ours.eq(durations), "{}", case.text());
    }
}
