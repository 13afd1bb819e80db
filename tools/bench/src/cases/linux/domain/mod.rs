//! `bench domain`: what domains of the program's own cost, and whether they are apart.
//!
//! Cases, the metrics of each, and what is measured:
//!
//! * `empty`, `nested`, `load` (`cpu_ns`): as in `bench read`; subjects that end in `-turns` read in two
//!   domains by turns
//! * `empty`, `nested`, `load`, `push` (`instructions`): with `--instructions`: as `ci/instructions`
//! * `sole thread`, `other asleep`, `reader looping` (`latency_us`, `latency_us_p99`, `fences`): as in
//!   `bench sync`, in a domain that comes to rest after each call
//! * `push` (`cpu_ns`, `process_cpu_ns`): as in `bench retire`
//! * any of these, ours (`cpu_ns_ratio`, `instructions_ratio`, `latency_us_ratio`): the median over that of
//!   `quiescent`, the process's domain, in the same run
//! * `nobody stalled`, `reader stalled` (`latency_us`, `delay_us`, `sleeps`, `reader_wakeups`, `left`,
//!   `held_up`): [`stalled`]: grace periods and callbacks of one domain, while a reader stays in a section of
//!   another
//! * `due together, N` (`fences`, `fences_used`, `grace_periods`, `looks`): [`together`]: what N domains have
//!   queued is due at the same time
//! * `N at rest`, `N at rest, used at once` (`memory_bytes`, `bytes_a_domain`, `wakeups`, `timers`,
//!   `threads`, `not_at_rest`, …): [`resting`]: N domains that were used, and have nothing to do
//!
//! Subjects: `quiescent` (the process's domain), `quiescent-domain` and its forms; with `--compare` also
//! crossbeam's and seize's collectors and haphazard's domains, whose readers are apart in the same way. They
//! have no grace period to wait for, so only their sections, and the `push` of seize, are measured. The
//! sections are measured in turn in one run, so ratios mean something on a busy machine, too; counters do in
//! any case.

pub mod child;
pub mod resting;
pub mod stalled;
mod targets;
mod text;
pub mod together;

pub use text::text;

use super::sections::SectionOptions;
use crate::cases::read;
use crate::cases::retire::RetireCase;
use crate::cases::retire::child::RetireAsk;
use crate::cases::srcu;
use crate::deferral;
use crate::instructions::LoopCase;
use crate::measure::once::{self, Ask};
use crate::subjects::pairs;
use crate::subjects::pool::Pool;
use crate::subjects::{self, DOMAIN, DOMAIN_OWNED, DOMAIN_TURNS, ReadCase, Subject};
use child::DomainAsk;
use quiescent_report::OURS;
use quiescent_report::rows::Samples;
use quiescent_report::verdict;
use quiescent_report::{Control, Error, Report, Row};
use std::path::PathBuf;

/// The read loops that are measured.
const READ: [ReadCase; 3] = [ReadCase::Empty, ReadCase::Nested, ReadCase::Load];
/// Those of which instructions are counted.
const COUNTED: [LoopCase; 4] = [
    LoopCase::Read(ReadCase::Empty),
    LoopCase::Read(ReadCase::Nested),
    LoopCase::Read(ReadCase::Load),
    LoopCase::Push,
];
/// Rounds of what has a process a round: `push`, and [`stalled`].
const PROCESSES: u64 = 5;
/// Domains that have something due at the same time.
pub const TOGETHER: [u64; 3] = [1, 10, 100];

/// The most domains at rest that are measured.
pub const MOST_DOMAINS: u64 = 100_000;

/// What to measure.
#[derive(Debug, Clone)]
pub struct DomainOptions {
    /// The sections and grace periods; the program that measures the rest.
    pub sections: SectionOptions,
    /// Objects retired in a process that measures `push`.
    pub objects: u64,
    /// Domains that rest, 1..=[`MOST_DOMAINS`].
    pub domains: u64,
    /// How long they are watched, in ms.
    pub rest_ms: u64,
}

impl DomainOptions {
    /// The usual measurement, by `program`.
    pub fn new(program: PathBuf) -> Self {
        DomainOptions {
            sections: SectionOptions::new(program),
            objects: 1_000_000,
            domains: 1_000,
            rest_ms: 3_000,
        }
    }
}

/// The subjects, ours alone or all: the process's domain, those of the program's own, then others.
pub fn subjects_of(compare: bool) -> Vec<Subject> {
    let mut subjects = Vec::from_iter(subjects::named(OURS));
    for subject in subjects::domains() {
        if subject.name == "seize-turns" {
            subjects.extend(subjects::named("seize")); // always on a collector of its own
        }
        subjects.push(subject);
    }
    subjects.retain(|subject| compare || subject.name.starts_with(OURS));
    subjects
}

/// Measures and reports. When stopped, the report has what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for counts out of range; [`Error::Failed`] when threads or measuring processes cannot be
/// had, or valgrind is missing and instructions are wanted.
pub fn run(options: &DomainOptions, control: Control<'_>) -> Result<Report, Error> {
    check(options)?;
    let subjects = subjects_of(options.sections.read.compare);
    let mut report = Report::new("bench domain", options.sections.read.seed);
    describe(&mut report, options);
    report.rows = sections(&subjects, options, control)?;
    let rows = options.sections.rows(subjects, &COUNTED, control)?;
    report.rows.extend(rows);
    report.rows.extend(pushes(options, control)?);
    let ours = [DOMAIN, DOMAIN_TURNS, DOMAIN_OWNED];
    let ratios = srcu::ratios(&report, &ours);
    report.rows.extend(ratios);
    report.rows.extend(apart(options, control)?);
    let targets = targets::targets(&report);
    report.rows.extend(verdict::rows(&targets));
    report.option("targets", verdict::json(&targets));
    Ok(report)
}

