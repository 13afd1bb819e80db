//! For tests: a report made of figures, and what became of a target in it.

use quiescent_report::verdict::Target;
use quiescent_report::{Report, Row};

/// A report of single values: subject, case, metric, value.
pub fn report(figures: &[(&str, &str, &str, f64)]) -> Report {
    let mut report = Report::new("reproduce", 1);
    for &(subject, case, metric, value) in figures {
        let row = Row::single(subject, case, metric, "unit", value);
        report.rows.extend(row);
    }
    report
}

/// The only target about this.
pub fn found<'a>(targets: &'a [Target], what: &str) -> &'a Target {
    let mut found = targets.iter().filter(|target| target.what.contains(what));
    let target = found
        .next()
        .unwrap_or_else(|| panic!("no target about `{what}`"));
    assert!(found.next().is_none(), "two targets about `{what}`");
    target
}

/// Whether it was met.
pub fn met(targets: &[Target], what: &str) -> Option<bool> {
    found(targets, what).met()
}
