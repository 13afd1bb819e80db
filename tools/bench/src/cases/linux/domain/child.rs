//! A measuring process of `bench domain`: one of its questions about domains that are apart, once.

use super::{resting, stalled, together};
use crate::measure::once::Question;
use quiescent_report::rows::Figure;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The metric of a figure that is of the process's domain begins so.
pub const PROCESS: &str = "process:";

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DomainAsk {
    /// Grace periods and callbacks, with and without a reader that stays in another domain.
    Stalled {
        /// Grace periods in each of the two cases.
        calls: u64,
    },
    /// Something is due in each of so many at the same time.
    Together {
        /// How many.
        domains: u64,
    },
    /// So many that have been used, and rest.
    Resting {
        /// How many.
        domains: u64,
        /// They were all used at the same time; else one after the other.
        at_once: bool,
        /// How long they are watched.
        ms: u64,
    },
}

impl DomainAsk {
    /// The cases of its figures.
    pub fn cases(&self) -> Vec<String> {
        match self {
            DomainAsk::Stalled { .. } => stalled::CASES.map(String::from).to_vec(),
            DomainAsk::Together { domains } => vec![together::case(*domains)],
            DomainAsk::Resting {
                domains, at_once, ..
            } => vec![resting::case(*domains, *at_once)],
        }
    }
}

impl Question for DomainAsk {
    const KIND: &'static str = "domain";

    fn name(&self) -> String {
        format!("domains, {}", self.cases().join(" and "))
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(match self {
            DomainAsk::Stalled { calls } => 50 * calls,
            DomainAsk::Together { domains } => 10_000 + 10 * domains,
            DomainAsk::Resting { domains, ms, .. } => 2 * ms + 50 * domains,
        })
    }

    fn measure(&self) -> Result<Vec<Figure>, String> {
        match *self {
            DomainAsk::Stalled { calls } => stalled::measure(calls),
            DomainAsk::Together { domains } => together::measure(domains),
            DomainAsk::Resting {
                domains,
                at_once,
                ms,
            } => resting::measure(domains, at_once, Duration::from_millis(ms)),
        }
    }
}
