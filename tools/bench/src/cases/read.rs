//! `bench read`: what a read-side critical section costs its reader.
//!
//! A *cell* is one subject in one case, run for about `cell_us` of CPU time, and measured as `pairs` says:
//! thread CPU time a turn, less the bare loop of the same language in the same round. A row is the median,
//! smallest and largest over the rounds. The case `ended elsewhere` is measured beside: one thread begins 64
//! sections, another ends them: CPU time of both a section, less the same with plain words; for subjects
//! whose sections may end on another thread.

use super::plan::{Bench, Body, Given};
use super::setting::{self, Setting};
use crate::instructions::{self, LoopCase};
use crate::measure::{clock, order};
use crate::subjects::held::BARE_HANDED;
use crate::subjects::pairs::{self, Cell, Rounds};
use crate::subjects::pool::Pool;
use crate::subjects::{self, BATCH, Handed, Language, READS_PER_REPIN, ReadCase, Subject};
use quiescent::{FenceMode, Options};
use quiescent_report::{Control, Error, Report, Row};

/// The metric of the rows.
pub const METRIC: &str = "cpu_ns";
/// Their unit: CPU time of one pair (`repin`: of one read).
pub const UNIT: &str = "ns/pair";
/// A section is ended by another thread.
pub const HANDED: &str = "ended elsewhere";
/// Batches that one thread hands another, a round.
const BATCHES: u64 = 50;

/// The measurement.
pub static READ: Bench = Bench {
    name: "read",
    settings: &[
        setting::compare(),
        Setting::flag("fenced"),
        Setting::flag("instructions"),
        setting::threads("threads", "1"),
        setting::rounds("60"),
        // CPU time a cell should take, shared out when there are more threads than CPUs.
        Setting::count("cell_us", "2000", 1_000_000).named(""),
    ],
    body: Body::Here(measure),
    describe,
    ratios: true,
    ..Bench::USUAL
};

fn measure(given: &Given, control: Control<'_>) -> Result<Vec<Row>, Error> {
    if given.is("instructions") {
        instructions::check_valgrind()?;
    }
    if given.is("fenced") {
        let fenced = Options::new().fence(FenceMode::Fenced).apply();
        fenced.map_err(|error| Error::Failed(error.to_string()))?;
    }
    let subjects = subjects::selected(given.is("compare"));
    let pool = Pool::start(given.of("threads") as usize, &subjects)?;
    let (cells, names) = cells(&subjects);
    let rounds = Rounds {
        rounds: given.of("rounds"),
        seed: given.seed,
        cell_us: given.of("cell_us"),
        threads: given.of("threads") as usize,
    };
    let samples = pairs::measure(&pool, &cells, rounds, "bench read", control)?;
    let mut rows = Vec::new();
    for case in ReadCase::ALL {
        let of_case = names
            .iter()
            .zip(&samples)
            .filter(|(name, _)| name.is_some_and(|it| it.1 == case));
        rows.extend(
            of_case.filter_map(|(name, samples)| {
                Row::of((*name)?.0, case.name(), METRIC, UNIT, samples)
            }),
        );
    }
    rows.extend(handed(&subjects, given, control)?);
    if given.is("instructions") && !control.stopped() {
        let names: Vec<&str> = subjects.iter().map(|subject| subject.name).collect();
        let mut counted = LoopCase::all();
        counted.retain(|case| matches!(case, LoopCase::Read(_) | LoopCase::Push));
        rows.extend(instructions::rows(
            &given.program,
            &names,
            &counted,
            control,
        )?);
    }
    Ok(rows)
}