fn check(options: &DomainOptions) -> Result<(), Error> {
    let usage = |text: String| Err(Error::Usage(text));
    if !(1..=MOST_DOMAINS).contains(&options.domains) {
        let domains = options.domains;
        return usage(format!("{domains} domains: give 1 to {MOST_DOMAINS}"));
    }
    if options.objects == 0 || options.rest_ms == 0 {
        return usage(
            "no objects, or no time: give 100000 objects or more, 3 seconds or more".into(),
        );
    }
    options.sections.check()
}

fn sections(
    subjects: &[Subject],
    options: &DomainOptions,
    control: Control<'_>,
) -> Result<Vec<Row>, Error> {
    let pool = Pool::start(options.sections.read.threads, subjects)?;
    let (mut cells, mut names) = (Vec::new(), Vec::new());
    read::add_cells(subjects, &READ, &mut cells, &mut names);
    let samples = pairs::measure(
        &pool,
        &cells,
        options.sections.read.rounds(),
        "sections",
        control,
    )?;
    Ok(read::rows(subjects, &READ, &names, &samples))
}

/// What the call costs that retires.
fn pushes(options: &DomainOptions, control: Control<'_>) -> Result<Vec<Row>, Error> {
    let mut names = vec![OURS, DOMAIN];
    if options.sections.read.compare {
        names.extend(deferral::named("seize").map(|subject| subject.name));
    }
    let case = RetireCase::Push;
    let asks = names.iter().map(|name| {
        let ask = RetireAsk {
            subject: name.to_string(),
            case,
            objects: options.objects,
            rest_ms: options.rest_ms,
        };
        (*name, Ask::of(&ask))
    });
    let rounds = PROCESSES.min(options.sections.read.rounds);
    let samples = in_turn(asks.collect(), rounds, "retiring", options, control)?;
    Ok(samples.rows(&names, &[&case.name()]))
}

/// Stalled elsewhere, due together, at rest.
fn apart(options: &DomainOptions, control: Control<'_>) -> Result<Vec<Row>, Error> {
    let stalled = vec![DomainAsk::Stalled {
        calls: options.sections.sync.calls,
    }];
    let together = TOGETHER.map(|domains| DomainAsk::Together { domains });
    let at_rest = [false, true].map(|at_once| DomainAsk::Resting {
        domains: options.domains,
        at_once,
        ms: options.rest_ms,
    });
    let rounds = PROCESSES.min(options.sections.read.rounds);
    let mut rows = Vec::new();
    for (asks, rounds, what) in [
        (stalled, rounds, "stalled elsewhere"),
        (together.to_vec(), 1, "due together"),
        (at_rest.to_vec(), 1, "at rest"),
    ] {
        let cases: Vec<String> = asks.iter().flat_map(DomainAsk::cases).collect();
        let asks = asks.iter().map(|it| (DOMAIN, Ask::of(it))).collect();
        let samples = in_turn(asks, rounds, what, options, control)?;
        rows.extend(samples.rows(&[OURS, DOMAIN], &cases));
    }
    Ok(rows)
}

/// One process after the other, in rounds whose order rotates. A figure whose metric begins with `process:`
/// is of the process's domain.
fn in_turn(
    asks: Vec<(&str, Ask)>,
    rounds: u64,
    what: &str,
    options: &DomainOptions,
    control: Control<'_>,
) -> Result<Samples, Error> {
    let mut samples = Samples::default();
    let (names, asks): (Vec<&str>, Vec<Ask>) = asks.into_iter().unzip();
    once::in_turn(
        &options.sections.sync.program,
        what,
        &asks,
        (rounds, options.sections.read.seed),
        control,
        |place, figures| {
            for mut figure in figures {
                let process = figure.metric.strip_prefix(child::PROCESS).map(String::from);
                let subject = if process.is_some() {
                    OURS
                } else {
                    names[place]
                };
                figure.metric = process.unwrap_or(figure.metric);
                samples.add(subject, vec![figure]);
            }
        },
    )?;
    Ok(samples)
}

fn describe(report: &mut Report, options: &DomainOptions) {
    options.sections.describe(report);
    report.option("objects", options.objects);
    report.option("domains", options.domains);
    report.option("rest_ms", options.rest_ms);
    report.option("clock_ns", crate::measure::clock::clock_pair_ns());
    report.option(
        "method",
        "cpu_ns as bench read: thread CPU time a turn, bare loop of the same round subtracted (below zero \
         counts as zero); push as bench retire; latency_us and fences as bench sync; instructions as \
         ci/instructions; ratios: medians of this run divided; sleeps, reader_wakeups: the domain's own \
         counters; due together: fences by a system-call filter; memory: anonymous pages that are resident \
         (smaps_rollup), after less before, huge pages off, one domain used before the first look; wake-ups: \
         voluntary context switches of all threads but the caller",
    );
    let rust = ["crossbeam-collector", "seize", "haphazard-domain"];
    let present = |name: &str| subjects::named(name).is_some();
    let absent = subjects::absent_of(&rust, &[], present);
    subjects::note_absent(report, options.sections.read.compare, absent);
}

#[cfg(test)]
mod tests;
