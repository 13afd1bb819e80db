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
use crate::measure::clock;
use crate::subjects::held::BARE_HANDED;
use crate::subjects::pairs::{self, Cell};
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
    let cells = cells(&subjects);
    let (cell_us, threads) = (given.of("cell_us"), given.of("threads"));
    let jobs = cells
        .iter()
        .map(|it| pairs::calibrate(&pool, it.run, cell_us, threads));
    let jobs = jobs.collect::<Result<Vec<_>, _>>()?;
    let rounds = (given.of("rounds"), given.seed);
    let samples = pairs::measure(&cells, rounds, "bench read", control, |at| {
        pool.run(jobs[at])
    })?;
    let mut rows = rows(&cells, &samples, &ReadCase::ALL.map(ReadCase::name));
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

/// A row for each of these cases and each cell with a figure.
fn rows<R>(cells: &[Cell<R>], samples: &[Vec<f64>], cases: &[&str]) -> Vec<Row> {
    let row = |case: &str, (cell, samples): (&Cell<R>, &Vec<f64>)| {
        let (subject, of) = cell.name;
        (of == case).then(|| Row::of(subject, case, METRIC, UNIT, samples))?
    };
    let of_case = |case| {
        cells
            .iter()
            .zip(samples)
            .filter_map(move |it| row(case, it))
    };
    cases.iter().flat_map(|case| of_case(*case)).collect()
}

/// The cells of the bare loops that these subjects need, and of the subjects, in one rotation.
fn cells(subjects: &[Subject]) -> Vec<Cell<fn(u64)>> {
    let bare = [Language::Rust, Language::C]
        .into_iter()
        .filter_map(|language| {
            let wanted = subjects.iter().any(|subject| subject.language == language);
            Some((language, subjects::bare(language).filter(|_| wanted)?))
        });
    let mut cells = Vec::new();
    let mut bare_cells: Vec<(Language, ReadCase, usize)> = Vec::new();
    for (place, (language, loops)) in bare.enumerate() {
        for case in ReadCase::ALL {
            let Some(run) = loops.of(case).filter(|_| case == bare_of(case)) else {
                continue;
            };
            bare_cells.push((language, case, cells.len()));
            let name = ("", case.name());
            cells.push(Cell {
                place,
                name,
                run,
                bare: None,
            });
        }
    }
    let first = cells.last().map_or(0, |it: &Cell<_>| it.place + 1);
    for (place, subject) in (first..).zip(subjects) {
        for case in ReadCase::ALL {
            let wanted = (subject.language, bare_of(case));
            let bare = bare_cells.iter().find(|it| (it.0, it.1) == wanted);
            let (name, bare) = ((subject.name, case.name()), bare.map(|it| it.2));
            cells.extend(subject.loops.of(case).map(|run| Cell {
                place,
                name,
                run,
                bare,
            }));
        }
    }
    cells
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
    let loops = std::iter::once(("", BARE_HANDED)).chain(of_subjects);
    let cell = |(place, (subject, run)): (usize, (&'static str, Handed))| Cell {
        place,
        name: (subject, HANDED),
        run,
        bare: (place > 0).then_some(0),
    };
    let cells: Vec<Cell<Handed>> = loops.enumerate().map(cell).collect();
    let run = |at: usize| (cells[at].run)(BATCHES).map_err(Error::Failed);
    let rounds = (given.of("rounds"), given.seed);
    let samples = pairs::measure(&cells, rounds, HANDED, control, run)?;
    Ok(rows(&cells, &samples, &[HANDED]))
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
