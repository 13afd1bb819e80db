//! `boot-selinux` and `ftrace-start-stop`: work that waits for one grace period after the other, with raised
//! jiffies and expedited.
//!
//! The talk's reason not to save power by raising jiffies: waiters pay for it. No numbers were published, so
//! the claims are statements about the mechanism:
//!
//! * the added time is in proportion to the number of waits, so doubling these doubles it (`TWICE`);
//! * for each call it is one to four of the longer waits: the call's own grace period takes one or two, and
//!   one in progress, of as many, may have to end before it (`EACH`);
//! * `ftrace-start-stop` waits with `synchronize_rcu` only: expedited, next to nothing of the added time is
//!   left (`LEFT`), whatever the jiffies are;
//! * a boot also waits for callbacks (`awaits`), as `percpu-ref` does, and these are never expedited: "using
//!   expedited RCU with jiffies, still causes a boot time regression" (`REGRESSION`). By how much follows
//!   from the share of such waits, which is assumed; boots with fewer and with none are shown beside.
//!
//! The cost of expediting is shown beside it: interrupts to other CPUs, and the longest interruption of any.

use super::claims::Bound;
use super::claims::{Named, Shown, shown};
use super::loads::{latencies_ms, notes, run};
use super::{Outcome, mean};
use crate::record::stats::Stats;

/// The kernel's own number, and what the talk tried.
const JIFFIES: [&str; 5] = ["3", "8", "16", "24", "32"];
/// So many ticks longer is the last of them.
const LONGER: f64 = 29.0;

/// Five per cent either way. A call's latency depends on where the grace period in flight is: of 100 calls,
/// the mean is off by some 3 %, and the ratio of two such by 5 %. So the statement is judged on
/// [`WaitLoad::many`] calls.
const TWICE: Bound = Bound::Between(1.9, 2.1);
/// Callbacks that wake a caller, for each call.
const BY_CALLBACK: Bound = Bound::Between(1.0, 1.0);
/// Waits a call.
const EACH: Bound = Bound::Between(1.0, 4.0);
/// Of what is added without, in per cent.
const LEFT: Bound = Bound::AtMost(1.0);
/// Of the default boot's time, in per cent: more than two boots of the same kind differ by.
const REGRESSION: Bound = Bound::AtLeast(1.0);

const DURATION: Named = ("duration_s", "s");
const IPIS: Named = ("ipis_per_s", "1/s");
const WORST: Named = ("interruption_us_max", "us");
const LATENCY: Named = ("latency_ms_mean", "ms");

/// A workload with a parameter that says how often it waits.
struct WaitLoad {
    name: &'static str,
    parameter: &'static str,
    /// Its value where durations are compared.
    few: &'static str,
    /// Many more, and twice that.
    many: [&'static str; 2],
    /// It waits for callbacks, too.
    awaits: bool,
    seed: String,
}

impl WaitLoad {
    fn run(&self, jiffies: &str, times: &str, expedited: &str) -> Stats {
        self.run_with(jiffies, times, expedited, &[])
    }

    fn run_with(
        &self,
        jiffies: &str,
        times: &str,
        expedited: &str,
        more: &[(&str, &str)],
    ) -> Stats {
        let sets = [
            ("jiffies_till_first_fqs", jiffies),
            ("jiffies_till_next_fqs", jiffies),
            (self.parameter, times),
            ("rcu_expedited", expedited),
            ("seed", &self.seed),
        ];
        run(self.name, &[&sets[..], more].concat())
    }

    /// How much longer it takes with raised jiffies and expedited waits than with neither, in per cent.
    fn regression_pct(&self, more: &[(&str, &str)]) -> f64 {
        let [least, most] = [JIFFIES[0], JIFFIES[4]];
        let default = self.run_with(least, self.few, "0", more).seconds();
        100.0 * (self.run_with(most, self.few, "1", more).seconds() / default - 1.0)
    }

    /// What expediting leaves of the added time.
    fn expedited(&self, hurried: &str, left_pct: f64, outcome: &mut Outcome) {
        let left = ("added_pct_of_normal", "%");
        if !self.awaits {
            shown! { outcome; hurried, left => left_pct, LEFT => "expedited removes it"; }
            return;
        }
        let longer = ("longer_than_default_pct", "%");
        shown! { outcome;
            hurried, longer => self.regression_pct(&[]),
                REGRESSION => "raised jiffies with expedited waits still lengthen the boot";
            hurried, left => left_pct;
        }
        for (kind, sets) in [
            ("calls=4", [("calls", "4")]),
            ("awaits=0", [("awaits", "0")]),
        ] {
            shown! { outcome; &format!("{hurried} {kind}"), longer => self.regression_pct(&sets); }
        }
    }

    fn case(&self, jiffies: &str, expedited: bool) -> String {
        let with = if expedited { " rcu_expedited=1" } else { "" };
        format!("{} jiffies={jiffies}{with}", self.name)
    }

