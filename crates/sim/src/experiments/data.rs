//! What was measured on a real kernel (`data/kernel-measurements.json`), as far as experiments need it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::parse;

const MEASUREMENTS: &str = include_str!("../../../../data/kernel-measurements.json");

#[derive(Deserialize)]
struct File {
    synchronize: BTreeMap<String, Measured>,
}

/// `synchronize_rcu` on one machine.
#[derive(Deserialize)]
pub(super) struct Measured {
    pub cpus: u32,
    pub idle: String,
    pub nocbs: bool,
    pub results: Vec<Measurement>,
}

/// With one set of parameters.
#[derive(Deserialize)]
pub(super) struct Measurement {
    pub label: String,
    pub mean_ms: f64,
}

pub(super) struct Measurements {
    pub synchronize: Vec<Measured>,
}

pub(super) fn measurements() -> Measurements {
    let file: File = parse(MEASUREMENTS);
    Measurements {
        synchronize: file.synchronize.into_values().collect(),
    }
}
