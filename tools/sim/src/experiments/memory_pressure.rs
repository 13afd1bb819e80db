//! `memory-pressure`: lazy callbacks may hold memory for ten seconds, unless it runs low and the shrinker
//! flushes them.
//!
//! The shrinker frees nothing itself: it requests a grace period for the callbacks now. So the bound is the
//! limit at which it is called, plus the callbacks queued from then until the flushed ones have been invoked.
//! Also judged: a flush loses nothing and ends no grace period too early; the machine's oracle checks each
//! callback.

use super::claims::Bound::{AtLeast, AtMost};
use super::claims::{Named, Shown, shown};
use super::{Outcome, loads};

/// How much more than the limit there may be: at 1.3 MB/s, a look every 10 ms and some 10 ms for the grace
/// period and what follows it, it is some 25 KB of 512 KiB.
const SLACK: f64 = 1.1;
/// At least so many times the limit without a shrinker: in ten seconds 13 MB are queued.
const CONTROL: f64 = 10.0;

const HELD: Named = ("held_bytes_max_ratio_to_limit", "of the limit");
const LOST: Named = ("callbacks_lost", "callbacks");
const EARLY: Named = ("callbacks_too_early", "callbacks");
const FLUSHED: Named = ("flushed_by_shrinker", "callbacks");
const GPS: Named = ("grace_periods_per_s", "1/s");
const DELAY: Named = ("delay_ms_max", "ms");

/// What a run has come to.
struct HeldMemory {
    held: f64,
    lost: f64,
    early: f64,
    flushed: f64,
    gps: f64,
    delay_ms: f64,
    queued: u64,
}

impl HeldMemory {
    /// With looks at memory so often.
    fn of(every: &str, seed: &str) -> HeldMemory {
        let sets = [("every", every), ("seed", seed)];
        let plan = loads::plan("memory-pressure", &sets);
        let mut machine = plan.machine();
        assert!(
            plan.run_on(&mut machine, || false),
            "no caller stops the plan"
        );
        let stats = machine.stats();
        let limit = plan.parameters.iter().find(|it| it.0 == "limit");
        let limit: f64 = limit.and_then(|it| it.1.parse().ok()).unwrap_or(f64::NAN);
        let delays = stats.funcs.iter().flat_map(|it| &it.delays);
        HeldMemory {
            held: stats.held.most.1 as f64 / limit,
            lost: machine.owed() as f64,
            early: machine.too_early() as f64,
            flushed: machine.shrunk() as f64,
            gps: stats.grace_periods.len() as f64 / stats.seconds(),
            delay_ms: delays.max().copied().unwrap_or(0) as f64 / 1e6,
            queued: stats.funcs.iter().map(|it| it.queued).sum(),
        }
    }
}

/// With the shrinker, and without.
pub fn memory_pressure(seed: u64) -> Outcome {
    let seed = seed.to_string();
    let (with, without) = (HeldMemory::of("10ms", &seed), HeldMemory::of("0", &seed));
    let (shrunk, control) = ("memory-pressure", "memory-pressure without the shrinker");
    let mut outcome = Outcome::default();
    shown! { outcome;
        shrunk, HELD => with.held, AtMost(SLACK) => "lazy memory is bounded by the shrinker";
        control, HELD => without.held,
            AtLeast(CONTROL) => "without it they hold what ten seconds bring";
    }
    for (case, it) in [(shrunk, &with), (control, &without)] {
        shown! { outcome;
            case, LOST => it.lost, AtMost(0.0) => "nothing is lost";
            case, EARLY => it.early, AtMost(0.0) => "and nothing is invoked before its time";
        }
        for (named, value) in [(FLUSHED, it.flushed), (GPS, it.gps), (DELAY, it.delay_ms)] {
            shown! { outcome; case, named => value; }
        }
    }
    outcome.notes.push(format!(
        "{} callbacks are queued; the shrinker flushes {:.0} of them before their ten seconds are over",
        with.queued, with.flushed
    ));
    loads::notes("memory-pressure", &mut outcome);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;

    #[test]
    fn the_shrinker_bounds_what_is_lazy_and_loses_nothing() {
        for seed in [1, 2] {
            for it in memory_pressure(seed).shown {
                assert_ne!(it.holds(), Some(false), "{it:?}");
            }
        }
    }

    #[test]
    fn where_memory_does_not_run_low_nothing_is_flushed() {
        let workload = Workload::named("memory-pressure").unwrap();
        let plan = workload.plan(&[("limit", "100000000")]).unwrap();
        let mut machine = plan.machine();
        assert!(plan.run_on(&mut machine, || false));
        assert_eq!((machine.shrunk(), machine.owed()), (0, 0));
    }
}
