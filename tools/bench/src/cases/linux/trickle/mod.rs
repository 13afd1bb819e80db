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
//! * `never_run`: blocks that are not freed within [`patience_ms`] after the trickle
//! * `drained_ms`: how long after the trickle everything was freed; no row when it never was
//! * `backlog`, `held_bytes`: most blocks held at a time, and their bytes
//! * `grace_periods`, `scans`, `fences`: what `quiescent` counted, to the end
//!
//! Processes that sleep nearly always are measured at the same time, as many as wake [`CAPACITY`] times a
//! second in all ([`crate::measure::waves`]); their wake-ups are their own, and the CPU they take from each
//! other is a few percent. Of higher rates there is one process at a time, with the machine to itself.

pub mod child;
mod targets;
mod text;

pub use targets::targets;
pub use text::is_of;
pub use text::{tables, text};

use crate::deferral::{self, Deferring, RETIRE};
use crate::measure::once::Ask;
use crate::measure::order;
use crate::measure::waves::{self, Cell};
use child::TrickleAsk;
use quiescent_report::rows::samples;
use quiescent_report::verdict;
use quiescent_report::{Control, Error, Report};
use std::path::PathBuf;

/// Highest rate at which there is a process whose producer ends as well.
pub const EXITS_UP_TO: u64 = 100;
/// Highest rate at which other verbs than `retire` are measured.
const CALLS_UP_TO: u64 = 1_000;
/// Producers' wake-ups a second at the same time.
pub const CAPACITY: u64 = 4_000;
/// Most blocks a process: what a producer can hand over one by one within the longest time.
pub const MOST_BLOCKS: u64 = 10_000_000;

