//! Where a published figure is from: the source, the place in it, and what stands there.
//!
//! `data/published-figures.json` has this for every figure, and names the figures of the model that are
//! judged by it ([`Found::metrics`]). A figure that was found in no source is marked there and has no place
//! here. Claims without a place are this project's own: they follow from a mechanism, not from a publication.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::data::all_published;

/// One place in a source.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// The source, by its short name.
    pub source: String,
    /// Where in it.
    pub place: String,
    /// What stands there, in this project's words.
    pub says: String,
    /// The figures of the data that stand there.
    #[serde(default)]
    pub figures: Vec<String>,
    /// The figures of the model that are judged by it: a metric, and how the case ends if only some are.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Why none of them is.
    pub unjudged: Option<String>,
}

/// A figure that the model does not reach, and why.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missed {
    /// The figures of the model, as in [`Found::metrics`].
    pub metrics: Vec<String>,
    /// The mechanism that is missing or wrong.
    pub because: String,
    /// The run that shows it; none if the explanation was not tested.
    pub tested: Option<String>,
}

impl Missed {
    /// In one sentence.
    pub(super) fn says(&self) -> String {
        match &self.tested {
            Some(run) => format!("{}; tested: {run}", self.because),
            None => format!("{}; not tested", self.because),
        }
    }
}

/// Is this figure among them?
fn names(metrics: &[String], metric: &str, case: &str) -> bool {
    metrics.iter().any(|it| match it.split_once(' ') {
        Some((name, end)) => name == metric && case.ends_with(end),
        None => it == metric,
    })
}

/// All places, by experiment, and what is missed.
pub(super) struct Places(BTreeMap<String, (Vec<Found>, Vec<Missed>)>);

impl Places {
    /// As the data have them.
    pub fn read() -> Places {
        let experiments = all_published().experiments.into_iter();
        let read = |it: &Value| (listed(it, "from"), listed(it, "missed"));
        Places(experiments.map(|(name, it)| (name, read(&it))).collect())
    }

    /// The place that a figure of this experiment is judged by.
    pub fn of(&self, experiment: &str, metric: &str, case: &str) -> Option<&Found> {
        let (all, _) = self.0.get(experiment)?;
        all.iter().find(|it| names(&it.metrics, metric, case))
    }

    /// Why this figure is missed.
    pub fn missed(&self, experiment: &str, metric: &str, case: &str) -> Option<&Missed> {
        let (_, all) = self.0.get(experiment)?;
        all.iter().find(|it| names(&it.metrics, metric, case))
    }
}

