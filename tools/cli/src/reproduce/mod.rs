//! `reproduce`: measures the library's claims on this machine, within one run.
//!
//! 1. The comparison tables of `bench read`, `bench sync`, `bench retire` and `bench mixed`; instruction
//!    counts if valgrind is installed.
//! 2. The published synchronize benchmark, on this kernel and on this library ([`benchmark`]).
//! 3. A trickle: a block retired now and then, and the wake-ups of threads that it causes. It runs last, when
//!    nothing else is timed.
//! 4. The machine model beside real kernels, published figures, and the measured trickle
//!    ([`quiescent_sim::experiments`]).
//! 5. The targets, met or not ([`quiescent_bench::targets`]).
//!
//! In all it takes a little more than two minutes.

mod benchmark;
pub mod first;
pub mod page;
mod published;
mod sentences;
mod threads;

use self::benchmark::Benchmark;
use quiescent_bench::cases::mixed::{self, MixedOptions};
use quiescent_bench::cases::read::{self, ReadOptions};
use quiescent_bench::cases::retire::{self, RetireCase, RetireOptions};
use quiescent_bench::cases::sync::{self, SyncCase, SyncOptions};
use quiescent_bench::cases::trickle::{self, TrickleOptions};
use quiescent_bench::deferral::swap::Content;
use quiescent_bench::instructions::{self, InstructionOptions};
use quiescent_bench::subjects;
use quiescent_bench::targets;
use quiescent_report::OURS;
use quiescent_report::verdict::{self, Target};
use quiescent_report::{Control, Error, Report};
use quiescent_sim::experiments::{self, Modelled, show};
use std::path::PathBuf;

/// The options of a run.
#[derive(Debug, Clone)]
pub struct ReproduceOptions {
    /// The path of this program.
    pub program: PathBuf,
    /// Fewer calls, no instruction counts: a test that it works, without figures to quote.
    pub quick: bool,
    /// The first subject of the rotation.
    pub seed: u64,
}

/// The results: the report, and the parts that only text shows.
#[derive(Debug, Clone)]
pub struct Reproduced {
    /// All rows.
    pub report: Report,
    /// The benchmark; `None` when stopped before it.
    pub benchmark: Option<Benchmark>,
    /// The experiments on the machine model.
    pub modelled: Modelled,
    /// The targets.
    pub targets: Vec<Target>,
    /// Parts that could not be measured, with the remedy.
    pub notes: Vec<String>,
}

/// Runs everything. When stopped, the rest is left out and the measured part is returned.
///
/// # Errors
/// [`Error::Failed`] when a measuring thread or process cannot be started.
pub fn run(options: &ReproduceOptions, control: Control<'_>) -> Result<Reproduced, Error> {
    let mut found = Reproduced {
        report: Report::new("reproduce", options.seed),
        benchmark: None,
        modelled: Modelled::default(),
        targets: Vec::new(),
        notes: Vec::new(),
    };
    found.report.option("quick", options.quick);
    let read = read::run(&read_options(options), control)?;
    absorb(&mut found.report, read);
    let mut idle = None;
    let sync_options = sync_options(options);
    if !control.stopped() {
        let sync = sync::run(&sync_options, control)?;
        absorb(&mut found.report, sync);
    }
    reclaim_later(&mut found, options, control)?;
    if !control.stopped() {
        let benchmark = benchmark::run(options.quick, &sync_options, control)?;
        found.report.option("benchmark_runs", benchmark.runs);
        found.report.option("benchmark_calls", benchmark.calls);
        if let Some(kernel) = &benchmark.kernel {
            found.report.option("kernel bench", kernel.json());
        }
        found.report.rows.extend(benchmark.rows.iter().cloned());
        found.notes.extend(benchmark.notes.iter().cloned());
        found.benchmark = Some(benchmark);
    }
    if !control.stopped() {
        count_instructions(&mut found, options, control)?;
    }
    if !control.stopped() {
        idle = sync::idle(&sync_options, 300)?;
    }
    if !control.stopped() {
        trickle(&mut found, options, control)?;
    }
    found.modelled = experiments::run(options.seed, control);
    for part in threads::beside(&found.report, options.seed, control) {
        found.modelled.add(part);
    }
    show::report(&found.modelled, &mut found.report);
    note_missing(&mut found);
    if control.stopped() {
        found
            .notes
            .push("stopped: the rest was not measured".into());
    }
    found.targets = targets::targets(&found.report, idle);
    found.report.rows.extend(verdict::rows(&found.targets));
    found.report.option("notes", found.notes.clone());
    Ok(found)
}

