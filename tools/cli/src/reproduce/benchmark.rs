//! The published synchronize benchmark, repeated: 100 calls a run, 10 runs; mean, smallest and largest of
//! each run.
//!
//! On this machine's kernel, on this library in each case of `bench sync`, and as published. These are
//! *different guarantees*, and every column names its own: a kernel grace period waits for every CPU and
//! contains the kernel's own pauses between scans; the library's waits for the readers of one process; the
//! published figures are another machine's.

use crate::kernel::beside::{self, Beside, KernelOptions};
use crate::kernel::show;
use crate::reproduce::ReproduceOptions;
use crate::reproduce::published::{self, Experiment, METRICS, Run};
use quiescent_bench::cases::sync::{CASES, EXTREMES, SYNC};
use quiescent_report::rows::host;
use quiescent_report::text::cases::{Column, of_metrics};
use quiescent_report::text::folded;
use quiescent_report::{Control, Error, OURS, Report, Row};
use std::time::Duration;

/// The experiment whose benchmark is repeated.
const EXPERIMENT: &str = "early-qs-v2";
/// Its predecessor, in the rows only.
const FORERUNNER: &str = "early-qs-rfc";
/// The time limit of the kernel's grace periods: 1000 of them take 8 ms each, or 16.
const KERNEL_BUDGET: Duration = Duration::from_secs(20);

/// The benchmark, as far as it was run.
#[derive(Debug, Clone, Default)]
pub struct Benchmark {
    /// Calls a run.
    pub calls: u64,
    /// Runs.
    pub runs: u64,
    /// This machine's kernel with the model's prediction beside it; `None` where it could not be measured.
    pub kernel: Option<Beside>,
    /// All rows, including the predecessor's.
    pub rows: Vec<Row>,
    /// Parts that could not be measured, and other remarks.
    pub notes: Vec<String>,
}

/// Runs it: `quick` is a tenth of the calls and three runs. When stopped, returns what was measured until
/// then.
///
/// # Errors
/// [`Error::Failed`] when a measuring process cannot be started.
pub fn run(options: &ReproduceOptions, control: Control<'_>) -> Result<Benchmark, Error> {
    let published = published::experiment(EXPERIMENT)?;
    let mut benchmark = Benchmark {
        runs: if options.quick { 3 } else { published.runs },
        calls: published.calls_per_run / if options.quick { 10 } else { 1 },
        ..Benchmark::default()
    };
    benchmark.kernel(options.seed, control);
    benchmark.ours(options, control)?;
    benchmark.published(EXPERIMENT, "init", &published);
    benchmark.published(FORERUNNER, "scan", &published::experiment(FORERUNNER)?);
    Ok(benchmark)
}

impl Benchmark {
    fn kernel(&mut self, seed: u64, control: Control<'_>) {
        if host::first_line("/sys/kernel/rcu_expedited").is_some_and(|set| set != "0") {
            let note =
                "kernel: /sys/kernel/rcu_expedited is set: these are expedited grace periods";
            self.notes.push(note.into());
        }
        let wanted = KernelOptions {
            calls: self.calls,
            seed,
            ..KernelOptions::default()
        };
        let found = match beside::beside(&wanted, self.runs, KERNEL_BUDGET, control) {
            Ok(found) => found,
            Err(why) => return self.notes.push(format!("kernel: {why}")),
        };
        if let Some(why) = &found.at_once {
            self.notes.push(format!("kernel: NO grace period: {why}"));
        }
        let latencies: Vec<Vec<f64>> = found
            .runs
            .iter()
            .map(|run| run.iter().map(|call| call.us).collect())
            .collect();
        self.note_fewer_calls(&latencies);
        let case = format!("{EXPERIMENT} MEMBARRIER_CMD_GLOBAL");
        self.add("kernel", &case, &latencies);
        self.rows.extend(found.rows(&case));
        self.kernel = Some(found);
    }

    fn note_fewer_calls(&mut self, latencies: &[Vec<f64>]) {
        let fewest = latencies.iter().map(Vec::len).min().unwrap_or(0) as u64;
        if fewest < self.calls {
            self.notes.push(format!(
                "kernel: {fewest} calls a run instead of {}: its grace periods are slow here, or the run was \
                 stopped",
                self.calls
            ));
        }
    }

