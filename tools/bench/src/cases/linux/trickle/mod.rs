//! `bench trickle`: what it costs a quiet program to have a block reclaimed now and then.
//!
//! A producer hands over one block of 64 bytes at a time, to absolute deadlines, at some rate; a case is a
//! verb and a rate, such as `retire 10/s`. Other libraries have one verb, which is shown as `retire`. At
//! rates up to [`EXITS_UP_TO`] there is a second process, in which the producer *ends* after its last block
//! (`retire 10/s, exits`) where it otherwise goes to sleep.
//!
//! Metrics:
//!
//! * `wakeups_per_s`: wake-ups of the library's own threads while the trickle runs; also by thread, as a case
//!   of its own
//! * `cpu_ns`: the call, by the clock, and the CPU time of the library's threads, a block
//! * `latency_us`, `…_p99.9`, `…_max`: the call
//! * `delay_ms`, `…_p99`, `…_max`: from the call until the block is freed, of those that were
//! * `never_run`: blocks that are not freed within `patience_ms` after the trickle
//! * `drained_ms`: how long after the trickle everything was freed; no row when it never was
//! * `backlog`, `held_bytes`: most blocks held at a time, and their bytes
//! * `grace_periods`, `scans`, `fences`: what `quiescent` counted, to the end
//!
//! Processes that sleep nearly always are measured at the same time, as many as wake `capacity` times a
//! second in all (`Cell::load`); their wake-ups are their own, and the CPU they take from each
//! other is a few percent. Of higher rates there is one process at a time, with the machine to itself.

pub mod child;

use crate::cases::plan::{Bench, Body, Cell, Given};
use crate::cases::setting::{self, Setting};
use crate::deferral::{self, RETIRE};
use quiescent_report::Report;
use quiescent_report::text::number::short;

/// Highest rate at which there is a process whose producer ends as well.
pub const EXITS_UP_TO: u64 = 100;
/// Highest rate at which other verbs than `retire` are measured.
const CALLS_UP_TO: u64 = 1_000;
/// Most blocks a process: what a producer can hand over one by one within the longest time.
const MOST_BLOCKS: u64 = 10_000_000;

/// The measurement: long enough for two flushes. What is left is waited for as long as a lazy block of ours
/// may be kept: the flush time and 20 % of it, into which rounding up to a whole second has to fit.
pub static TRICKLE: Bench = Bench {
    name: "trickle",
    settings: &[
        setting::compare(),
        // Faster than the most a thread that sleeps in between cannot be.
        Setting::counts("rates", "0,1,10,100,1000,10000", (0, 100_000)).named("rate"),
        Setting::seconds("ms", "seconds", "20"),
        Setting::seconds("patience_ms", "wait", "12"),
        // Producers' wake-ups a second at the same time.
        Setting::count("capacity", "4000", u64::MAX).named(""),
    ],
    check,
    body: Body::Asked(cells, child::patience, child::measure),
    capacity: |given| given.of("capacity"),
    remarks: fallen_behind,
    ..Bench::USUAL
};

/// Everything to measure, the slowest rates first.
fn cells(given: &Given) -> Vec<Cell> {
    let mut rates = given.all("rates").to_vec();
    rates.sort_unstable();
    rates.dedup();
    let mut cells = Vec::new();
    for rate in rates {
        for subject in deferral::selected(given.is("compare")) {
            for verb in subject.verbs.iter().filter(|verb| verb.trickled) {
                let lazy = verb.name == RETIRE;
                if !lazy && !(1..=CALLS_UP_TO).contains(&rate) {
                    continue;
                }
                let cell = Cell::of(given, subject.name, verb.name).of_load(rate);
                let cell = cell.with("rate", rate).with("exits", 0);
                cells.push(cell.clone());
                if lazy && (1..=EXITS_UP_TO).contains(&rate) {
                    cells.push(cell.with("exits", 1));
                }
            }
        }
    }
    cells
}

fn check(given: &Given) -> Result<(), String> {
    let ms = given.of("ms");
    let most = MOST_BLOCKS * 1_000 / ms;
    match given.all("rates").iter().find(|rate| **rate > most) {
        Some(rate) => Err(format!(
            "a rate of {rate} for {} s: give at most {most} a second, or less time",
            ms / 1_000
        )),
        None => Ok(()),
    }
}

