//! Targets beside what the same run measured: those of `targets.toml`.
//!
//! A target is a measured figure of quiescent and a bound, upper or lower: a number, or a peer's figure *of
//! this run* times a factor. Nothing measured is ever compared with a figure from another run. A missing
//! figure (a package is missing, the run was stopped) makes its target "not measured", never met. Timing
//! targets are medians on a shared machine, so an unmet one is reported and is no failure of the command.

use quiescent_report::rows::{MEBIBYTE, MILLION};
use quiescent_report::verdict::{Sense, Target};
use quiescent_report::{OURS, Report, Row};
use serde::Deserialize;
use std::sync::LazyLock;

/// `targets.toml`, whose head says what each key means.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    target: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    bench: String,
    what: String,
    metric: String,
    unit: String,
    each: Vec<(String, f64)>,
    #[serde(default)]
    beside: Vec<String>,
    #[serde(default)]
    plus: f64,
    of: Option<String>,
    #[serde(default)]
    divide: bool,
    #[serde(default)]
    least: bool,
    subject: Option<String>,
    #[serde(default)]
    largest: bool,
    #[serde(default)]
    worst: bool,
    one_more: Option<String>,
}

static ALL: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let file: File = toml::from_str(include_str!("targets.toml")).expect("a test reads it");
    file.target
});

/// Those of this command that were measured; or those of all whose cases are in the report.
pub fn of(report: &Report, bench: Option<&str>) -> Vec<Target> {
    let entries = ALL
        .iter()
        .filter(|it| bench.is_none_or(|name| it.bench == name));
    let mut targets: Vec<Target> = entries.flat_map(|it| it.targets(report)).collect();
    if bench.is_none_or(|name| name == "flood") {
        targets.extend(throughput(report, available_cpus()));
    }
    targets.retain(|it| bench.is_none() || it.met().is_some());
    targets
}

impl Entry {
    fn targets(&'static self, report: &Report) -> Vec<Target> {
        let subject = self.subject.as_deref().unwrap_or(OURS);
        let mut targets = Vec::new();
        for (pattern, n) in &self.each {
            for case in cases(report, subject, pattern) {
                if self.beside.is_empty() {
                    targets.push(self.target(report, case, *n, None));
                }
                let beside = self.beside.iter();
                targets.extend(beside.map(|peer| self.target(report, case, *n, Some(peer))));
            }
        }
        if self.worst {
            let worst = targets
                .into_iter()
                .reduce(|one, other| match one.ours >= other.ours {
                    true => one,
                    false => other,
                });
            targets = Vec::from_iter(worst);
        }
        targets
    }

    fn target(&'static self, report: &Report, case: &str, n: f64, peer: Option<&String>) -> Target {
        let scale = match &*self.unit {
            "MiB" => MEBIBYTE,
            "M/s" => MILLION,
            _ => 1.0,
        };
        let subject = self.subject.as_deref().unwrap_or(OURS);
        let find = |subject: &str, metric: &str| report.find(subject, case, metric);
        let figure = |row: &Row| if self.largest { row.max } else { row.median } / scale;
        let ours = find(subject, &self.metric).map(figure);
        let bound = match peer {
            Some(peer) => find(peer, self.of.as_ref().unwrap_or(&self.metric)).map(|row| {
                let theirs = figure(row);
                self.plus + if self.divide { theirs / n } else { theirs * n }
            }),
            None => Some(n),
        };
        // A wake-up at the edge of the time that was watched belongs to it or not.
        let counted = self
            .one_more
            .as_ref()
            .and_then(|it| find(subject, it))
            .map(figure);
        let one = ours
            .zip(counted.filter(|it| *it > 0.0))
            .map_or(0.0, |(rate, count)| rate / count);
        let what = self
            .what
            .replace("{case}", case)
            .replace("{n}", &n.to_string());
        Target {
            what: what.replace("{peer}", peer.map_or("", String::as_str)),
            ours,
            bound: bound.map(|bound| bound + one),
            sense: if self.least {
                Sense::AtLeast
            } else {
                Sense::AtMost
            },
            unit: &self.unit,
        }
    }
}

/// Whether this is a pattern of a case: `*` stands for any text.
pub fn fits(pattern: &str, case: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else {
        return case == pattern;
    };
    case.strip_prefix(before).is_some_and(|rest| {
        let mut ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
        ends.any(|at| fits(after, &rest[at..]))
    })
}

/// The cases of a subject that this is a pattern of, each once.
fn cases<'a>(report: &'a Report, subject: &str, pattern: &str) -> Vec<&'a str> {
    let mut cases: Vec<&str> = Vec::new();
    for row in &report.rows {
        let found = row.subject == subject && fits(pattern, &row.case);
        if found && !cases.contains(&&*row.case) {
            cases.push(&row.case);
        }
    }
    cases
}

fn available_cpus() -> u64 {
    std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64)
}