    fn ours(&mut self, options: &ReproduceOptions, control: Control<'_>) -> Result<(), Error> {
        let mut given = SYNC.usual(options.program.clone()).with("extremes", 1);
        given.seed = options.seed;
        given.only = vec![OURS.into()];
        given = given.with("rounds", 1).with("calls", self.calls);
        let mut runs = CASES.map(|_| Vec::new());
        for _ in 0..self.runs {
            let report = SYNC.measure(&given, control)?;
            for (case, runs) in CASES.iter().zip(&mut runs) {
                let ms = |metric| Some(report.median(OURS, case, metric)? / 1_000.0);
                if let [Some(mean_ms), Some(min_ms), Some(max_ms)] = EXTREMES.map(ms) {
                    runs.push(Run {
                        mean_ms,
                        min_ms,
                        max_ms,
                    });
                }
            }
            given.seed += 1;
        }
        for (case, runs) in CASES.iter().zip(runs) {
            let case = format!("{EXPERIMENT} {case}");
            self.rows.extend(published::rows(OURS, &case, &runs));
        }
        Ok(())
    }

    fn published(&mut self, name: &str, on: &str, experiment: &Experiment) {
        for (setting, runs) in [("off", &experiment.baseline), (on, &experiment.early_qs)] {
            let case = format!("{name} early_qs={setting}");
            self.rows.extend(published::rows("published", &case, runs));
        }
    }

    fn add(&mut self, subject: &str, case: &str, latencies: &[Vec<f64>]) {
        let runs: Vec<Run> = latencies.iter().filter_map(|run| Run::of_us(run)).collect();
        self.rows.extend(published::rows(subject, case, &runs));
    }
}

/// What the columns are, and whose figures they have.
const ABOUT: &str = "mean, min and max of each run, in us: the median of the runs, and their range. These \
                     are different guarantees: kernel: measured; waits for every CPU, and contains the \
                     kernel's pauses between scans; quiescent: measured; waits for the readers of one \
                     process; published: the kernel on another machine (32 CPUs, HZ=1000, idle)";

/// The benchmark as text; `report` has its rows.
pub fn text(benchmark: &Benchmark, report: &Report) -> String {
    let columns = ["mean", "min", "max"].into_iter().zip(METRICS);
    let columns: Vec<Column> = columns.map(|(head, metric)| Column(head, metric)).collect();
    let wanted = |case: &str| case.starts_with(EXPERIMENT) && !case.contains(" run ");
    let head = format!(
        "The synchronize benchmark: {} calls a run; {ABOUT}",
        benchmark.calls
    );
    let mut text = folded(&head, 100, 2) + "\n\n";
    text += &of_metrics(report, wanted, &columns).fitted();
    if let Some(kernel) = &benchmark.kernel {
        let predicted = show::predicted(kernel, usize::MAX) + &show::sentence(kernel) + "\n";
        text += &format!(
            "\nThe kernel here: {predicted}`quiescent kernel bench` shows the read and assumed facts.\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn side_by_side_and_labelled() {
        let mut benchmark = Benchmark::default();
        let ours = [vec![2.0, 6.0], vec![2.0]];
        benchmark.add("quiescent", "early-qs-v2 sole thread", &ours);
        benchmark.add("kernel", "early-qs-v2 x", &[vec![8_000.0]]);
        benchmark.add("kernel", "early-qs-v2 nothing", &[]);
        for name in [EXPERIMENT, FORERUNNER] {
            let experiment = published::experiment(name).unwrap();
            benchmark.published(name, "on", &experiment);
        }
        // Two settings, three metrics, each over the runs and for each run.
        let cases = |name: &str| {
            let rows = benchmark
                .rows
                .iter()
                .filter(|row| row.subject == "published");
            rows.filter(|row| row.case.starts_with(name)).count()
        };
        assert_eq!(cases(EXPERIMENT), 2 * 3 * (10 + 1));
        assert_eq!(cases(FORERUNNER), 2 * 3 * (6 + 1));
        let mut report = Report::new("reproduce", 1);
        report.rows = benchmark.rows.clone();
        let text = text(&benchmark, &report);
        for words in [
            "3.00 [2.00..4.00]",
            "4.00 [2.00..6.00]",
            "early-qs-v2 sole thread",
            "early-qs-v2 early_qs=off",
        ] {
            assert!(text.contains(words), "no {words} in {text}");
        }
        assert!(
            !text.contains("nothing") && !text.contains(FORERUNNER),
            "{text}"
        );
    }
}
