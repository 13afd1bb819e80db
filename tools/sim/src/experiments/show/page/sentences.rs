//! Statements about the model's own figures: the statement, the figure, its bound, the verdict.

use super::super::claims;
use super::short;
use crate::experiments::Shown;
use quiescent_report::html::table::{Cell, Table};
use quiescent_report::text::number::figure;

/// A line for each figure of the model alone; with what is said of it, where something is.
pub(super) fn sentences(name: &str, all: &[Shown]) -> Table {
    let head = [
        "verdict",
        "case",
        "what is said",
        "figure",
        "model",
        "bound",
        "basis",
    ];
    let mut table = Table::new(&format!("Sentences on {name}"), &head, 4);
    for it in all {
        let says = it.claim.as_ref().map_or("", |claim| claim.says);
        let verdict = match it.holds() {
            None => Cell::faint("shown"),
            Some(true) => Cell::good(claims::said(it)),
            Some(false) => Cell::bad(claims::said(it)),
        };
        table.row([
            verdict,
            Cell::from(short(name, &it.case)),
            says.into(),
            it.metric.replace('_', " ").into(),
            format!("{} {}", figure(it.model), it.unit).into(),
            claims::bound(it).into(),
            it.basis.name().into(),
        ]);
    }
    table
}
