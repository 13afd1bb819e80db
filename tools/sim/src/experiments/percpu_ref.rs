//! `percpu-ref`: the wait of the mode switch before a runtime suspend, with raised jiffies, with a lazy
//! callback, and with a hurried one.
//!
//! Published without numbers: lazy callbacks delayed suspends by seconds until that one was queued with
//! `call_rcu_hurry`. A hurried callback still needs its grace period, so raised jiffies delay it like any
//! other: hurrying removes only the laziness.

use super::claims::Bound::{AtLeast, Between};
use super::claims::{Named, Shown, shown};
use super::loads::{latencies_ms, notes, run};
use super::{Outcome, mean};

const LATENCY: Named = ("switch_ms_mean", "ms");
const LONGEST: Named = ("switch_ms_max", "ms");
/// So many ticks longer are 32 than the kernel's own 3; at HZ=1000 as many milliseconds.
const LONGER: f64 = 29.0;

/// Mean and longest time of a switch in milliseconds.
fn switch(jiffies: &str, enabled: &str, lazy: &str, seed: &str) -> (f64, f64) {
    let stats = run(
        "percpu-ref",
        &[
            ("jiffies_till_first_fqs", jiffies),
            ("jiffies_till_next_fqs", jiffies),
            ("rcu_lazy", enabled),
            ("lazy", lazy),
            ("seed", seed),
        ],
    );
    let all = latencies_ms(&stats);
    let longest = all.iter().copied().fold(0.0, f64::max);
    (mean(all), longest)
}

/// Switches in each variant.
pub fn percpu_ref(seed: u64) -> Outcome {
    let seed = seed.to_string();
    let of = |jiffies, enabled, lazy| switch(jiffies, enabled, lazy, &seed);
    let (plain, hurried) = (of("3", "0", "0"), of("3", "1", "0"));
    let (lazy, raised) = (of("3", "1", "1"), of("32", "1", "0"));
    let mut outcome = Outcome::default();
    shown! { outcome;
        "percpu-ref lazy", ("added_ms", "ms") => lazy.0 - plain.0,
            AtLeast(1000.0) => "a lazy callback delays the switch by seconds";
        // A jiffy: where in one it is queued is a matter of chance.
        "percpu-ref hurried", ("added_ms", "ms") => hurried.0 - plain.0,
            Between(-1.0, 1.0) => "a hurried one does not";
        // One or two waits of the own grace period, and as many of one in flight.
        "percpu-ref hurried jiffies=32", ("longer_waits_per_switch", "waits/switch") =>
            (raised.0 - hurried.0) / LONGER,
            Between(1.0, 4.0) => "raised jiffies delay it by the wait";
    }
    for (case, it) in [
        ("percpu-ref rcu_lazy=0", plain),
        ("percpu-ref hurried", hurried),
        ("percpu-ref lazy", lazy),
        ("percpu-ref hurried jiffies=32", raised),
    ] {
        shown! { outcome;
            case, LATENCY => it.0;
            case, LONGEST => it.1;
        }
    }
    outcome.notes.push(
        "a lazy one may take twice the ten seconds: Linux 6.12 begins the time anew when another CPU of the \
         group queues its first lazy callback (`policy=quiescent` does not)".into(),
    );
    notes("percpu-ref", &mut outcome);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laziness_delays_a_switch_and_hurrying_takes_that_away() {
        for seed in [1, 2, 3] {
            let outcome = percpu_ref(seed);
            for it in outcome.shown.iter().filter(|it| it.claim.is_some()) {
                assert_eq!(it.holds(), Some(true), "{it:?}");
            }
        }
    }

    #[test]
    fn a_lazy_switch_waits_no_longer_than_the_flush_time() {
        let longest = |policy| {
            let sets = [
                ("lazy", "1"),
                ("lazy_flush", "2s"),
                ("switches", "10"),
                ("policy", policy),
            ];
            let all = latencies_ms(&run("percpu-ref", &sets));
            all.into_iter().fold(0.0, f64::max)
        };
        // The wheel rounds far timers up, by 64 ticks here; and two grace periods.
        let ours = longest("quiescent");
        assert!((1900.0..2150.0).contains(&ours), "{ours}");
        // The kernel's deadline begins anew when another CPU of the group queues its first lazy callback.
        let kernels = longest("kernel-6.12");
        assert!((1900.0..4300.0).contains(&kernels), "{kernels}");
        assert!(kernels > ours, "{kernels} {ours}");
    }
}