/// Bounded, and not slower for it: where producers and the reader are as many as the CPUs, none waits for
/// one.
fn throughput(report: &Report, cpus: u64) -> Vec<Target> {
    let target = |case: &str| {
        let producers: u64 = case
            .strip_prefix("retire ")?
            .strip_suffix('p')?
            .parse()
            .ok()?;
        let share = if producers < cpus { 1.0 } else { 0.9 };
        let rate = |subject| Some(report.median(subject, case, "ops_per_s")? / MILLION);
        Some(Target::at_least(
            format!("flood, {case}: blocks a second at least {share} x ck"),
            rate(OURS),
            rate("ck").map(|rate| share * rate),
            "M/s",
        ))
    };
    cases(report, OURS, "retire *p")
        .into_iter()
        .filter_map(target)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::fixture::{met, report};
    use quiescent_report::verdict;

    #[test]
    fn every_target_is_of_a_bench_and_says_all_that_it_needs() {
        for it in ALL.iter() {
            assert!(
                crate::cases::all()
                    .iter()
                    .any(|bench| bench.name == it.bench),
                "{}",
                it.bench
            );
            assert!(!it.each.is_empty(), "{}", it.what);
            assert!(
                it.each.len() == 1 || it.worst || it.what.contains("{case}"),
                "{}",
                it.what
            );
            assert!(
                it.beside.len() < 2 || it.what.contains("{peer}"),
                "{}",
                it.what
            );
        }
    }

    #[test]
    fn a_star_is_any_text() {
        for (pattern, case) in [
            ("retire */s", "retire 10/s"),
            ("*iB */s", "small, then 4 MiB 100/s"),
            ("* at rest", "9 at rest"),
            ("*", ""),
            ("read", "read"),
            ("…*", "…"),
        ] {
            assert!(fits(pattern, case), "{pattern} {case}");
        }
        for (pattern, case) in [
            ("retire */s", "retire 10/s, exits"),
            ("retire */s", "defer 10/s"),
            ("defer */s", "defer_hurry 10/s"),
            ("all-in *t", "all-in 1t of 20M"),
            ("* at rest", "at rest"),
            ("read", "read 2r"),
        ] {
            assert!(!fits(pattern, case), "{pattern} {case}");
        }
    }

    #[test]
    fn met_or_not_by_the_same_report() {
        let mib = |mib: f64| mib * MEBIBYTE;
        let targets = of(
            &report(&[
                (OURS, "load", "cpu_ns", 2.0),
                ("liburcu-memb", "load", "cpu_ns", 1.0),
                ("seize", "load", "cpu_ns", 8.0),
                ("quiescent-domain", "empty", "cpu_ns_ratio", 1.9),
                (OURS, "reader looping", "latency_us", 3.0),
                ("liburcu-memb", "reader looping", "latency_us", 4.0),
                (OURS, "push", "instructions", 16.0),
                (OURS, "push", "cpu_ns", 15.5),
                (OURS, "drop 1t", "peak_rss_bytes", mib(5.9)),
                ("ck", "drop 1t", "peak_rss_bytes", mib(4.0)),
                (OURS, "all-in 2t of 20M", "above_empty_bytes", mib(2.9)),
                (OURS, "update 1k/s", "fence_time_percent", 1.0),
                (OURS, "update", "fence_time_percent", 4.0),
                (OURS, "update", "ops_per_s", 11e6),
                ("seize", "update", "ops_per_s", 5e6),
                (OURS, "drained", "timers", 1.0),
                ("quiescent-domain", "500 at rest", "wakeups", 0.0),
                (OURS, "retire 10/s", "wakeups_per_s", 0.2),
                (OURS, "defer 100/s", "wakeups_per_s", 20.1),
                (OURS, "defer 100/s", "wakeups", 201.0),
                (OURS, "retire 64 kib", "counted_bytes", mib(5.0)),
                (OURS, "retire 64 kib", "held_bytes", mib(6.0)),
                (OURS, "drop 3p", "counted_bytes", mib(70.0)),
                (OURS, "defer", "named", 0.0),
            ]),
            None,
        );
        for (what, is) in [
            ("load: CPU time at most liburcu-memb", Some(false)),
            ("load: at least 4x faster than seize", Some(true)),
            ("load: at least 4x faster than sdd", None),
            ("load: at most 11 instructions", None),
            ("domain at hand: CPU time at most 2x", Some(true)),
            ("looping: at most 0.6 x liburcu-memb", Some(false)),
            ("16 instructions", Some(true)),
            ("15 ns", Some(false)),
            ("peak memory at most ck + 2 MiB", Some(true)),
            ("of 20M: peak memory at most 3 MiB", Some(true)),
            ("3 % of the time", Some(false)),
            ("2 x as many as seize", Some(true)),
            ("as many as ck", None),
            ("drained: 0 timers", Some(false)),
            ("500 at rest: 0 wake-ups", Some(true)),
            ("500 at rest: memory", None),
            ("retire 10/s: at most 0.1", Some(false)),
            // One in ten seconds.
            ("defer 100/s: at most 20", Some(true)),
            ("counts what is held", Some(false)),
            ("drop 3p: counted", Some(true)),
            ("reader, defer: the reader is named", Some(false)),
        ] {
            assert_eq!(met(&targets, what), is, "{what}");
        }
        assert!(!targets.iter().any(|it| it.what.contains("drop 1t of")));
        assert!(verdict::text(&targets).contains("not measured"));
        assert!(of(&report(&[]), None).is_empty());
    }

    #[test]
    fn a_thread_that_has_a_processor_has_to_be_as_fast() {
        let measured = report(&[
            (OURS, "retire 2p", "ops_per_s", 9e6),
            ("ck", "retire 2p", "ops_per_s", 9.5e6),
            (OURS, "retire 1p", "ops_per_s", 9e6),
            ("ck", "retire 1p", "ops_per_s", 9.5e6),
        ]);
        let targets = throughput(&measured, 2);
        assert_eq!(
            met(&targets, "2p: blocks a second at least 0.9 x"),
            Some(true)
        );
        assert_eq!(
            met(&targets, "1p: blocks a second at least 1 x"),
            Some(false)
        );
    }

    #[test]
    fn the_flush_time_and_a_fifth_is_the_latest() {
        let latest = quiescent::tuning::FLUSH.as_millis() as f64 * 1.2;
        let of_flush = ALL.iter().filter(|it| it.what.contains("the latest freed"));
        assert!(of_flush.flat_map(|it| &it.each).all(|it| it.1 == latest));
    }
}
