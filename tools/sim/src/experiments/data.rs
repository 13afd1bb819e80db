//! Figures that others have published (`data/published-figures.json`), as far as experiments need them.

use std::collections::BTreeMap;

use serde::Deserialize;

const PUBLISHED: &str = include_str!("../../../../data/published-figures.json");

/// The file of published figures.
#[derive(Deserialize)]
pub(super) struct Published {
    #[cfg_attr(not(test), expect(dead_code))]
    pub sources: BTreeMap<String, String>,
    pub experiments: BTreeMap<String, serde_json::Value>,
    #[cfg_attr(not(test), expect(dead_code))]
    pub cstates_us: serde_json::Value,
}

/// All of it.
pub(super) fn all_published() -> Published {
    serde_json::from_str(PUBLISHED).expect("the data that is built in is read by a test")
}

/// The published experiment of this name.
#[cfg(test)]
pub(super) fn published<T: for<'a> Deserialize<'a>>(name: &str) -> T {
    let experiment = all_published().experiments.remove(name);
    let read = serde_json::from_value(experiment.unwrap_or_default());
    read.expect("the data that is built in is read by a test")
}
