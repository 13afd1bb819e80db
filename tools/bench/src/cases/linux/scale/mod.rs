//! `bench scale`: what threads cost that are registered, and do nothing.
//!
//! A process a number of threads, subject and round. The caller is one of them; the others have read once and
//! sleep outside any section. In this order:
//!
//! * `register_cpu_ns`: thread CPU of a thread's first section (registration where the library wants it,
//!   included); mean. All threads at once: pages and tables that only some of them make are shared out
//! * `reader_bytes`: anonymous memory that the process has more, a thread, after all have registered and a
//!   grace period has ended (`/proc/self/smaps_rollup`, pages, before and after: with few threads it is all
//!   rounding). What a library keeps in thread-local storage was there before, and is not in it
//! * `latency_us`, `latency_us_p99`, `cpu_ns`: a grace period that the caller waits for: the clock on the
//!   wall; CPU of the whole process
//! * `scans`, `leaves`, `steps`, `fences`: our own counters, a grace period: scans over readers, groups of 64
//!   threads looked at in them, steps of the engine, process-wide fences
//! * `retirer_bytes`: memory that a thread adds which retires its first object, beyond that of a reader
//! * `exit_cpu_ns`: thread CPU from the library's `detach` to the end of the exit hooks, that of a thread
//!   without the library subtracted; mean. `exit_retired_cpu_ns`: of threads that have something queued
//!
//! Where the system refuses threads, the case says how many there were and why.

pub mod child;
pub mod threads;

use crate::measure::once::{self, Ask};
use crate::subjects;
use child::ScaleAsk;
use quiescent_report::rows::{Samples, samples};
use quiescent_report::text::cases;
use quiescent_report::{Control, Error, Report};
use std::path::PathBuf;

/// The largest permitted number of threads: the slots of a domain, minus a few.
pub const MOST_REGISTERED: u64 = 65_000;

