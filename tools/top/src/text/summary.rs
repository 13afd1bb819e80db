//! The totals of a run, in three lines of what the source counts, or more where these are too long.

use crate::interval::Interval;
use crate::sample::{SOFTIRQS, Subject};
use crate::text::names::wrapped;
use crate::text::{bytes, rate};

/// CPUs that are listed, at most.
const CPUS: usize = 16;

/// In all, in lines of at most so many columns.
pub(crate) fn summary(interval: &Interval, width: usize) -> Vec<String> {
    let lines = match interval.subject {
        Subject::Process => program(interval),
        Subject::Machine | Subject::Kernel => kernel(interval),
    };
    let lines = lines.iter().filter(|it| !it.is_empty());
    lines
        .flat_map(|it| wrapped(it, width, &[GAP, ", "]))
        .collect()
}

/// What stands between two figures.
const GAP: &str = "   ";

/// Those counters that the source has, as rates with their words.
fn rates<'a>(
    interval: &'a Interval,
    counters: &'a [(&str, &str)],
) -> impl Iterator<Item = String> + 'a {
    let there = counters.iter().filter(|it| interval.counts(it.1));
    there.map(|(words, name)| format!("{words}/s {}", rate(interval.rate(name))))
}

const GRACE_PERIODS: [(&str, &str); 2] = [("grace periods", "grace_periods"), ("scans", "scans")];

fn program(interval: &Interval) -> [String; 3] {
    let per_s = |name| rate(interval.rate(name));
    let mut first = held(interval);
    first.extend(rates(interval, &GRACE_PERIODS));
    let causes_of = |what| causes(interval, what).unwrap_or_else(|| "none".to_owned());
    let (for_all, takes) = (rate(interval.fences_per_s()), per_s("fences_take"));
    first.push(format!("fences/s {for_all} + {takes}"));
    [
        first.join(GAP),
        format!(
            "wake-ups/s: waiters {}, drivers {}, worker by {}",
            per_s("wakeups"),
            per_s("reader_wakeups"),
            causes_of("worker_wakeups"),
        ),
        format!("flushes/s by cause: {}", causes_of("flushes")),
    ]
}

/// What the process's domain holds beside its budget, and what other domains hold, which have budgets of
/// their own.
fn held(interval: &Interval) -> Vec<String> {
    let limit = |name: &str| match interval.counter(name) {
        0 | u64::MAX => None,
        limit => Some(limit),
    };
    let of = |limit: Option<String>| limit.map_or(String::new(), |it| format!(" of {it}"));
    let (own, others) = interval.held_beside_budget();
    let mut parts = vec![format!(
        "held {}{}, {}{}",
        own.count,
        of(limit("budget_callbacks").map(|it| it.to_string())),
        bytes(own.bytes),
        of(limit("budget_bytes").map(bytes)),
    )];
    if others.count > 0 {
        let (count, bytes) = (others.count, bytes(others.bytes));
        parts.push(format!("in other domains {count}, {bytes}"));
    }
    parts
}

fn kernel(interval: &Interval) -> [String; 3] {
    let mut first = Vec::new();
    match (interval.held(), interval.held_bytes()) {
        (Some(held), Some(held_bytes)) => first.push(format!("held {held}, {}", bytes(held_bytes))),
        (Some(held), None) => first.push(format!("held {held}")),
        (None, _) => {}
    }
    if is_by_function(interval) {
        let executed = interval.functions.iter().map(|it| it.executed_per_s).sum();
        first.push(format!("executed/s {}", rate(executed)));
    }
    first.extend(rates(interval, &GRACE_PERIODS));
    let mut second: Vec<String> = rates(interval, &[("soft interrupts", SOFTIRQS)]).collect();
    second.extend(causes(interval, SOFTIRQS).map(|of_cpus| format!("by {of_cpus}")));
    second.extend(rates(
        interval,
        &[("batches", "batches"), ("sent to CPUs", "ipis")],
    ));
    let third = match interval.subject {
        Subject::Machine => cpus(interval),
        _ => lost(interval),
    };
    [first.join(GAP), second.join(GAP), third]
}

/// The CPUs of a simulated machine.
fn cpus(interval: &Interval) -> String {
    let ticks = [("idle", "idle_ticks"), ("others", "busy_ticks")];
    let ticks: Vec<String> = rates(interval, &ticks).collect();
    let rcu = interval.rate("rcu_ns") / 1e7;
    format!(
        "ticks of CPUs: {}{GAP}RCU {rcu:.2} % of a CPU",
        ticks.join(", ")
    )
}

/// How much of what the running kernel reported was lost.
fn lost(interval: &Interval) -> String {
    match interval.counter("lost_events") {
        _ if !is_by_function(interval) => {
            "by function nothing is known: that takes root, and the kernel's events".to_owned()
        }
        0 => "events lost: none".to_owned(),
        lost => format!(
            "events lost: {lost} in all, {}/s: counts are too low; look more often (--delay)",
            rate(interval.rate("lost_events"))
        ),
    }
}

/// Without events there is nothing by function.
fn is_by_function(interval: &Interval) -> bool {
    interval.subject != Subject::Kernel || interval.counts("lost_events")
}

/// The causes of what is counted by cause, the first of them; none if nothing was counted.
fn causes(interval: &Interval, of: &str) -> Option<String> {
    let some = interval.causes(of).filter(|it| it.1 > 0.0);
    let words: Vec<String> = some
        .take(CPUS)
        .map(|(name, value)| format!("{name} {}", rate(value)))
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}
