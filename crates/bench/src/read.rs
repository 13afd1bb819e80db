//! `bench read`: what a read-side critical section costs its reader.
//!
//! A *cell* is one subject in one case, run for about [`ReadOptions::cell_us`] of CPU time. A round runs every
//! cell once; the next round starts with the next subject ([`crate::order`]). The figure of a cell in a round is
//! thread CPU time (`CLOCK_THREAD_CPUTIME_ID`) a turn, less the bare loop of the same language *in the same round*;
//! a difference below zero is noise and counts as zero. A row is the median, smallest and largest over the rounds.

use crate::pool::{Job, MOST_THREADS, Pool};
use crate::subjects::{self, Language, Loops, READS_PER_REPIN, ReadCase, Subject};
use crate::{Control, Error, Report, Row, order, table};
use std::collections::BTreeMap;

/// The metric of the rows.
pub const METRIC: &str = "cpu_ns";
/// Their unit: CPU time of one pair (`repin`: of one read).
pub const UNIT: &str = "ns/pair";

/// What to measure.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Threads that read at once, 1..=[`MOST_THREADS`].
    pub threads: usize,
    /// All subjects, not only ours.
    pub compare: bool,
    /// Rounds; medians of fewer than 30 are noisy.
    pub rounds: u64,
    /// Where the rotation of subjects starts.
    pub seed: u64,
    /// CPU time a cell should take, in µs, shared out when there are more threads than CPUs.
    pub cell_us: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            threads: 1,
            compare: false,
            rounds: 40,
            seed: 1,
            cell_us: 2_000,
        }
    }
}

/// Who stands in the rotation: a subject, or the bare loop of a language.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Bare(Language),
    Subject(usize, Language),
}

struct Cell {
    who: Who,
    case: ReadCase,
    job: Job,
}

/// Measures and reports. When stopped, the report has what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for counts out of range, [`Error::Failed`] when threads cannot be had.
pub fn run(options: &ReadOptions, control: Control<'_>) -> Result<Report, Error> {
    check(options)?;
    let subjects = subjects::selected(options.compare);
    let pool = Pool::start(options.threads, &subjects)?;
    let standing = standing(&subjects);
    let mut cells = Vec::new();
    for &(who, loops) in &standing {
        for case in ReadCase::ALL {
            // The bare loop of `nested` and `load` is that of `empty`.
            if matches!(who, Who::Bare(_)) && matches!(case, ReadCase::Nested | ReadCase::Load) {
                continue;
            }
            let job = calibrate(&pool, loops.of(case), options)?;
            cells.push(Cell { who, case, job });
        }
    }
    let samples = rounds(&pool, &standing, &cells, options, control)?;
    let mut report = Report::new("bench read", options.seed);
    describe(&mut report, options);
    for case in ReadCase::ALL {
        for (index, subject) in subjects.iter().enumerate() {
            let key = (Who::Subject(index, subject.language), case);
            let values = samples.get(&key).map_or(&[][..], Vec::as_slice);
            report
                .rows
                .extend(Row::of(subject.name, case.name(), METRIC, UNIT, values));
        }
    }
    Ok(report)
}

