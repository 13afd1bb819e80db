//! `bench map`: hash maps that threads share.
//!
//! Each thread adds, updates and removes keys of its own, so every answer is known: a map that gives a wrong
//! one is refused. Operations are those of conc-map-bench and bustle, by the same shares; each is a section
//! of its own.
//!
//! | case | what |
//! |---|---|
//! | `u64 100k 1t read` | 98 % look-ups, 1 % inserts, 1 % removes; numbers, so many entries, one thread |
//! | `… exchange`, `churn`, `update` | 10/40/40 and 10 % updates; 0/50/50; updates alone |
//! | `… reads only`, `most reads`, `reads of 16` | look-ups alone; 90/5/5; of 16 keys at once |
//! | `u64 10M 2t grow`, `… rapid grow` | from nothing: inserts alone; 5/80/5 and 10 % updates |
//! | `u64 100k growing` | look-ups of one thread while another makes it 16 times as large |
//! | `u64 100k unchanged` | look-ups in another map of the same thread, by turns |
//! | `u64 1M full`, `… emptied` | memory; after 90 % were removed, and nothing was called for a while |
//!
//! CPU time is that of the process, with the library's own threads and the freeing of what was removed. What
//! a library's answer is compared with is of the same round.

use super::plan::{Bench, Body, Cell, Given, Heard};
use super::setting::{self, Setting};
use crate::maps::measured::{self, EMPTIED, FULL, GROWTH, Mapping, SLOW};
use crate::maps::slow;
use crate::measure::once::{Ask, Said};
use crate::peers;
use quiescent_report::OURS;
use quiescent_report::rows::Figure;
use std::time::Duration;

/// The measurement.
pub static MAP: Bench = Bench {
    name: "map",
    settings: &[
        setting::compare(),
        setting::rounds("5"),
        Setting::counts("entries", "10000,100000,1000000", (1, 100_000_000)),
        Setting::counts("grow", "10000000", (1, 100_000_000)),
        Setting::counts("threads", "1,2", (1, 1024)),
        Setting::count("turns", "1000000", 1_000_000_000),
        Setting::seconds("rest_ms", "rest", "12"),
        Setting::flag("std_hasher").named("std-hasher"),
    ],
    check,
    body: Body::Asked(cells, patience, measure),
    derived,
    ..Bench::USUAL
};

fn check(given: &Given) -> Result<(), String> {
    let least = |name: &str| given.all(name).iter().min().copied().unwrap_or(0);
    let most = given.all("threads").iter().max().copied().unwrap_or(0);
    let few = ["entries", "grow"].into_iter().find(|it| least(it) < most);
    match few {
        None => Ok(()),
        Some(name) => Err(format!(
            "{name}: {}: give an entry at least to each of {most} threads",
            least(name)
        )),
    }
}

fn cells(given: &Given) -> Vec<Cell> {
    let maps = peers::maps();
    let maps: Vec<Mapping> = maps
        .into_iter()
        .filter(|it| it.name == OURS || given.is("compare") && it.name != peers::SKIPLIST)
        .collect();
    let (entries, grow) = (given.all("entries"), given.all("grow"));
    let all = |sizes: &[u64], threads: &[u64], case: &str, once, load| {
        let mut cells = Vec::new();
        for (size, threads) in sizes
            .iter()
            .flat_map(|it| threads.iter().map(move |t| (*it, *t)))
        {
            cells.extend(maps.iter().map(|map| {
                Cell {
                    once,
                    ..Cell::of(given, map.name, case)
                        .with("entries", size)
                        .with("threads", threads)
                        .of_load(load)
                }
            }));
        }
        cells
    };
    let threads = given.all("threads");
    let mut cells = Vec::new();
    for case in measured::MIXES {
        cells.extend(all(entries, threads, case, false, 1));
    }
    cells.extend(all(grow, threads, GROWTH, false, 1));
    cells.extend(all(entries, &[1], SLOW, false, 1));
    cells.extend(all(&[entries, grow].concat(), &[1], FULL, true, 1));
    // Asleep nearly always.
    cells.extend(all(entries, &[1], EMPTIED, true, 0));
    cells
}