/// A line for each producer that could not keep up: its rate was another one.
fn fallen_behind(report: &Report) -> String {
    let rows = report.rows.iter().filter(|row| row.metric == "ops_per_s");
    let lines = rows.filter_map(|row| {
        let (_, asked) = row.case.strip_suffix("/s")?.rsplit_once(' ')?;
        let asked: f64 = asked.parse().ok()?;
        (row.median < 0.9 * asked).then(|| {
            format!(
                "\n{}, {}: only {} a second, the machine is busy; try again, or with --rate up to that\n",
                row.subject,
                row.case,
                short(row.median)
            )
        })
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_report::Control;

    #[test]
    fn more_than_a_thread_can_hand_over_is_refused() {
        let given = TRICKLE.usual("true".into()).with("ms", 3_600_000);
        let error = TRICKLE.run(&given, Control::none()).unwrap_err();
        assert!(
            error.to_string().contains("give at most 2777 a second"),
            "{error}"
        );
    }

    #[test]
    fn cases_have_the_names_that_scripts_rely_on() {
        let given = TRICKLE.usual("true".into());
        let cells = cells(&given.with_all("rates", vec![10_000, 0, 100, 10, 10]));
        let cases: Vec<String> = cells.iter().map(|it| child::case(&it.ask)).collect();
        let of_rate = |rate: u64| {
            [
                "retire",
                "retire",
                "retire_on_worker",
                "defer",
                "defer_hurry",
            ]
            .iter()
            .enumerate()
            .map(move |(index, verb)| {
                let exits = if index == 1 { ", exits" } else { "" };
                format!("{verb} {rate}/s{exits}")
            })
        };
        let expected: Vec<String> = std::iter::once("retire 0/s".to_string())
            .chain(of_rate(10))
            .chain(of_rate(100))
            .chain(std::iter::once("retire 10000/s".to_string()))
            .collect();
        assert_eq!(cases, expected);
    }

    #[test]
    fn every_verb_has_few_blocks_freed_in_the_end() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        for cell in cells(&TRICKLE.usual("true".into()).with("compare", 1)) {
            if cell.ask.of("rate") != 100 {
                continue;
            }
            let name = cell.subject;
            let ask = cell.with("ms", 30).with("patience_ms", 1).ask;
            let figures = child::measure(&ask).unwrap();
            let value = |metric: &str| {
                let mut found = figures.iter().filter(|figure| figure.metric == metric);
                found
                    .find(|figure| figure.case == child::case(&ask))
                    .map(|figure| figure.value)
            };
            assert!(
                value("never_run").is_some_and(|blocks| blocks <= 3.0),
                "{name}"
            );
            assert!(value("wakeups_per_s").is_some(), "{name}");
            assert!(value("latency_us_max") >= value("latency_us"), "{name}");
        }
    }

    #[test]
    fn blocks_are_waited_for_for_the_flush_time_and_a_fifth() {
        let waited = u128::from(TRICKLE.usual("true".into()).of("patience_ms"));
        assert_eq!(waited, quiescent::tuning::FLUSH.as_millis() * 6 / 5);
    }

    #[test]
    fn a_table_a_question() {
        let report = crate::cases::fixture::report(&[
            ("quiescent", "retire 10/s", "wakeups_per_s", 0.05),
            (
                "quiescent",
                "retire 10/s, thread worker",
                "wakeups_per_s",
                77.0,
            ),
            ("quiescent", "retire 10/s, exits", "never_run", 3.0),
            ("quiescent", "defer 100/s", "delay_ms", 25.0),
            ("quiescent", "retire 10/s", "ops_per_s", 9.5),
            ("quiescent", "retire 1000/s", "ops_per_s", 234.0),
        ]);
        let text = TRICKLE.text(&report);
        for words in [
            "0.050",
            "producer ends",
            "25.0",
            "met?",
            "1000/s: only 234 a second",
        ] {
            assert!(text.contains(words), "no `{words}` in {text}");
        }
        assert!(!text.contains("only 9.5"), "{text}");
        assert!(!text.contains("77.0"), "threads are for scripts: {text}");
    }
}
