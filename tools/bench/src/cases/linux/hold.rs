//! `bench hold`: what a cell costs whose large values are replaced now and then, when no weight is declared.
//!
//! A thread makes a value, puts it in the place of the one before, and retires that one, so many times a
//! second. Nothing reads, except in the row that says so. A row is a case of [`ROWS`], such as `4 MiB 100/s`;
//! each has a process of its own, because peak memory is a property of a process. Processes sleep most of the
//! time, so several run at once; one with a reader in a loop has the machine to itself.
//!
//! Measured: peak resident memory; the most old values that were held when one more was made; CPU time of a
//! store, the making of the value included (`malloc-free`: made and dropped); for this library grace periods
//! and wake-ups of its workers.

use crate::deferral::pace::Pace;
use crate::deferral::swap::{BARE, Content};
use crate::deferral::{self, buffer};
use crate::measure::once::{Ask, Question};
use crate::measure::waves::{self, Cell};
use crate::measure::{clock, process, threads};
use crate::subjects::ReaderControl;
use quiescent_report::OURS;
use quiescent_report::rows::{Figure, MEBIBYTE};
use quiescent_report::text::cases;
use quiescent_report::verdict::{self, Target};
use quiescent_report::{Control, Error, Report};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// What is stored, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Bytes that a value owns.
    bytes: usize,
    /// Stores a second.
    rate: u64,
    /// Small values that are stored before, as fast as possible.
    before: u64,
    /// Whether a thread reads in a loop.
    read: bool,
}

/// Bytes of a small value.
const SMALL: usize = 32;
/// The small values before the pace changes.
const BEFORE: u64 = 1_000_000;

const fn row(bytes: usize, rate: u64) -> Row {
    Row {
        bytes,
        rate,
        before: 0,
        read: false,
    }
}

/// What is measured.
pub const ROWS: [Row; 7] = [
    row(4 << 20, 100),
    row(1 << 20, 100),
    row(256 << 10, 300),
    row(64 << 10, 1_000),
    row(16 << 20, 20),
    Row {
        before: BEFORE,
        ..row(4 << 20, 100)
    },
    Row {
        read: true,
        ..row(SMALL, 1_000)
    },
];

impl Row {
    /// The name in reports.
    pub fn name(self) -> String {
        let size = match self.bytes {
            bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
            bytes if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
            bytes => format!("{bytes} B"),
        };
        let before = if self.before > 0 { "small, then " } else { "" };
        let read = if self.read { " beside a reader" } else { "" };
        format!("{before}{size} {}/s{read}", self.rate)
    }
}

/// What is asked of a measuring process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldAsk {
    /// Who.
    pub subject: String,
    /// What.
    pub row: Row,
    /// For so long.
    pub ms: u64,
}

impl Question for HoldAsk {
    const KIND: &'static str = "hold";

    fn name(&self) -> String {
        format!("{}, what is held, {}", self.subject, self.row.name())
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(10 * self.ms) + Duration::from_micros(10 * self.row.before)
    }

