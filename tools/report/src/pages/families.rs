//! The figures of a report by families: a metric and its percentiles, with a table each.
//!
//! A family is a metric with its unit. Its table has each figure with a bar, its ratio to this project's, and
//! the range of its samples, which is the noise: a ratio between figures whose ranges overlap is marked with
//! `~`. Bars of one case have one scale; where only one subject was measured all cases have.

use super::html::{Cell, Table, escaped};
use crate::rows::MEBIBYTE;
use crate::rows::samples::distinct;
use crate::text::number::figure;
use crate::{OURS, Report, Row};

/// Tables with more rows are folded.
const OPEN: usize = 60;

/// A metric with its unit.
pub(super) struct Family<'a> {
    stem: &'a str,
    unit: &'a str,
    /// The rows of the metric that has bars: the first.
    main: Vec<&'a Row>,
    /// The other metrics.
    others: Vec<&'a str>,
    /// Their rows.
    rows: Vec<&'a Row>,
}

/// The families of a report, in the order in which they appear.
pub(super) fn families(report: &Report) -> Vec<Family<'_>> {
    let family = |(name, unit)| {
        let own = report.rows.iter();
        let own = own.filter(|row| stem(&row.metric) == name && row.unit == unit);
        let rows: Vec<&Row> = own.collect();
        let metrics = distinct(rows.iter().map(|row| row.metric.as_str()));
        let (main, others) = rows.iter().partition(|row| row.metric == metrics[0]);
        Family {
            stem: name,
            unit,
            main,
            others: metrics[1..].to_vec(),
            rows: others,
        }
    };
    let keys = report.rows.iter();
    let keys = keys.map(|row| (stem(&row.metric), row.unit.as_str()));
    distinct(keys).into_iter().map(family).collect()
}

impl<'a> Family<'a> {
    /// Heading and table.
    pub(super) fn render(&self) -> String {
        let most = self.main.iter().fold(0.0, |most: f64, it| most.max(it.max));
        let (unit, scale) = match self.unit {
            "bytes" if most >= MEBIBYTE => ("MiB", MEBIBYTE),
            other => (other, 1.0),
        };
        let title = format!("{}, {unit}", self.stem.replace('_', " "));
        let table = self.table(&title, scale);
        let body = match table.len() {
            few if few <= OPEN => table.render(),
            _ => table.folded("rows"),
        };
        format!("<h3>{}</h3>{body}", escaped(&title))
    }

    fn table(&self, title: &str, scale: f64) -> Table {
        let several = self.main.len() > 1;
        let ranges = self.main.iter().any(|it| it.n > 1);
        let compares = self.main.iter().any(|it| self.ours(it).is_some());
        let mut head = vec!["case", "subject"];
        head.extend(several.then_some(""));
        head.push(match self.main[0].metric.as_str() {
            same if same == self.stem && ranges => "median",
            same if same == self.stem => "figure",
            other => which(other, self.stem),
        });
        head.extend(compares.then_some("times ours"));
        if ranges {
            head.extend(["smallest", "largest", "range"]);
        }
        head.extend(self.others.iter().map(|it| which(it, self.stem)));
        let mut table = Table::new(title, &head);
        let value = |of: f64| Cell::figure(figure(of / scale));
        for row in by_case(&self.main) {
            let mut cells = vec![Cell::words(&row.case), Cell::words(&row.subject)];
            cells.extend(several.then(|| Cell::bar(self.length(row), row.subject == OURS)));
            cells.push(value(row.median));
            if compares {
                let times = self.ours(row).and_then(|ours| times(row, ours));
                cells.push(Cell::figure(times.unwrap_or_default()));
            }
            if ranges {
                let range = 100.0 * (row.max - row.min) / row.median;
                let range = Some(range).filter(|it| row.n > 1 && it.is_finite());
                let range = range.map_or("-".into(), |it| format!("{it:.0} %"));
                cells.extend([value(row.min), value(row.max), Cell::figure(range)]);
            }
            for metric in &self.others {
                let same = |it: &&&Row| {
                    it.metric == *metric && it.case == row.case && it.subject == row.subject
                };
                let same = self.rows.iter().find(same);
                cells.push(same.map_or_else(|| Cell::figure("-"), |it| value(it.median)));
            }
            table.row(cells);
        }
        table
    }

