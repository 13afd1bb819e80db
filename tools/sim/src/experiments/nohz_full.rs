//! `nohz-full`: CPUs that run without a tick while one task runs there, and the exceptions.
//!
//! No numbers are published; the claims are the rules: user space needs no tick and delays no grace period;
//! in the kernel the tick is on only while a grace period requests it.
//!
//! A first version claimed that grace periods get no longer. The run contradicted it: busy CPUs with a tick
//! report themselves within one, and a grace period without other holdouts ends before its first scan (2 ms);
//! without ticks only that scan can end it, after a whole wait (4 ms). Both lengths are shown.

use super::claims::Bound::{AtLeast, AtMost};
use super::claims::{Named, Shown, shown};
use super::loads::{notes, run};
use super::{Outcome, mean};
use crate::record::stats::Stats;

const TICKS: Named = ("nohz_full_ticks_per_s", "1/s");
const RCU: Named = ("nohz_full_ticks_rcu_per_s", "1/s");
const BUSY: Named = ("busy_ticks_per_s", "1/s");
const DURATION: Named = ("gp_duration_ms_mean", "ms");

fn gp_ms(stats: &Stats) -> f64 {
    let gps = stats.grace_periods.iter();
    mean(gps.map(|gp| (gp.end - gp.start) as f64 / 1e6))
}

/// Without such CPUs, with them, and with one of them in the kernel.
pub fn nohz_full(seed: u64) -> Outcome {
    let seed = seed.to_string();
    let of = |sets: &[(&str, &str)]| run("nohz-full", &[&[("seed", &*seed)], sets].concat());
    let ordinary = of(&[("nohz_full", "none")]);
    let user = of(&[]);
    let kernel = of(&[("busy", "2-7"), ("readers", "1")]);
    let ticks = |it: &Stats| it.full.unwrap_or_default();
    let per_s = |it: &Stats, count: u64| count as f64 / it.seconds();
    let (all, asked) = (ticks(&kernel).ticks, ticks(&kernel).rcu);
    let mut outcome = Outcome::default();
    shown! { outcome;
        "nohz-full", TICKS => per_s(&user, ticks(&user).ticks),
            AtMost(0.0) => "a CPU that computes in user space takes no ticks";
        "nohz-full", ("scans_per_gp", "scans") =>
            mean(user.grace_periods.iter().map(|gp| f64::from(gp.scans))),
            AtMost(1.0) => "a grace period sees it there with its first scan";
        "nohz-full readers=1", RCU => per_s(&kernel, asked),
            AtLeast(1.0) => "in the kernel a grace period has its tick turned on";
        // The tick that finds the request answered stops it: one for each that reports in another way than by
        // a tick.
        "nohz-full readers=1", ("ticks_for_nobody_pct", "% of ticks there") =>
            100.0 * (all - asked) as f64 / all.max(1) as f64,
            AtMost(50.0) => "until it has reported, and nothing else turns it on";
    }
    for (case, it) in [
        ("nohz-full nohz_full=none", &ordinary),
        ("nohz-full", &user),
        ("nohz-full readers=1", &kernel),
    ] {
        let busy = per_s(it, it.totals.busy_ticks);
        shown! { outcome;
            case, BUSY => busy;
            case, DURATION => gp_ms(it);
        }
    }
    shown! { outcome; "nohz-full readers=1", TICKS => per_s(&kernel, all); }
    notes("nohz-full", &mut outcome);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_is_true() {
        for seed in [1, 2, 3] {
            let outcome = nohz_full(seed);
            for it in &outcome.shown {
                assert_ne!(it.holds(), Some(false), "{it:?}\n{:?}", outcome.shown);
            }
        }
    }
}
