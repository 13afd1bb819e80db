//! The results of an analysis as text: the quality of the trace, the tables, the notes.

use crate::arguments::trace::Trace;
use quiescent_report::text::{Table, folded, shortened};
use quiescent_trace::{About, Bounds, Findings, Table as Found};

/// The default number of rows of a table.
const ROWS: usize = 20;

/// The whole text, in lines of at most `width` columns where words and figures can be parted.
pub fn text(
    options: &Trace,
    kind: &str,
    findings: &Findings,
    remedies: Option<&Found>,
    stopped: bool,
    width: usize,
) -> String {
    let file = options.file.display().to_string();
    let room = width.saturating_sub(kind.chars().count() + 2);
    let mut text = folded(&headline(findings).unwrap_or_default(), width, 2);
    text += &format!("{}: {kind}\n", shortened(&file, room));
    text += &folded(&head(&findings.about), width, 2);
    let tables = findings.tables.iter().filter(|table| !table.is_empty());
    for table in tables.chain(remedies) {
        text += &format!("\n{}\n\n{}", table.title, rows(table, options.limit, width));
    }
    if !findings.notes.is_empty() {
        text.push('\n');
    }
    for note in &findings.notes {
        text += &folded(&format!("note: {note}\n"), width, 2);
    }
    if let (Some(path), None) = (&options.output, options.analysis.kind()) {
        text += &format!("\ntimeline: {}\n", path.display());
    }
    if stopped {
        text += "\nstopped: the trace was not read to its end\n";
    }
    text
}

/// What the summary says in one line.
fn headline(findings: &Findings) -> Option<String> {
    let table = findings.tables.first()?;
    let part = table.figure("(RCU)", "wakeups_pct")?;
    let figure = |metric| table.figure("(RCU)", metric);
    let rate = |value: f64| format!("{value:.*}", usize::from(value < 100.0));
    let per_s = match figure("wakeups_per_s") {
        Some(per_s) => format!("{} wake-ups/s", rate(per_s)),
        None => format!("{} wake-ups", figure("wakeups")?),
    };
    let mut text = format!("RCU: {per_s}, {part:.*} % of all", usize::from(part < 10.0));
    if let Some(ended) = figure("idle_ended_per_s") {
        text += &format!("; {} ended a CPU's idle period", rate(ended));
    }
    if let Some(all) = figure("all_ended_per_s") {
        text += &format!(", {} all CPUs'", rate(all));
    }
    Some(text + "\n")
}

/// The number of rows shown.
pub fn limit(asked: Option<u64>, otherwise: usize) -> usize {
    match asked {
        None => otherwise,
        Some(0) => usize::MAX,
        Some(n) => usize::try_from(n).unwrap_or(usize::MAX),
    }
}

/// The part that was read, and every doubt about it.
fn head(about: &About) -> String {
    let (start, end) = (about.window.start_ns, about.window.end_ns);
    let by = match about.window_by {
        Bounds::Given => "as requested",
        Bounds::Marks => "between the marks",
        Bounds::Whole => "the whole trace",
    };
    let window = match about.unitless {
        0 => format!(
            "{} s to {} s ({} s, {by})",
            seconds(start),
            seconds(end),
            seconds(end.saturating_sub(start))
        ),
        _ => format!("{start} to {end} of a clock without a unit ({by})"),
    };
    let mut text = format!("{} records, {} CPUs; {window}\n", about.records, about.cpus);
    if !about.buffers.is_empty() {
        let named = about
            .buffers
            .iter()
            .map(|buffer| match buffer.name.as_str() {
                "" => format!("the first one ({})", buffer.clock),
                name => format!("{name} ({})", buffer.clock),
            });
        text += &format!("buffers: {}\n", named.collect::<Vec<_>>().join(", "));
    }
    for doubt in &about.doubts {
        text += &format!("warning: {doubt}\n");
    }
    text
}

fn seconds(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1000)
}

fn rows(found: &Found, asked: Option<u64>, width: usize) -> String {
    let figures = found.columns.iter().map(|column| column.head);
    let head: Vec<&str> = found.labels.iter().copied().chain(figures).collect();
    let mut table = Table::new(&head, found.labels.len());
    let shown = limit(asked, ROWS);
    // The sums at the end are always shown.
    let sums = found
        .rows
        .iter()
        .rev()
        .take_while(|row| row.labels[0].starts_with('(') && row.labels[0] != "(others)")
        .count();
    let (lines, sums) = found.rows.split_at(found.rows.len() - sums);
    for line in lines.iter().take(shown).chain(sums) {
        let figures = found.columns.iter().zip(&line.figures);
        let figures = figures.map(|(column, figure)| {
            figure.map_or("-".to_owned(), |value| cell(column.unit, value))
        });
        table.row(line.labels.iter().cloned().chain(figures));
    }
    let mut text = table.within(width);
    if lines.len() > shown {
        text += &format!(
            "… {} more rows (--limit 0 shows all)\n",
            lines.len() - shown
        );
    }
    text
}

fn cell(unit: &str, value: f64) -> String {
    match unit {
        "count" if value.fract() == 0.0 => format!("{value:.0}"),
        "count" | "1/s" | "%" => format!("{value:.2}").replace("-0.00", "0.00"),
        "us" => format!("{value:.1}"),
        "ms" => format!("{value:.3}"),
        _ => format!("{value:.6}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_of_their_unit() {
        assert_eq!(cell("count", 1234567.0), "1234567");
        assert_eq!(cell("count", 2.5), "2.50");
        assert_eq!([cell("%", -0.001), cell("%", -10.0)], ["0.00", "-10.00"]);
        assert_eq!(cell("us", 3.25), "3.2");
        assert_eq!(cell("s", 5.020396), "5.020396");
        assert_eq!(seconds(5_020_396_999), "5.020396");
    }

    #[test]
    fn zero_rows_are_all_rows() {
        assert_eq!(
            [limit(None, 20), limit(Some(0), 20), limit(Some(3), 20)],
            [20, usize::MAX, 3]
        );
    }
}
