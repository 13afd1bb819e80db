//! Outcomes as rows: subjects `kernel` or `published` for the real figure and `model` for the model's, with
//! the same case and metric, so that a script can join them.

use quiescent_report::{Report, Row};

use super::{claims, listings, subject, table};
use crate::experiments::{Modelled, Part};

/// Every figure, the real one and the model's.
pub fn rows(modelled: &Modelled) -> Vec<Row> {
    modelled
        .comparisons()
        .flat_map(|it| {
            let of = |subject, value| Row::single(subject, &it.case, it.metric, it.unit, value);
            [of(subject(it.source), it.real), of("model", it.model)]
        })
        .flatten()
        .chain(
            modelled
                .shown()
                .filter_map(|it| Row::single("model", &it.case, it.metric, it.unit, it.model)),
        )
        .chain(listings::rows(modelled))
        .collect()
}

/// Notes the rows and what was assumed.
pub fn report(modelled: &Modelled, report: &mut Report) {
    report.rows.extend(rows(modelled));
    for Part { name, outcome, .. } in &modelled.parts {
        let mut basis: Vec<&str> = Vec::new();
        let all = outcome.comparisons.iter().map(|it| it.basis);
        for it in all.chain(outcome.shown.iter().map(|it| it.basis)) {
            if !basis.contains(&it.name()) {
                basis.push(it.name());
            }
        }
        let basis = basis.join(", ");
        report.option(
            &format!("model {name}"),
            serde_json::json!({
                "basis": basis,
                "claims": claims::json(&outcome.shown),
                "published": table::json(name, outcome),
                "notes": outcome.notes,
            }),
        );
    }
}
