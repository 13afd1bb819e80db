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
use crate::cases::plan::{Bench, Body, Cell, Given, Processes, Shown};
use crate::cases::setting::{self, Setting};
use crate::deferral::{self, rest};
use crate::measure::once::Question;
use crate::peers::DOMAIN;
use quiescent_report::rows::Figure;
use quiescent_report::text::cases::Column;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The measurement.
pub static IDLE: Bench = Bench {
    name: "idle",
    about: "What happens when there is nothing to do: wake-ups, timers, threads, fences; memory of domains",
    settings: &[
        setting::compare("Beside every other library in this build that reclaims later"),
        Setting::seconds("ms", "seconds", "10", "How long to watch"),
        Setting::count(
            "domains",
            "1000",
            100_000,
            "Domains that were used and are at rest",
        )
        .advice("; 1000 for the targets"),
    ],
    method: "a fresh process a subject and case, all at the same time; wake-ups: voluntary context switches \
             of all threads but the caller; timers: armed timer descriptors, POSIX timers, sleeps with a \
             limit; drained: after 100 blocks and a barrier; domains: memory: anonymous pages that are \
             resident (smaps_rollup), after less before, huge pages off, one domain used before the first \
             look; due together: fences by a system-call filter",
    body: Body::Processes(Processes {
        cells,
        ..Processes::USUAL
    }),
    title: "Nothing to do",
    tables: &[
        Shown::Metrics(
            "Nothing was ever queued: what happened in {ms} s",
            |of| of == NOTHING_QUEUED,
            COLUMNS,
        ),
        Shown::Metrics(
            "Queued once, and everything freed since: what happened in {ms} s",
            |of| of == DRAINED,
            COLUMNS,
        ),
        Shown::Metrics(
            "Due in so many domains at the same time: in all",
            together::is_case,
            &[
                Column("fences", "fences"),
                Column("fences used", "fences_used"),
                Column("grace periods", "grace_periods"),
                Column("looks", "looks"),
            ],
        ),
        Shown::Metrics(
            "Domains that were used and have nothing to do: memory, and what happened in {ms} s",
            resting::is_case,
            &[
                Column("MiB", "memory_bytes"),
                Column("bytes each", "bytes_a_domain"),
                Column("wake-ups", "wakeups"),
                Column("timers", "timers"),
                Column("threads", "threads"),
                Column("looks", "looks"),
                Column("not at rest", "not_at_rest"),
            ],
        ),
    ],
    ..Bench::USUAL
};

const COLUMNS: &[Column] = &[
    Column("wake-ups", "wakeups"),
    Column("timers", "timers"),
    Column("threads", "threads"),
    Column("grace periods", "grace_periods"),
    Column("scans", "scans"),
    Column("fences", "fences"),
];

/// Nothing was ever queued.
const NOTHING_QUEUED: &str = "nothing queued";
/// Everything queued is gone.
const DRAINED: &str = "drained";
/// Blocks that are retired before that.
const BLOCKS: u64 = 100;
/// Domains that have something due at the same time.
const TOGETHER: [u64; 3] = [1, 10, 100];

fn cells(given: &Given) -> Vec<Cell> {
    let (domains, ms) = (given.of("domains"), given.of("ms"));
    let asleep = |subject: &'static str, what: IdleAsk| Cell::of_load(subject, &what, 0);
    let mut cells = Vec::new();
    for blocks in [0, BLOCKS] {
        cells.extend(
            deferral::selected(given.is("compare"))
                .iter()
                .map(|subject| {
                    let subject_name = subject.name.into();
                    asleep(
                        subject.name,
                        IdleAsk::Subject {
                            subject: subject_name,
                            blocks,
                            ms,
                        },
                    )
                }),
        );
    }
    cells.extend(TOGETHER.map(|domains| asleep(DOMAIN, IdleAsk::Together { domains })));
    let at_rest = |at_once| {
        asleep(
            DOMAIN,
            IdleAsk::Resting {
                domains,
                at_once,
                ms,
            },
        )
    };
    cells.extend([false, true].map(at_rest));
    cells
}

/// What is asked of a measuring process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleAsk {
    /// A library.
    Subject {
        /// Who.
        subject: String,
        /// Blocks retired before; 0 when nothing is ever queued.
        blocks: u64,
        /// How long to watch.
        ms: u64,
    },
    /// Something is due in each of so many domains at the same time.
    Together {
        /// How many.
        domains: u64,
    },
    /// So many domains that have been used, and rest.
    Resting {
        /// How many.
        domains: u64,
        /// They were all used at the same time; else one after the other.
        at_once: bool,
        /// How long they are watched.
        ms: u64,
    },
}

impl Question for IdleAsk {
    const KIND: &'static str = "idle";

    fn patience(&self) -> Duration {
        Duration::from_millis(match self {
            IdleAsk::Subject { ms, .. } => 2 * ms,
            IdleAsk::Together { domains } => 10_000 + 10 * domains,
            IdleAsk::Resting { domains, ms, .. } => 2 * ms + 50 * domains,
        })
    }

    fn measure(&self) -> Result<Vec<Figure>, String> {
        match *self {
            IdleAsk::Subject {
                ref subject,
                blocks,
                ms,
            } => {
                let case = if blocks == 0 { NOTHING_QUEUED } else { DRAINED };
                let subject = deferral::find(subject)?;
                rest::watch(subject, blocks, Duration::from_millis(ms), case)
            }
            IdleAsk::Together { domains } => together::measure(domains),
            IdleAsk::Resting {
                domains,
                at_once,
                ms,
            } => resting::measure(domains, at_once, Duration::from_millis(ms)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_is_idle_in_both_ways() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        for subject in deferral::all() {
            for (blocks, case) in [(0, NOTHING_QUEUED), (10, DRAINED)] {
                let subject = subject.name.into();
                let ask = IdleAsk::Subject {
                    subject,
                    blocks,
                    ms: 1,
                };
                let figures = ask.measure().unwrap();
                assert!(figures.len() >= 3 && figures.iter().all(|it| it.case == case));
            }
        }
    }
}
