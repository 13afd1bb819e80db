//! The targets of reclaiming later: `bench retire`, `bench mixed` and the instructions of a push.

use crate::cases::mixed::{READ, UPDATE};
use crate::cases::retire::peak_case;
use quiescent_report::OURS;
use quiescent_report::Report;
use quiescent_report::rows::{MEBIBYTE, MILLION};
use quiescent_report::verdict::Target;

/// All of them, in the order of the issue.
pub(super) fn targets(report: &Report, targets: &mut Vec<Target>) {
    push(report, targets);
    all_in(report, targets);
    beside(report, targets);
    targets.push(Target::at_most(
        "objects with Drop, all in: CPU time at most liburcu-memb".into(),
        report.median(OURS, "drop 1t", "cpu_ns"),
        report.median("liburcu-memb", "drop 1t", "cpu_ns"),
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

fn all_in(report: &Report, targets: &mut Vec<Target>) {
    for case in ["all-in 1t", "all-in 2t"] {
        let cpu_ns = |subject| report.median(subject, case, "cpu_ns");
        targets.push(Target::at_most(
            format!("{case}: CPU time an object at most 0.6 x ck"),
            cpu_ns(OURS),
            cpu_ns("ck").map(|ns| ns * 0.6),
            "ns",
        ));
    }
    for case in ["all-in 1t", "all-in 2t"] {
        let bytes = report.median(OURS, &peak_case(case), "peak_rss_bytes");
        targets.push(Target::at_most(
            format!("{case}, 20 million objects: peak memory at most 4 MiB"),
            bytes.map(|bytes| bytes / MEBIBYTE),
            Some(4.0),
            "MiB",
        ));
    }
}

fn beside(report: &Report, targets: &mut Vec<Target>) {
    let of = |subject, case, metric| report.median(subject, case, metric);
    for peer in ["seize", "ck"] {
        let rate = |subject| of(subject, UPDATE, "ops_per_s").map(|rate| rate / MILLION);
        targets.push(Target::at_least(
            format!("updates beside a reader: at least 2x as many as {peer}"),
            rate(OURS),
            rate(peer).map(|rate| rate * 2.0),
            "M/s",
        ));
    }
    for peer in ["seize", "ck"] {
        targets.push(Target::at_most(
            format!("reads beside updates: at least 6x cheaper than {peer}"),
            of(OURS, READ, "cpu_ns"),
            of(peer, READ, "cpu_ns").map(|ns| ns / 6.0),
            "ns",
        ));
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
        let targets = of(&[
            (OURS, "push", "instructions", 16.0),
            (OURS, "push", "cpu_ns", 15.5),
            (OURS, "all-in 1t", "cpu_ns", 17.0),
            ("ck", "all-in 1t", "cpu_ns", 30.0),
            (OURS, "all-in 1t", "peak_rss_bytes", 9e9),
            (OURS, &peak_case("all-in 2t"), "peak_rss_bytes", 3e6),
            (OURS, UPDATE, "ops_per_s", 11e6),
            ("seize", UPDATE, "ops_per_s", 5e6),
            ("ck", UPDATE, "ops_per_s", 6e6),
            (OURS, "at rest", "wakeups", 0.0),
            (OURS, "at rest", "timers", 1.0),
        ]);
        assert_eq!(met(&targets, "16 instructions"), Some(true));
        assert_eq!(met(&targets, "15 ns"), Some(false));
        assert_eq!(met(&targets, "all-in 1t: CPU"), Some(true));
        assert_eq!(met(&targets, "all-in 2t: CPU"), None);
        assert_eq!(
            met(&targets, "all-in 1t, 20"),
            None,
            "that was not 20 million"
        );
        assert_eq!(met(&targets, "all-in 2t, 20"), Some(true));
        assert_eq!(met(&targets, "as many as seize"), Some(true));
        assert_eq!(met(&targets, "as many as ck"), Some(false));
        assert_eq!(met(&targets, "cheaper than ck"), None);
        assert_eq!(met(&targets, "0 wake-ups"), Some(true));
        assert_eq!(met(&targets, "0 timers"), Some(false));
    }

    #[test]
    fn a_lower_bound_turns_the_ratio_round() {
        let target = Target::at_least("x".into(), Some(4.0), Some(8.0), "M/s");
        assert_eq!((target.met(), target.ratio()), (Some(false), Some(2.0)));
        let nothing = Target::at_least("x".into(), Some(0.0), Some(8.0), "M/s");
        assert_eq!(nothing.ratio(), None);
    }
}
