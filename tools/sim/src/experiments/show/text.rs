//! Outcomes as text. The 108 configurations of one experiment are one line here, and all of them rows of
//! JSON.

use quiescent_report::text::number::short;
use quiescent_report::text::{Table, folded};

use super::{claims, listings};
use crate::experiments::{Comparison, Modelled, Outcome, Part};

/// Rows with more comparisons than this are one line of text.
const MANY: usize = 9;

/// As text in lines of at most so many columns: real figure, model, ratio, verdict.
pub fn text(modelled: &Modelled, width: usize) -> String {
    let mut table = Table::new(&["", "real", "model", "ratio", "at most off by", "", ""], 1);
    let mut notes = String::new();
    for Part {
        name,
        what,
        outcome,
    } in &modelled.parts
    {
        if outcome.comparisons.len() > MANY {
            table.row(summary(name, outcome));
        } else {
            for it in &outcome.comparisons {
                table.row(line(it));
            }
        }
        notes += &format!("{name}: {what}\n");
        for note in &outcome.notes {
            notes += &format!("  - {note}\n");
        }
    }
    let what = "The machine model beside real machines (virtual time; the same on every machine)";
    let mut text = String::new();
    if !table.is_empty() {
        text = format!("{what}\n\n{}\n", table.within(width));
    }
    text += &(claims::text(modelled, width) + &listings::text(modelled, width) + "\n" + &notes);
    folded(&text, width, 4)
}

fn line(it: &Comparison) -> Vec<String> {
    vec![
        it.case.clone(),
        format!("{} {}", short(it.real), it.unit),
        format!("{} {}", short(it.model), it.unit),
        format!("{:.3}", it.ratio()),
        format!("{} %", short(100.0 * it.allowed)),
        it.verdict().name().into(),
        it.basis.name().into(),
    ]
}

fn summary(name: &str, outcome: &Outcome) -> Vec<String> {
    let off = |it: &Comparison| (it.ratio() - 1.0).abs();
    let all = || outcome.comparisons.iter();
    let judged = all().any(|it| it.basis.is_judged());
    let mut all: Vec<&Comparison> = all().filter(|it| it.basis.is_judged() == judged).collect();
    all.sort_by(|a, b| off(a).total_cmp(&off(b)));
    let median = all[all.len() / 2];
    let worst = all[all.len() - 1];
    vec![
        format!("{name}: worst of {}", all.len()),
        format!("{} {}", short(worst.real), worst.unit),
        format!("{} {}", short(worst.model), worst.unit),
        format!("{:.3} (median {:.5})", worst.ratio(), median.ratio()),
        format!("{} %", short(100.0 * worst.allowed)),
        worst.verdict().name().into(),
        worst.basis.name().into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Shown;

    #[test]
    fn it_fits_and_a_table_without_a_row_is_left_out() {
        let metric = ("rcu_time_ratio_to_default", "of the default's");
        let case = "flood rcu=offload, twice lock and line";
        let shown = Shown::beside(case, metric, 1.14);
        let outcome = Outcome {
            shown: vec![shown],
            notes: vec![
                "assumed: a burst of closes every few milliseconds, as a browser has them".into(),
            ],
            ..Outcome::default()
        };
        let modelled = Modelled::of(vec![Part {
            name: "flood",
            what: "where callbacks are frequent",
            outcome,
        }]);
        let said = text(&modelled, 80);
        assert!(said.lines().all(|it| it.chars().count() <= 80), "{said}");
        assert!(said.contains("1.14 of the default's"), "{said}");
        assert!(!said.contains("beside real machines"), "{said}");
    }
}
