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
use crate::reproduce::published::{self, Experiment, Run};
use quiescent_bench::cases::sync::{EXTREMES, SYNC, SyncCase};
use quiescent_report::rows::host;
use quiescent_report::text::Table;
use quiescent_report::{Control, Error, OURS, Row};
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
    /// The columns of the text, in order.
    pub columns: Vec<Column>,
    /// This machine's kernel with the model's prediction beside it; `None` where it could not be measured.
    pub kernel: Option<Beside>,
    /// All rows, including the predecessor's.
    pub rows: Vec<Row>,
    /// Parts that could not be measured, and other remarks.
    pub notes: Vec<String>,
}

/// One column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its head.
    pub head: String,
    /// Its guarantee.
    pub what: String,
    /// Its runs.
    pub runs: Vec<Run>,
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
    benchmark.published(EXPERIMENT, "init", &published, true);
    let forerunner = published::experiment(FORERUNNER)?;
    benchmark.published(FORERUNNER, "scan", &forerunner, false);
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
        let mut what =
            "measured; waits for every CPU, and contains the kernel's pauses between scans"
                .to_string();
        if let Some(why) = &found.at_once {
            what = format!("measured, but NO grace period: {why}");
            self.notes.push(format!("kernel: {why}"));
        }
        let latencies: Vec<Vec<f64>> = found
            .runs
            .iter()
            .map(|run| run.iter().map(|call| call.us).collect())
            .collect();
        self.note_fewer_calls(&latencies);
        let case = format!("{EXPERIMENT} MEMBARRIER_CMD_GLOBAL");
        self.add("kernel", &case, "kernel here", &what, of_us(&latencies));
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
        let mut runs = SyncCase::ALL.map(|_| Vec::new());
        for _ in 0..self.runs {
            let report = SYNC.measure(&given, control)?;
            for (case, runs) in SyncCase::ALL.iter().zip(&mut runs) {
                let ms = |metric| Some(report.median(OURS, case.name(), metric)? / 1_000.0);
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
        for (name, runs) in SyncCase::ALL.map(SyncCase::name).into_iter().zip(runs) {
            let case = format!("{EXPERIMENT} {name}");
            let head = format!("{OURS}, {name}");
            let what = "measured; waits for the readers of one process";
            self.add(OURS, &case, &head, what, runs);
        }
        Ok(())
    }

    fn published(&mut self, name: &str, on: &str, experiment: &Experiment, shown: bool) {
        for (setting, runs) in [("off", &experiment.baseline), (on, &experiment.early_qs)] {
            let case = format!("{name} early_qs={setting}");
            if shown {
                let head = format!("published, early_qs={setting}");
                let what = "published; the kernel on another machine (32 CPUs, HZ=1000, idle)";
                self.add("published", &case, &head, what, runs.clone());
            } else {
                self.rows.extend(published::rows("published", &case, runs));
            }
        }
    }

    fn add(&mut self, subject: &str, case: &str, head: &str, what: &str, runs: Vec<Run>) {
        self.rows.extend(published::rows(subject, case, &runs));
        if !runs.is_empty() {
            self.columns.push(Column {
                head: head.into(),
                what: what.into(),
                runs,
            });
        }
    }
}

fn of_us(runs: &[Vec<f64>]) -> Vec<Run> {
    runs.iter().filter_map(|run| Run::of_us(run)).collect()
}

/// The benchmark as text.
pub fn text(benchmark: &Benchmark) -> String {
    let mut text = format!(
        "The synchronize benchmark: {} calls a run; mean / min / max of each run. These are different \
         guarantees:\n",
        benchmark.calls
    );
    for column in &benchmark.columns {
        text += &format!("  {}: {}\n", column.head, column.what);
    }
    text.push('\n');
    text += &table(&benchmark.columns).fitted();
    if let Some(kernel) = &benchmark.kernel {
        let predicted = show::predicted(kernel, usize::MAX);
        text += &format!(
            "\nThe kernel here: {predicted}`quiescent kernel bench` shows the read and assumed facts.\n"
        );
    }
    text
}

