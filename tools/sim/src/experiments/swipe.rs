//! `home-screen-swipe`: the saving of lazy callbacks while a finger swipes a phone's home screen, in per cent
//! of the phone's power.
//!
//! Published is one figure, 3 %, without phone, load, or definition of the power. The load and the profile of
//! power are assumptions that were made before the first run and not changed after it. The claim is that the
//! figure is in the low single digits of per cent, which is 1 to 5.
//!
//! The first run gave 0.06 %: RCU's threads stayed on a small CPU that touches keep awake, and woke no other
//! CPU. So the experiment has two placements. In the other one the scheduler moves them to any CPU once a
//! second, as is assumed elsewhere (`early-qs-v2`); that was added *after* the first figure was known. It
//! shows only that the published figure can be reached.

use serde::Deserialize;

use super::claims::Bound;
use super::claims::{Named, Shown, shown};
use super::data::published;
use super::idle::{idled, states, wakeups};
use super::loads::{notes, run};
use super::{Basis, Judged, Outcome};
use crate::idling::Energy;
use crate::record::stats::Stats;

const SAVING: Named = ("saving_pct", "%");

/// Low single digits of per cent.
const LOW: (f64, f64) = (1.0, 5.0);

/// Where RCU's threads run, in words, and what the scheduler does with them.
const PLACES: [(&str, &str); 2] = [
    ("RCU's threads stay", "never"),
    ("RCU's threads go anywhere", "1s"),
];

#[derive(Deserialize)]
struct PublishedSwipe {
    power_delta_pct: f64,
}

fn energy(stats: &Stats) -> &Energy {
    let energy = idled(stats).energy.as_ref();
    energy.expect("the workload has a profile")
}

/// What the second run saves of the first one's power, in per cent: at the lower end of every range, and at
/// the upper ones.
fn saved(from: &Stats, to: &Stats) -> (f64, f64) {
    let ((low, high), (less_low, less_high)) = (energy(from).watts(), energy(to).watts());
    let pct = |from: f64, to: f64| 100.0 * (1.0 - to / from);
    (pct(low, less_low), pct(high, less_high))
}

/// Offloaded and lazy callbacks while the home screen is swiped, with both placements of RCU's threads.
pub fn home_screen_swipe(seed: u64) -> Outcome {
    let published: PublishedSwipe = published("home-screen-swipe");
    let mut outcome = Outcome::default();
    for (place, moves) in PLACES {
        let case = format!("home-screen-swipe, {place}");
        let real = published.power_delta_pct;
        let runs = ["offload", "lazy"].map(|rcu| {
            let sets = [("rcu", rcu), ("moves", moves), ("seed", &*seed.to_string())];
            run("home-screen-swipe", &sets)
        });
        let (low, high) = saved(&runs[0], &runs[1]);
        let allowed = (real - LOW.0) / real;
        let by = Judged::published("home-screen-swipe", allowed, Basis::Assumed);
        outcome.compare(by, &*case, SAVING, [real, (low + high) / 2.0]);
        for (end, saved) in [("lower", low), ("upper", high)] {
            let case = format!("{case}, {end} ends of the profile");
            let says = "lazy callbacks save in the low single digits of per cent";
            let bound = Bound::Between(LOW.0, LOW.1);
            outcome.shown.push(match moves {
                // The verdict on these stands with the comparison.
                "never" => Shown::beside(&case, SAVING, saved),
                _ => Shown::claimed(&case, SAVING, saved, says, bound),
            });
        }
        for (rcu, stats) in ["offload", "lazy"].into_iter().zip(&runs) {
            shows(&mut outcome, &format!("{case}, rcu={rcu}"), stats);
            let name = format!("rcu={rcu}, {place}");
            outcome.notes.push(note(&name, stats));
            outcome.states.push(states(name, stats));
        }
    }
    outcome.notes.push(
        "where RCU's threads run decides: on CPUs that are awake anyway they cost next to nothing, and \
         waking others they cost what was published. The second placement was added after \
         the first one had shown 0.06 %; moves every 5 ms to 1 s give 1.5 to 4.1 % there, by seed"
            .into(),
    );
    outcome.notes.push(
        "these are shares of the phone's whole power, most of which no CPU takes; which power was published \
         is not known".into(),
    );
    notes("home-screen-swipe", &mut outcome);
    outcome
}

/// The wake-ups by cause.
fn shows(outcome: &mut Outcome, case: &str, stats: &Stats) {
    let per_s = |name| stats.wakeups_of(name) as f64 / stats.seconds();
    for (named, figure) in [
        (("wakeups_per_s", "1/s"), wakeups(stats)),
        (("callback_threads_woken_per_s", "1/s"), per_s("rcuo")),
        (("rcu_preempt_woken_per_s", "1/s"), per_s("rcu_preempt")),
    ] {
        shown! { outcome; case, named => figure; }
    }
}

fn note(name: &str, stats: &Stats) -> String {
    let busy = idled(stats)
        .cpus
        .iter()
        .filter(|it| it.name.ends_with("C0"));
    let busy = busy.map(|it| {
        let share = 100.0 * it.ns as f64 / it.of_ns as f64;
        format!("{} {share:.1} %", it.name)
    });
    let (low, high) = energy(stats).watts();
    format!(
        "{name}: {low:.3} to {high:.3} W by the profile `{}`, which is assumed; not idle: {}",
        energy(stats).profile,
        busy.collect::<Vec<_>>().join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lazy_callbacks_save_where_rcus_threads_wake_cpus_that_would_sleep() {
        for seed in [1, 2] {
            let outcome = home_screen_swipe(seed);
            let [stay, move_on] = &outcome.comparisons[..] else {
                panic!("two placements");
            };
            // A fix of the first one has to change this: it is missed, and `docs/model.md` has the reason.
            assert!(0.0 < stay.model && stay.model < 1.0, "{stay:?}");
            assert_eq!(move_on.holds(), Some(true), "{move_on:?}");
            for it in outcome.shown.iter().filter(|it| it.claim.is_some()) {
                assert_eq!(it.holds(), Some(true), "{it:?}");
            }
        }
    }
}
