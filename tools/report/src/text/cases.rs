//! Text tables made from the rows of a report: a subject a line, and cases or metrics as columns.

use super::Table;
use super::number::{short, spread};
use crate::rows::MEBIBYTE;
use crate::rows::samples::distinct;
use crate::{Report, Row};
use std::iter;

/// The rows of a report with this metric: a line for each subject, a column for each case, in the order of
/// their first appearance.
pub fn by_case(report: &Report, metric: &str) -> Table {
    of_cases(report, metric, 1.0, |_| true)
}

/// As [`by_case`], for the cases that `wanted` selects, in units of `scale`.
pub fn of_cases(report: &Report, metric: &str, scale: f64, wanted: impl Fn(&str) -> bool) -> Table {
    let wanted = |row: &&Row| row.metric == metric && wanted(&row.case);
    let rows = || report.rows.iter().filter(wanted);
    let subjects = distinct(rows().map(|it| it.subject.as_str()));
    let cases = distinct(rows().map(|it| it.case.as_str()));
    let mut table = Table::new(&[&["subject"], &cases[..]].concat(), 1);
    for subject in subjects {
        let cells = cases.iter();
        let cells = cells.map(|case| cell(report.find(subject, case, metric), scale));
        table.row(iter::once(subject.to_owned()).chain(cells));
    }
    table
}

/// A column of [`of_metrics`]: its head, and its metric.
#[derive(Debug, Clone, Copy)]
pub struct Column(pub &'static str, pub &'static str);

/// The rows of a report with the cases that `wanted` selects: a line for each subject and case, a column for
/// each metric. The case is left out where there is only one. Metrics in bytes are shown in MiB.
pub fn of_metrics(report: &Report, wanted: impl Fn(&str) -> bool, columns: &[Column]) -> Table {
    let shown = |row: &&Row| wanted(&row.case) && columns.iter().any(|it| it.1 == row.metric);
    let lines = report.rows.iter().filter(shown);
    let lines = distinct(lines.map(|row| [row.subject.as_str(), row.case.as_str()]));
    let words = 1 + usize::from(lines.iter().any(|line| line[1] != lines[0][1]));
    let heads: Vec<&str> = columns.iter().map(|it| it.0).collect();
    let mut table = Table::new(&[&["subject", "case"][..words], &heads].concat(), words);
    for line in lines {
        let [subject, case] = line;
        let cells = columns.iter().map(|Column(_, metric)| {
            let is_memory = metric.ends_with("_bytes");
            let scale = if is_memory { MEBIBYTE } else { 1.0 };
            cell(report.find(subject, case, metric), scale)
        });
        table.row(line[..words].iter().map(|it| it.to_string()).chain(cells));
    }
    table
}

/// Units of things that are counted one by one.
const COUNTS: [&str; 10] = [
    "calls",
    "wake-ups",
    "timers",
    "threads",
    "blocks",
    "grace_periods",
    "scans",
    "fences",
    "producers",
    "readers",
];

fn cell(row: Option<&Row>, scale: f64) -> String {
    let Some(row) = row else { return "-".into() };
    match row.n {
        1 if COUNTS.contains(&row.unit.as_str()) => format!("{}", row.median),
        1 => short(row.median / scale),
        _ => spread(row.median / scale, row.min / scale, row.max / scale),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_by_case() {
        let mut report = Report::new("bench read", 1);
        for (subject, case, samples) in [
            ("ours", "empty", &[1.0, 2.0, 4.0][..]),
            ("ck", "empty", &[17.0]),
            ("ck", "load", &[18.0]),
        ] {
            report
                .rows
                .extend(Row::of(subject, case, "cpu_ns", "ns/pair", samples));
        }
        let text = by_case(&report, "cpu_ns").render();
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| {
                line.split("  ")
                    .filter(|cell| !cell.is_empty())
                    .map(str::trim)
                    .collect()
            })
            .collect();
        assert_eq!(lines[0], ["subject", "empty", "load"]);
        assert_eq!(lines[2], ["ours", "2.00 [1.00..4.00]", "-"]);
        assert_eq!(lines[3], ["ck", "17.0", "18.0"]);
        let thousandth = of_cases(&report, "cpu_ns", 1000.0, |case| case == "load").render();
        assert_eq!(
            thousandth,
            "subject   load\n-------  -----\nck       0.018\n"
        );
    }
}
