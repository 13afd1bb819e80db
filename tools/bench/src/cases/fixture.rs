//! For tests of cases: options that make no sense; for tests of targets: a report made of figures, and what
//! became of a target in it.

use quiescent_report::verdict::Target;
use quiescent_report::{Control, Error, Report, Row};

/// Wrong usage, which the error says.
pub fn nonsense(run: impl FnOnce(Control<'static>) -> Result<Report, Error>) {
    let error = run(Control::none()).unwrap_err();
    assert!(matches!(error, Error::Usage(_)), "{error}");
    assert!(error.to_string().contains("give"), "{error}");
}

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
