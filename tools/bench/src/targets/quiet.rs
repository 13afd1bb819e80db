//! The targets of doing little: `bench idle`, `bench trickle`, `bench flood` and `bench stall`.

use super::{OURS, Target, median};
use crate::deferral::RETIRE;
use crate::idle::{DRAINED, NOTHING_QUEUED};
use crate::{flood as floods, trickle as trickles};
use quiescent_report::Report;

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

/// Targets of cases that were measured; one that was not asked for has none.
struct Measured<'a> {
    report: &'a Report,
    targets: Vec<Target>,
}

impl Measured<'_> {
    fn ours(&self, case: &str, metric: &str) -> Option<f64> {
        median(self.report, OURS, case, metric)
    }

    fn at_most(&mut self, case: &str, what: &str, metric: &str, bound: f64, unit: &'static str) {
        let measured = self.ours(case, metric);
        // Where a case was measured at all, a missing figure is told.
        if measured.is_some() || self.ours(case, "wakeups_per_s").is_some() {
            let what = format!("{case}: {what}");
            let target = Target::at_most(what, measured, Some(bound), unit);
            self.targets.push(target);
        }
    }

    /// A wake-up at the edge of the time that was watched belongs to it or not.
    fn wakeups(&mut self, case: &str, bound: f64) {
        let wakeups = self.ours(case, "wakeups").filter(|wakeups| *wakeups > 0.0);
        let rate = self.ours(case, "wakeups_per_s");
        let one_more = wakeups
            .zip(rate)
            .map_or(0.0, |(wakeups, rate)| rate / wakeups);
        let what = format!("at most {bound} wake-ups/s (and one at the edge)");
        self.at_most(case, &what, "wakeups_per_s", bound + one_more, "wake-ups/s");
    }

    fn all_freed(&mut self, case: &str) {
        let what = "everything freed by the flush time + 20 %";
        self.at_most(case, what, "never_run", 0.0, "blocks left");
        let what = "the latest freed by the flush time + 20 %";
        let latest = trickles::patience_ms() as f64;
        self.at_most(case, what, "delay_ms_max", latest, "ms");
    }
}

/// Quiet under a trickle, and everything freed in time. A rate that was not measured has no target.
pub fn trickle(report: &Report) -> Vec<Target> {
    let mut found = Measured {
        report,
        targets: Vec::new(),
    };
    for rate in [1, 10, 100, 1_000, 10_000] {
        let case = format!("retire {rate}/s");
        found.wakeups(&case, 0.1);
        found.all_freed(&case);
        found.all_freed(&format!("{case}, exits"));
        if rate >= 1_000 {
            let what = "99.9 % of calls take at most 2 us";
            found.at_most(&case, what, "latency_us_p99.9", 2.0, "us");
        }
    }
    let (call, hurry) = ("call 100/s", "call_hurry 100/s");
    found.wakeups(call, 20.0);
    found.at_most(call, "run within 60 ms", "delay_ms_max", 60.0, "ms");
    found.at_most(
        hurry,
        "half of them run within 0.2 ms",
        "delay_ms",
        0.2,
        "ms",
    );
    for case in [call, hurry] {
        found.at_most(case, "everything run", "never_run", 0.0, "blocks left");
    }
    found.targets
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
