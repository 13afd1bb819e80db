//! `bench sync`: what it costs to wait for a grace period.
//!
//! Cases, and the other threads of the process:
//!
//! * `sole thread`: none: a process of one thread
//! * `other asleep`: one thread (or [`SyncOptions::threads`]) that has read, and sleeps outside any section
//! * `reader looping`: one thread (or so many) that reads in a loop; only calls that found one *on a CPU*
//!   count: its heartbeat was less than 1 µs old when the call began
//!
//! Each subject and case has a process of its own ([`child`]), because what `membarrier` costs depends on the
//! process: on how many threads it has and on what was registered when. The processes live through the whole
//! run and sleep in a pipe; the parent has them measure in turn, in rounds whose order rotates. The caller is
//! registered with the library where the library wants that.
//!
//! A latency is one call, on the monotonic clock, the clock's own cost included (option `clock_ns`). Rows are
//! over the rounds: `latency_us` of the rounds' medians, `latency_us_p99` of their 99th percentiles. `fences`
//! is counted from outside ([`fence_count`]), in processes of their own.

pub mod child;
pub mod fence_count;
pub mod wire;

use crate::measure::order;
use crate::subjects::pool::MOST_THREADS;
use crate::subjects::{self, Counters, Subject};
use quiescent_report::OURS;
use quiescent_report::rows::stats;
use quiescent_report::text::cases;
use quiescent_report::{Control, Error, Report, Row};
use std::path::PathBuf;
use wire::{Answer, Ask, Child};

/// The unit of the fence counts.
pub const FENCES_UNIT: &str = "fences/gp";

/// The cases, in the order they are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncCase {
    /// A process of one thread.
    SoleThread,
    /// A second thread sleeps outside any section.
    OtherAsleep,
    /// A second thread reads in a loop.
    ReaderLooping,
}

impl SyncCase {
    /// All of them, in order.
    pub const ALL: [SyncCase; 3] = [
        SyncCase::SoleThread,
        SyncCase::OtherAsleep,
        SyncCase::ReaderLooping,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            SyncCase::SoleThread => "sole thread",
            SyncCase::OtherAsleep => "other asleep",
            SyncCase::ReaderLooping => "reader looping",
        }
    }

    /// The case of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|case| case.name() == name)
    }
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct SyncOptions {
    /// The program whose `internal sync-child` command is [`child::serve`]: this program itself.
    pub program: PathBuf,
    /// All subjects that have a grace period, not only quiescent's.
    pub compare: bool,
    /// Rounds; medians of fewer than 30 are noisy.
    pub rounds: u64,
    /// Calls a round.
    pub calls: u64,
    /// Threads beside the caller in the cases that have some, 1..=[`MOST_THREADS`].
    pub threads: usize,
    /// Where the rotation of subjects starts.
    pub seed: u64,
    /// The longest a round may last, in ms: when the reader is never on a CPU, calls are missing.
    pub budget_ms: u64,
    /// Whether fences are counted as well.
    pub fences: bool,
}

impl SyncOptions {
    /// The usual measurement, by `program`.
    pub fn new(program: PathBuf) -> Self {
        SyncOptions {
            program,
            compare: false,
            rounds: 40,
            calls: 1_000,
            threads: 1,
            seed: 1,
            budget_ms: 100,
            fences: true,
        }
    }
}

/// What was measured of one subject in one case.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The subject's name.
    pub subject: &'static str,
    /// The case.
    pub case: SyncCase,
    /// Latencies in µs, a vector a round.
    pub rounds: Vec<Vec<f64>>,
    /// Fences a grace period.
    pub fences: Option<f64>,
}

/// Measures and reports. When stopped, the report has what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for counts of 0, [`Error::Failed`] when a measuring process cannot be started, dies or
/// hangs.
pub fn run(options: &SyncOptions, control: Control<'_>) -> Result<Report, Error> {
    let measured = measure(options, control)?;
    let mut report = Report::new("bench sync", options.seed);
    describe(&mut report, options);
    report.rows = rows(&measured);
    let unmeasured = measured
        .iter()
        .filter(|m| m.rounds.iter().all(Vec::is_empty));
    let named: Vec<String> = unmeasured
        .map(|m| format!("{}, {}", m.subject, m.case.name()))
        .collect();
    report.option("unmeasured", named);
    Ok(report)
}

