//! The targets of `bench trickle`.

use super::patience_ms;
use quiescent_report::verdict::Target;
use quiescent_report::{OURS, Report};

/// Targets of cases that were measured; one that was not asked for has none.
struct Measured<'a> {
    report: &'a Report,
    targets: Vec<Target>,
}

impl Measured<'_> {
    fn ours(&self, case: &str, metric: &str) -> Option<f64> {
        self.report.median(OURS, case, metric)
    }

    fn at_most(&mut self, case: &str, what: &str, metric: &str, bound: f64, unit: &'static str) {
        let measured = self.ours(case, metric);
        // If a case was measured at all, the target of a missing figure is reported, too.
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
        let latest = patience_ms() as f64;
        self.at_most(case, what, "delay_ms_max", latest, "ms");
    }
}

/// Quiet under a trickle, and everything freed in time. A rate that was not measured has no target.
pub fn targets(report: &Report) -> Vec<Target> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::fixture::{met, report};

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
        assert!(targets(&report(&[])).is_empty());
        let targets = targets(&measured);
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
    }
}