    fn outcome(&self) -> Outcome {
        let normal = JIFFIES.map(|jiffies| self.run(jiffies, self.few, "0"));
        let [least, most] = [JIFFIES[0], JIFFIES[4]];
        let expedited = [least, most].map(|jiffies| self.run(jiffies, self.few, "1"));
        let added = |from: &Stats, to: &Stats| to.seconds() - from.seconds();
        let [once, twice] = self
            .many
            .map(|times| added(&self.run(least, times, "0"), &self.run(most, times, "0")));
        let (first, last) = (&normal[0], &normal[4]);
        let lengthened = added(first, last);
        let calls = last.calls.len() as f64;
        let raised = self.case(JIFFIES[4], false);
        let hurried = self.case(JIFFIES[4], true);
        let mut outcome = Outcome::default();
        shown! { outcome;
            &raised, ("added_by_twice_the_waits_ratio", "of what once the waits add") => twice / once,
                TWICE => "raising jiffies lengthens it in proportion to the number of waits";
            &raised, ("longer_waits_per_call", "waits/call") => 1000.0 * lengthened / calls / LONGER,
                EACH => "each wait takes one to four of the longer ones";
        }
        if self.awaits {
            let only = self.run_with(most, self.few, "0", &[("awaits", "0")]);
            let woken = only.funcs.iter().find(|it| it.name == "wakeme_after_rcu");
            let woken = woken.map_or(0.0, |it| it.invoked as f64);
            let each = woken / only.calls.len() as f64;
            shown! { outcome;
                &raised, ("callbacks_per_call", "callbacks/call") => each, BY_CALLBACK
                    => "a call waits by a callback, as the published stack shows";
            }
        }
        let left = 100.0 * added(&expedited[0], &expedited[1]) / lengthened;
        self.expedited(&hurried, left, &mut outcome);
        let mut beside = |case: &str, it: &Stats| {
            let worst = it.interruptions.iter().max().copied().unwrap_or(0);
            for (named, value) in [
                (DURATION, it.seconds()),
                (LATENCY, mean(latencies_ms(it))),
                (IPIS, it.totals.ipis as f64 / it.seconds()),
                (WORST, worst as f64 / 1e3),
            ] {
                shown! { outcome; case, named => value; }
            }
        };
        for (jiffies, it) in JIFFIES.iter().zip(&normal) {
            beside(&self.case(jiffies, false), it);
        }
        beside(&hurried, &expedited[1]);
        notes(self.name, &mut outcome);
        outcome
    }
}

/// A boot.
pub fn boot_selinux(seed: u64) -> Outcome {
    let it = WaitLoad {
        name: "boot-selinux",
        parameter: "waits",
        few: "100",
        many: ["800", "1600"],
        awaits: true,
        seed: seed.to_string(),
    };
    it.outcome()
}

/// The function tracer, on and off.
pub fn ftrace_start_stop(seed: u64) -> Outcome {
    let it = WaitLoad {
        name: "ftrace-start-stop",
        parameter: "switches",
        few: "40",
        many: ["160", "320"],
        awaits: false,
        seed: seed.to_string(),
    };
    it.outcome()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(outcome: &Outcome, case: &str, metric: &str) -> f64 {
        let mut those = outcome.shown.iter();
        let found = those.find(|it| it.case == case && it.metric == metric);
        found.unwrap_or_else(|| panic!("{case}: {metric}")).model
    }

    #[test]
    fn the_published_stack_ends_in_a_wait_for_a_grace_period() {
        #[derive(serde::Deserialize)]
        struct Boot {
            stack: Vec<String>,
        }
        let boot: Boot = super::super::data::published("boot-selinux");
        // Innermost first: the wait by a callback, and the call that the workload's task makes.
        assert_eq!(boot.stack[..2], ["__wait_rcu_gp", "synchronize_rcu"]);
        assert_eq!(boot.stack.len(), 8);
    }

    #[test]
    fn who_waits_pays_for_raised_jiffies_and_expediting_helps_calls_only() {
        for (name, of) in [
            ("boot-selinux", boot_selinux as fn(u64) -> Outcome),
            ("ftrace-start-stop", ftrace_start_stop),
        ] {
            let outcome = of(1);
            for it in outcome.shown.iter().filter(|it| it.claim.is_some()) {
                assert_eq!(it.holds(), Some(true), "{name}: {it:?}");
            }
            let of = |case: &str, metric| value(&outcome, &format!("{name} {case}"), metric);
            let all = JIFFIES.map(|it| of(&format!("jiffies={it}"), "duration_s"));
            assert!(all.is_sorted(), "{name}: {all:?}");
            let case = "jiffies=32 rcu_expedited=1";
            let hurried = of(case, "duration_s");
            // Calls get shorter than with the kernel's own number; who waits for callbacks as well does not.
            if name == "boot-selinux" {
                assert!(
                    all[0] < hurried && hurried < all[4],
                    "{hurried} and {all:?}"
                );
                let calls = of(&format!("{case} awaits=0"), "longer_than_default_pct");
                assert!(calls < 0.0, "{calls}");
            } else {
                assert!(hurried < all[0], "{name}: {hurried} and {all:?}");
            }
            // And it has its price.
            let (normal, hurried) = (of("jiffies=32", "ipis_per_s"), of(case, "ipis_per_s"));
            assert!(hurried > normal, "{name}: {normal} {hurried}");
        }
    }
}