fn check(options: &ReadOptions) -> Result<(), Error> {
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

/// The subjects and the bare loops they need, in one rotation.
fn standing(subjects: &[Subject]) -> Vec<(Who, Loops)> {
    let mut standing = Vec::new();
    for language in [Language::Rust, Language::C] {
        if subjects.iter().any(|subject| subject.language == language) {
            standing.extend(subjects::bare(language).map(|loops| (Who::Bare(language), loops)));
        }
    }
    for (index, subject) in subjects.iter().enumerate() {
        standing.push((Who::Subject(index, subject.language), subject.loops));
    }
    standing
}

/// Finds how many turns take about a cell's time: doubles from a few thousand until a run is long enough to scale from.
fn calibrate(pool: &Pool, run: fn(u64), options: &ReadOptions) -> Result<Job, Error> {
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
    let share = (options.threads as u64).div_ceil(cpus as u64).max(1);
    let goal_ns = (options.cell_us * 1_000 / share).max(50_000) as f64;
    let mut job = Job {
        run,
        turns: 64 * READS_PER_REPIN,
    };
    loop {
        let ns_a_turn = pool.run(job)?;
        let ns = ns_a_turn * job.turns as f64;
        if ns >= goal_ns / 8.0 || job.turns >= 1 << 32 {
            let turns = (goal_ns / ns_a_turn.max(0.01)) as u64;
            // Whole sections in each of the four copies of a loop.
            job.turns = turns
                .next_multiple_of(4 * READS_PER_REPIN)
                .max(4 * READS_PER_REPIN);
            return Ok(job);
        }
        job.turns *= 2;
    }
}

type Samples = BTreeMap<(Who, ReadCase), Vec<f64>>;

fn rounds(
    pool: &Pool,
    standing: &[(Who, Loops)],
    cells: &[Cell],
    options: &ReadOptions,
    control: Control<'_>,
) -> Result<Samples, Error> {
    let mut samples = Samples::new();
    control.progress.begin("bench read", options.rounds);
    for round in 0..options.rounds {
        let mut raw: BTreeMap<(Who, ReadCase), f64> = BTreeMap::new();
        for place in order::round(standing.len(), round, options.seed) {
            for cell in cells.iter().filter(|cell| cell.who == standing[place].0) {
                if control.stopped() {
                    settle(&raw, &mut samples);
                    control.progress.end();
                    return Ok(samples);
                }
                raw.insert((cell.who, cell.case), pool.run(cell.job)?);
            }
        }
        settle(&raw, &mut samples);
        control.progress.advance(1);
    }
    control.progress.end();
    Ok(samples)
}

/// Takes the bare loop of the same round off each figure of that round.
fn settle(raw: &BTreeMap<(Who, ReadCase), f64>, samples: &mut Samples) {
    for (&(who, case), &ns) in raw {
        let Who::Subject(_, language) = who else {
            continue;
        };
        let bare_case = match case {
            ReadCase::Repin => ReadCase::Repin,
            _ => ReadCase::Empty,
        };
        if let Some(bare) = raw.get(&(Who::Bare(language), bare_case)) {
            let cost = (ns - bare).max(0.0);
            samples.entry((who, case)).or_default().push(cost);
        }
    }
}

fn describe(report: &mut Report, options: &ReadOptions) {
    report.option("threads", options.threads);
    report.option("compare", options.compare);
    report.option("rounds", options.rounds);
    report.option("cell_us", options.cell_us);
    report.option("reads_per_repin", READS_PER_REPIN);
    report.option(
        "method",
        "thread CPU time a turn, bare loop of the same round subtracted (below zero counts as zero); \
         each loop at four places in a cache line; subjects interleaved, order rotated; median, min, max over rounds; repin is per read",
    );
    subjects::note(report, options.compare);
}

/// The report as text: a subject a line, a case a column.
pub fn text(report: &Report) -> String {
    let threads = report
        .options
        .get("threads")
        .map_or(1, |n| n.as_u64().unwrap_or(1));
    let mut text = format!(
        "Read side: CPU ns a pair, {threads} thread{} at once: median [min..max] over rounds; repin per read\n\n",
        if threads == 1 { "" } else { "s" }
    );
    let of_reading = |case: &str| ReadCase::named(case).is_some();
    text += &table::of_cases(report, METRIC, 1.0, of_reading).render();
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Silent;
    use std::sync::atomic::AtomicBool;

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
        let stop = AtomicBool::new(false);
        let report = run(&tiny(), Control::new(&stop, &Silent)).unwrap();
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
        let stop = AtomicBool::new(true);
        let report = run(&tiny(), Control::new(&stop, &Silent)).unwrap();
        report.check().unwrap();
        assert!(report.rows.is_empty());
    }

    #[test]
    fn nothing_to_do_is_a_usage_error() {
        let stop = AtomicBool::new(false);
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
            let error = run(&options, Control::new(&stop, &Silent)).unwrap_err();
            assert!(matches!(error, Error::Usage(_)), "{error}");
        }
    }

    #[test]
    fn the_bare_loop_is_subtracted_and_noise_is_zero() {
        let (bare, ours) = (Who::Bare(Language::C), Who::Subject(0, Language::C));
        let alien = Who::Subject(1, Language::Rust);
        let raw = BTreeMap::from([
            ((bare, ReadCase::Empty), 1.0),
            ((bare, ReadCase::Repin), 0.5),
            ((ours, ReadCase::Load), 3.0),
            ((ours, ReadCase::Repin), 0.25),
            ((alien, ReadCase::Load), 3.0),
        ]);
        let mut samples = Samples::new();
        settle(&raw, &mut samples);
        assert_eq!(samples[&(ours, ReadCase::Load)], [2.0]);
        assert_eq!(samples[&(ours, ReadCase::Repin)], [0.0]);
        assert_eq!(samples.len(), 2, "without a bare loop there is no figure");
    }
}
