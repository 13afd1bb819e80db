//! `bench idle`: what a library does when there is nothing to do.
//!
//! | case | what |
//! |---|---|
//! | `nothing queued` | a thread is registered, and nothing was ever queued in this process |
//! | `drained` | a few blocks were retired, and all of them have been freed since |
//! | `N at rest`, `N at rest, used at once` | N domains that were used |
//! | `due together, N` | what N domains have queued is due at the same time |
//!
//! For the first two: wake-ups of the library's threads, how many there are, timers that are set (the
//! kernel's word, for all libraries alike), and the grace periods, scans and fences that `quiescent` counted.
//! All processes are watched at the same time: they sleep.

use super::{resting, together};
use crate::cases::plan::{Bench, Body, Cell, Given};
use crate::cases::setting::{self, Setting};
use crate::deferral::{self, rest};
use crate::measure::once::{Ask, Said};
use crate::peers::DOMAIN;
use std::time::Duration;

/// The measurement.
pub static IDLE: Bench = Bench {
    name: "idle",
    settings: &[
        setting::compare(),
        Setting::seconds("ms", "seconds", "10"),
        Setting::count("domains", "1000", 100_000).advice("; 1000 for the targets"),
    ],
    body: Body::Asked(cells, patience, measure),
    ..Bench::USUAL
};

/// Nothing was ever queued.
const NOTHING_QUEUED: &str = "nothing queued";
/// Everything queued is gone.
const DRAINED: &str = "drained";
/// Blocks that are retired before that.
const BLOCKS: u64 = 100;
/// Domains that have something due at the same time.
const TOGETHER: [u64; 3] = [1, 10, 100];

fn cells(given: &Given) -> Vec<Cell> {
    let asleep = |subject, case: &str| Cell::of(given, subject, case).of_load(0);
    let mut cells = Vec::new();
    for case in [NOTHING_QUEUED, DRAINED] {
        let subjects = deferral::selected(given.is("compare")).into_iter();
        cells.extend(subjects.map(|subject| asleep(subject.name, case)));
    }
    cells.extend(TOGETHER.map(|n| asleep(DOMAIN, &together::case(n)).with("domains", n)));
    let at_rest = |at_once| asleep(DOMAIN, &resting::case(given.of("domains"), at_once));
    cells.extend([false, true].map(at_rest));
    cells
}

fn patience(ask: &Ask) -> Duration {
    2 * ask.ms("ms") + Duration::from_millis(10_000 + 50 * ask.of("domains"))
}

fn measure(ask: &Ask) -> Said {
    let (case, domains) = (&*ask.case, ask.of("domains"));
    if case == together::case(domains) {
        return together::measure(domains);
    }
    if let Some(at_once) = [false, true]
        .into_iter()
        .find(|it| case == resting::case(domains, *it))
    {
        return resting::measure(domains, at_once, ask.ms("ms"));
    }
    let blocks = if case == DRAINED { BLOCKS } else { 0 };
    rest::watch(deferral::find(&ask.subject)?, blocks, ask.ms("ms"), case)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_is_idle_in_both_ways() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        for subject in deferral::all() {
            for case in [NOTHING_QUEUED, DRAINED] {
                let given = IDLE.usual("true".into()).with("ms", 1);
                let figures = measure(&Cell::of(&given, subject.name, case).ask).unwrap();
                assert!(figures.len() >= 3 && figures.iter().all(|it| it.case == case));
            }
        }
    }
}