    fn measure(&self) -> Result<Vec<Figure>, String> {
        let (subject, row) = (deferral::find(&self.subject)?, self.row);
        let beside = subject.beside(Content::Buffer);
        let beside = beside.ok_or_else(|| format!("{} has no such loop", subject.name))?;
        let control = ReaderControl::default();
        // The first member stores, the second reads.
        let prepare = |number| {
            if number == 0 {
                buffer::set_bytes(SMALL);
                (beside.update)(&mut Pace::count(row.before));
                buffer::set_bytes(row.bytes);
            }
        };
        let work = |number, ()| {
            let cpu = clock::thread_cpu_ns();
            let mut pace = Pace::new(&control.stop.0, Some(row.rate));
            match number {
                0 => (beside.update)(&mut pace),
                _ => _ = (beside.read)(&control),
            }
            (pace.done(), clock::thread_cpu_ns() - cpu)
        };
        let mut change = [0; 2];
        let during = || {
            let before = counted();
            std::thread::sleep(Duration::from_millis(self.ms));
            change = [0, 1].map(|at| counted()[at] - before[at]);
            control.stop.0.store(1, Relaxed);
        };
        let members = 1 + usize::from(row.read);
        let ran = threads::run(&subject, members, prepare, work, during)?;
        let reading = ran.results.get(1).map_or(0, |it| it.1);
        let cpu_us = ran.cpu_ns.saturating_sub(reading) as f64 / 1e3;
        let case = row.name();
        let figure = |metric, unit, value| Figure::new(&case, metric, unit, value);
        let stores = ran.results[0].0.max(1) as f64;
        let mut figures = vec![
            figure("held", "values", buffer::most_held() as f64),
            figure(CPU, "us/store", cpu_us / stores),
        ];
        if subject.name == OURS {
            let of = |(name, change): (&'static str, u64)| figure(name, name, change as f64);
            figures.extend(COUNTED.into_iter().zip(change).map(of));
        }
        let peak = process::peak_rss_bytes();
        figures.extend(peak.map(|bytes| figure("peak_rss_bytes", "bytes", bytes as f64)));
        Ok(figures)
    }
}

/// CPU time of a store.
pub const CPU: &str = "cpu_us";
/// What this library counts about itself.
const COUNTED: [&str; 2] = ["grace_periods", "wakeups"];

fn counted() -> [u64; 2] {
    let now = quiescent::statistics();
    let wakeups = now.worker_wakeups;
    [now.grace_periods, wakeups.kick + wakeups.timer]
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct HoldOptions {
    /// The program that can [`crate::measure::once::serve`]: this program itself.
    pub program: PathBuf,
    /// Beside [`PEERS`], not only quiescent.
    pub compare: bool,
    /// How long values are stored, in ms.
    pub ms: u64,
    /// Printed with the results: many are measured at the same time, so there is no order.
    pub seed: u64,
}

impl HoldOptions {
    /// The usual measurement, by `program`.
    pub fn new(program: PathBuf) -> Self {
        HoldOptions {
            program,
            compare: false,
            ms: 4_000,
            seed: 1,
        }
    }
}

/// Those beside it.
pub const PEERS: [&str; 4] = ["arc-swap", "crossbeam-epoch", "seize", BARE];

/// Bytes a second that the processes of a wave store together, at most: half of what one CPU can.
const CAPACITY: u64 = 2 << 30;

/// Measures and reports. When stopped, the report has what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for no time; [`Error::Failed`] when a measuring process cannot be started,
/// dies or hangs.
pub fn run(options: &HoldOptions, control: Control<'_>) -> Result<Report, Error> {
    let mut report = measure(options, control)?;
    report.rows.extend(verdict::rows(&targets(&report)));
    Ok(report)
}

/// The same without the targets.
///
/// # Errors
/// As [`run`].
pub fn measure(options: &HoldOptions, control: Control<'_>) -> Result<Report, Error> {
    if options.ms == 0 {
        let text = "no time: give 3 seconds or more";
        return Err(Error::Usage(text.into()));
    }
    let peers = PEERS
        .into_iter()
        .filter(|name| deferral::named(name).is_some());
    let peers = peers.filter(|_| options.compare);
    let subjects: Vec<&'static str> = std::iter::once(OURS).chain(peers).collect();
    let cell = |row: Row, subject| Cell {
        subject,
        ask: Ask::of(&HoldAsk {
            subject: subject.into(),
            row,
            ms: options.ms,
        }),
        load: if row.read {
            CAPACITY
        } else {
            row.bytes as u64 * row.rate
        },
    };
    let cells = ROWS
        .into_iter()
        .flat_map(|row| subjects.iter().map(move |subject| cell(row, subject)));
    let waves = waves::plan(cells.collect(), CAPACITY);
    let samples = waves::run(&options.program, "bench hold", waves, control)?;
    let mut report = Report::new("bench hold", options.seed);
    report.option("compare", options.compare);
    report.option("ms", options.ms);
    report.option(
        "method",
        "a fresh process a subject and row, several at the same time, those with a reader alone; one thread \
         stores values of so many bytes so often a second, no weight is declared; small: a million values of \
         32 bytes before, as fast as possible; held: the most old values of that size when one more is made; \
         peak_rss_bytes: VmHWM; cpu_us: of the process but the reader, making the value and the final \
         barrier included",
    );
    deferral::note(&mut report, options.compare);
    report.rows = samples.rows(&subjects, &ROWS.map(Row::name));
    Ok(report)
}

/// Whether it is a case of this measurement.
pub fn is_row(case: &str) -> bool {
    ROWS.iter().any(|row| row.name() == case)
}

/// The report as tables.
pub fn tables(report: &Report) -> String {
    let mut text = String::new();
    for (title, metric, scale) in [
        (
            "Large values in a cell, no weight declared: peak resident memory, MiB",
            "peak_rss_bytes",
            MEBIBYTE,
        ),
        ("Old values that were held, at most", "held", 1.0),
        ("CPU us a store, making the value included", CPU, 1.0),
        ("Grace periods", COUNTED[0], 1.0),
        ("Wake-ups of workers", COUNTED[1], 1.0),
    ] {
        text += &cases::of_cases(report, metric, scale, is_row).titled(title);
    }
    text.trim_start().to_string() + "\n"
}

/// The report as text.
pub fn text(report: &Report) -> String {
    tables(report) + &verdict::section(&targets(report))
}

/// The memory of large values is bounded; small ones are as lazy as ever.
pub fn targets(report: &Report) -> Vec<Target> {
    let [large, medium, _, small, .., reader] = ROWS.map(Row::name);
    let ours = |case: &str, metric| report.median(OURS, case, metric);
    let mut targets = Vec::new();
    for (case, mib) in [(large, 100.0), (medium, 45.0), (small, 40.0)] {
        let peak = ours(&case, "peak_rss_bytes").map(|bytes| bytes / MEBIBYTE);
        let what = format!("values of {case}: peak memory at most {mib} MiB");
        targets.push(Target::at_most(what, peak, Some(mib), "MiB"));
    }
    for (metric, what, bound) in [
        (COUNTED[0], "grace periods", 1.0),
        (COUNTED[1], "wake-ups", 0.0),
    ] {
        let what_of = format!("values of {reader}: at most {bound} {what}");
        targets.push(Target::at_most(
            what_of,
            ours(&reader, metric),
            Some(bound),
            what,
        ));
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::fixture::{met, nonsense, report};

    #[test]
    fn nothing_to_do_is_a_usage_error() {
        let options = HoldOptions {
            ms: 0,
            ..HoldOptions::new("true".into())
        };
        nonsense(|control| run(&options, control));
    }

    #[test]
    fn every_subject_holds_something_or_nothing() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        let reader = Row {
            before: 100,
            read: true,
            ..row(SMALL, 1_000)
        };
        for subject in deferral::all() {
            for row in [row(3 << 10, 1_000), reader] {
                let ask = HoldAsk {
                    subject: subject.name.into(),
                    row,
                    ms: 20,
                };
                if subject.beside(Content::Buffer).is_none() {
                    assert!(ask.measure().unwrap_err().contains("no such loop"));
                    continue;
                }
                let figures = ask.measure().unwrap();
                assert!(
                    figures
                        .iter()
                        .all(|it| it.case == row.name() && it.value.is_finite())
                );
                let counts = figures
                    .iter()
                    .filter(|it| COUNTED.contains(&&*it.metric))
                    .count();
                assert_eq!(counts, if subject.name == OURS { 2 } else { 0 });
            }
        }
    }

    #[test]
    fn memory_and_laziness_are_bounded() {
        let [large, .., reader] = ROWS.map(Row::name);
        assert_eq!(
            (&*large, &*reader),
            ("4 MiB 100/s", "32 B 1000/s beside a reader")
        );
        let report = report(&[
            (OURS, &large, "peak_rss_bytes", 101.0 * MEBIBYTE),
            (OURS, &reader, "grace_periods", 1.0),
        ]);
        let targets = targets(&report);
        assert_eq!(met(&targets, "4 MiB 100/s: peak"), Some(false));
        assert_eq!(met(&targets, "grace periods"), Some(true));
        assert_eq!(met(&targets, "wake-ups"), None);
        assert!(text(&report).contains("101"));
    }
}
