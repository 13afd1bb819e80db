//! `lazy-side-effects` and `real-time`: what laziness has to survive, and what expediting does to a CPU that
//! computes. The talk names both without figures.
//!
//! * A barrier must not wait for the time of lazy callbacks: none takes a tenth of it (`BARRIER`).
//! * Nothing is lost where CPUs go, and where they change between offloaded and not: after the last lazy
//!   callback is due none is left.
//! * The bypass list is flushed when it grows too big: a flood of lazy callbacks holds no more than the
//!   limit of the list twice (what has been flushed waits for a grace period while the list fills again), and
//!   as many as are queued in one burst.
//! * Expedited grace periods lengthen the longest interruption of the task's CPU, and multiply interrupts.
//!
//! All bounds were set before the first run.

use super::Outcome;
use super::claims::Bound::{AtLeast, AtMost};
use super::claims::{Named, Shown, shown};
use super::loads::{notes, run};
use crate::record::stats::Stats;

/// Milliseconds: a tenth of the ten seconds of lazy callbacks.
const BARRIER: f64 = 1000.0;

/// Callbacks: the limit of the bypass list, and the workload's burst.
const LIMIT: f64 = 10_000.0;
const BURST: f64 = 1000.0;

/// The CPU of the real-time task, as the workload has it.
const TASK: usize = 3;

const LAZY: (&str, &str) = ("rcu", "lazy");

/// Callbacks that were queued and not invoked.
fn lost(stats: &Stats) -> f64 {
    let each = stats.funcs.iter().filter(|it| it.bytes > 0);
    each.map(|it| it.queued as f64 - it.invoked as f64).sum()
}

/// Lazy callbacks beside barriers, CPUs that go, CPUs that change sides, and floods.
pub fn lazy_side_effects(seed: u64) -> Outcome {
    let seed = seed.to_string();
    let seed = ("seed", &*seed);
    let barriers = run("barrier", &[LAZY, seed]).barriers;
    let longest = barriers.iter().map(|it| it.1 - it.0).max().unwrap_or(0);
    let away = run("hotplug", &[LAZY, ("lazy_flush", "500ms"), seed]);
    let toggled = run("deoffload", &[seed]);
    let flood = run("flood", &[LAZY, seed]);
    let left: Named = ("lost_callbacks", "callbacks");
    let mut outcome = Outcome::default();
    shown! { outcome;
        "lazy-side-effects barrier", ("barrier_ms_max", "ms") => longest as f64 / 1e6,
            AtMost(BARRIER) => "a barrier does not wait for the time of lazy callbacks";
        "lazy-side-effects hotplug", left => lost(&away), AtMost(0.0)
            => "lazy callbacks survive their CPU's departure";
        "lazy-side-effects deoffload", left => lost(&toggled), AtMost(0.0)
            => "and a change between offloaded and not";
        "lazy-side-effects flood", ("held_callbacks_max", "callbacks") => flood.held.most.0 as f64,
            AtMost(2.0 * LIMIT + BURST) => "the bypass list is flushed when it grows too big";
    }
    for workload in ["barrier", "hotplug", "deoffload", "flood"] {
        notes(workload, &mut outcome);
    }
    outcome
}

/// A task that computes, without expedited grace periods on other CPUs, and beside four tasks that ask for
/// them.
pub fn real_time(seed: u64) -> Outcome {
    let seed = seed.to_string();
    let [alone, beside] =
        ["0", "4"].map(|tasks| run("real-time", &[("expedited", tasks), ("seed", &seed)]));
    let ratio = |of: fn(&Stats) -> f64| of(&beside) / of(&alone);
    let case = "real-time expedited=4";
    let mut outcome = Outcome::default();
    shown! { outcome;
        case, ("longest_interruption_ratio", "of that without") => ratio(|it| it.interruptions[TASK] as f64),
            AtLeast(1.05) => "the longest interruption of the task's CPU grows";
        case, ("interrupts_ratio", "of those without") => ratio(|it| it.totals.ipis as f64),
            AtLeast(2.0) => "other CPUs are interrupted more often";
    }
    notes("real-time", &mut outcome);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_lazy_callbacks_and_real_time_holds() {
        for it in lazy_side_effects(1).shown.iter().chain(&real_time(1).shown) {
            assert_eq!(it.holds(), Some(true), "{it:?}");
        }
    }
}
