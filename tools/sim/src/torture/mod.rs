//! Torture of the engine: random machines, random load, faults.
//!
//! A *case* is a machine with its options, faults, and actors; a seed gives one ([`Case::of_seed`]). It runs
//! in two phases:
//!
//! 1. **Safety.** All faults that [`Faults`](crate::Faults) names occur. Nothing may end too early: no wait,
//!    no callback, no grace period before every section has ended that was open when it began, and no barrier
//!    before every callback that was queued. Progress is not required.
//! 2. **Liveness.** The faults end. Every wait of an actor has to end, every callback has to be invoked, and
//!    the machine has to come to rest; unfinished work is reported in words ([`Machine::pending`]).
//!
//! The engine's own assertions are findings as well. A case with a finding is made smaller ([`shrink`]) for
//! as long as it still has one of the same kind, and can be kept as text: reading it gives the same run,
//! event by event.
//!
//! Oracles are those of the machine and general: nothing here knows a particular bug.

mod actors;
mod case;
mod shrink;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use actors::{Actor, Role};
pub use case::Case;
pub use shrink::{Shrunk, shrink};

use crate::kernel::machine::Machine;
use crate::record::points::Point;

/// What each count is; `--help-metrics` prints it.
pub const METRICS: &str = include_str!("metrics.txt");

/// Virtual time after the faults within which every actor has to be done, in nanoseconds.
const PATIENCE: u64 = 300_000_000_000;

/// Virtual time then until the machine rests: lazy callbacks have their time, and a grace period after it.
const REST: u64 = 30_000_000_000;

/// The pause between two checks of the oracle.
const LOOK: u64 = 1_000_000_000;

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A wait or a callback ended while a section was open that it had to outlive.
    TooEarly,
    /// A wait never ends.
    Stuck,
    /// Callbacks are left, or the machine does not come to rest.
    Restless,
    /// An assertion failed.
    Panicked,
}

/// A violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its kind.
    pub kind: Kind,
    /// Virtual nanoseconds.
    pub at: u64,
    /// What, and what was still to be done, in words.
    pub words: Vec<String>,
}

/// The result of a case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The finding, if there is one.
    pub finding: Option<Finding>,
    /// What was done, by name.
    pub counts: BTreeMap<Cow<'static, str>, u64>,
    /// States, by a hash, and trace points, if they were counted.
    pub states: BTreeSet<u64>,
    /// The engine's trace points.
    pub points: BTreeSet<Point>,
}

impl Outcome {
    /// Adds what another one has done; the first finding stays.
    pub fn add(&mut self, other: Outcome) {
        for (name, count) in other.counts {
            let sum = self.counts.entry(name).or_default();
            *sum = sum.saturating_add(count); // a shard's file may have any count
        }
        self.states.extend(other.states);
        self.points.extend(other.points);
        self.finding = self.finding.take().or(other.finding);
    }

    /// Everything but the finding, so that other machines' can be added to it.
    pub fn to_json(&self) -> Value {
        json!({ "counts": self.counts, "states": self.states, "points": self.points })
    }

    /// What [`Outcome::to_json`] has made; none if it is something else.
    pub fn from_json(value: &Value) -> Option<Outcome> {
        let points: BTreeSet<(String, String)> = Deserialize::deserialize(&value["points"]).ok()?;
        let is_there = |it: &Point| points.contains(&(it.0.to_owned(), it.1.to_owned()));
        Some(Outcome {
            finding: None,
            counts: Deserialize::deserialize(&value["counts"]).ok()?,
            states: Deserialize::deserialize(&value["states"]).ok()?,
            points: crate::points().into_iter().filter(is_there).collect(),
        })
    }

    /// A count by its name; 0 if there is none.
    pub fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }
}

/// Runs a case; with `tally`, counts states and trace points.
///
/// ```
/// use quiescent_sim::torture::{Case, run};
///
/// let outcome = run(&Case::of_seed(1), true);
/// assert_eq!(outcome.finding, None);
/// assert!(outcome.count("grace_periods") > 0);
/// ```
pub fn run(case: &Case, tally: bool) -> Outcome {
    let mut machine = None;
    let result = catch_unwind(AssertUnwindSafe(|| {
        let machine = machine.insert(case.machine());
        if tally {
            machine.keep_tally();
        }
        both_phases(machine, case)
    }));
    let finding = result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
        Some(Finding {
            kind: Kind::Panicked,
            at: machine.as_ref().map_or(0, Machine::now),
            words: vec![text.unwrap_or_else(|| "a panic without words".into())],
        })
    });
    let mut outcome = Outcome {
        finding,
        ..Outcome::default()
    };
    if let Some(machine) = machine {
        outcome.states = machine.states().clone();
        outcome.points = machine.reached();
        let counts = machine.counts().into_iter();
        outcome.counts = counts.map(|(name, count)| (name.into(), count)).collect();
    }
    outcome
}

/// The run of a case, as a kernel's tracer prints it, up to its end or its finding. The same case gives the
/// same bytes.
pub fn trace(case: &Case) -> Vec<u8> {
    let mut machine = case.machine();
    machine.keep_trace();
    // A finding is what the trace is for.
    let _ = catch_unwind(AssertUnwindSafe(|| both_phases(&mut machine, case)));
    let mut text = Vec::new();
    machine
        .write_trace(&mut text)
        .expect("memory can be written to");
    text
}

fn both_phases(machine: &mut Machine, case: &Case) -> Option<Finding> {
    let found = |kind, machine: &Machine, first: String| {
        let mut words = vec![first];
        words.extend(machine.pending());
        let at = machine.now();
        Some(Finding { kind, at, words })
    };
    let over = pass(machine, case.calm);
    machine.calm();
    let until = machine.now() + PATIENCE;
    let over = over || pass(machine, until);
    if machine.too_early() == 0 && over {
        machine.run(machine.now() + REST);
    }
    match (machine.too_early(), machine.owed()) {
        (0, _) if !over => found(Kind::Stuck, machine, "an actor waits for ever".into()),
        (0, 0) if machine.is_quiet() => None,
        (0, 0) => found(Kind::Restless, machine, "work that no task needs".into()),
        (0, left) => {
            let text = format!("{left} callbacks were never invoked");
            found(Kind::Restless, machine, text)
        }
        (early, _) => {
            let text = format!("{early} waits, callbacks or grace periods were over too early");
            found(Kind::TooEarly, machine, text)
        }
    }
}

/// Lets time pass until the actors are done, or until then, or until something came too early. Are they done?
fn pass(machine: &mut Machine, until: u64) -> bool {
    loop {
        let next = until.min(machine.now() + LOOK);
        let over = machine.run_tasks(next);
        if over || machine.too_early() > 0 || next >= until {
            return over;
        }
    }
}

#[cfg(test)]
mod tests;
