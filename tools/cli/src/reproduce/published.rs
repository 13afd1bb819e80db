//! The published synchronize benchmark, shown beside the measurements.
//!
//! The figures are data (`data/published-figures.json`, with their sources), never code: other machines,
//! other kernels. They are printed as `published`; no comparison treats them as measured.

use quiescent_report::{Error, Row};
use serde::Deserialize;
use serde_json::Value;

const FIGURES: &str = include_str!("../../../../data/published-figures.json");

/// One run of a published experiment.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Run {
    /// Mean latency, ms.
    pub mean_ms: f64,
    /// Smallest, ms.
    pub min_ms: f64,
    /// Largest, ms.
    pub max_ms: f64,
}

impl Run {
    /// A run from latencies in µs; `None` when there is none.
    pub fn of_us(latencies: &[f64]) -> Option<Self> {
        let summary = quiescent_report::rows::stats::summary(latencies)?;
        Some(Run {
            mean_ms: quiescent_report::rows::stats::mean(latencies)? / 1_000.0,
            min_ms: summary.min / 1_000.0,
            max_ms: summary.max / 1_000.0,
        })
    }
}

/// A synchronize experiment: runs of so many calls, before and after the early report.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Experiment {
    /// Its description.
    pub title: String,
    /// Calls in each run.
    pub calls_per_run: u64,
    /// Number of runs.
    pub runs: u64,
    /// Without the early report.
    pub baseline: Vec<Run>,
    /// With it.
    pub early_qs: Vec<Run>,
    /// Facts that the publication does not contain.
    pub unknown: Vec<String>,
}

/// The experiment with this name, such as `early-qs-v2`.
///
/// # Errors
/// [`Error::Failed`] when the data has no such experiment or another shape; it names the experiment.
pub fn experiment(name: &str) -> Result<Experiment, Error> {
    let failed = |why| {
        let remedy = "the file is part of the program: build from a clean checkout";
        let place = format!("published-figures.json, experiment `{name}`");
        Error::failed(place, why, remedy)
    };
    let file: Value = serde_json::from_str(FIGURES).map_err(failed)?;
    serde_json::from_value(file["experiments"][name].clone()).map_err(failed)
}

/// What each run has.
pub const METRICS: [&str; 3] = ["latency_us_mean", "latency_us_min", "latency_us_max"];

/// The rows of some runs: mean, smallest and largest latency, over the runs; and each run by itself.
pub fn rows(subject: &str, case: &str, runs: &[Run]) -> Vec<Row> {
    let mut rows = Vec::new();
    let figures: [fn(&Run) -> f64; 3] = [|it| it.mean_ms, |it| it.min_ms, |it| it.max_ms];
    for (metric, ms) in METRICS.into_iter().zip(figures) {
        let us: Vec<f64> = runs.iter().map(|run| ms(run) * 1_000.0).collect();
        rows.extend(Row::of(subject, case, metric, "us", &us));
        for (index, value) in us.iter().enumerate() {
            let case = format!("{case} run {}", index + 1);
            rows.extend(Row::single(subject, &case, metric, "us", *value));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_synchronize_benchmarks_are_there() {
        for (name, runs) in [("early-qs-v2", 10), ("early-qs-rfc", 6)] {
            let experiment = experiment(name).unwrap();
            assert_eq!((experiment.runs, experiment.calls_per_run), (runs, 100));
            for side in [&experiment.baseline, &experiment.early_qs] {
                assert_eq!(side.len() as u64, runs);
                for run in side {
                    assert!(
                        run.min_ms <= run.mean_ms && run.mean_ms <= run.max_ms,
                        "{run:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn unknown_experiments_are_named() {
        let error = experiment("late-qs").unwrap_err().to_string();
        assert!(error.contains("late-qs"), "{error}");
    }

    #[test]
    fn rows_over_runs_and_of_each_run() {
        let runs = [
            Run::of_us(&[1_000.0, 3_000.0]).unwrap(),
            Run::of_us(&[4_000.0]).unwrap(),
        ];
        let rows = rows("kernel", "x", &runs);
        assert_eq!(rows.len(), 3 * 3);
        assert_eq!((rows[0].min, rows[0].max, rows[0].n), (2_000.0, 4_000.0, 2));
        assert_eq!((rows[1].case.as_str(), rows[1].n), ("x run 1", 1));
        assert_eq!(Run::of_us(&[]), None);
    }
}
