//! `bench srcu`: what readers cost that may sleep in a section, and end it elsewhere.
//!
//! Cases, the metrics of each, and what is measured:
//!
//! * `empty`, `nested`, `load` (`cpu_ns`): as in `bench read`: a section, one inside another, one that reads
//!   a value
//! * `across an await` (`cpu_ns`): a task begins a section, is pending once, reads the value, ends it: two
//!   polls, less those of a task without a section
//! * `ended elsewhere` (`cpu_ns`): one thread begins 64 sections, another ends them: CPU time of both a
//!   section, less the same with plain words
//! * `empty`, `load` (`instructions`): with `--instructions`: as `ci/instructions`
//! * `sole thread`, `other asleep`, `reader looping` (`latency_us`, `latency_us_p99`, `fences`): as in
//!   `bench sync`; those who are there read in the `Srcu`
//! * any of these, subject `quiescent-srcu` (`cpu_ns_ratio`, `instructions_ratio`, `latency_us_ratio`): the
//!   median over that of `quiescent` in the same run: pairs may cost 3 times, grace periods 2 times
//!
//! Subjects: `quiescent` (the sections of threads, which must not sleep), `quiescent-srcu`,
//! `quiescent-srcu-owned` (guards that keep the `Srcu` alive); with `--compare` also a `std` reader-writer
//! lock, and arc-swap's `load` and `load_full`. They are measured in turn in one run, so ratios mean
//! something on a busy machine, too.

use super::sections::SectionOptions;
use crate::cases::read;
use crate::cases::sync::SyncCase;
use crate::instructions::{self, LoopCase};
use crate::measure::order;
use crate::subjects::held::{self, BARE, BATCH, Handed, Holding};
use crate::subjects::pairs::{self, Cell};
use crate::subjects::pool::Pool;
use crate::subjects::{self, ReadCase, SRCU, Subject};
use quiescent_report::OURS;
use quiescent_report::text::cases;
use quiescent_report::text::number::short;
use quiescent_report::{Control, Error, Report, Row};

/// A section is held while its task is pending.
pub const AWAITED: &str = "across an await";
/// A section is ended by another thread.
pub const HANDED: &str = "ended elsewhere";
/// The unit of ratios.
pub const RATIO: &str = "times";

/// The read loops that are measured.
const READ: [ReadCase; 3] = [ReadCase::Empty, ReadCase::Nested, ReadCase::Load];
/// Those of which instructions are counted.
const COUNTED: [LoopCase; 2] = [
    LoopCase::Read(ReadCase::Empty),
    LoopCase::Read(ReadCase::Load),
];
/// Batches that one thread hands another, a round.
const BATCHES: u64 = 50;

/// What may be the most, as ratios to `quiescent` in the same run.
const TARGETS: [(&str, &str, f64); 4] = [
    ("empty", read::METRIC, 3.0),
    ("empty", instructions::METRIC, 3.0),
    ("sole thread", LATENCY, 2.0),
    ("other asleep", LATENCY, 2.0),
];
const LATENCY: &str = "latency_us";

/// Measures and reports. When stopped, the report has what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for counts out of range; [`Error::Failed`] when threads or measuring processes cannot be
/// had, or valgrind is missing and instructions are wanted.
pub fn run(options: &SectionOptions, control: Control<'_>) -> Result<Report, Error> {
    options.check()?;
    let subjects = held::of_srcu(options.read.compare);
    let mut report = Report::new("bench srcu", options.read.seed);
    describe(&mut report, options);
    report.rows = pairs(&subjects, options, control)?;
    report.rows.extend(handed(&subjects, options, control)?);
    let rows = options.rows(subjects, &COUNTED, control)?;
    report.rows.extend(rows);
    let ratios = ratios(&report, &[SRCU]);
    report.rows.extend(ratios);
    Ok(report)
}

/// The read loops, and the tasks, in one rotation.
fn pairs(
    subjects: &[Subject],
    options: &SectionOptions,
    control: Control<'_>,
) -> Result<Vec<Row>, Error> {
    let pool = Pool::start(options.read.threads, subjects)?;
    let (mut cells, mut names) = (Vec::new(), Vec::new());
    read::add_cells(subjects, &READ, &mut cells, &mut names);
    let tasks = cells.len();
    let holding: Vec<Holding> = wanted(subjects).collect();
    for (index, task) in holding.iter().enumerate() {
        cells.push(Cell {
            place: cells.last().map_or(0, |cell| cell.place + 1),
            run: task.awaited,
            bare: (index > 0).then_some(tasks),
        });
    }
    let rounds = options.read.rounds();
    let samples = pairs::measure(&pool, &cells, rounds, "sections", control)?;
    let mut rows = read::rows(subjects, &READ, &names, &samples);
    for (task, samples) in holding.iter().zip(&samples[tasks..]) {
        let row = Row::of(task.name, AWAITED, read::METRIC, read::UNIT, samples);
        rows.extend(row);
    }
    Ok(rows)
}

