//! `bench mixed`: reads beside updates.
//!
//! One thread (or [`MixedOptions::readers`]) enters a section, loads a pointer, reads, leaves, in a loop;
//! another makes an object, puts it in the place of the one before and retires that one. `read` is thread CPU
//! time a pair, the loop included: here the pointer and the object come from another processor each time,
//! which no bare loop shows. `update` is the rest of the process's CPU time an update, the library's own
//! threads and the final barrier included. Both have a rate by the clock on the wall, which depends on who
//! else wants the CPUs. A process a subject and round.

pub mod child;

use crate::deferral;
use crate::measure::once::{self, Ask};
use crate::subjects::pool::MOST_THREADS;
use child::MixedAsk;
use quiescent_report::rows::Samples;
use quiescent_report::text::cases;
use quiescent_report::{Control, Error, Report};
use std::path::PathBuf;

/// The case of the readers' rows.
pub const READ: &str = "read";
/// The case of the updater's rows.
pub const UPDATE: &str = "update";

/// The name of a case with so many readers: `read`, `read 2r`.
pub fn case_name(case: &str, readers: u64) -> String {
    match readers {
        1 => case.into(),
        more => format!("{case} {more}r"),
    }
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct MixedOptions {
    /// The program that can [`crate::measure::once::serve`]: this program itself.
    pub program: PathBuf,
    /// All subjects, not only quiescent's.
    pub compare: bool,
    /// Rounds.
    pub rounds: u64,
    /// How long a process measures, in ms.
    pub ms: u64,
    /// Threads that read, 1..=[`MOST_THREADS`].
    pub readers: u64,
    /// Where the rotation of subjects starts.
    pub seed: u64,
}

impl MixedOptions {
    /// The usual measurement, by `program`.
    pub fn new(program: PathBuf) -> Self {
        MixedOptions {
            program,
            compare: false,
            rounds: 7,
            ms: 300,
            readers: 1,
            seed: 1,
        }
    }
}

/// Measures and reports. When stopped, the report has what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for counts of 0 or too many readers, [`Error::Failed`] when a measuring process cannot be
/// started, dies or hangs.
pub fn run(options: &MixedOptions, control: Control<'_>) -> Result<Report, Error> {
    if options.rounds == 0 || options.ms == 0 {
        let text = "0 rounds or 0 ms measure nothing: give 3 rounds or more, 100 ms or more";
        return Err(Error::Usage(text.into()));
    }
    if !(1..=MOST_THREADS as u64).contains(&options.readers) {
        let text = format!("{} readers: give 1 to {MOST_THREADS}", options.readers);
        return Err(Error::Usage(text));
    }
    let mut subjects = deferral::selected(options.compare);
    subjects.retain(|subject| subject.beside.is_some());
    let asks: Vec<Ask> = subjects
        .iter()
        .map(|subject| {
            Ask::of(&MixedAsk {
                subject: subject.name.into(),
                readers: options.readers,
                ms: options.ms,
            })
        })
        .collect();
    let mut samples = Samples::default();
    let rounds = (options.rounds, options.seed);
    once::in_turn(
        &options.program,
        "bench mixed",
        &asks,
        rounds,
        control,
        |place, figures| samples.add(subjects[place].name, figures),
    )?;
    let mut report = Report::new("bench mixed", options.seed);
    describe(&mut report, options);
    let names: Vec<&str> = subjects.iter().map(|subject| subject.name).collect();
    let cases = [READ, UPDATE].map(|case| case_name(case, options.readers));
    report.rows = samples.rows(&names, &cases);
    Ok(report)
}

fn describe(report: &mut Report, options: &MixedOptions) {
    report.option("compare", options.compare);
    report.option("rounds", options.rounds);
    report.option("ms", options.ms);
    report.option("readers", options.readers);
    report.option(
        "method",
        "a fresh process a subject and round, in turn, order rotated; read: thread CPU of lock, load, read, unlock, the \
         loop included; update: malloc, replace, retire the old, CPU of all threads but the readers, the final barrier \
         included; rates by the wall clock",
    );
    deferral::note(report, options.compare);
}

/// The report as text.
pub fn text(report: &Report) -> String {
    let of = |case: &'static str| {
        move |name: &str| {
            name == case || name.strip_prefix(case).is_some_and(|r| r.starts_with(' '))
        }
    };
    let both = |name: &str| of(READ)(name) || of(UPDATE)(name);
    let mut text =
        String::from("Reads beside updates: median [min..max] over rounds, a process each\n");
    for (title, metric, scale) in [
        (
            "CPU ns: a read (the loop included); an update (all other threads)",
            "cpu_ns",
            1.0,
        ),
        ("Millions a second, by the wall clock", "ops_per_s", 1e6),
        (
            "Peak memory of the process, MiB",
            "peak_rss_bytes",
            (1 << 20) as f64,
        ),
    ] {
        let table = cases::of_cases(report, metric, scale, both);
        if !table.is_empty() {
            text += &format!("\n{title}\n\n{}", table.render());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_report::Row;
    use quiescent_report::Silent;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn nothing_to_do_is_a_usage_error() {
        let stop = AtomicBool::new(false);
        for (rounds, ms, readers) in [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 1 << 40)] {
            let options = MixedOptions {
                rounds,
                ms,
                readers,
                ..MixedOptions::new("true".into())
            };
            let error = run(&options, Control::new(&stop, &Silent)).unwrap_err();
            assert!(matches!(error, Error::Usage(_)), "{error}");
        }
    }

    #[test]
    fn tables_have_these_cases_only() {
        let mut report = Report::new("bench mixed", 1);
        for (case, value) in [
            ("read 2r", 1.5),
            ("update 2r", 70.0),
            ("reader looping", 9.9),
        ] {
            report
                .rows
                .extend(Row::single("ck", case, "cpu_ns", "ns", value));
        }
        let text = text(&report);
        assert!(text.contains("1.50") && text.contains("70.0"), "{text}");
        assert!(!text.contains("9.9") && !text.contains("memory"), "{text}");
    }
}
