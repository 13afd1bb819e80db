//! Every published statement and figure beside the model's: where it is from, the verdict, and the basis.
//!
//! The tests write it as Markdown, and compare `data/published-verdicts.md` with that; [`json`] has the same
//! for scripts.

use serde_json::{Value, json};

use super::claims;
use crate::experiments::sources::{Missed, Places};
use crate::experiments::{Basis, Outcome, Source, Verdict};
use quiescent_report::text::number::short;

/// What of an experiment is judged by a publication. Figures that were published without a source that
/// could be found are in it; claims of this project's own are not.
fn judged(places: &Places, name: &str, outcome: &Outcome) -> Vec<Value> {
    let entry = |case: &str, (metric, unit), published, model, verdict: Verdict, basis: Basis| {
        let found = places.of(name, metric, case);
        let why = places.missed(name, metric, case).map(Missed::says);
        let missed = match verdict {
            Verdict::Missed => why.unwrap_or("no reason is known".into()),
            Verdict::Part => why.unwrap_or_default(),
            _ => String::new(),
        };
        json!({
            "source": found.map(|it| &it.source),
            "place": found.map(|it| &it.place),
            "says": found.map(|it| &it.says),
            "case": case, "metric": metric, "published": format!("{published} {unit}"),
            "model": format!("{} {unit}", short(model)),
            "verdict": verdict.name(), "basis": basis.name(), "missing_or_wrong": missed,
        })
    };
    let published = outcome.comparisons.iter();
    let published = published.filter(|it| it.source == Source::Published);
    let figures = published.map(|it| {
        let (named, verdict) = ((it.metric, it.unit), it.verdict());
        entry(&it.case, named, short(it.real), it.model, verdict, it.basis)
    });
    let claimed = outcome.shown.iter().filter(|it| it.claim.is_some());
    let claimed = claimed.filter(|it| places.of(name, it.metric, &it.case).is_some());
    let statements = claimed.map(|it| {
        let (named, verdict) = ((it.metric, it.unit), it.verdict());
        let mut line = entry(
            &it.case,
            named,
            claims::bound(it),
            it.model,
            verdict,
            it.basis,
        );
        line["kept_by"] = claims::factor(it).into();
        let facts = it.claim.as_ref().and_then(|it| it.contradicted);
        if let (Verdict::Contradicted, Some(facts)) = (verdict, facts) {
            line["missing_or_wrong"] = facts.into();
        }
        line
    });
    figures.chain(statements).collect()
}

/// What of an experiment is judged, for a report.
pub(super) fn json(name: &str, outcome: &Outcome) -> Vec<Value> {
    judged(&Places::read(), name, outcome)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::experiments::{Comparison, Modelled, Part, Script};

    /// A line of the table; what it is judged by is left out if the line above has it.
    fn line(part: &str, it: &Value, again: bool) -> String {
        let of = |key: &str| it[key].as_str().unwrap_or_default();
        let from = match it["source"].as_str() {
            _ if again => String::new(),
            Some(source) => format!("{source}: {}", of("place")),
            None => "none found".into(),
        };
        let (says, metric) = (
            if again { "" } else { of("says") },
            of("metric").replace('_', " "),
        );
        let case = match of("case").starts_with(part) {
            true => of("case").to_owned(),
            false => format!("{part} {}", of("case")),
        };
        let rest = [
            "published",
            "model",
            "kept_by",
            "verdict",
            "basis",
            "missing_or_wrong",
        ]
        .map(of);
        format!(
            "| {from} | {says} | {case}: {metric} | {} |\n",
            rest.join(" | ")
        )
    }

    /// The table, in Markdown.
    pub fn table(modelled: &Modelled) -> String {
        let places = Places::read();
        let mut text = String::from(
            "| source: place | sentence | figure | published | model | kept by | verdict | basis | missing \
             or wrong |\n|---|---|---|---|---|---|---|---|---|\n",
        );
        for part in &modelled.parts {
            let (mut last, mut reason) = (None, json!(""));
            for mut it in judged(&places, part.name, &part.outcome) {
                let missed = it["missing_or_wrong"].clone();
                if missed != "" && missed == reason {
                    it["missing_or_wrong"] = "as above".into();
                } else if missed != "" {
                    reason = missed;
                }
                let found = ["source", "place", "says"].map(|key| it[key].clone());
                text += &line(part.name, &it, last.as_ref() == Some(&found));
                last = Some(found);
            }
        }
        text
    }

    /// Sentences that no figure judges, with the reasons, in Markdown.
    pub fn unjudged() -> String {
        let places = Places::read();
        let mut text =
            String::from("| source: place | sentence | why it has no row |\n|---|---|---|\n");
        for (it, why) in places.unjudged() {
            text += &format!("| {}: {} | {} | {why} |\n", it.source, it.place, it.says);
        }
        text
    }

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
            lines[0].ends_with("| 24.0 s | 24.5 s |  | fitted | fitted |  |"),
            "{text}"
        );
        assert!(
            lines[1].ends_with("| 24.0 s | 24.5 s |  | met | assumed |  |"),
            "{text}"
        );
        assert!(lines[2].starts_with("| none found |"), "{text}");
    }

    #[test]
    fn a_statement_is_judged_by_its_place() {
        let scripts = Script::named("cpu-overhead".as_ref()).unwrap();
        let outcome = scripts[0].run(1).unwrap();
        let all = json("cpu-overhead", &outcome);
        let [it] = &all[..] else {
            panic!("one statement");
        };
        assert_eq!(
            (&it["verdict"], &it["basis"]),
            (&json!("met"), &json!("assumed"))
        );
        let says = it["says"].as_str().unwrap();
        assert!(says.contains("no measurable increase"));
        assert_eq!(it["source"], "early-report-v3");
    }
}