/// A list of an experiment's: its places, or what is missed.
fn listed<T: for<'a> Deserialize<'a>>(experiment: &Value, key: &str) -> Vec<T> {
    let list = experiment.get(key).cloned();
    let read = list.map_or(Ok(Vec::new()), serde_json::from_value);
    read.expect("the data that is built in is read by a test")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};

    impl Places {
        /// What is said without a figure that judges it.
        pub fn unjudged(&self) -> impl Iterator<Item = (&Found, &str)> {
            let all = self.0.values().flat_map(|it| &it.0);
            all.filter_map(|it| Some((it, it.unjudged.as_deref()?)))
        }

        /// Each figure that the data name as judged, or as missed: its experiment, and its entry.
        pub fn named(&self, missed: bool) -> Vec<(&str, &String)> {
            let each = self.0.iter().flat_map(move |(name, (found, why))| {
                let found = found
                    .iter()
                    .filter(move |_| !missed)
                    .flat_map(|it| &it.metrics);
                let why = why
                    .iter()
                    .filter(move |_| missed)
                    .flat_map(|it| &it.metrics);
                found.chain(why).map(move |it| (name.as_str(), it))
            });
            each.collect()
        }
    }

    /// Fields of an experiment that are no figures.
    const WORDS: [&str; 7] = [
        "title",
        "note",
        "unknown",
        "from",
        "missed",
        "derived",
        "no_source",
    ];

    /// What is wrong with the sources of an experiment.
    fn wrong(name: &str, experiment: &Map<String, Value>, sources: &[String]) -> Vec<String> {
        let from: Vec<Found> = listed(&Value::Object(experiment.clone()), "from");
        let mut wrong = Vec::new();
        for it in &from {
            if !sources.contains(&it.source) {
                wrong.push(format!("{name}: `{}` is no source", it.source));
            }
            if it.place.is_empty() || it.says.is_empty() {
                wrong.push(format!("{name}: a place or what stands there is missing"));
            }
            if it.metrics.is_empty() != it.unjudged.as_ref().is_some_and(|it| !it.is_empty()) {
                let (place, says) = (&it.place, &it.says);
                wrong.push(format!(
                    "{name}: {place}: `{says}` has neither a figure that it judges nor a reason, or both"
                ));
            }
            for figure in it.figures.iter().filter(|it| !experiment.contains_key(*it)) {
                wrong.push(format!("{name}: there is no figure `{figure}`"));
            }
        }
        let derived = experiment.get("derived").and_then(Value::as_object);
        for figure in experiment.keys().filter(|it| !WORDS.contains(&it.as_str())) {
            let found = from.iter().filter(|it| it.figures.contains(figure)).count();
            let computed = derived.is_some_and(|it| it.contains_key(figure));
            let marked = experiment.contains_key("no_source") && from.is_empty();
            if found + usize::from(computed) + usize::from(marked) != 1 {
                wrong.push(format!(
                    "{name}: `{figure}` has not exactly one place in a source"
                ));
            }
        }
        wrong
    }

    /// What is wrong with the sources of all figures.
    fn all_wrong() -> Vec<String> {
        let all = all_published();
        let sources: Vec<String> = all.sources.into_keys().collect();
        let mut experiments = all.experiments;
        experiments.insert("cstates_us".into(), all.cstates_us);
        let each = experiments.iter();
        each.flat_map(|(name, it)| wrong(name, it.as_object().expect("an object"), &sources))
            .collect()
    }

    #[test]
    fn every_published_figure_has_a_source_a_place_and_what_stands_there() {
        assert_eq!(all_wrong(), Vec::<String>::new());
        // Whatever has none is known: nothing may join it unseen.
        let all = all_published().experiments;
        let without = all.iter().filter(|(_, it)| it.get("no_source").is_some());
        assert_eq!(
            without.map(|it| it.0.as_str()).collect::<Vec<_>>(),
            ["lazy-power"]
        );
    }

    #[test]
    fn a_figure_without_a_place_is_named() {
        let sources = ["talk".to_owned()];
        let with = |figures: Value, source: &str| {
            let from = json!([{
                "source": source, "place": "slide", "says": "so", "figures": figures, "unjudged": "x"
            }]);
            let it = json!({ "title": "", "ms": 3, "watts": 4, "from": from });
            wrong("x", it.as_object().unwrap(), &sources)
        };
        assert!(with(json!(["ms", "watts"]), "talk").is_empty());
        assert!(with(json!(["ms"]), "talk")[0].contains("`watts`"));
        assert!(with(json!(["ms", "watts", "volts"]), "talk")[0].contains("`volts`"));
        assert!(with(json!(["ms", "watts"]), "rumour")[0].contains("rumour"));
    }

    #[test]
    fn a_sentence_without_a_figure_has_a_reason() {
        let of = |more: Value| {
            let mut from = json!({ "source": "talk", "place": "slide", "says": "it sleeps" });
            let more = more.as_object().unwrap().clone();
            from.as_object_mut().unwrap().extend(more);
            let it = json!({ "title": "", "from": [from] });
            wrong("x", it.as_object().unwrap(), &["talk".to_owned()])
        };
        assert!(of(json!({ "metrics": ["ms"] })).is_empty());
        assert!(of(json!({ "unjudged": "a picture" })).is_empty());
        for it in [
            json!({}),
            json!({ "unjudged": "" }),
            json!({ "metrics": ["ms"], "unjudged": "no" }),
        ] {
            assert!(of(it)[0].contains("it sleeps"));
        }
    }

    #[test]
    fn figures_that_are_computed_follow_from_the_others() {
        let all = all_published().experiments;
        let row = |name: &str, keys: [&str; 2]| -> Vec<f64> {
            let runs = all["accelerate"]["runs"].as_array().unwrap().iter();
            let share = |it: &Value| it[keys[0]].as_f64().unwrap() / it[keys[1]].as_f64().unwrap();
            let fewer: Vec<f64> = runs.map(|it| 100.0 * (1.0 - share(it))).collect();
            let mean = fewer.iter().sum::<f64>() / fewer.len() as f64;
            let least = fewer.iter().copied().fold(f64::INFINITY, f64::min);
            let most = fewer.iter().copied().fold(0.0, f64::max);
            let said = &all["accelerate"]["reduction_pct"][name];
            let said = ["mean", "min", "max"].map(|it| said[it].as_f64().unwrap());
            let off = [mean, least, most].into_iter().zip(said);
            off.map(|(a, b)| (a - b).abs()).collect()
        };
        let gps = row("gps_reduction_pct", ["gps_with", "gps_without"]);
        let woken = row("wakeups_reduction_pct", ["wakeups_with", "wakeups_without"]);
        assert!(
            gps.iter().chain(&woken).all(|it| *it <= 0.5),
            "{gps:?} {woken:?}"
        );
        let bridge = &all["bridge"];
        let median = |n: usize| bridge["per_synchronize_us"]["median"][n].as_f64().unwrap();
        for (n, name) in ["early_qs", "early_qs+wake_from_gp", "wake_from_gp"]
            .iter()
            .enumerate()
        {
            let said = bridge["ratios_of_medians_to_default"][name]
                .as_f64()
                .unwrap();
            assert!((median(n + 1) / median(0) - said).abs() <= 0.0005, "{name}");
        }
    }
}