/// A slow map takes a few µs an operation; strings are made, moved and dropped.
fn patience(ask: &Ask) -> Duration {
    let entries = ask.of("entries");
    let times = if ask.case == SLOW {
        16 * slow::growths(entries)
    } else {
        2
    };
    ask.ms("rest_ms") + Duration::from_micros(20 * (times * entries + 6 * ask.of("turns")))
}

fn measure(ask: &Ask) -> Said {
    let map = peers::maps().into_iter().find(|it| it.name == ask.subject);
    let map = map.ok_or_else(|| format!("no map of `{}` in this build", ask.subject))?;
    (map.measure)(ask).map_err(|why| format!("{}: {why}", map.name))
}

/// The peers whose figures are compared, and the metric: how many times their time ours is contained in.
const PEERS: [(&str, &str); 3] = [
    ("papaya", "times_papaya"),
    ("dashmap", "times_dashmap"),
    ("scc", "times_scc"),
];

/// What a process said of the CPU time of this subject's map.
fn cpu<'a>(said: &'a [Heard], subject: &'a str) -> impl Iterator<Item = &'a Figure> {
    let of = said.iter().filter(move |it| it.0 == subject);
    of.flat_map(|it| &it.1).filter(|it| it.metric == "cpu_ns")
}

/// Theirs over ours, and that of the best of them, in each case of a round.
fn derived(said: &[Heard]) -> Vec<(&'static str, Figure)> {
    let mut more = Vec::new();
    for ours in cpu(said, OURS).filter(|it| it.value > 0.0) {
        let figure = |metric, times| (OURS, Figure::new(&ours.case, metric, "times", times));
        let times = PEERS.into_iter().filter_map(|(peer, metric)| {
            let theirs = cpu(said, peer).find(|it| it.case == ours.case)?;
            Some((metric, theirs.value / ours.value))
        });
        let times: Vec<(&str, f64)> = times.collect();
        more.extend(times.iter().map(|(metric, times)| figure(metric, *times)));
        // A run that is stopped has rounds without some of them.
        if times.len() == PEERS.len() {
            let best = times.iter().map(|it| it.1).reduce(f64::min);
            more.extend(best.map(|best| figure("times_best", best)));
        }
    }
    more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_the_same_case_of_a_round() {
        let figure = |case: &str, value| Figure::new(case, "cpu_ns", "ns", value);
        let mut said = vec![
            (OURS, vec![figure("read", 20.0), figure("churn", 0.0)]),
            ("papaya", vec![figure("read", 50.0), figure("churn", 9.0)]),
            ("scc", vec![figure("read", 30.0), figure("grow", 1.0)]),
        ];
        let times = |said: &[Heard]| -> Vec<(String, f64)> {
            let found = derived(said).into_iter();
            found.map(|it| (it.1.metric, it.1.value)).collect()
        };
        let of = |metric: &str, times| (metric.to_owned(), times);
        assert_eq!(
            times(&said),
            [of("times_papaya", 2.5), of("times_scc", 1.5)]
        );
        said.push(("dashmap", vec![figure("read", 25.0)]));
        assert!(times(&said).contains(&of("times_best", 1.25)));
        assert!(derived(&said[1..]).is_empty());
    }

    #[test]
    fn each_question_is_asked_of_each_map_and_each_number_of_threads() {
        let given = MAP
            .usual("true".into())
            .with("compare", 1)
            .with_all("threads", vec![1, 3]);
        let given = given.with_all("entries", vec![10, 20]).with("grow", 30);
        let cells = cells(&given);
        for map in peers::maps()
            .into_iter()
            .filter(|it| it.name != peers::SKIPLIST)
        {
            let of = |case: &str| {
                let cells = cells
                    .iter()
                    .filter(|it| it.subject == map.name && it.ask.case == case);
                cells.count()
            };
            assert_eq!(
                (of("mixes u64"), of("mixes strings")),
                (4, 4),
                "{}",
                map.name
            );
            assert_eq!((of(GROWTH), of(SLOW), of(FULL), of(EMPTIED)), (2, 2, 3, 2));
        }
        let unknown = Cell::of(&given, "unknown", FULL).ask;
        assert!(
            measure(&unknown)
                .unwrap_err()
                .contains("no map of `unknown`")
        );
    }
}
