//! `bench idle`: what a library does when there is nothing to do.
//!
//! | case | what |
//! |---|---|
//! | `nothing queued` | a thread is registered, and nothing was ever queued in this process |
//! | `drained` | a few blocks were retired, and all of them have been freed since |
//!
//! For both: wake-ups of the library's threads, how many there are, timers that are set (the kernel's word,
//! for all libraries alike), and the grace periods, scans and fences that `quiescent` counted. All processes
//! are watched at the same time: they sleep.

use crate::deferral;
use crate::deferral::rest;
use crate::measure::once::Ask;
use crate::measure::once::Question;
use crate::measure::waves::{self, Cell};
use quiescent_report::OURS;
use quiescent_report::rows::Figure;
use quiescent_report::text::cases::{self, Column};
use quiescent_report::verdict;
use quiescent_report::verdict::Target;
use quiescent_report::{Control, Error, Report};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// What is asked of a measuring process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleAsk {
    /// Who.
    pub subject: String,
    /// Blocks retired before; 0 when nothing is ever queued.
    pub blocks: u64,
    /// How long to watch.
    pub ms: u64,
}

/// The name of the case in which nothing was ever queued.
pub const NOTHING_QUEUED: &str = "nothing queued";
/// The name of the case in which everything queued is gone.
pub const DRAINED: &str = "drained";
/// Blocks that are retired before that.
const BLOCKS: u64 = 100;

impl IdleAsk {
    /// The name in reports.
    pub fn case(&self) -> &'static str {
        match self.blocks {
            0 => NOTHING_QUEUED,
            _ => DRAINED,
        }
    }
}

impl Question for IdleAsk {
    const KIND: &'static str = "idle";

    fn name(&self) -> String {
        format!("{}, idle, {}", self.subject, self.case())
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(2 * self.ms)
    }

    fn measure(&self) -> Result<Vec<Figure>, String> {
        let subject = deferral::find(&self.subject)?;
        let rest = rest::watch(subject, self.blocks, Duration::from_millis(self.ms))?;
        Ok(rest.figures(self.case()))
    }
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct IdleOptions {
    /// The program that can [`crate::measure::once::serve`]: this program itself.
    pub program: PathBuf,
    /// All subjects, not only quiescent's.
    pub compare: bool,
    /// How long to watch.
    pub ms: u64,
    /// Printed with the results: all are measured at the same time, so there is no order.
    pub seed: u64,
}

impl IdleOptions {
    /// The usual measurement, by `program`.
    pub fn new(program: PathBuf) -> Self {
        IdleOptions {
            program,
            compare: false,
            ms: 10_000,
            seed: 1,
        }
    }
}

/// Measures and reports. When stopped, the report has what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for no time; [`Error::Failed`] when a measuring process cannot be started, dies or hangs.
pub fn run(options: &IdleOptions, control: Control<'_>) -> Result<Report, Error> {
    if options.ms == 0 {
        let text = "no time: give 3 seconds or more";
        return Err(Error::Usage(text.into()));
    }
    let subjects = deferral::selected(options.compare);
    let mut wave = Vec::new();
    for subject in &subjects {
        for blocks in [0, BLOCKS] {
            wave.push(Cell {
                subject: subject.name,
                ask: Ask::of(&IdleAsk {
                    subject: subject.name.into(),
                    blocks,
                    ms: options.ms,
                }),
                load: 0,
            });
        }
    }
    let samples = waves::run(&options.program, "bench idle", vec![wave], control)?;
    let mut report = Report::new("bench idle", options.seed);
    report.option("compare", options.compare);
    report.option("ms", options.ms);
    report.option(
        "method",
        "a fresh process a subject and case, all at the same time; wake-ups: voluntary context switches of \
         all threads but the caller; timers: armed timer descriptors, POSIX timers, sleeps with a limit; \
         drained: after 100 blocks and a barrier",
    );
    deferral::note(&mut report, options.compare);
    let names: Vec<&str> = subjects.iter().map(|it| it.name).collect();
    report.rows = samples.rows(&names, &[NOTHING_QUEUED, DRAINED].map(String::from));
    report.rows.extend(verdict::rows(&targets(&report)));
    Ok(report)
}

/// The report as text.
pub fn text(report: &Report) -> String {
    const COLUMNS: [Column; 6] = [
        Column("wake-ups", "wakeups"),
        Column("timers", "timers"),
        Column("threads", "threads"),
        Column("grace periods", "grace_periods"),
        Column("scans", "scans"),
        Column("fences", "fences"),
    ];
    let mut text = String::new();
    for (case, title) in [
        (NOTHING_QUEUED, "Nothing was ever queued"),
        (DRAINED, "Queued once, and everything freed since"),
    ] {
        let title = format!("{title}: what happened in {} s", seconds(report));
        text += &cases::of_metrics(report, |of| of == case, &COLUMNS).titled(&title);
    }
    text.trim_start().to_string() + "\n" + &verdict::section(&targets(report))
}

fn seconds(report: &Report) -> f64 {
    let ms = report.options.get("ms").and_then(serde_json::Value::as_u64);
    ms.unwrap_or(0) as f64 / 1_000.0
}

/// Nothing to do, nothing done.
pub fn targets(report: &Report) -> Vec<Target> {
    let none = |case: &'static str, metric, what: &'static str| {
        let ours = report.median(OURS, case, metric);
        Target::at_most(format!("{case}: 0 {what}"), ours, Some(0.0), what)
    };
    let mut targets = Vec::new();
    for (metric, what) in [
        ("wakeups", "wake-ups"),
        ("timers", "timers"),
        ("scans", "scans"),
        ("fences", "fences"),
    ] {
        targets.push(none(NOTHING_QUEUED, metric, what));
        targets.push(none(DRAINED, metric, what));
    }
    targets.push(none(NOTHING_QUEUED, "threads", "threads"));
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_is_idle_in_both_ways() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        for subject in deferral::all() {
            for blocks in [0, 10] {
                let ask = IdleAsk {
                    subject: subject.name.into(),
                    blocks,
                    ms: 1,
                };
                let figures = ask.measure().unwrap();
                assert!(figures.len() >= 3 && figures.iter().all(|f| f.case == ask.case()));
            }
        }
    }

    #[test]
    fn idleness_is_nothing_at_all() {
        let report = crate::cases::fixture::report(&[
            (OURS, NOTHING_QUEUED, "wakeups", 0.0),
            (OURS, DRAINED, "timers", 1.0),
        ]);
        let targets = targets(&report);
        assert_eq!(
            crate::cases::fixture::met(&targets, "nothing queued: 0 wake-ups"),
            Some(true)
        );
        assert_eq!(
            crate::cases::fixture::met(&targets, "drained: 0 timers"),
            Some(false)
        );
        assert_eq!(
            crate::cases::fixture::met(&targets, "nothing queued: 0 threads"),
            None
        );
    }
}