/// The name of the case with so many registered threads.
pub fn case_name(threads: u64) -> String {
    match threads {
        1 => "1 thread".into(),
        more => format!("{more} threads"),
    }
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct ScaleOptions {
    /// The program that can [`crate::measure::once::serve`]: this program itself.
    pub program: PathBuf,
    /// All subjects that have a grace period, not only quiescent's.
    pub compare: bool,
    /// Numbers of registered threads, each 1..=[`MOST_REGISTERED`].
    pub threads: Vec<u64>,
    /// Rounds.
    pub rounds: u64,
    /// Grace periods a process.
    pub calls: u64,
    /// Where the rotation of subjects starts.
    pub seed: u64,
}

impl ScaleOptions {
    /// The usual measurement, by `program`.
    pub fn new(program: PathBuf) -> Self {
        ScaleOptions {
            program,
            compare: false,
            threads: vec![1, 10, 100, 1_000, 5_000],
            rounds: 5,
            calls: 200,
            seed: 1,
        }
    }
}

/// Measures and reports. When stopped, the report has what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for counts of 0 or too many threads, [`Error::Failed`] when a measuring process cannot be
/// started, dies or hangs.
pub fn run(options: &ScaleOptions, control: Control<'_>) -> Result<Report, Error> {
    if options.rounds == 0 || options.calls == 0 || options.threads.is_empty() {
        let text = "0 rounds, 0 calls or no number of threads measure nothing: give 3 rounds or more, 100 \
                    calls or more";
        return Err(Error::Usage(text.into()));
    }
    let absurd = |threads: &&u64| !(1..=MOST_REGISTERED).contains(*threads);
    if let Some(threads) = options.threads.iter().find(absurd) {
        let text = format!("{threads} threads: give 1 to {MOST_REGISTERED}");
        return Err(Error::Usage(text));
    }
    let mut subjects = subjects::selected(options.compare);
    subjects.retain(|subject| subject.waiting.is_some());
    let asks: Vec<(&str, u64)> = options
        .threads
        .iter()
        .flat_map(|&threads| subjects.iter().map(move |subject| (subject.name, threads)))
        .collect();
    let mut samples = Samples::default();
    // In the order of the numbers asked for; what was reached is in the name.
    let mut cases: Vec<Vec<String>> = vec![Vec::new(); options.threads.len()];
    let questions = asks.iter().map(|&(subject, threads)| {
        Ask::of(&ScaleAsk {
            subject: subject.into(),
            threads,
            calls: options.calls,
        })
    });
    once::in_turn(
        &options.program,
        "bench scale",
        &questions.collect::<Vec<_>>(),
        (options.rounds, options.seed),
        control,
        |place, figures| {
            let names = &mut cases[place / subjects.len()];
            for figure in &figures {
                if !names.contains(&figure.case) {
                    names.push(figure.case.clone());
                }
            }
            samples.add(asks[place].0, figures);
        },
    )?;
    let mut report = Report::new("bench scale", options.seed);
    describe(&mut report, options);
    let names = samples::distinct(cases.into_iter().flatten());
    let subjects: Vec<&str> = subjects.iter().map(|subject| subject.name).collect();
    report.rows = samples.rows(&subjects, &names);
    Ok(report)
}

fn describe(report: &mut Report, options: &ScaleOptions) {
    report.option("compare", options.compare);
    report.option("threads", options.threads.clone());
    report.option("rounds", options.rounds);
    report.option("calls", options.calls);
    report.option("clock_ns", crate::measure::clock::clock_pair_ns());
    report.option(
        "method",
        "a fresh process a number of threads, subject and round, in turn, order rotated; the caller is one \
         of the threads, the others have read once and sleep outside any section; latency of one call, clock \
         included; cpu_ns of all threads of the process; register and exit: thread CPU, mean over the \
         threads; bytes: growth of anonymous memory by smaps_rollup, a thread, in pages (rounding is all \
         there is for few threads); retirer_bytes comes on top",
    );
    subjects::note(report, options.compare);
}

/// The tables: title, metric, how many units of the metric are one of the table's.
const TABLES: [(&str, &str, f64); 12] = [
    ("Latency of a grace period, us", "latency_us", 1.0),
    (
        "99th percentile of a process's grace periods, us",
        "latency_us_p99",
        1.0,
    ),
    ("CPU us a grace period, all threads", "cpu_ns", 1_000.0),
    ("Scans over readers a grace period", "scans", 1.0),
    (
        "Groups of 64 threads looked at, a grace period",
        "leaves",
        1.0,
    ),
    ("Steps of the engine a grace period", "steps", 1.0),
    ("Process-wide fences a grace period", "fences", 1.0),
    (
        "Registration and first section, CPU ns a thread",
        "register_cpu_ns",
        1.0,
    ),
    ("Exit, CPU ns a thread", "exit_cpu_ns", 1.0),
    (
        "Exit with something queued, CPU ns a thread",
        "exit_retired_cpu_ns",
        1.0,
    ),
    (
        "Memory that a thread adds which reads, bytes",
        "reader_bytes",
        1.0,
    ),
    (
        "and once it has retired something, bytes on top",
        "retirer_bytes",
        1.0,
    ),
];

/// The report as text.
pub fn text(report: &Report) -> String {
    let mut text = String::from(
        "Registered threads, all but the caller asleep: median [min..max] over rounds, a process each\n",
    );
    for (title, metric, scale) in TABLES {
        let table = cases::of_cases(report, metric, scale, |_| true);
        if !table.is_empty() {
            text += &format!("\n{title}\n\n{}", table.fitted());
        }
    }
    let mut short: Vec<&str> = report.rows.iter().map(|row| row.case.as_str()).collect();
    short.retain(|case| case.contains("(reached "));
    short.dedup();
    for case in short {
        text += &format!(
            "\n{case}: the system refused the others; raise the limit (ulimit -u, pids.max of the cgroup, \
             /proc/sys/kernel/threads-max, vm.max_map_count) or give fewer --threads\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::fixture::nonsense;
    use quiescent_report::Row;

    #[test]
    fn nothing_to_do_is_a_usage_error() {
        for (threads, rounds, calls) in [
            (vec![], 1, 1),
            (vec![1], 0, 1),
            (vec![1], 1, 0),
            (vec![1, 0], 1, 1),
            (vec![1 << 40], 1, 1),
        ] {
            let options = ScaleOptions {
                threads,
                rounds,
                calls,
                ..ScaleOptions::new("true".into())
            };
            nonsense(|control| run(&options, control));
        }
    }

    #[test]
    fn refused_threads_are_said() {
        let mut report = Report::new("bench scale", 1);
        for case in ["10 threads", "5000 threads (reached 17: no room)"] {
            let row = Row::single("quiescent", case, "latency_us", "us", 7.5);
            report.rows.extend(row);
        }
        let text = text(&report);
        assert!(
            text.contains("reached 17: no room): the system refused"),
            "{text}"
        );
        assert!(!text.contains("CPU ns"), "no table without rows: {text}");
        assert_eq!(
            (case_name(1), case_name(2)),
            ("1 thread".into(), "2 threads".into())
        );
    }
}
