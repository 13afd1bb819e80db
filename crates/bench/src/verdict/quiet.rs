//! The targets of doing little: `bench idle`, `bench trickle`, `bench flood` and `bench stall`.

use super::{OURS, Target, median};
use crate::deferral::RETIRE;
use crate::idle::{DRAINED, NOTHING_QUEUED};
use crate::{Report, flood as floods, trickle as trickles};

const MEBIBYTE: f64 = (1 << 20) as f64;
const MILLION: f64 = 1e6;
/// What a program may hold by default, in MiB.
const BUDGET: f64 = 64.0;

/// Nothing to do, nothing done.
pub fn idle(report: &Report) -> Vec<Target> {
    let none = |case: &'static str, metric, what: &'static str| {
        let ours = median(report, OURS, case, metric);
        Target::at_most(format!("{case}: 0 {what}"), ours, Some(0.0), what)
    };
    let mut targets = Vec::new();
    for (metric, what) in [
        ("wakeups", "wake-ups"),
        ("timers", "timers"),
        ("scans", "scans"),
        ("fences", "fences"),
    ] {
        targets.push(none(NOTHING_QUEUED, metric, what));
        targets.push(none(DRAINED, metric, what));
    }
    targets.push(none(NOTHING_QUEUED, "threads", "threads"));
    targets
}

/// Quiet under a trickle, and everything freed in time. A rate that was not measured has no target.
pub fn trickle(report: &Report) -> Vec<Target> {
    let ours = |case: &str, metric| median(report, OURS, case, metric);
    let mut targets = Vec::new();
    let mut at_most = |case: &str, what: &str, metric, bound, unit| {
        let measured = ours(case, metric);
        // Where a case was measured at all, a missing figure is told; a case that was not asked for is no target.
        if measured.is_some() || ours(case, "wakeups_per_s").is_some() {
            let what = format!("{case}: {what}");
            targets.push(Target::at_most(what, measured, Some(bound), unit));
        }
    };
    // A wake-up at the edge of the time that was watched belongs to it or not.
    let one_more = |case: &str| {
        let wakeups = ours(case, "wakeups").filter(|wakeups| *wakeups > 0.0);
        let rate = ours(case, "wakeups_per_s");
        wakeups
            .zip(rate)
            .map_or(0.0, |(wakeups, rate)| rate / wakeups)
    };
    let latest = trickles::patience_ms() as f64;
    for rate in [1, 10, 100, 1_000, 10_000] {
        let case = format!("retire {rate}/s");
        at_most(
            &case,
            "at most 0.1 wake-ups/s (and one at the edge)",
            "wakeups_per_s",
            0.1 + one_more(&case),
            "wake-ups/s",
        );
        for case in [case.clone(), format!("{case}, exits")] {
            at_most(
                &case,
                "everything freed by the flush time + 20 %",
                "never_run",
                0.0,
                "blocks left",
            );
            at_most(
                &case,
                "the latest freed by the flush time + 20 %",
                "delay_ms_max",
                latest,
                "ms",
            );
        }
        if rate >= 1_000 {
            at_most(
                &case,
                "99.9 % of calls take at most 2 us",
                "latency_us_p99.9",
                2.0,
                "us",
            );
        }
    }
    let (call, hurry) = ("call 100/s", "call_hurry 100/s");
    at_most(
        call,
        "at most 20 wake-ups/s (and one at the edge)",
        "wakeups_per_s",
        20.0 + one_more(call),
        "wake-ups/s",
    );
    at_most(call, "run within 60 ms", "delay_ms_max", 60.0, "ms");
    at_most(
        hurry,
        "half of them run within 0.2 ms",
        "delay_ms",
        0.2,
        "ms",
    );
    for case in [call, hurry] {
        at_most(case, "everything run", "never_run", 0.0, "blocks left");
    }
    targets
}

