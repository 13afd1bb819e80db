//! The targets of reclaiming later: `bench retire`, `bench mixed` and the instructions of a push.

use crate::cases::mixed::{self, READ, UPDATE};
use crate::cases::retire::RetireCase;
use crate::deferral::swap::{Content, Place};
use quiescent_report::OURS;
use quiescent_report::Report;
use quiescent_report::rows::{MEBIBYTE, MILLION};
use quiescent_report::verdict::Target;

/// All of them, in the order of the issue.
pub(super) fn targets(report: &Report, targets: &mut Vec<Target>) {
    push(report, targets);
    owning(report, targets);
    all_in(report, targets);
    fences(report, targets);
    beside(report, targets);
    strings(report, targets);
    sections(report, targets);
    targets.push(Target::at_most(
        "call, all in: CPU time at most 0.6 x call_rcu of liburcu-memb".into(),
        report.median(OURS, "call 1t", "cpu_ns"),
        report
            .median("liburcu-memb", "call 1t", "cpu_ns")
            .map(|ns| ns * 0.6),
        "ns",
    ));
    for (metric, what) in [("wakeups", "wake-ups"), ("timers", "timers")] {
        targets.push(Target::at_most(
            format!("everything reclaimed, at rest: 0 {what}"),
            report.median(OURS, "at rest", metric),
            Some(0.0),
            what,
        ));
    }
}

fn push(report: &Report, targets: &mut Vec<Target>) {
    targets.push(Target::at_most(
        "push: at most 16 instructions, the allocator's left out".into(),
        report.median(OURS, "push", "instructions"),
        Some(16.0),
        "instructions",
    ));
    targets.push(Target::at_most(
        "push: at most 15 ns, frees of earlier blocks included".into(),
        report.median(OURS, "push", "cpu_ns"),
        Some(15.0),
        "ns",
    ));
}

fn owning(report: &Report, targets: &mut Vec<Target>) {
    let of = |subject, metric| report.median(subject, "drop 1t", metric);
    for (peer, share) in [("seize", 0.7), ("ck", 1.0)] {
        targets.push(Target::at_most(
            format!("objects with Drop, all in: CPU time at most {share} x {peer}"),
            of(OURS, "cpu_ns"),
            of(peer, "cpu_ns").map(|ns| ns * share),
            "ns",
        ));
    }
    let peak = |subject| of(subject, "peak_rss_bytes").map(|bytes| bytes / MEBIBYTE);
    targets.push(Target::at_most(
        "objects with Drop, all in: peak memory at most ck + 2 MiB".into(),
        peak(OURS),
        peak("ck").map(|mib| mib + 2.0),
        "MiB",
    ));
}

fn all_in(report: &Report, targets: &mut Vec<Target>) {
    for (producers, share, above, mib) in [(1, 0.65, 4.0, 1.5), (2, 1.0, 6.0, 3.0)] {
        let case = RetireCase::AllIn(producers);
        let name = case.name();
        let of = |subject, metric| report.median(subject, &name, metric);
        targets.push(Target::at_most(
            format!("{name}: CPU time an object at most {share} x ck"),
            of(OURS, "cpu_ns"),
            of("ck", "cpu_ns").map(|ns| ns * share),
            "ns",
        ));
        targets.push(Target::at_most(
            format!("{name}: at most {above} ns above malloc and free"),
            of(OURS, "above_malloc_free_ns"),
            Some(above),
            "ns",
        ));
        let bytes = report.median(OURS, &case.peak_name(), "above_empty_bytes");
        targets.push(Target::at_most(
            format!(
                "{}: peak memory at most {mib} MiB above an empty run",
                case.peak_name()
            ),
            bytes.map(|bytes| bytes / MEBIBYTE),
            Some(mib),
            "MiB",
        ));
    }
}

/// The share of grace periods that interrupt CPUs, and of the time that goes into it.
fn fences(report: &Report, targets: &mut Vec<Target>) {
    targets.push(Target::at_most(
        "all-in 2t: at most 0.05 fences issued a grace period".into(),
        report.median(OURS, "all-in 2t", "fences_issued_per_gp"),
        Some(0.05),
        "fences",
    ));
    let of = |rate| {
        let case = mixed::case_name(UPDATE, Content::Block, rate, 1);
        report.median(OURS, &case, "fence_time_percent")
    };
    let rates = mixed::RATES.into_iter().map(Some).chain([None]);
    let most = rates.filter_map(of).reduce(f64::max);
    targets.push(Target::at_most(
        "updates beside a reader: at most 3 % of the time in fences at any rate".into(),
        most,
        Some(3.0),
        "%",
    ));
}

fn beside(report: &Report, targets: &mut Vec<Target>) {
    let read = mixed::case_name(READ, Content::Block, Some(100_000), 1);
    targets.push(Target::at_most(
        "reads beside 100 k updates/s: at most 1.3 x the read without updates".into(),
        report.median(OURS, &read, "cpu_ns_ratio"),
        Some(1.3),
        "times",
    ));
    for peer in ["crossbeam-epoch", "seize"] {
        targets.push(Target::at_most(
            format!("reads beside 100 k updates/s: at least 4x cheaper than {peer}"),
            report.median(OURS, &read, "cpu_ns"),
            report.median(peer, &read, "cpu_ns").map(|ns| ns / 4.0),
            "ns",
        ));
    }
    for (peer, times) in [("seize", 2.0), ("ck", 1.2)] {
        let rate = |subject| {
            let rate = report.median(subject, UPDATE, "ops_per_s");
            rate.map(|rate| rate / MILLION)
        };
        targets.push(Target::at_least(
            format!("updates beside a reader: at least {times} x as many as {peer}"),
            rate(OURS),
            rate(peer).map(|rate| rate * times),
            "M/s",
        ));
    }
}

