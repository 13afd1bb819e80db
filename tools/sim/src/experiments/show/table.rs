//! Every published statement and figure beside the model's: where it is from, the verdict, and the basis.
//!
//! [`table`] writes it as Markdown, for `data/published-verdicts.md`, which a test compares with it; [`json`]
//! has the same for scripts.

use super::{MISSED, claims, verdict};
use crate::experiments::sources::{Found, Missed, Places};
use crate::experiments::{Comparison, Modelled, Outcome, Shown, Source};
use quiescent_report::text::number::short;

/// A figure of the model that a published one, or a published statement, judges.
struct Judged<'a> {
    found: Option<&'a Found>,
    case: &'a str,
    metric: &'static str,
    published: String,
    model: String,
    verdict: &'static str,
    basis: &'static str,
    missed: String,
}

impl<'a> Judged<'a> {
    fn figure(found: Option<&'a Found>, it: &'a Comparison) -> Judged<'a> {
        Judged {
            found,
            case: &it.case,
            metric: it.metric,
            published: format!("{} {}", short(it.real), it.unit),
            model: format!("{} {}", short(it.model), it.unit),
            verdict: verdict(it.holds()),
            basis: it.basis.name(),
            missed: String::new(),
        }
    }

    fn statement(found: Option<&'a Found>, it: &'a Shown) -> Judged<'a> {
        Judged {
            found,
            case: &it.case,
            metric: it.metric,
            published: format!("{} {}", claims::bound(it), it.unit),
            model: format!("{} {}", short(it.model), it.unit),
            verdict: claims::said(it),
            basis: it.basis.name(),
            missed: String::new(),
        }
    }

    /// A line of the table; what it is judged by is left out if the line above has it.
    fn line(&self, part: &str, again: bool) -> String {
        let (from, says) = match self.found {
            _ if again => (String::new(), ""),
            Some(it) => (format!("{}: {}", it.source, it.place), it.says.as_str()),
            None => ("none found".into(), ""),
        };
        let metric = self.metric.replace('_', " ");
        let case = match self.case.starts_with(part) {
            true => self.case.to_owned(),
            false => format!("{part} {}", self.case),
        };
        format!(
            "| {from} | {says} | {case}: {metric} | {} | {} | {} | {} | {} |\n",
            self.published, self.model, self.verdict, self.basis, self.missed
        )
    }
}

/// What of an experiment is judged by a publication. Figures that were published without a source that
/// could be found are in it; claims of this project's own are not.
fn judged<'a>(places: &'a Places, name: &str, outcome: &'a Outcome) -> Vec<Judged<'a>> {
    let published = outcome.comparisons.iter();
    let published = published.filter(|it| it.source == Source::Published);
    let figures = published.map(|it| Judged::figure(places.of(name, it.metric, &it.case), it));
    let claimed = outcome.shown.iter().filter(|it| it.claim.is_some());
    let statements = claimed.filter_map(|it| {
        let found = places.of(name, it.metric, &it.case)?;
        Some(Judged::statement(Some(found), it))
    });
    let why = |mut it: Judged<'a>| {
        if it.verdict == MISSED {
            let why = places.missed(name, it.metric, it.case);
            it.missed = why.map_or_else(|| "no reason is known".into(), Missed::says);
        }
        it
    };
    figures.chain(statements).map(why).collect()
}

/// The table, in Markdown.
pub fn table(modelled: &Modelled) -> String {
    let places = Places::read();
    let mut text = String::from(
        "| source: place | sentence | figure | published | model | verdict | basis | missing or wrong |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for part in modelled.parts() {
        let (mut last, mut reason) = (None, String::new());
        for mut it in judged(&places, part.name, &part.outcome) {
            if !it.missed.is_empty() && it.missed == reason {
                it.missed = "as above".into();
            } else if !it.missed.is_empty() {
                reason = it.missed.clone();
            }
            text += &it.line(part.name, last == Some(it.found));
            last = Some(it.found);
        }
    }
    text
}

/// Sentences that no figure judges, with the reasons, in Markdown.
#[cfg(test)]
pub fn unjudged() -> String {
    let places = Places::read();
    let mut text =
        String::from("| source: place | sentence | why it has no row |\n|---|---|---|\n");
    for (it, why) in places.unjudged() {
        text += &format!("| {}: {} | {} | {why} |\n", it.source, it.place, it.says);
    }
    text
}

/// The same of one experiment, for a report.
pub(super) fn json(name: &str, outcome: &Outcome) -> serde_json::Value {
    let places = Places::read();
    let all = judged(&places, name, outcome);
    let each = all.iter().map(|it| {
        serde_json::json!({
            "source": it.found.map(|it| &it.source),
            "place": it.found.map(|it| &it.place),
            "says": it.found.map(|it| &it.says),
            "case": it.case, "metric": it.metric, "published": it.published, "model": it.model,
            "verdict": it.verdict, "basis": it.basis, "missing_or_wrong": it.missed,
        })
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::{Basis, Part, Script};

    #[test]
    fn a_line_has_the_source_the_figures_and_the_basis_and_a_fitted_one_no_verdict() {
        let comparison = |experiment: &'static str, metric, basis| Comparison {
            experiment,
            case: experiment.into(),
            metric,
            unit: "s",
            source: Source::Published,
            real: 24.0,
            model: 24.5,
            allowed: 0.15,
            basis,
        };
        let part = |name, basis, metric| {
            let comparisons = vec![comparison(name, metric, basis)];
            let outcome = Outcome {
                comparisons,
                ..Outcome::default()
            };
            Part {
                name,
                what: "",
                outcome,
            }
        };
        let all = Modelled::of(vec![
            part("bridge", Basis::Fitted, "total_s"),
            part("bridge", Basis::Assumed, "total_s"),
            part("lazy-power", Basis::Fitted, "package_watts"),
        ]);
        let text = table(&all);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert!(lines[0].contains("early-report-v3: test (2)"), "{text}");
        assert!(
            lines[0].ends_with("| 24.0 s | 24.5 s | fitted | fitted |  |"),
            "{text}"
        );
        assert!(
            lines[1].ends_with("| 24.0 s | 24.5 s | met | assumed |  |"),
            "{text}"
        );
        assert!(lines[2].starts_with("| none found |"), "{text}");
    }

    #[test]
    fn a_statement_is_judged_by_its_place() {
        let scripts = Script::named("cpu-overhead".as_ref()).unwrap();
        let outcome = scripts[0].run(1).unwrap();
        let places = Places::read();
        let all = judged(&places, "cpu-overhead", &outcome);
        let [it] = &all[..] else {
            panic!("one statement");
        };
        assert_eq!((it.verdict, it.basis), ("met", "assumed"));
        assert!(it.found.unwrap().says.contains("no measurable increase"));
        assert_eq!(
            json("cpu-overhead", &outcome)[0]["source"],
            "early-report-v3"
        );
    }
}