/// Bounded, and not slower for it.
pub fn flood(report: &Report) -> Vec<Target> {
    let case = |verb| floods::case_name(verb, 2);
    let rate =
        |subject| median(report, subject, &case(RETIRE), "ops_per_s").map(|rate| rate / MILLION);
    let mut targets = vec![Target::at_least(
        format!(
            "flood, {}: blocks a second at least as many as ck",
            case(RETIRE)
        ),
        rate(OURS),
        rate("ck"),
        "M/s",
    )];
    for verb in [RETIRE, "call"] {
        let held = median(report, OURS, &case(verb), "held_bytes");
        targets.push(Target::at_most(
            format!("flood, {}: held at most {BUDGET} MiB", case(verb)),
            held.map(|bytes| bytes / MEBIBYTE),
            Some(BUDGET),
            "MiB",
        ));
    }
    targets
}

/// The verbs that promise to stay within the budget.
const BOUNDED: [&str; 2] = ["try_retire", "retire_wait"];

/// Named under every verb, bounded under those that can wait or refuse.
pub fn stall(report: &Report) -> Vec<Target> {
    let ours = |verb: &str, metric| median(report, OURS, verb, metric);
    let mut targets = Vec::new();
    for verb in BOUNDED {
        targets.push(Target::at_most(
            format!("stalled reader, {verb}: memory grows by at most 1.2 x {BUDGET} MiB"),
            ours(verb, "grown_bytes").map(|bytes| bytes / MEBIBYTE),
            Some(1.2 * BUDGET),
            "MiB",
        ));
    }
    for verb in ["retire", "call"].into_iter().chain(BOUNDED) {
        targets.push(Target::at_least(
            format!("stalled reader, {verb}: the reader is named"),
            ours(verb, "named"),
            Some(1.0),
            "readers",
        ));
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{met, report};
    use super::*;

    #[test]
    fn idleness_is_nothing_at_all() {
        let report = report(&[
            (OURS, NOTHING_QUEUED, "wakeups", 0.0),
            (OURS, DRAINED, "timers", 1.0),
        ]);
        let targets = idle(&report);
        assert_eq!(met(&targets, "nothing queued: 0 wake-ups"), Some(true));
        assert_eq!(met(&targets, "drained: 0 timers"), Some(false));
        assert_eq!(met(&targets, "nothing queued: 0 threads"), None);
    }

    #[test]
    fn rates_that_were_not_measured_have_no_target() {
        let measured = report(&[
            (OURS, "retire 10/s", "wakeups_per_s", 0.2),
            (OURS, "retire 10/s", "never_run", 0.0),
            (OURS, "retire 10/s, exits", "never_run", 1.0),
            (OURS, "call_hurry 100/s", "delay_ms", 0.19),
            (OURS, "call 100/s", "wakeups_per_s", 20.1),
            (OURS, "call 100/s", "wakeups", 201.0),
        ]);
        let targets = trickle(&measured);
        assert_eq!(met(&targets, "retire 10/s: at most 0.1"), Some(false));
        assert_eq!(met(&targets, "retire 10/s: everything"), Some(true));
        assert_eq!(met(&targets, "retire 10/s, exits: everything"), Some(false));
        assert_eq!(met(&targets, "retire 10/s: the latest"), None);
        assert_eq!(met(&targets, "half of them"), Some(true));
        assert_eq!(
            met(&targets, "at most 20"),
            Some(true),
            "one in ten seconds"
        );
        let watched = targets
            .iter()
            .filter(|target| target.what.starts_with("retire 10/s"));
        assert_eq!(watched.count(), 4, "{targets:?}");
        assert!(trickle(&report(&[])).is_empty());
    }

    #[test]
    fn floods_and_stalls() {
        let measured = report(&[
            (OURS, "retire 2p", "ops_per_s", 9e6),
            ("ck", "retire 2p", "ops_per_s", 8e6),
            (OURS, "retire 2p", "held_bytes", 65.0 * MEBIBYTE),
            (OURS, "retire", "named", 1.0),
            (OURS, "call", "named", 0.0),
        ]);
        let targets = flood(&measured);
        assert_eq!(met(&targets, "as many as ck"), Some(true));
        assert_eq!(met(&targets, "retire 2p: held at most"), Some(false));
        let targets = stall(&measured);
        assert_eq!(
            met(&targets, "reader, retire: the reader is named"),
            Some(true)
        );
        assert_eq!(
            met(&targets, "reader, call: the reader is named"),
            Some(false)
        );
        assert_eq!(met(&targets, "try_retire: memory"), None);
    }
}
