//! Figures of one case, as they are found.

use crate::measure::process;
use hdrhistogram::Histogram;
use quiescent_report::rows::{Figure, stats};

/// The figures.
#[derive(Debug)]
pub struct Figures {
    case: String,
    /// Those found so far.
    pub all: Vec<Figure>,
}

impl Figures {
    /// None yet, of this case.
    pub fn of(case: impl Into<String>) -> Self {
        Figures {
            case: case.into(),
            all: Vec::new(),
        }
    }

    /// One more, where it is known.
    pub fn add(&mut self, metric: &str, unit: &str, value: impl Into<Option<f64>>) {
        let figure = |value| Figure::new(&self.case, metric, unit, value);
        self.all.extend(value.into().map(figure));
    }

    /// One more that is a whole number.
    pub fn count(&mut self, metric: &str, unit: &str, value: u64) {
        self.add(metric, unit, value as f64);
    }

    /// What was counted in between, each in a unit of its own name.
    pub fn counted<const N: usize>(&mut self, names: [&str; N], now: [u64; N], before: [u64; N]) {
        for (name, change) in names.into_iter().zip(change(now, before)) {
            self.count(name, name, change);
        }
    }

    /// These percentiles of some times; none where there are no times.
    pub fn percentiles(&mut self, unit: &str, times: &[f64], wanted: &[(&str, f64)]) {
        for (metric, percent) in wanted {
            self.add(metric, unit, stats::percentile(times, *percent));
        }
    }

    /// These quantiles of a histogram, in units of so many; none where it is empty.
    pub fn quantiles(
        &mut self,
        (unit, scale): (&str, f64),
        times: &Histogram<u64>,
        wanted: [(&str, f64); 3],
    ) {
        for (metric, quantile) in wanted.into_iter().filter(|_| !times.is_empty()) {
            self.add(
                metric,
                unit,
                times.value_at_quantile(quantile) as f64 / scale,
            );
        }
    }

    /// The most memory that was ever resident.
    pub fn peak(&mut self) {
        let peak = process::peak_rss_bytes();
        self.add("peak_rss_bytes", "bytes", peak.map(|bytes| bytes as f64));
    }

    /// The same, beside that before anything was measured.
    pub fn peak_since(&mut self, start: Option<u64>) {
        self.peak();
        self.add("start_rss_bytes", "bytes", start.map(|bytes| bytes as f64));
    }
}

/// What was counted between `before` and now.
pub fn change<const N: usize>(now: [u64; N], before: [u64; N]) -> [u64; N] {
    std::array::from_fn(|at| now[at].saturating_sub(before[at]))
}
