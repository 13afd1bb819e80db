//! `flood`: what offloading costs where a CPU queues callbacks as fast as it can.
//!
//! The talk says it three times, without a number: callbacks of the soft interrupt need no lock of the list
//! and no thread, and find their lines in the cache, so offloading can cost performance where callbacks are
//! frequent. The figure is RCU's CPU time on all CPUs (soft interrupts, threads with the switches to and
//! from them, callbacks, locks, lines that move), offloaded over default (`MORE`). The costs of lock and
//! line are assumed, and the sign depends on them: so the figure is shown without them, and with half and
//! twice of both.

use super::Outcome;
use super::claims::Bound;
use super::claims::{Named, Shown, shown};
use super::loads::{notes, run};
use crate::record::stats::Stats;

/// Nanoseconds of a free lock, ASSUMED: two atomic instructions.
const LOCK: u64 = 20;
/// Nanoseconds of a line that another CPU has changed, ASSUMED: between 30 within a core complex and 150
/// from one socket to another. Both were chosen before the first run, and not changed after it.
const LINE: u64 = 100;

/// Offloading costs more than none.
const MORE: Bound = Bound::AtLeast(1.0);

const RATIO: Named = ("rcu_time_ratio_to_default", "of the default's");

/// The CPU time of RCU, in per cent of one CPU.
fn rcu_pct(stats: &Stats) -> f64 {
    stats.totals.rcu_ns as f64 / 1e7 / stats.seconds()
}

/// Default and offloaded, and the latter with other costs.
pub fn flood(seed: u64) -> Outcome {
    let seed = seed.to_string();
    let with = |rcu: &str, lock: u64, line: u64| {
        let (lock, line) = (lock.to_string(), line.to_string());
        let sets = [
            ("rcu", rcu),
            ("cost.lock_ns", &*lock),
            ("cost.line_ns", &*line),
            ("seed", &*seed),
        ];
        run("flood", &sets)
    };
    let default = with("default", LOCK, LINE);
    let offload = with("offload", LOCK, LINE);
    let ratio = |it: &Stats| rcu_pct(it) / rcu_pct(&default);
    let case = "flood rcu=offload";
    let mut outcome = Outcome::default();
    shown! { outcome;
        case, RATIO => ratio(&offload),
            MORE => "offloading costs CPU time where callbacks are frequent";
    }
    for (name, lock, line) in [
        ("no lock and line", 0, 0),
        ("half lock and line", LOCK / 2, LINE / 2),
        ("twice lock and line", 2 * LOCK, 2 * LINE),
    ] {
        shown! { outcome; &format!("{case}, {name}"), RATIO => ratio(&with("offload", lock, line)); }
    }
    for (rcu, it) in [("default", &default), ("offload", &offload)] {
        let case = format!("flood rcu={rcu}");
        let per_s = |count: u64| count as f64 / it.seconds();
        let threads = it.wakeups_of("rcuo") + it.wakeups_of("ksoftirqd");
        let invoked: u64 = it.funcs.iter().map(|it| it.invoked).sum();
        for (named, value) in [
            (("rcu_pct_of_cpu", "%"), rcu_pct(it)),
            (("callbacks_per_s", "1/s"), per_s(invoked)),
            (("threads_woken_per_s", "1/s"), per_s(threads)),
            (("rcu_softirqs_per_s", "1/s"), per_s(it.totals.softirqs)),
            (("lock_waits_per_s", "1/s"), per_s(it.totals.lock_waits)),
            (
                ("lock_wait_us_per_s", "us/s"),
                per_s(it.totals.lock_wait_ns) / 1e3,
            ),
        ] {
            shown! { outcome; &case, named => value; }
        }
    }
    notes("flood", &mut outcome);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offloaded_flood_costs_more_the_more_a_lock_and_a_line_do() {
        let outcome = flood(1);
        let find = |case: &str, metric: &str| {
            let mut all = outcome.shown.iter();
            let found = all.find(|it| it.case == case && it.metric == metric);
            found.unwrap_or_else(|| panic!("{case}: {metric}")).model
        };
        assert_eq!(find("flood rcu=default", "lock_waits_per_s"), 0.0);
        let woken = ["default", "offload"]
            .map(|it| find(&format!("flood rcu={it}"), "threads_woken_per_s"));
        assert!(woken[1] > 2.0 * woken[0], "{woken:?}");
        // The more a lock and a line cost, the more offloading does.
        let ratio = |more: &str| find(&format!("flood rcu=offload{more}"), RATIO.0);
        let kinds = [
            ", no lock and line",
            ", half lock and line",
            "",
            ", twice lock and line",
        ];
        let all = kinds.map(ratio);
        assert!(all.is_sorted_by(|a, b| a < b), "{all:?}");
    }
}
