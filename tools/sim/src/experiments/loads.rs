//! Published experiments without a published load: workloads stand in for it (`data/workloads`).
//!
//! Each workload's file lists its assumptions, and which figures were fitted to which published ones. Fitted
//! figures are marked and are no predictions: a verdict on them only gives the quality of the fit.

use serde::Deserialize;

use super::claims::{Bound, Shown, shown};
use super::data::published;
use super::{Basis, Judged, LATENCY_MS, Outcome, mean, median};
use crate::load::workload::{Plan, Workload};
use crate::record::stats::Stats;

/// Runs of a variant of `accelerate`, as published.
const SEEDS: u64 = 10;

#[derive(Deserialize)]
struct Accelerate {
    runs: Vec<PublishedLoad>,
}

#[derive(Deserialize)]
struct PublishedLoad {
    gps_with: f64,
    gps_without: f64,
    wakeups_with: f64,
    wakeups_without: f64,
}

#[derive(Deserialize)]
struct TabSwitch {
    jiffies: [u64; 2],
    latency_ms: [f64; 2],
}

/// A workload that is built in, with these settings.
pub(super) fn plan(workload: &str, sets: &[(&str, &str)]) -> Plan {
    let workload = Workload::named(workload).expect("it is built in");
    workload.plan(sets).expect("a test runs it")
}

/// What it shows.
pub(super) fn run(workload: &str, sets: &[(&str, &str)]) -> Stats {
    let plan = plan(workload, sets);
    plan.run(|| false).expect("no caller stops the plan")
}

/// What it shows with each of `n` seeds that follow from this one.
pub(super) fn runs(workload: &str, n: u64, seed: u64, sets: &[(&str, &str)]) -> Vec<Stats> {
    let seeds = (0..n).map(|n| seed.wrapping_mul(1000).wrapping_add(n).to_string());
    seeds
        .map(|seed| run(workload, &[sets, &[("seed", &*seed)]].concat()))
        .collect()
}

/// The latencies of all calls, in milliseconds.
pub(super) fn latencies_ms(stats: &Stats) -> Vec<f64> {
    let calls = stats.calls.iter();
    calls.map(|it| (it.end - it.start) as f64 / 1e6).collect()
}

pub(super) fn notes(workload: &str, outcome: &mut Outcome) {
    let workload = Workload::named(workload).expect("it is built in");
    let assumed = workload.assumes().iter().map(|it| format!("assumed: {it}"));
    let fitted = workload.fitted().iter().map(|it| format!("fitted: {it}"));
    outcome.notes.extend(assumed.chain(fitted));
}

/// `accelerate`: how much fewer grace periods and wake-ups, in per cent, if stamping asks only for what is
/// new.
pub fn accelerate(seed: u64) -> Outcome {
    let published = published::<Accelerate>("accelerate").runs;
    let of = |figure: fn(&PublishedLoad) -> f64| mean(published.iter().map(figure));
    let fewer = |with: f64, without: f64| 100.0 * (1.0 - with / without);
    let counts = |only_new: &str| {
        let runs = runs(
            "torture5s",
            SEEDS,
            seed,
            &[("accelerate_only_new", only_new)],
        );
        let gps = mean(runs.iter().map(|it| it.grace_periods.len() as f64));
        let woken = runs.iter().map(|it| it.wakeups_of("rcu_preempt") as f64);
        (gps, mean(woken))
    };
    let (with, without) = (counts("1"), counts("0"));
    let mut outcome = Outcome::default();
    // Three numbers of the load were set with a view to two of these four means, so none of them is a
    // prediction.
    let mut compare = |only_new: &str, metric, unit, real, model| {
        let by = Judged::published("accelerate", 0.1, Basis::Fitted);
        let case = format!("accelerate accelerate_only_new={only_new}");
        outcome.compare(by, case, (metric, unit), [real, model]);
    };
    let (gps, woken) = (("grace_periods", "grace periods"), ("wakeups", "wake-ups"));
    compare("1", gps.0, gps.1, of(|it| it.gps_with), with.0);
    compare("1", woken.0, woken.1, of(|it| it.wakeups_with), with.1);
    compare("0", gps.0, gps.1, of(|it| it.gps_without), without.0);
    compare(
        "0",
        woken.0,
        woken.1,
        of(|it| it.wakeups_without),
        without.1,
    );
    // The sign is the mechanism's, whatever the load.
    let more = Bound::AtLeast(1.0);
    shown! { outcome;
        "accelerate", ("fewer_grace_periods_pct", "%") => fewer(with.0, without.0),
            more => "asking only for what is new saves grace periods";
        "accelerate", ("fewer_wakeups_pct", "%") => fewer(with.1, without.1),
            more => "and wake-ups of the grace-period thread";
    }
    outcome.notes.push(format!(
        "fewer grace periods and wake-ups, means of ten runs: published {:.0} and {:.0} %, model {:.0} and \
         {:.0} %; the load was fitted to the same table",
        fewer(of(|it| it.gps_with), of(|it| it.gps_without)),
        fewer(of(|it| it.wakeups_with), of(|it| it.wakeups_without)),
        fewer(with.0, without.0),
        fewer(with.1, without.1),
    ));
    notes("torture5s", &mut outcome);
    outcome
}

/// `tab-switch`: what a switch waits at 3 and at 32 jiffies.
pub fn tab_switch(seed: u64) -> Outcome {
    let published: TabSwitch = published("tab-switch");
    let seed = seed.to_string();
    let mut outcome = Outcome::default();
    for (jiffies, real) in published.jiffies.into_iter().zip(published.latency_ms) {
        let jiffies = jiffies.to_string();
        let sets = [
            ("jiffies_till_first_fqs", &*jiffies),
            ("jiffies_till_next_fqs", &*jiffies),
            ("seed", &*seed),
        ];
        let stats = run("tab-switch", &sets);
        let call = mean(latencies_ms(&stats));
        let by = Judged::published("tab-switch", 0.15, Basis::Assumed);
        let case = format!("tab-switch jiffies={jiffies}");
        outcome.compare(by, case, LATENCY_MS, [real, call]);
    }
    let sets = [
        ("jiffies_till_first_fqs", "32"),
        ("jiffies_till_next_fqs", "32"),
        ("rcu_expedited", "1"),
    ];
    let expedited = median(latencies_ms(&run("tab-switch", &sets)));
    shown! { outcome;
        "tab-switch jiffies=32 rcu_expedited=1", LATENCY_MS => expedited,
            Bound::AtMost(1.0) => "expedited it is below a millisecond at 32 jiffies";
    }
    notes("tab-switch", &mut outcome);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_with_nothing_new_asks_for_nothing() {
        let outcome = accelerate(1);
        for it in outcome.shown {
            assert_eq!(it.holds(), Some(true), "{it:?}");
        }
        // Fitted, so none is met or missed, however near.
        assert!(outcome.comparisons.iter().all(|it| it.holds().is_none()));
    }

    #[test]
    fn a_switch_waits_longer_with_more_jiffies_and_hardly_at_all_expedited() {
        let outcome = tab_switch(1);
        let [few, many] = &outcome.comparisons[..] else {
            panic!("two");
        };
        assert!(
            (6.0..16.0).contains(&(many.model / few.model)),
            "{few:?} {many:?}"
        );
        // Missed, with reasons in the data; near enough to be about the same thing.
        for it in [few, many] {
            assert_eq!(it.holds(), Some(false), "{it:?}");
            assert!((it.ratio() - 1.0).abs() < 0.5, "{it:?}");
        }
        assert_eq!(outcome.shown[0].holds(), Some(true), "{:?}", outcome.shown);
    }
}