fn read_options(options: &ReproduceOptions) -> ReadOptions {
    ReadOptions {
        compare: true,
        seed: options.seed,
        rounds: if options.quick { 30 } else { 60 },
        cell_us: if options.quick { 300 } else { 2_000 },
        ..ReadOptions::default()
    }
}

fn sync_options(options: &ReproduceOptions) -> SyncOptions {
    SyncOptions {
        compare: true,
        seed: options.seed,
        rounds: if options.quick { 30 } else { 60 },
        calls: if options.quick { 100 } else { 1_000 },
        ..SyncOptions::new(options.program.clone())
    }
}

/// `bench retire`, again with many objects for the peak memory, and `bench mixed`.
fn reclaim_later(
    found: &mut Reproduced,
    options: &ReproduceOptions,
    control: Control<'_>,
) -> Result<(), Error> {
    if !control.stopped() {
        let retire = retire::run(&retire_options(options), control)?;
        absorb(&mut found.report, retire);
    }
    if options.quick {
        let note = "peak memory with 20 million objects: left out by --quick";
        found.notes.push(note.into());
    } else if !control.stopped() {
        let mut peak = retire::run(&peak_options(options), control)?;
        peak.command += " of 20M";
        for row in &mut peak.rows {
            let case = PEAK_CASES.iter().find(|case| case.name() == row.case);
            row.case = case.map_or(row.case.clone(), |case| case.peak_name());
        }
        // That of `bench retire` itself is the median of more rounds.
        peak.rows.retain(|row| !row.case.starts_with("empty"));
        absorb(&mut found.report, peak);
    }
    if !control.stopped() {
        let mixed = mixed::run(&mixed_options(options), control)?;
        absorb(&mut found.report, mixed);
    }
    Ok(())
}

/// What is run once more with many objects.
const PEAK_CASES: [RetireCase; 6] = [
    RetireCase::AllIn(1),
    RetireCase::AllIn(2),
    RetireCase::Empty(1),
    RetireCase::Empty(2),
    RetireCase::Swap(Content::Short),
    RetireCase::Swap(Content::Long),
];

fn retire_options(options: &ReproduceOptions) -> RetireOptions {
    RetireOptions {
        compare: true,
        seed: options.seed,
        rounds: if options.quick { 1 } else { 3 },
        objects: if options.quick { 20_000 } else { 2_000_000 },
        rest_ms: if options.quick { 300 } else { 3_000 },
        ..RetireOptions::new(options.program.clone())
    }
}

fn peak_options(options: &ReproduceOptions) -> RetireOptions {
    RetireOptions {
        cases: PEAK_CASES.to_vec(),
        only: [OURS, "ck", "liburcu-memb", "arc-swap"]
            .map(String::from)
            .to_vec(),
        rounds: 1,
        objects: retire::PEAK_OBJECTS,
        ..retire_options(options)
    }
}

fn mixed_options(options: &ReproduceOptions) -> MixedOptions {
    MixedOptions {
        compare: true,
        seed: options.seed,
        rounds: if options.quick { 1 } else { 5 },
        ms: if options.quick { 10 } else { 100 },
        ..MixedOptions::new(options.program.clone())
    }
}