/// How long after the last call a lazy block of ours may be freed: the flush time and 20 % of it. The flush
/// time's rounding up to a whole second has to fit into that.
pub fn patience_ms() -> u64 {
    quiescent::tuning::FLUSH.as_millis() as u64 * 6 / 5
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct TrickleOptions {
    /// The program that can [`crate::measure::once::serve`]: this program itself.
    pub program: PathBuf,
    /// All subjects, not only quiescent's.
    pub compare: bool,
    /// Blocks a second.
    pub rates: Vec<u64>,
    /// How long a trickle lasts.
    pub ms: u64,
    /// How long to wait then for what has not been freed.
    pub patience_ms: u64,
    /// How many producers' wake-ups a second may be measured at the same time.
    pub capacity: u64,
    /// Where the rotation of subjects starts.
    pub seed: u64,
}

impl TrickleOptions {
    /// The usual measurement, by `program`: long enough for two flushes.
    pub fn new(program: PathBuf) -> Self {
        TrickleOptions {
            program,
            compare: false,
            rates: vec![0, 1, 10, 100, 1_000, 10_000],
            ms: 20_000,
            patience_ms: patience_ms(),
            capacity: CAPACITY,
            seed: 1,
        }
    }

    /// Everything to measure, the slowest rates first.
    fn asks(&self, subjects: &[Deferring]) -> Vec<(&'static str, TrickleAsk)> {
        let mut rates = self.rates.clone();
        rates.sort_unstable();
        rates.dedup();
        let mut asks = Vec::new();
        for rate in rates {
            for place in order::round(subjects.len(), 0, self.seed) {
                let subject = &subjects[place];
                for verb in subject.verbs.iter().filter(|verb| verb.trickled) {
                    let lazy = verb.name == RETIRE;
                    if !lazy && !(1..=CALLS_UP_TO).contains(&rate) {
                        continue;
                    }
                    let ask = |exits| TrickleAsk {
                        subject: subject.name.into(),
                        verb: verb.name.into(),
                        rate,
                        ms: self.ms,
                        exits,
                        patience_ms: self.patience_ms,
                    };
                    asks.push((subject.name, ask(false)));
                    if lazy && (1..=EXITS_UP_TO).contains(&rate) {
                        asks.push((subject.name, ask(true)));
                    }
                }
            }
        }
        asks
    }

    fn check(&self) -> Result<(), Error> {
        if self.rates.is_empty() || self.ms == 0 {
            let text = "no rate, or no time: give --rate 10,100 and 20 seconds or more";
            return Err(Error::Usage(text.into()));
        }
        let most = MOST_BLOCKS * 1_000 / self.ms;
        match self.rates.iter().find(|rate| **rate > most) {
            Some(rate) => Err(Error::Usage(format!(
                "a rate of {rate} for {} s: give at most {most} a second, or less time",
                self.ms / 1_000
            ))),
            None => Ok(()),
        }
    }
}

/// Measures and reports, with the targets. When stopped, the report has what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for no time, no rate or one that is too high; [`Error::Failed`] when a measuring process
/// cannot be started, dies or hangs.
pub fn run(options: &TrickleOptions, control: Control<'_>) -> Result<Report, Error> {
    let mut report = measure(options, control)?;
    report.rows.extend(verdict::rows(&targets(&report)));
    Ok(report)
}

/// The same without the targets.
///
/// # Errors
/// As [`run`].
pub fn measure(options: &TrickleOptions, control: Control<'_>) -> Result<Report, Error> {
    options.check()?;
    let subjects = deferral::selected(options.compare);
    let asks = options.asks(&subjects);
    let cases = samples::distinct(asks.iter().map(|(_, ask)| ask.case()));
    let cell = |(subject, ask): (&'static str, TrickleAsk)| Cell {
        subject,
        load: ask.rate,
        ask: Ask::of(&ask),
    };
    let cells: Vec<Cell> = asks.into_iter().map(cell).collect();
    let waves = waves::plan(cells, options.capacity);
    let samples = waves::run(&options.program, "bench trickle", waves, control)?;
    let mut report = Report::new("bench trickle", options.seed);
    describe(&mut report, options);
    let names: Vec<&str> = subjects.iter().map(|it| it.name).collect();
    report.rows = samples.rows(&names, &cases);
    Ok(report)
}

fn describe(report: &mut Report, options: &TrickleOptions) {
    report.option("compare", options.compare);
    report.option("rates", options.rates.clone());
    report.option("ms", options.ms);
    report.option("patience_ms", options.patience_ms);
    report.option("capacity", options.capacity);
    report.option(
        "method",
        "a fresh process a subject, verb and rate; processes that wake 4000 times a second in all are \
         measured at the same time; one producer, absolute deadlines; wake-ups: voluntary context switches \
         of all threads but the program's two, from half a second after the first call to the end of the \
         trickle; delays from the call until the block's destructor or callback runs; plain blocks of \
         quiescent run none, theirs are from its counters, looked at every 5 ms; never_run: not freed \
         patience_ms after the trickle",
    );
    deferral::note(report, options.compare);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::fixture::nonsense;
    use crate::measure::once::Question;

    #[test]
    fn nonsense_is_a_usage_error() {
        for (rates, ms) in [(vec![], 1_000), (vec![10], 0), (vec![1, 10_000_001], 1_000)] {
            let options = TrickleOptions {
                rates,
                ms,
                ..TrickleOptions::new("true".into())
            };
            nonsense(|control| run(&options, control));
        }
    }

    #[test]
    fn cases_have_the_names_that_scripts_rely_on() {
        let options = TrickleOptions {
            rates: vec![10_000, 0, 100, 10, 10],
            ..TrickleOptions::new("true".into())
        };
        let asks = options.asks(&deferral::selected(false));
        let cases: Vec<String> = asks.iter().map(|(_, ask)| ask.case()).collect();
        let of_rate = |rate: u64| {
            ["retire", "retire", "retire_on_worker", "call", "call_hurry"]
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
        for (name, mut ask) in TrickleOptions::new("true".into()).asks(&deferral::all()) {
            if ask.rate != 100 {
                continue;
            }
            (ask.ms, ask.patience_ms) = (30, 1);
            let figures = ask.measure().unwrap();
            let value = |metric: &str| {
                let mut found = figures.iter().filter(|figure| figure.metric == metric);
                found
                    .find(|figure| figure.case == ask.case())
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
    fn the_flush_time_and_a_fifth() {
        assert!(u128::from(patience_ms()) > quiescent::tuning::FLUSH.as_millis());
        assert_eq!(patience_ms(), 12_000, "as the documentation says");
    }
}
