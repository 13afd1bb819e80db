//! Pairs of a real kernel's traces (`data/traces`): each under each other's settings.
//!
//! All have the same load, to within a tenth of a millisecond. Different are its place in a jiffy, slow
//! timers, and where a scheduler placed RCU's threads. Known of the machine is that one CPU executes at a
//! time. The trace with lazy callbacks has three grace periods, the others have some hundred.

use quiescent_sim::whatif::{self, Trace};
use quiescent_trace::{Options as Known, open};

use crate::{Judged, ask, figures};

/// A trace, and the settings in which it differs from others.
type Recorded = (&'static str, &'static [&'static str]);

const EIGHT: [&str; 3] = [
    "rcu=offload",
    "jiffies_till_first_fqs=8",
    "jiffies_till_next_fqs=8",
];
const MANY: [&str; 3] = [
    "rcu=offload",
    "jiffies_till_first_fqs=32",
    "jiffies_till_next_fqs=32",
];

/// Traces with the same idle loop.
const FAMILIES: [&[Recorded]; 2] = [
    &[
        ("classic-a-softirq-file100", &["rcu=default"]),
        (
            "classic-a-softirq-file100-early",
            &["rcu=default", "early_qs=init"],
        ),
        ("classic-b-nocb-file100", &["rcu=offload"]),
        ("classic-c-lazy-file100", &["rcu=lazy"]),
        ("classic-d-nocb-j8-file100-cut", &EIGHT),
        ("classic-d-nocb-j32-file100", &MANY),
    ],
    &[
        ("a-softirq-file100-cut", &["rcu=default"]),
        ("b-nocb-file100-cut", &["rcu=offload"]),
    ],
];

/// In force where a trace does not say otherwise.
const DEFAULTS: [&str; 3] = [
    "early_qs=off",
    "jiffies_till_first_fqs=3",
    "jiffies_till_next_fqs=3",
];

/// A pair.
pub struct Pair(Recorded, Recorded);

/// All of them.
pub fn pairs() -> Vec<Pair> {
    let all = FAMILIES.iter().flat_map(|family| {
        let pairs = family
            .iter()
            .flat_map(|a| family.iter().map(move |b| Pair(*a, *b)));
        pairs.filter(|it| it.0 != it.1)
    });
    all.collect()
}

impl Pair {
    pub fn name(&self) -> String {
        format!("{} -> {}", self.0.0, self.1.0)
    }

    pub fn judge(&self) -> Judged {
        let (from, to) = (read(self.0.0), read(self.1.0));
        let set: Vec<String> = DEFAULTS
            .iter()
            .chain(self.1.1)
            .map(|&it| it.into())
            .collect();
        Judged {
            answer: ask(&from, &["smp=serial"], set),
            recorded: figures(&from),
            same: figures(&to),
            other: None,
            again: None,
        }
    }
}

fn read(name: &str) -> Trace {
    let path = format!(
        "{}/../../data/traces/{name}.txt.xz",
        env!("CARGO_MANIFEST_DIR")
    );
    let input = open(&path).expect("it is part of the project");
    whatif::read(name, input, Known::default()).expect("it is whole")
}
