//! Targets beside what the same run measured.
//!
//! A target is a measured figure of quiescent and a bound, upper or lower: a number, or a peer's figure *of
//! this run* times a factor. Nothing measured is ever compared with a figure from another run. A missing
//! figure (a package is missing, the run was stopped) makes its target "not measured", never met. Timing
//! targets are medians on a shared machine, so an unmet one is reported and is no failure of the command.

mod deferral;

use crate::cases::sync::Idle;
use crate::cases::{hold, trickle};
use quiescent_report::verdict::Target;
use quiescent_report::{OURS, Report};

/// Everything that `reproduce` measures: reading and waiting, reclaiming later, a trickle, what is
/// held.
pub fn targets(report: &Report, idle: Option<Idle>) -> Vec<Target> {
    let mut targets = Vec::new();
    instruction_targets(report, &mut targets);
    read_targets(report, &mut targets);
    sync_targets(report, &mut targets);
    idle_targets(idle, &mut targets);
    deferral::targets(report, &mut targets);
    targets.extend(trickle::targets(report));
    targets.extend(hold::targets(report));
    targets
}

fn instruction_targets(report: &Report, targets: &mut Vec<Target>) {
    for (case, bound) in [("empty", 9.0), ("nested", 12.0), ("load", 11.0)] {
        targets.push(Target::at_most(
            format!("read pair, {case}: at most {bound} instructions"),
            report.median(OURS, case, "instructions"),
            Some(bound),
            "instructions",
        ));
    }
}

fn read_targets(report: &Report, targets: &mut Vec<Target>) {
    let ours = |case| report.median(OURS, case, "cpu_ns");
    for case in ["empty", "nested", "load"] {
        targets.push(Target::at_most(
            format!("read pair, {case}: CPU time at most liburcu-memb inlined"),
            ours(case),
            report.median("liburcu-memb", case, "cpu_ns"),
            "ns",
        ));
    }
    for peer in ["crossbeam-epoch", "seize", "sdd", "haphazard"] {
        for (case, times) in [("empty", 6.0), ("load", 4.0)] {
            targets.push(Target::at_most(
                format!("read pair, {case}: at least {times}x faster than {peer}"),
                ours(case),
                report.median(peer, case, "cpu_ns").map(|ns| ns / times),
                "ns",
            ));
        }
    }
    targets.push(Target::at_most(
        "read pair, empty: CPU time at most kovan's pin and drop".into(),
        ours("empty"),
        report.median("kovan", "empty", "cpu_ns"),
        "ns",
    ));
    targets.push(Target::at_most(
        "repin section, a read: CPU time at most liburcu-qsbr".into(),
        ours("repin"),
        report.median("liburcu-qsbr", "repin", "cpu_ns"),
        "ns",
    ));
    targets.push(Target::at_most(
        "repin section, a read: instructions at most liburcu-qsbr".into(),
        report.median(OURS, "repin", "instructions"),
        report.median("liburcu-qsbr", "repin", "instructions"),
        "instructions",
    ));
}

fn sync_targets(report: &Report, targets: &mut Vec<Target>) {
    for (case, bound) in [
        ("sole thread", 0.0),
        ("other asleep", 1.0),
        ("reader looping", 1.0),
    ] {
        targets.push(Target::at_most(
            format!("grace period, {case}: at most {bound} fences"),
            report.median(OURS, case, "fences"),
            Some(bound),
            "fences",
        ));
    }
    let ours = |case| report.median(OURS, case, "latency_us");
    let ck = report.median("ck", "sole thread", "latency_us");
    let memb = |case| report.median("liburcu-memb", case, "latency_us");
    for (case, what, bound) in [
        ("sole thread", "at most 0.05 us", Some(0.05)),
        ("sole thread", "at most ck", ck),
        ("other asleep", "at most liburcu-memb", memb("other asleep")),
        (
            "reader looping",
            "at most 0.6 x liburcu-memb",
            memb("reader looping").map(|us| us * 0.6),
        ),
    ] {
        targets.push(Target::at_most(
            format!("synchronize, {case}: {what}"),
            ours(case),
            bound,
            "us",
        ));
    }
}

fn idle_targets(idle: Option<Idle>, targets: &mut Vec<Target>) {
    let of = |f: fn(&Idle) -> u64| idle.as_ref().map(|idle| f(idle) as f64);
    for (what, ours) in [
        ("fences", of(|idle| idle.change.fences)),
        ("scans", of(|idle| idle.change.scans)),
        ("wake-ups", of(|idle| idle.change.wakeups)),
        ("threads", of(|idle| idle.threads)),
    ] {
        targets.push(Target::at_most(
            format!("no waiter, nothing queued: 0 {what}"),
            ours,
            Some(0.0),
            what,
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::fixture::{found, report};
    use crate::subjects::Counters;
    use quiescent_report::verdict;

    #[test]
    fn bounds_come_from_the_same_report() {
        let report = report(&[
            (OURS, "load", "cpu_ns", 2.0),
            ("liburcu-memb", "load", "cpu_ns", 1.0),
            ("seize", "load", "cpu_ns", 8.0),
            (OURS, "reader looping", "latency_us", 3.0),
            ("liburcu-memb", "reader looping", "latency_us", 4.0),
        ]);
        let targets = targets(&report, None);
        let memb = found(&targets, "load: CPU time at most liburcu-memb");
        assert_eq!((memb.met(), memb.ratio()), (Some(false), Some(2.0)));
        assert_eq!(
            found(&targets, "load: at least 4x faster than seize").met(),
            Some(true)
        );
        assert_eq!(
            found(&targets, "reader looping: at most 0.6 x").met(),
            Some(false)
        );
        assert_eq!(
            found(&targets, "load: at least 4x faster than sdd").met(),
            None
        );
        let ratios = verdict::rows(&targets);
        assert_eq!(ratios.len(), 3);
        assert!(verdict::text(&targets).contains("not measured"));
    }

    #[test]
    fn counters_must_not_move() {
        let report = report(&[]);
        let mut idle = Idle {
            change: Counters::default(),
            threads: 0,
        };
        assert_eq!(
            found(&targets(&report, Some(idle)), "queued: 0 scans").met(),
            Some(true)
        );
        idle.change.scans = 1;
        idle.threads = 1;
        let targets = targets(&report, Some(idle));
        assert_eq!(found(&targets, "queued: 0 scans").met(), Some(false));
        assert_eq!(found(&targets, "queued: 0 threads").met(), Some(false));
        assert_eq!(found(&targets, "queued: 0 fences").met(), Some(true));
    }
}