/// `bench trickle`, all parts at the same time, because these processes sleep. First longer than a flush
/// takes, so that one is seen, then as long as the last block may take.
fn trickle(
    found: &mut Reproduced,
    options: &ReproduceOptions,
    control: Control<'_>,
) -> Result<(), Error> {
    if options.quick {
        let note = "trickle: left out by --quick; see bench trickle";
        found.notes.push(note.into());
        return Ok(());
    }
    let wanted = TrickleOptions {
        compare: true,
        seed: options.seed,
        rates: vec![10, 100, 1_000],
        ms: 15_000,
        capacity: u64::MAX,
        ..TrickleOptions::new(options.program.clone())
    };
    let trickle = trickle::measure(&wanted, control)?;
    absorb(&mut found.report, trickle);
    Ok(())
}

/// Adds the rows of a part; its options under the part's name.
fn absorb(report: &mut Report, part: Report) {
    report.rows.extend(part.rows);
    report.host.more.extend(part.host.more);
    let options: serde_json::Map<_, _> = part.options.into_iter().collect();
    report.option(&part.command, options);
}

fn count_instructions(
    found: &mut Reproduced,
    options: &ReproduceOptions,
    control: Control<'_>,
) -> Result<(), Error> {
    if options.quick {
        found
            .notes
            .push("instructions: left out by --quick; see ci/instructions".into());
        return Ok(());
    }
    if let Err(why) = instructions::check_valgrind() {
        found.notes.push(format!("instructions: {why}"));
        return Ok(());
    }
    let counted = InstructionOptions {
        seed: options.seed,
        program: options.program.clone(),
        compare: true,
        only: [OURS, "liburcu-memb", "liburcu-qsbr", "ck"]
            .map(String::from)
            .to_vec(),
    };
    let report = instructions::run(&counted, control)?;
    absorb(&mut found.report, report);
    Ok(())
}

fn note_missing(found: &mut Reproduced) {
    let mut absent = subjects::absent();
    for deferring in quiescent_bench::deferral::absent() {
        if !absent.contains(&deferring) {
            absent.push(deferring);
        }
    }
    for absent in absent {
        found.notes.push(format!(
            "{} is not in this build: {}",
            absent.name, absent.remedy
        ));
    }
    let looping = SyncCase::ReaderLooping.name();
    let ours = |case| found.report.find(OURS, case, "latency_us");
    if ours("sole thread").is_some() && ours(looping).is_none() {
        let note = "reader looping: the reader was never on a CPU at the same time as the caller: two CPUs \
                    are needed";
        found.notes.push(note.into());
    }
}

/// The results as text.
pub fn text(found: &Reproduced) -> String {
    let report = &found.report;
    let measured = |metric| report.rows.iter().any(|row| row.metric == metric);
    let mut parts = vec![report.host.line() + "\n"];
    if measured(read::METRIC) {
        parts.push(read::text(report));
    }
    if measured("latency_us") {
        parts.push(sync::text(report));
    }
    if report.rows.iter().any(|row| row.unit == "ns/call") {
        parts.push(retire::text(report));
    }
    if report.rows.iter().any(|row| row.case == mixed::UPDATE) {
        parts.push(mixed::text(report));
    }
    if measured(instructions::METRIC) {
        parts.push(instructions::text(report));
    }
    parts.extend(found.benchmark.as_ref().map(benchmark::text));
    if measured("wakeups_per_s") {
        parts.push(trickle::tables(report));
    }
    if !found.modelled.is_empty() {
        parts.push(show::text(&found.modelled));
    }
    parts.push(format!(
        "Targets (a bound that names a peer is that peer's figure of this run)\n\n{}",
        verdict::text(&found.targets)
    ));
    if !found.notes.is_empty() {
        parts.push(format!("Notes\n- {}\n", found.notes.join("\n- ")));
    }
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_report::Silent;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn stopped_at_once_it_says_so_and_starts_nothing() {
        let stop = AtomicBool::new(true);
        let options = ReproduceOptions {
            program: "/nowhere/quiescent".into(),
            quick: true,
            seed: 1,
        };
        let found = run(&options, Control::new(&stop, &Silent)).unwrap();
        found.report.check().unwrap();
        assert!(found.report.rows.is_empty());
        let text = text(&found);
        assert!(
            text.contains("stopped: the rest was not measured"),
            "{text}"
        );
        assert!(
            text.contains("not measured") && !text.contains("Read side"),
            "{text}"
        );
    }
}