/// A line for each run, then one for all runs; each column in a suitable unit.
fn table(columns: &[Column]) -> Table {
    let units: Vec<(f64, &str)> = columns.iter().map(|column| unit(&column.runs)).collect();
    let heads = columns.iter().zip(&units);
    let heads: Vec<String> = heads
        .map(|(column, unit)| format!("{}, {}", column.head, unit.1))
        .collect();
    let head: Vec<&str> = std::iter::once("run")
        .chain(heads.iter().map(String::as_str))
        .collect();
    let mut table = Table::new(&head, 1);
    let longest = columns
        .iter()
        .map(|column| column.runs.len())
        .max()
        .unwrap_or(0);
    let cell = |run: Option<&Run>, scale: f64| {
        run.map_or(String::new(), |run| {
            let [mean, min, max] = [run.mean_ms, run.min_ms, run.max_ms].map(|ms| ms * scale);
            format!("{mean:.3} / {min:.3} / {max:.3}")
        })
    };
    for index in 0..longest {
        let cells = columns.iter().zip(&units);
        let cells = cells.map(|(column, unit)| cell(column.runs.get(index), unit.0));
        table.row(std::iter::once((index + 1).to_string()).chain(cells));
    }
    let cells = columns.iter().zip(&units);
    let cells = cells.map(|(column, unit)| cell(all_runs(&column.runs).as_ref(), unit.0));
    table.row(std::iter::once("all".to_string()).chain(cells));
    table
}

/// The figures over all runs (they have equally many calls).
pub(crate) fn all_runs(runs: &[Run]) -> Option<Run> {
    let of = |f: fn(&Run) -> f64| runs.iter().map(f).collect::<Vec<f64>>();
    Some(Run {
        mean_ms: quiescent_report::rows::stats::mean(&of(|run| run.mean_ms))?,
        min_ms: quiescent_report::rows::stats::summary(&of(|run| run.min_ms))?.min,
        max_ms: quiescent_report::rows::stats::summary(&of(|run| run.max_ms))?.max,
    })
}

/// Milliseconds, or µs where ms would begin with zeros: the factor and the name.
fn unit(runs: &[Run]) -> (f64, &'static str) {
    match all_runs(runs) {
        Some(all) if all.mean_ms < 0.1 => (1_000.0, "us"),
        _ => (1.0, "ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn side_by_side_and_labelled() {
        let run = |mean_ms| Run {
            mean_ms,
            min_ms: mean_ms / 2.0,
            max_ms: mean_ms * 2.0,
        };
        let mut benchmark = Benchmark::default();
        let ours = vec![run(0.004), run(0.002)];
        benchmark.add("quiescent", "x sole thread", "ours", "one process", ours);
        benchmark.add("kernel", "x", "kernel here", "every CPU", vec![run(8.0)]);
        benchmark.add("kernel", "x", "nothing measured", "", Vec::new());
        let text = text(&benchmark);
        for words in [
            "ours: one process",
            "kernel here: every CPU",
            "ours, us",
            "kernel here, ms",
            "4.000 / 2.000 / 8.000",
            "8.000 / 4.000 / 16.000",
        ] {
            assert!(text.contains(words), "no `{words}` in {text}");
        }
        let all = text.lines().last().unwrap();
        assert!(
            all.starts_with("all") && all.contains("3.000 / 1.000 / 8.000"),
            "{all}"
        );
        assert_eq!(benchmark.columns.len(), 2);
    }

    #[test]
    fn published_rows_without_a_column_for_the_forerunner() {
        let mut benchmark = Benchmark::default();
        for (name, shown) in [(EXPERIMENT, true), (FORERUNNER, false)] {
            let experiment = published::experiment(name).unwrap();
            benchmark.published(name, "on", &experiment, shown);
        }
        assert_eq!(benchmark.columns.len(), 2);
        let cases = |name| {
            benchmark
                .rows
                .iter()
                .filter(|row| row.case.starts_with(name))
                .count()
        };
        // Two settings, three metrics, each over the runs and for each run.
        assert_eq!(cases(EXPERIMENT), 2 * 3 * (10 + 1));
        assert_eq!(cases(FORERUNNER), 2 * 3 * (6 + 1));
    }
}
