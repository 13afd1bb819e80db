//! `bench read`: what a read-side critical section costs its reader.
//!
//! A *cell* is one subject in one case, run for about [`ReadOptions::cell_us`] of CPU time, and measured as
//! `pairs` says: thread CPU time a turn, less the bare loop of the same language in the same round. A row is
//! the median, smallest and largest over the rounds.

use crate::subjects::pairs::{self, Cell, Rounds};
use crate::subjects::pool::{MOST_THREADS, Pool};
use crate::subjects::{self, Language, READS_PER_REPIN, ReadCase, Subject};
use quiescent::{FenceMode, Options};
use quiescent_report::text::cases;
use quiescent_report::{Control, Error, Report, Row};

/// The metric of the rows.
pub const METRIC: &str = "cpu_ns";
/// Their unit: CPU time of one pair (`repin`: of one read).
pub const UNIT: &str = "ns/pair";

/// What to measure.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Threads that read at once, 1..=[`MOST_THREADS`].
    pub threads: usize,
    /// All subjects, not only quiescent's.
    pub compare: bool,
    /// Our readers carry the fence.
    pub fenced: bool,
    /// Rounds; medians of fewer than 30 are noisy.
    pub rounds: u64,
    /// Where the rotation of subjects starts.
    pub seed: u64,
    /// CPU time a cell should take, in µs, shared out when there are more threads than CPUs.
    pub cell_us: u64,
}

impl ReadOptions {
    pub(crate) fn rounds(&self) -> Rounds {
        Rounds {
            rounds: self.rounds,
            seed: self.seed,
            cell_us: self.cell_us,
            threads: self.threads,
        }
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            threads: 1,
            compare: false,
            fenced: false,
            rounds: 40,
            seed: 1,
            cell_us: 2_000,
        }
    }
}

/// Measures and reports. When stopped, the report has what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for counts out of range, [`Error::Failed`] when threads cannot be had.
pub fn run(options: &ReadOptions, control: Control<'_>) -> Result<Report, Error> {
    check(options)?;
    if options.fenced {
        let fenced = Options::new().fence(FenceMode::Fenced).apply();
        fenced.map_err(|error| Error::Failed(error.to_string()))?;
    }
    let subjects = subjects::selected(options.compare);
    let pool = Pool::start(options.threads, &subjects)?;
    let (mut cells, mut names) = (Vec::new(), Vec::new());
    add_cells(&subjects, &ReadCase::ALL, &mut cells, &mut names);
    let rounds = options.rounds();
    let samples = pairs::measure(&pool, &cells, rounds, "bench read", control)?;
    let mut report = Report::new("bench read", options.seed);
    describe(&mut report, options);
    report.rows = rows(&subjects, &ReadCase::ALL, &names, &samples);
    Ok(report)
}

pub(crate) fn check(options: &ReadOptions) -> Result<(), Error> {
    let usage = |text: String| Err(Error::Usage(text));
    if !(1..=MOST_THREADS).contains(&options.threads) {
        return usage(format!(
            "{} threads: give 1 to {MOST_THREADS}",
            options.threads
        ));
    }
    if options.rounds == 0 {
        return usage("0 rounds measure nothing: give 30 or more".into());
    }
    Ok(())
}

