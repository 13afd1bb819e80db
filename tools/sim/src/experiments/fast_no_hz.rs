//! `fast-no-hz`: how often an idle CPU checks the callbacks that it owes, under the rules of three
//! generations of kernels.
//!
//! Published is a statement (idle CPUs "look again every 4 jiffies", "6 or so" when all are lazy), with rough
//! numbers. The claims here use the numbers of the kernels in question: 4 to 7 jiffies, and about six seconds
//! for lazy callbacks up to 5.6. A sleep is the time from a halt to the interrupt that ends it, on a CPU that
//! owes callbacks ([`Stats::looks`](crate::Stats)); in the workload `idle-callbacks` only the CPU's own clock
//! can end it. That depends on the machine as well as on the rule: a clock that fires a jiffy late, or that
//! is replaced by another timer, would show here.

use super::Outcome;
use super::claims::Bound::{AtLeast, AtMost};
use super::claims::{Named, Shown, shown};
use super::loads::{notes, run};
use crate::record::stats::Stats;

const LEAST: Named = ("idle_look_ticks_min", "ticks");
const MOST: Named = ("idle_look_ticks_max", "ticks");
const TICKS: Named = ("idle_ticks_per_callback", "ticks");
const DELAY: Named = ("delay_ms_mean", "ms");

/// One callback in 21 s: nothing but its own clock wakes a CPU for six of them.
const SELDOM: [(&str, &str); 2] = [("rate", "0.047"), ("lazy", "1")];

/// The shortest and the longest sleep in ticks, ticks of idle CPUs for each callback, and its mean delay.
struct Sleeps {
    least: f64,
    most: f64,
    ticks: f64,
    delay_ms: f64,
}

impl Sleeps {
    fn of(stats: &Stats) -> Sleeps {
        let end = |it: Option<(&u64, &u64)>| it.map_or(f64::NAN, |it| *it.0 as f64);
        let func = &stats.funcs[0];
        let n = func.invoked.max(1) as f64;
        Sleeps {
            least: end(stats.looks.first_key_value()),
            most: end(stats.looks.last_key_value()),
            ticks: stats.totals.idle_ticks as f64 / n,
            delay_ms: func.delays.iter().sum::<u64>() as f64 / n / 1e6,
        }
    }
}

/// Sleeps under each rule, and what they save.
pub fn fast_no_hz(seed: u64) -> Outcome {
    let seed = seed.to_string();
    let of = |rule: &str, sets: &[(&str, &str)]| {
        let own = [("fast_no_hz", rule), ("seed", &*seed)];
        Sleeps::of(&run("idle-callbacks", &[&own[..], sets].concat()))
    };
    let (tick, fast) = (of("off", &[]), of("v5.10", &[]));
    let (old, newer) = (of("v5.6", &SELDOM), of("v5.10", &SELDOM));
    let mut outcome = Outcome::default();
    shown! { outcome;
        "fast-no-hz off", MOST => tick.most,
            AtMost(1.0) => "today an idle CPU with callbacks keeps its tick: it looks at every one";
        "fast-no-hz v5.10", LEAST => fast.least,
            AtLeast(4.0) => "with RCU_FAST_NO_HZ it sleeps 4 ticks at least";
        "fast-no-hz v5.10", MOST => fast.most, AtMost(7.0) => "and 7 at most";
        // At least half: a callback is done after a look or two, and its tick was on for a grace period and
        // two edges.
        "fast-no-hz v5.10", ("idle_ticks_ratio_to_off", "of today's idle ticks") => fast.ticks / tick.ticks,
            AtMost(0.5) => "instead of every tick";
        // Six seconds, rounded to a whole one: back by less than a quarter of it, or forth (engine,
        // `fast_no_hz`).
        "fast-no-hz v5.6 lazy", LEAST => old.least,
            AtLeast(5750.0) => "up to 5.6 a CPU whose callbacks only free memory sleeps about six seconds";
        "fast-no-hz v5.6 lazy", MOST => old.most, AtMost(6750.0) => "and no longer";
        "fast-no-hz v5.10 lazy", MOST => newer.most,
            AtMost(7.0) => "later kernels know no such laziness";
    }
    for (case, it) in [
        ("fast-no-hz off", &tick),
        ("fast-no-hz v5.10", &fast),
        ("fast-no-hz v5.6 lazy", &old),
        ("fast-no-hz v5.10 lazy", &newer),
    ] {
        shown! { outcome;
            case, TICKS => it.ticks;
            case, DELAY => it.delay_ms;
        }
    }
    outcome.notes.push(
        "the talk says \"4 jiffies (6 or so when all are kfree callbacks)\"; the dated facts are 4 to 7 \
         jiffies, and about six seconds up to 5.6".into(),
    );
    notes("idle-callbacks", &mut outcome);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_is_true_whatever_the_seed() {
        for seed in [1, 77, 1 << 40] {
            let outcome = fast_no_hz(seed);
            let claims = outcome.shown.iter().filter(|it| it.claim.is_some());
            assert_eq!(claims.clone().count(), 7);
            for it in claims {
                assert_eq!(it.holds(), Some(true), "{it:?}");
            }
        }
    }

    #[test]
    fn sleeps_of_each_length_between_four_and_seven_ticks_come_up() {
        let stats = run("idle-callbacks", &[("fast_no_hz", "v5.10")]);
        assert!(stats.looks.keys().copied().eq(4..=7), "{:?}", stats.looks);
        // A CPU whose callbacks are offloaded owes none: it never looks.
        let offloaded = [("fast_no_hz", "v5.10"), ("rcu_nocbs", "all")];
        assert!(run("idle-callbacks", &offloaded).looks.is_empty());
    }
}
