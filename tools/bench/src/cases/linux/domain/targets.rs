//! The targets of `bench domain`.

use super::{resting, stalled};
use crate::cases::read;
use crate::instructions;
use crate::subjects::DOMAIN;
use quiescent_report::Report;
use quiescent_report::rows::MEBIBYTE;
use quiescent_report::verdict::Target;

/// A section is at most twice one of the process's domain; a stall in another domain has no effect; domains
/// at rest cause no activity.
pub fn targets(report: &Report) -> Vec<Target> {
    // The largest of all rounds, where none may be above the bound; else the median.
    let median = |case: &str, metric: &str| Some(report.find(DOMAIN, case, metric)?.median);
    let largest = |case: &str, metric: &str| Some(report.find(DOMAIN, case, metric)?.max);
    let mut targets = Vec::new();
    for (metric, what) in [
        (read::METRIC, "CPU time"),
        (instructions::METRIC, "instructions"),
    ] {
        let ours = median("empty", &format!("{metric}_ratio"));
        // Instructions are counted only when asked for.
        if ours.is_some() || metric == read::METRIC {
            let what =
                format!("read pair, one domain at hand: {what} at most 2x the process's domain");
            targets.push(Target::at_most(what, ours, Some(2.0), "times"));
        }
    }
    let case = stalled::CASES[1];
    for (metric, what) in [
        ("sleeps", "sleeps for a reader"),
        ("reader_wakeups", "wake-ups by a reader"),
        ("left", "grace periods or callbacks left"),
    ] {
        let what = format!("{case} in another domain: 0 {what}");
        targets.push(Target::at_most(what, largest(case, metric), Some(0.0), ""));
    }
    let asked = report.options.get("domains").and_then(|n| n.as_u64());
    let domains = asked.unwrap_or(0);
    let case = resting::case(domains, false);
    let memory = largest(&case, "memory_bytes").map(|bytes| bytes / MEBIBYTE);
    targets.push(Target::at_most(
        format!("{case}: memory at most 8 KiB each"),
        memory,
        Some(domains as f64 / 128.0),
        "MiB",
    ));
    for (metric, what) in [
        ("wakeups", "wake-ups"),
        ("timers", "timers"),
        ("not_at_rest", "that are not"),
    ] {
        let what = format!("{case}: 0 {what}");
        targets.push(Target::at_most(what, largest(&case, metric), Some(0.0), ""));
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::fixture::{met, report};

    #[test]
    fn what_is_asked_for_is_judged() {
        let case = resting::case(500, false);
        let mut report = report(&[
            (DOMAIN, "empty", "cpu_ns_ratio", 1.9),
            (DOMAIN, "empty", "instructions_ratio", 2.1),
            (DOMAIN, "reader stalled", "sleeps", 0.0),
            (DOMAIN, "reader stalled", "left", 1.0),
            (DOMAIN, &case, "memory_bytes", 4.1 * MEBIBYTE),
            (DOMAIN, &case, "wakeups", 0.0),
        ]);
        report.option("domains", 500);
        let targets = targets(&report);
        for (what, is) in [
            ("CPU time at most 2x", Some(true)),
            ("instructions at most 2x", Some(false)),
            ("0 sleeps", Some(true)),
            ("0 wake-ups by a reader", None),
            ("callbacks left", Some(false)),
            ("8 KiB each", Some(false)),
            ("at rest: 0 wake-ups", Some(true)),
            ("at rest: 0 that are not", None),
        ] {
            assert_eq!(met(&targets, what), is, "{what}");
        }
    }

    #[test]
    fn instructions_that_were_not_counted_are_no_target() {
        let targets = targets(&report(&[]));
        assert!(
            !targets
                .iter()
                .any(|target| target.what.contains("instructions"))
        );
        assert!(targets.iter().all(|target| target.met().is_none()));
    }
}