    /// This project's row of the same case; none for that row itself.
    fn ours(&self, row: &Row) -> Option<&'a Row> {
        let ours = |it: &&&Row| it.subject == OURS && it.case == row.case;
        let found = self.main.iter().find(ours).copied();
        found.filter(|_| row.subject != OURS)
    }

    /// The length of a bar: its share of the longest that it stands beside.
    fn length(&self, row: &Row) -> f64 {
        let alone = self.main.iter().all(|it| it.subject == row.subject);
        let beside = self.main.iter().filter(|it| alone || it.case == row.case);
        let longest = beside.fold(0.0, |most: f64, it| most.max(it.median));
        let length = Some(row.median / longest).filter(|it| it.is_finite());
        length.unwrap_or(0.0).clamp(0.0, 1.0)
    }
}

/// The ratio of two figures, as `×1.25`; `~×1.25` if their ranges overlap: another run may show the opposite.
fn times(row: &Row, ours: &Row) -> Option<String> {
    let overlap = row.min <= ours.max && ours.min <= row.max;
    let mark = if overlap { "~" } else { "" };
    let both = row.median > 0.0 && ours.median > 0.0;
    both.then(|| format!("{mark}×{}", figure(row.median / ours.median)))
}

/// Rows by case, and in the report's order within a case.
fn by_case<'a>(rows: &[&'a Row]) -> Vec<&'a Row> {
    let first = |case: &str| rows.iter().position(|it| it.case == case);
    let mut sorted = rows.to_vec();
    sorted.sort_by_cached_key(|it| first(&it.case));
    sorted
}

/// The metric that this one is a percentile or an extreme of; itself if it is none.
fn stem(metric: &str) -> &str {
    match metric.rsplit_once('_') {
        Some((stem, last)) if !stem.is_empty() && is_part(last) => stem,
        _ => metric,
    }
}

/// `p50`, `p99.9`, an extreme or a mean.
fn is_part(word: &str) -> bool {
    let digits = word.strip_prefix('p').unwrap_or_default();
    let percentile =
        !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    percentile || ["max", "min", "mean"].contains(&word)
}

/// The last word of a percentile or extreme, for the head of a column.
fn which<'a>(metric: &'a str, stem: &str) -> &'a str {
    let rest = metric.strip_prefix(stem).unwrap_or(metric);
    match rest.trim_start_matches('_') {
        "" => "figure",
        rest => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_belong_to_their_metric() {
        for (metric, of, word) in [
            ("latency_us_p99.9", "latency_us", "p99.9"),
            ("latency_us_max", "latency_us", "max"),
            ("latency_us", "latency_us", "figure"),
            ("wakeups_per_s", "wakeups_per_s", "figure"),
            ("p99", "p99", "figure"),
            ("_max", "_max", "figure"),
        ] {
            let found = (stem(metric), which(metric, stem(metric)));
            assert_eq!(found, (of, word), "{metric}");
        }
    }

    #[test]
    fn a_ratio_within_the_noise_is_marked() {
        let row = |samples: &[f64]| Row::of("x", "y", "z", "ns", samples).unwrap();
        let ours = row(&[1.75, 2.0, 2.25]);
        for (other, expected) in [
            (row(&[5.0]), Some("×2.50")),
            (row(&[2.0, 2.5, 3.0]), Some("~×1.25")),
            (row(&[0.0]), None),
        ] {
            assert_eq!(times(&other, &ours).as_deref(), expected);
        }
        assert_eq!(times(&ours, &row(&[0.0])), None);
    }
}