/// Who a cell is of, and its case; `None` for a bare loop.
pub(crate) type Names = Vec<Option<(&'static str, ReadCase)>>;

/// The cells of the subjects and of the bare loops they need, in one rotation.
pub(crate) fn add_cells(
    subjects: &[Subject],
    cases: &[ReadCase],
    cells: &mut Vec<Cell>,
    names: &mut Names,
) {
    let mut place = cells.iter().map(|cell| cell.place + 1).max().unwrap_or(0);
    let mut bare_cells = Vec::new();
    for language in [Language::Rust, Language::C] {
        let wanted = subjects.iter().any(|subject| subject.language == language);
        if let Some(loops) = subjects::bare(language).filter(|_| wanted) {
            // The bare loop of `nested` and `load` is that of `empty`.
            for case in [ReadCase::Empty, ReadCase::Repin] {
                bare_cells.push((language, case, cells.len()));
                cells.push(cell(place, loops.of(case), None));
                names.push(None);
            }
            place += 1;
        }
    }
    for subject in subjects {
        for &case in cases {
            let wanted = match case {
                ReadCase::Repin => ReadCase::Repin,
                _ => ReadCase::Empty,
            };
            let is_bare =
                |of: &&(Language, ReadCase, usize)| (of.0, of.1) == (subject.language, wanted);
            let bare = bare_cells.iter().find(is_bare).map(|found| found.2);
            cells.push(cell(place, subject.loops.of(case), bare));
            names.push(Some((subject.name, case)));
        }
        place += 1;
    }
}

fn cell(place: usize, run: fn(u64), bare: Option<usize>) -> Cell {
    Cell { place, run, bare }
}

/// The rows of what was measured: a case after the other.
pub(crate) fn rows(
    subjects: &[Subject],
    cases: &[ReadCase],
    names: &Names,
    samples: &[Vec<f64>],
) -> Vec<Row> {
    let mut rows = Vec::new();
    for &case in cases {
        for subject in subjects {
            let of = Some((subject.name, case));
            let index = names.iter().position(|name| *name == of);
            let values = index.map_or(&[][..], |index| samples[index].as_slice());
            rows.extend(Row::of(subject.name, case.name(), METRIC, UNIT, values));
        }
    }
    rows
}

fn describe(report: &mut Report, options: &ReadOptions) {
    report.option("threads", options.threads);
    report.option("compare", options.compare);
    report.option("fenced", options.fenced);
    let seize = match cfg!(feature = "fast-barrier") {
        true => "has a fence of the process",
        false => "readers carry the fence",
    };
    report.option("seize", seize);
    report.option("rounds", options.rounds);
    report.option("cell_us", options.cell_us);
    report.option("reads_per_repin", READS_PER_REPIN);
    report.option(
        "method",
        "thread CPU time a turn, bare loop of the same round subtracted (below zero counts as zero); each \
         loop at four places in a cache line; subjects interleaved, order rotated; median, min, max over \
         rounds; repin is per read",
    );
    subjects::note(report, options.compare);
}

/// The report as text: a subject a line, a case a column.
pub fn text(report: &Report) -> String {
    let threads = report
        .options
        .get("threads")
        .map_or(1, |n| n.as_u64().unwrap_or(1));
    let fenced = report.options.get("fenced") == Some(&true.into());
    let mut text = format!(
        "Read side: CPU ns a pair, {threads} thread{} at once{}: median [min..max] over rounds; repin per \
         read\n\n",
        if threads == 1 { "" } else { "s" },
        if fenced { ", our readers fenced" } else { "" },
    );
    let of_reading = |case: &str| ReadCase::named(case).is_some();
    text += &cases::of_cases(report, METRIC, 1.0, of_reading).fitted();
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::fixture::nonsense;

    fn tiny() -> ReadOptions {
        ReadOptions {
            compare: true,
            rounds: 2,
            cell_us: 50,
            ..ReadOptions::default()
        }
    }

    #[test]
    fn a_row_for_every_subject_and_case() {
        let report = run(&tiny(), Control::none()).unwrap();
        report.check().unwrap();
        for subject in subjects::all() {
            for case in ReadCase::ALL {
                let row = report.find(subject.name, case.name(), METRIC).unwrap();
                assert_eq!((row.n, row.unit.as_str()), (2, UNIT));
            }
            assert!(text(&report).contains(subject.name));
        }
    }

    #[test]
    fn a_stopped_run_reports_what_it_has() {
        let report = run(&tiny(), Control::cancelled()).unwrap();
        report.check().unwrap();
        assert!(report.rows.is_empty());
    }

    #[test]
    fn nothing_to_do_is_a_usage_error() {
        for options in [
            ReadOptions {
                rounds: 0,
                ..tiny()
            },
            ReadOptions {
                threads: 0,
                ..tiny()
            },
            ReadOptions {
                threads: MOST_THREADS + 1,
                ..tiny()
            },
        ] {
            nonsense(|control| run(&options, control));
        }
    }
}
