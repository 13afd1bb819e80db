//! `bench pressure`: how long it takes, when memory is low, until the first of what is held is freed, and the
//! last.
//!
//! Threads retire objects lazily, fewer than a batch each, and go quiet; the flush time is an hour. Then the
//! main thread reports low memory. The measured time is from that call to the first destructor and to the
//! last, on the wall clock: the wake-up of the worker, one process-wide fence, a grace period, the objects
//! before. It is an upper bound of the time after the worker's `epoll_wait` has returned, for any source of
//! the report. The guide has the delays of the *kernel*'s reports, source by source; this program does not
//! measure them.
//!
//! Only for quiescent: no other library here reacts to low memory. A process a case and round.

pub mod child;

use crate::measure::once::{self, Ask};
use child::PressureAsk;
use quiescent_report::OURS;
use quiescent_report::text::cases;
use quiescent_report::{Control, Error, Report};
use std::path::PathBuf;

/// Threads that hold objects, a case each.
pub const HOLDERS: [u64; 2] = [1, 8];

/// Objects a thread holds at most: more would be a batch, and not wait.
pub const MOST_OBJECTS: u64 = 1_000;

/// The name of a case with so many holders.
pub fn case_name(holders: u64) -> String {
    format!("held by {holders}")
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct PressureOptions {
    /// The program that can [`crate::measure::once::serve`]: this program itself.
    pub program: PathBuf,
    /// Rounds.
    pub rounds: u64,
    /// Objects a thread holds, 1..=[`MOST_OBJECTS`].
    pub objects: u64,
    /// Printed with the results; there is nothing to rotate.
    pub seed: u64,
}

impl PressureOptions {
    /// The usual measurement, by `program`.
    pub fn new(program: PathBuf) -> Self {
        PressureOptions {
            program,
            rounds: 30,
            objects: MOST_OBJECTS,
            seed: 1,
        }
    }
}

/// Measures and reports. When stopped, the report has what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for counts that make no sense, [`Error::Failed`] when a measuring process cannot be
/// started, dies or hangs.
pub fn run(options: &PressureOptions, control: Control<'_>) -> Result<Report, Error> {
    if options.rounds == 0 {
        let text = "0 rounds measure nothing: give 10 rounds or more";
        return Err(Error::Usage(text.into()));
    }
    if !(1..=MOST_OBJECTS).contains(&options.objects) {
        let text = format!(
            "{} objects: give 1 to {MOST_OBJECTS}; more make a batch, which does not wait",
            options.objects
        );
        return Err(Error::Usage(text));
    }
    let objects = options.objects;
    let asks = HOLDERS.map(|holders| (OURS, Ask::of(&PressureAsk { holders, objects })));
    let rounds = (options.rounds, options.seed);
    let samples = once::sampled(
        &options.program,
        "bench pressure",
        asks.to_vec(),
        rounds,
        control,
    )?;
    let mut report = Report::new("bench pressure", options.seed);
    report.option("rounds", options.rounds);
    report.option("objects", options.objects);
    report.option(
        "method",
        "a fresh process a case and round; objects with destructors, held by quiet threads, flush time an \
         hour; wall-clock time from memory_is_low() to the first and to the last destructor, the worker's \
         wake-up included",
    );
    let cases = HOLDERS.map(case_name);
    report.rows = samples.rows(&[OURS], &cases);
    Ok(report)
}

/// The report as text.
pub fn text(report: &Report) -> String {
    let mut text = String::from(
        "When memory is low: median [min..max] over rounds, a process each. Wall-clock us from \
         memory_is_low()\n",
    );
    for (title, metric) in [
        ("To the first object freed", "first_free_us"),
        ("To the last one", "last_free_us"),
    ] {
        text += &cases::by_case(report, metric).titled(title);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::fixture::nonsense;

    #[test]
    fn what_makes_no_sense_is_a_usage_error() {
        for (rounds, objects) in [(0, 1), (1, 0), (1, MOST_OBJECTS + 1)] {
            let options = PressureOptions {
                rounds,
                objects,
                ..PressureOptions::new("true".into())
            };
            nonsense(|control| run(&options, control));
        }
    }

    #[test]
    fn a_process_that_says_nothing_is_an_error() {
        let mut options = PressureOptions::new("true".into());
        (options.rounds, options.objects) = (1, 1);
        let error = run(&options, Control::none()).unwrap_err().to_string();
        assert!(error.contains("memory pressure"), "{error}");
    }
}