/// Measures, and gives every single latency.
///
/// # Errors
/// As [`run`].
pub fn measure(options: &SyncOptions, control: Control<'_>) -> Result<Vec<Measured>, Error> {
    let subjects = subjects::selected(options.compare);
    measure_of(subjects, "bench sync", options, control)
}

/// As [`measure`], of these subjects, as far as they have a grace period.
pub(crate) fn measure_of(
    mut subjects: Vec<Subject>,
    name: &str,
    options: &SyncOptions,
    control: Control<'_>,
) -> Result<Vec<Measured>, Error> {
    if options.rounds == 0 || options.calls == 0 {
        let text = "0 rounds or 0 calls measure nothing: give 30 rounds or more, 100 calls or more";
        return Err(Error::Usage(text.into()));
    }
    if !(1..=MOST_THREADS).contains(&options.threads) {
        let text = format!("{} threads: give 1 to {MOST_THREADS}", options.threads);
        return Err(Error::Usage(text));
    }
    subjects.retain(|subject| subject.waiting.is_some());
    let (mut measured, mut children) = (Vec::new(), Vec::new());
    for case in SyncCase::ALL {
        for subject in &subjects {
            children.push(Child::start(options, subject.name, case, false)?);
            measured.push(Measured {
                subject: subject.name,
                case,
                rounds: Vec::new(),
                fences: None,
            });
        }
    }
    control.progress.begin(name, options.rounds);
    for round in 0..options.rounds {
        for place in order::round(children.len(), round, options.seed) {
            if control.stopped() {
                break;
            }
            let latencies = one_round(&mut children[place], options)?;
            if !latencies.is_empty() {
                measured[place].rounds.push(latencies);
            }
        }
        control.progress.advance(1);
    }
    control.progress.end();
    if options.fences {
        count_fences(options, &mut measured, control)?;
    }
    Ok(measured)
}

fn one_round(child: &mut Child, options: &SyncOptions) -> Result<Vec<f64>, Error> {
    let ask = Ask::Round {
        calls: options.calls,
        budget_ms: options.budget_ms,
    };
    match child.ask(&ask)? {
        Answer::Round { latencies_ns, .. } => {
            Ok(latencies_ns.iter().map(|&ns| ns as f64 / 1_000.0).collect())
        }
        other => Err(child.confused(&other)),
    }
}

/// Counts fences in a fresh process a subject and case: 100 calls each. Left out where the kernel refuses a
/// filter.
fn count_fences(
    options: &SyncOptions,
    measured: &mut [Measured],
    control: Control<'_>,
) -> Result<(), Error> {
    control.progress.begin("fences", measured.len() as u64);
    for measured in measured.iter_mut() {
        if control.stopped() {
            break;
        }
        let mut child = Child::start(options, measured.subject, measured.case, true)?;
        let ask = Ask::Round {
            calls: 100,
            // Only a reader that is never on a CPU needs so long.
            budget_ms: 5_000,
        };
        if let Answer::Round {
            latencies_ns,
            fences: Some(fences),
        } = child.ask(&ask)?
            && !latencies_ns.is_empty()
        {
            measured.fences = Some(fences as f64 / latencies_ns.len() as f64);
        }
        control.progress.advance(1);
    }
    control.progress.end();
    Ok(())
}

/// quiescent's counters while no thread waited and nothing was queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idle {
    /// Change of each counter.
    pub change: Counters,
    /// Threads of the process beyond the two that the program made.
    pub threads: u64,
}

