//! Figures that measuring processes return, and the rows made of them.
//!
//! A process that measures once and ends (`bench retire`, `bench mixed`) prints its figures as one line of
//! JSON. The parent collects the figures of all rounds: a row is the median and the range over the rounds.

use crate::Row;
use serde::{Deserialize, Serialize};

/// One figure of one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The case of the row.
    pub case: String,
    /// The metric of the row.
    pub metric: String,
    /// The unit, as a text.
    pub unit: String,
    /// The figure.
    pub value: f64,
}

impl Figure {
    /// A figure.
    pub fn new(case: &str, metric: &str, unit: &str, value: f64) -> Self {
        Figure {
            case: case.into(),
            metric: metric.into(),
            unit: unit.into(),
            value,
        }
    }
}

/// Figures of many processes, a series for each subject, case and metric.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<Series>);

#[derive(Debug, Clone)]
struct Series {
    subject: String,
    first: Figure,
    values: Vec<f64>,
}

impl Samples {
    /// Adds the figures that a process of `subject` returned.
    pub fn add(&mut self, subject: &str, figures: Vec<Figure>) {
        for figure in figures {
            let known = self.0.iter_mut().find(|series| {
                let same = &series.first;
                series.subject == subject
                    && same.case == figure.case
                    && same.metric == figure.metric
            });
            match known {
                Some(series) => series.values.push(figure.value),
                None => self.0.push(Series {
                    subject: subject.into(),
                    values: vec![figure.value],
                    first: figure,
                }),
            }
        }
    }

    /// The rows: cases in the order of `cases`, in each the subjects in the order of `subjects`, whatever the
    /// rotation of the first round was. A case is followed by its details (`CASE, thread NAME`).
    pub fn rows(&self, subjects: &[&str], cases: &[impl AsRef<str>]) -> Vec<Row> {
        let mut rows = Vec::new();
        for case in self.with_threads(cases) {
            for subject in subjects {
                let of_both =
                    |series: &&Series| series.subject == *subject && series.first.case == case;
                rows.extend(self.0.iter().filter(of_both).filter_map(|series| {
                    let Figure { metric, unit, .. } = &series.first;
                    Row::of(subject, case, metric, unit, &series.values)
                }));
            }
        }
        rows
    }

    /// Each of these cases, and after it those of its threads.
    fn with_threads<'a>(&'a self, cases: &'a [impl AsRef<str>]) -> Vec<&'a str> {
        let of_threads = |case: &'a str| {
            let threads = format!("{case}, thread ");
            let all = self.0.iter().map(|series| series.first.case.as_str());
            std::iter::once(case).chain(all.filter(move |it| it.starts_with(&threads)))
        };
        distinct(cases.iter().map(AsRef::as_ref).flat_map(of_threads))
    }
}

/// Each once, in the order of their first appearance.
pub fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for it in all {
        if !distinct.contains(&it) {
            distinct.push(it);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_over_rounds_and_in_order() {
        let mut samples = Samples::default();
        for (subject, case, value) in [("b", "two", 1.0), ("a", "one", 5.0), ("b", "two", 3.0)] {
            samples.add(subject, vec![Figure::new(case, "cpu_ns", "ns", value)]);
        }
        let rows = samples.rows(&["a", "b"], &["one", "two"]);
        let seen: Vec<_> = rows
            .iter()
            .map(|row| (row.subject.as_str(), row.case.as_str(), row.n, row.median))
            .collect();
        assert_eq!(seen, [("a", "one", 1, 5.0), ("b", "two", 2, 2.0)]);
        assert!(samples.rows(&["c"], &["one"]).is_empty());
    }
}
