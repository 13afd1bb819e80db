//! Every row of the report, as in `--json`, including figures that no chart shows.

use crate::Report;
use crate::html::Markup;
use crate::html::table::Table;
use crate::text::number::figure;

const HEAD: [&str; 8] = [
    "subject", "case", "metric", "unit", "samples", "median", "smallest", "largest",
];

/// Every row; nothing if there is none.
pub fn body(report: &Report) -> Option<Markup> {
    if report.rows.is_empty() {
        return None;
    }
    let mut table = Table::new("All figures", &HEAD, 4);
    for row in &report.rows {
        let words = [&row.subject, &row.case, &row.metric, &row.unit].map(String::clone);
        let figures = [row.median, row.min, row.max].map(figure);
        let cells = words.into_iter().chain([row.n.to_string()]);
        table.row(cells.chain(figures));
    }
    Some(table.folded(&format!("{} rows", table.len())))
}