/// Who a cell is of, and its case; `None` for a bare loop.
type Name = Option<(&'static str, ReadCase)>;

/// The cells of the subjects and of the bare loops they need, in one rotation, with their names.
fn cells(subjects: &[Subject]) -> (Vec<Cell>, Vec<Name>) {
    let (mut cells, mut names, mut bare_cells) = (Vec::new(), Vec::new(), Vec::new());
    let mut place = 0;
    for language in [Language::Rust, Language::C] {
        let wanted = subjects.iter().any(|subject| subject.language == language);
        let Some(loops) = subjects::bare(language).filter(|_| wanted) else {
            continue;
        };
        for case in ReadCase::ALL
            .into_iter()
            .filter(|case| *case == bare_of(*case))
        {
            if let Some(run) = loops.of(case) {
                bare_cells.push((language, case, cells.len()));
                cells.push(Cell {
                    place,
                    run,
                    bare: None,
                });
                names.push(None);
            }
        }
        place += 1;
    }
    for subject in subjects {
        for case in ReadCase::ALL {
            let Some(run) = subject.loops.of(case) else {
                continue;
            };
            let is_bare = |of: &&(Language, ReadCase, usize)| {
                (of.0, of.1) == (subject.language, bare_of(case))
            };
            let bare = bare_cells.iter().find(is_bare).map(|found| found.2);
            cells.push(Cell { place, run, bare });
            names.push(Some((subject.name, case)));
        }
        place += 1;
    }
    (cells, names)
}

/// The bare loop of `nested` and `load` is that of `empty`.
fn bare_of(case: ReadCase) -> ReadCase {
    match case {
        ReadCase::Nested | ReadCase::Load => ReadCase::Empty,
        other => other,
    }
}

/// Sections that end on another thread.
fn handed(subjects: &[Subject], given: &Given, control: Control<'_>) -> Result<Vec<Row>, Error> {
    let of_subjects = subjects.iter().filter_map(|it| Some((it.name, it.handed?)));
    // What is subtracted is the first.
    let loops: Vec<(&str, Handed)> = [("", BARE_HANDED)].into_iter().chain(of_subjects).collect();
    let mut samples = vec![Vec::new(); loops.len()];
    control.progress.begin(HANDED, given.of("rounds"));
    for round in 0..given.of("rounds") {
        let mut raw = vec![0.0; loops.len()];
        for place in order::round(loops.len(), round, given.seed) {
            if !control.stopped() {
                raw[place] = loops[place].1(BATCHES).map_err(Error::Failed)?;
            }
        }
        if control.stopped() {
            break;
        }
        for (samples, ns) in samples.iter_mut().zip(&raw).skip(1) {
            samples.push((ns - raw[0]).max(0.0));
        }
        control.progress.advance(1);
    }
    control.progress.end();
    let rows = loops.iter().zip(&samples);
    Ok(rows
        .filter_map(|(of, samples)| Row::of(of.0, HANDED, METRIC, UNIT, samples))
        .collect())
}

fn describe(_: &Given, report: &mut Report) {
    let seize = match cfg!(feature = "fast-barrier") {
        true => "has a fence of the process",
        false => "readers carry the fence",
    };
    report.option("seize", seize);
    report.option("reads_per_repin", READS_PER_REPIN);
    report.option("batch", BATCH);
    report.option("clock_ns", clock::clock_pair_ns());
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_report::OURS;

    #[test]
    fn a_row_for_every_subject_and_case() {
        for compare in [false, true] {
            let given = READ.usual("true".into()).with("compare", compare.into());
            let given = given.with("rounds", 2).with("cell_us", 50);
            let report = READ.run(&given, Control::none()).unwrap();
            report.check().unwrap();
            for subject in subjects::all() {
                let has = |case: &str| {
                    let row = report.find(subject.name, case, METRIC);
                    row.is_some_and(|row| (row.n, row.unit.as_str()) == (2, UNIT))
                };
                let wanted = compare || subject.name.starts_with(OURS);
                for case in ReadCase::ALL {
                    let is_one = wanted && subject.loops.of(case).is_some();
                    assert_eq!(has(case.name()), is_one, "{} {}", subject.name, case.name());
                }
                assert_eq!(has(HANDED), wanted && subject.handed.is_some());
                assert_eq!(READ.figures(&report).contains(subject.name), wanted);
            }
        }
    }
}
