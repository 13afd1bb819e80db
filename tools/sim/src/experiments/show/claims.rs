//! Statements about the model's own figures, as text and as JSON: the statement, the figure, its bound, the
//! verdict.

use crate::experiments::{Bound, Modelled, Shown};
use quiescent_report::text::Table;
use quiescent_report::text::number::short;

/// The bound, as text: `4 to 7`, `at most 1`.
pub(super) fn bound(it: &Shown) -> String {
    let Some(claim) = &it.claim else {
        return String::new();
    };
    match claim.bound {
        Bound::AtMost(most) => format!("at most {}", short(most)),
        Bound::AtLeast(least) => format!("at least {}", short(least)),
        Bound::Between(least, most) => format!("{} to {}", short(least), short(most)),
    }
}

/// By which factor a one-sided bound is kept, as text; words have no such figure.
pub(super) fn factor(it: &Shown) -> String {
    let claim = it.claim.as_ref().filter(|claim| !claim.words);
    let factor = claim.and_then(|claim| claim.bound.factor(it.model));
    factor.map_or(String::new(), |it| format!("{}x", short(it)))
}

/// The verdict in a word; nothing where nothing was said.
pub(super) fn said(it: &Shown) -> &'static str {
    it.claim.as_ref().map_or("", |_| it.verdict().name())
}

/// All of them as a table; empty if there are none.
pub(super) fn text(modelled: &Modelled, width: usize) -> String {
    let mut table = Table::new(&["", "", "model", "bound", "kept by", "", ""], 2);
    for it in modelled.shown() {
        table.row([
            it.case.clone(),
            it.metric.to_owned(),
            format!("{} {}", short(it.model), it.unit),
            bound(it),
            factor(it),
            said(it).into(),
            it.basis.name().into(),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    let mut sentences = String::new();
    for it in modelled.shown() {
        if let Some(claim) = &it.claim {
            let line = format!("  - {} [{}]: {}\n", claim.says, it.case, said(it));
            sentences += &line;
        }
    }
    format!(
        "Sentences that a run can contradict, and what stands beside them\n\n{}\n{sentences}",
        table.within(width)
    )
}

/// An experiment's, for a report: so that a script need not know the bounds.
pub(super) fn json(all: &[Shown]) -> serde_json::Value {
    let claimed = all
        .iter()
        .filter_map(|it| it.claim.as_ref().map(|claim| (it, claim)));
    let each = claimed.map(|(it, claim)| {
        let (least, most) = claim.bound.ends();
        serde_json::json!({
            "says": claim.says, "case": it.case, "metric": it.metric, "unit": it.unit,
            "model": it.model, "at_least": least, "at_most": most, "met": it.holds(),
            "verdict": it.verdict().name(), "words": claim.words, "kept_by": claim.bound.factor(it.model),
            "basis": it.basis.name(),
        })
    });
    each.collect()
}