/// Values that own memory, as programs replace them.
fn strings(report: &Report, targets: &mut Vec<Target>) {
    for (content, more) in [(Content::Short, 4.0), (Content::Long, 16.0)] {
        let case = RetireCase::Swap(content).peak_name();
        let of = |subject, metric| report.median(subject, &case, metric);
        let peak = |subject| of(subject, "peak_rss_bytes").map(|bytes| bytes / MEBIBYTE);
        targets.push(Target::at_most(
            format!("{case}: peak memory at most arc-swap + {more} MiB"),
            peak(OURS),
            peak("arc-swap").map(|mib| mib + more),
            "MiB",
        ));
        targets.push(Target::at_most(
            format!("{case}: CPU time at most 1.2 x arc-swap"),
            of(OURS, "cpu_ns"),
            of("arc-swap", "cpu_ns").map(|ns| ns * 1.2),
            "ns",
        ));
    }
}

/// Retiring inside a section, where users of other libraries do.
fn sections(report: &Report, targets: &mut Vec<Target>) {
    for content in [Content::Dropped, Content::Short] {
        let case = RetireCase::Section(Place::Inside, content, 1).name();
        let of = |metric| report.median(OURS, &case, metric);
        let what = format!("{case}: CPU time at most 1.2 x outside the section");
        let ratio = of("inside_ratio");
        targets.push(Target::at_most(what, ratio, Some(1.2), "times"));
        if content == Content::Dropped {
            for (metric, what, bound) in
                [("backlog", "queued", 4_096.0), ("reports", "reports", 0.0)]
            {
                let what_of = format!("{case}: at most {bound} {what}");
                targets.push(Target::at_most(what_of, of(metric), Some(bound), what));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::fixture::{self, met};

    fn of(figures: &[(&str, &str, &str, f64)]) -> Vec<Target> {
        let mut found = Vec::new();
        targets(&fixture::report(figures), &mut found);
        found
    }

    #[test]
    fn met_or_not_by_the_same_report() {
        let peak = RetireCase::AllIn(2).peak_name();
        let long = RetireCase::Swap(Content::Long).peak_name();
        let targets = of(&[
            (OURS, "push", "instructions", 16.0),
            (OURS, "push", "cpu_ns", 15.5),
            (OURS, "drop 1t", "cpu_ns", 38.0),
            ("ck", "drop 1t", "cpu_ns", 38.0),
            ("seize", "drop 1t", "cpu_ns", 50.0),
            (OURS, "all-in 1t", "cpu_ns", 17.0),
            ("ck", "all-in 1t", "cpu_ns", 30.0),
            (OURS, "all-in 1t", "above_malloc_free_ns", 4.5),
            (OURS, "all-in 1t", "above_empty_bytes", 9e9),
            (OURS, &peak, "above_empty_bytes", 3e6),
            (OURS, "all-in 2t", "fences_issued_per_gp", 0.5),
            (OURS, "update 1k/s", "fence_time_percent", 1.0),
            (OURS, UPDATE, "fence_time_percent", 4.0),
            (OURS, "read 100k/s", "cpu_ns_ratio", 1.2),
            (OURS, "read 100k/s", "cpu_ns", 3.0),
            ("seize", "read 100k/s", "cpu_ns", 11.0),
            (OURS, UPDATE, "ops_per_s", 11e6),
            ("seize", UPDATE, "ops_per_s", 5e6),
            ("ck", UPDATE, "ops_per_s", 9.5e6),
            (OURS, &long, "peak_rss_bytes", 20.0 * MEBIBYTE),
            ("arc-swap", &long, "peak_rss_bytes", 5.0 * MEBIBYTE),
            (OURS, "inside drop 1t", "inside_ratio", 6.0),
            (OURS, "inside drop 1t", "backlog", 4_000.0),
            (OURS, "at rest", "wakeups", 0.0),
            (OURS, "at rest", "timers", 1.0),
        ]);
        for (what, is) in [
            ("16 instructions", Some(true)),
            ("15 ns", Some(false)),
            ("Drop, all in: CPU time at most 1 x ck", Some(true)),
            ("Drop, all in: CPU time at most 0.7 x seize", Some(false)),
            ("all-in 1t: CPU", Some(true)),
            ("all-in 2t: CPU", None),
            ("all-in 1t: at most 4 ns above", Some(false)),
            // That was not 20 million.
            ("all-in 1t of 20M", None),
            ("all-in 2t of 20M", Some(true)),
            ("fences issued", Some(false)),
            ("time in fences", Some(false)),
            ("1.3 x the read", Some(true)),
            ("cheaper than seize", Some(false)),
            ("cheaper than crossbeam", None),
            ("as many as seize", Some(true)),
            ("as many as ck", Some(false)),
            ("string 64 kib 1t of 250k: peak", Some(true)),
            ("string 64 kib 1t of 250k: CPU", None),
            ("inside drop 1t: CPU", Some(false)),
            ("inside drop 1t: at most 4096 queued", Some(true)),
            ("inside drop 1t: at most 0 reports", None),
            ("inside string 64 b 1t: CPU", None),
            ("0 wake-ups", Some(true)),
            ("0 timers", Some(false)),
        ] {
            assert_eq!(met(&targets, what), is, "{what}");
        }
    }

    #[test]
    fn a_lower_bound_turns_the_ratio_round() {
        let target = Target::at_least("x".into(), Some(4.0), Some(8.0), "M/s");
        assert_eq!((target.met(), target.ratio()), (Some(false), Some(2.0)));
        let nothing = Target::at_least("x".into(), Some(0.0), Some(8.0), "M/s");
        assert_eq!(nothing.ratio(), None);
    }
}