/// Lets a process with two registered threads of our own subject do nothing for `ms`, and looks at the
/// counters.
///
/// # Errors
/// [`Error::Failed`] as for [`run`].
pub fn idle(options: &SyncOptions, ms: u64) -> Result<Idle, Error> {
    let two = SyncOptions {
        threads: 1,
        ..options.clone()
    };
    let mut child = Child::start(&two, OURS, SyncCase::OtherAsleep, false)?;
    match child.ask(&Ask::Idle { ms })? {
        Answer::Idle {
            before,
            after,
            threads,
        } => Ok(Idle {
            change: after.since(before),
            threads: threads.saturating_sub(2),
        }),
        other => Err(child.confused(&other)),
    }
}

/// The rows of what was measured, a case after the other.
pub fn rows(measured: &[Measured]) -> Vec<Row> {
    let mut rows = Vec::new();
    for measured in measured {
        let (subject, case) = (measured.subject, measured.case.name());
        let of = |metric, values: &[f64]| Row::of(subject, case, metric, "us", values);
        let each = |f: fn(&[f64]) -> Option<f64>| -> Vec<f64> {
            let rounds = measured.rounds.iter();
            rounds.filter_map(|round| f(round)).collect()
        };
        let medians = each(|round| stats::summary(round).map(|summary| summary.median));
        let p99s = each(|round| stats::percentile(round, 99.0));
        rows.extend(of("latency_us", &medians));
        rows.extend(of("latency_us_p99", &p99s));
        let fences = measured.fences;
        rows.extend(fences.and_then(|it| Row::single(subject, case, "fences", FENCES_UNIT, it)));
    }
    rows
}

fn describe(report: &mut Report, options: &SyncOptions) {
    report.option("compare", options.compare);
    report.option("threads", options.threads);
    report.option("rounds", options.rounds);
    report.option("calls", options.calls);
    report.option("budget_ms", options.budget_ms);
    report.option("clock_ns", crate::measure::clock::clock_pair_ns());
    report.option(
        "method",
        "one process a subject and case, measured in turn, order rotated; a latency is one call, clock \
         included; latency_us over the rounds' medians, latency_us_p99 over their 99th percentiles; reader \
         looping: only calls whose reader's heartbeat was under 1 us old; fences counted by a system-call \
         filter, in processes of their own",
    );
    subjects::note(report, options.compare);
}

/// The report as text.
pub fn text(report: &Report) -> String {
    let mut text = String::from(
        "Waiting for a grace period: latency in us: median [min..max] of the rounds' medians\n\n",
    );
    let of = |metric| cases::of_cases(report, metric, 1.0, |case| SyncCase::named(case).is_some());
    text += &of("latency_us").fitted();
    text += "\n99th percentile of a round, us\n\n";
    text += &of("latency_us_p99").fitted();
    text += &of("fences").titled("Process-wide fences (membarrier calls) a grace period");
    let unmeasured = report.options.get("unmeasured").and_then(|u| u.as_array());
    let unmeasured = unmeasured.into_iter().flatten();
    for name in unmeasured.filter_map(|name| name.as_str()) {
        text += &format!(
            "\n{name}: not measured; no call found what the case asks for (a reader on a CPU): \
             the machine is busy, try again or with more --rounds\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_over_rounds() {
        let measured = Measured {
            subject: "ck",
            case: SyncCase::SoleThread,
            rounds: vec![vec![1.0, 2.0, 3.0], vec![5.0]],
            fences: Some(2.0),
        };
        let rows = rows(&[measured]);
        let [latency, p99, fences] = &rows[..] else {
            panic!("{rows:?}");
        };
        assert_eq!((latency.n, latency.min, latency.max), (2, 2.0, 5.0));
        assert_eq!((p99.min, p99.max), (3.0, 5.0));
        assert_eq!((fences.n, fences.median), (1, 2.0));
    }

    #[test]
    fn nothing_measured_is_no_row() {
        let measured = Measured {
            subject: "ck",
            case: SyncCase::ReaderLooping,
            rounds: Vec::new(),
            fences: None,
        };
        assert!(rows(&[measured]).is_empty());
    }

    #[test]
    fn cases_have_names() {
        for case in SyncCase::ALL {
            assert_eq!(SyncCase::named(case.name()), Some(case));
        }
        assert_eq!(SyncCase::named("two asleep"), None);
    }
}