/// The bare loops, and those of the subjects.
fn wanted(subjects: &[Subject]) -> impl Iterator<Item = Holding> {
    held::holding().into_iter().filter(|holding| {
        holding.name == BARE || subjects.iter().any(|subject| subject.name == holding.name)
    })
}

/// Sections that end on another thread.
fn handed(
    subjects: &[Subject],
    options: &SectionOptions,
    control: Control<'_>,
) -> Result<Vec<Row>, Error> {
    let loops: Vec<(&str, Handed)> = wanted(subjects)
        .filter_map(|holding| Some((holding.name, holding.handed?)))
        .collect();
    let mut samples = vec![Vec::new(); loops.len()];
    control
        .progress
        .begin("ended elsewhere", options.read.rounds);
    for round in 0..options.read.rounds {
        let mut raw = vec![0.0; loops.len()];
        for place in order::round(loops.len(), round, options.read.seed) {
            if control.stopped() {
                break;
            }
            raw[place] = loops[place].1(BATCHES).map_err(Error::Failed)?;
        }
        if control.stopped() {
            break;
        }
        // The bare one is the first.
        for (samples, ns) in samples.iter_mut().zip(&raw).skip(1) {
            samples.push((ns - raw[0]).max(0.0));
        }
        control.progress.advance(1);
    }
    control.progress.end();
    let rows = loops
        .iter()
        .zip(&samples)
        .filter_map(|(of, samples)| Row::of(of.0, HANDED, read::METRIC, read::UNIT, samples));
    Ok(rows.collect())
}

/// These of ours over the sections and grace periods of the process's domain, in each case that both have.
pub(crate) fn ratios(report: &Report, subjects: &[&str]) -> Vec<Row> {
    let is_one = |row: &&Row| {
        let metrics = [read::METRIC, instructions::METRIC, LATENCY];
        subjects.contains(&row.subject.as_str()) && metrics.contains(&row.metric.as_str())
    };
    let ratio = |row: &Row| {
        let global = report.find(OURS, &row.case, &row.metric)?;
        if global.median == 0.0 {
            return None; // noise was larger
        }
        let metric = format!("{}_ratio", row.metric);
        let ratio = row.median / global.median;
        Row::single(&row.subject, &row.case, &metric, RATIO, ratio)
    };
    let ours = report.rows.iter().filter(is_one);
    ours.filter_map(ratio).collect()
}

fn describe(report: &mut Report, options: &SectionOptions) {
    options.describe(report);
    report.option("batch", BATCH);
    report.option("clock_ns", crate::measure::clock::clock_pair_ns());
    report.option(
        "method",
        "cpu_ns as bench read: thread CPU time a turn, bare loop of the same round subtracted (below zero \
         counts as zero); ended elsewhere: CPU time of both threads; latency_us and fences as bench sync; \
         instructions as ci/instructions; ratios: medians of this run divided",
    );
    let rust = ["arc-swap", "arc-swap-full"];
    let present = |name: &str| subjects::named(name).is_some();
    let absent = subjects::absent_of(&rust, &[], present);
    subjects::note_absent(report, options.read.compare, absent);
}

/// The report as text.
pub fn text(report: &Report) -> String {
    let threads = report.options.get("threads").and_then(|n| n.as_u64());
    let is_sync = |case: &str| SyncCase::named(case).is_some();
    let mut text = format!(
        "Sections, CPU ns of each, {} thread(s) at once: median [min..max] over rounds\n\n",
        threads.unwrap_or(1)
    );
    text += &cases::of_cases(report, read::METRIC, 1.0, |_| true).fitted();
    let counted = cases::of_cases(report, instructions::METRIC, 1.0, |_| true);
    text += &counted.titled("Instructions a section");
    text += "\nGrace periods, us: median [min..max] of the rounds' medians\n\n";
    text += &cases::of_cases(report, LATENCY, 1.0, is_sync).fitted();
    let fences = cases::of_cases(report, "fences", 1.0, is_sync);
    text += &fences.titled("Process-wide fences (membarrier calls) a grace period");
    text += "\nReaders that may sleep, over those that must not:\n";
    for (case, metric, most) in TARGETS {
        if let Some(row) = report.find(SRCU, case, &format!("{metric}_ratio")) {
            let verdict = if row.median <= most { "ok" } else { "MISSED" };
            let ratio = short(row.median);
            text += &format!("  {case}, {metric}: {ratio} times (at most {most}): {verdict}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests;
