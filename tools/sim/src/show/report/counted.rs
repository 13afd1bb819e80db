//! Figures that only a machine of threads has: the library's counters.

use super::Figures;
use crate::record::counted::Counted;
use crate::record::stats::Stats;
use quiescent_engine::credit::Cause;

pub(super) fn add(it: &mut Figures, stats: &Stats, counted: &Counted) {
    it.run("scans", "scans", counted.scans as f64);
    it.run("fences", "fences", counted.fences() as f64);
    let per_s = counted.fences() as f64 / stats.seconds();
    it.run("fences_per_s", "1/s", per_s);
    if counted.grace_periods > 0 {
        let each = counted.fences() as f64 / counted.grace_periods as f64;
        it.run("fences_per_gp", "fences/gp", each);
    }
    for (metric, unit, count) in [
        ("fences_start", "fences", counted.fences_gp),
        ("fences_sleep", "fences", counted.fences_flag),
        ("fences_take_over", "fences", counted.fences_take),
        ("fences_asked", "fences", counted.fences_asked),
        ("fences_answered", "fences", counted.fences_answered),
        ("fences_issued", "fences", counted.fences_issued),
        ("grace_periods_sole", "grace_periods", counted.sole),
        ("driver_sleeps", "sleeps", counted.sleeps),
        ("woken_by_readers", "wake-ups", counted.reader_wakeups),
        ("hand_overs", "hand-overs", counted.hand_overs),
        ("takeovers", "roles", counted.takeovers),
        ("stalls", "reports", counted.stalls),
        ("refills", "refills", counted.refills),
        ("helped", "objects", counted.helped),
        ("over_budget", "times", counted.over_budget),
        ("woken_by_timer", "wake-ups", counted.woken_timer),
        ("woken_by_kick", "wake-ups", counted.woken_kick),
        ("left", "callbacks", stats.left),
        ("too_early", "callbacks", stats.early),
    ] {
        it.run(metric, unit, count as f64);
    }
    for (cause, metric) in Cause::ALL.into_iter().zip(FLUSHES) {
        let times = counted.flushes[cause as usize];
        if times > 0 || matches!(cause, Cause::Lazy | Cause::Prompt | Cause::Batch) {
            it.run(metric, "times", times as f64);
        }
    }
}

/// In the order of the causes.
const FLUSHES: [&str; Cause::ALL.len()] = [
    "flushes_lazy",
    "flushes_prompt",
    "flushes_batch",
    "flushes_hurry",
    "flushes_barrier",
    "flushes_drain",
    "flushes_pressure",
    "flushes_budget",
];
