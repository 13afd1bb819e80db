//! Pairs of the model's own runs, drawn from tables.

use quiescent_sim::Workload;
use quiescent_sim::chance::Chance;
use quiescent_sim::whatif::{self, Trace};
use quiescent_trace::{Options as Known, Window};

use crate::{Judged, ask, figures};

/// The window of the record, in nanoseconds, and how long before it the record begins.
const START: u64 = 800_000_000;
const END: u64 = 10_800_000_000;
const BEFORE: u64 = 100_000_000;

/// So much later, and ten times as long, is the record of a machine with lazy callbacks that a prediction is
/// compared with: in ten seconds it flushes once, or not at all.
const LAZY_WARM_UP: u64 = 12_000_000_000;

type Sets = &'static [(&'static str, &'static str)];

/// Loads. None has a setting that the tables below have as well.
const LOADS: [(&str, Sets); 16] = [
    ("churn", &[]),
    ("churn", &[("rate", "20")]),
    ("churn", &[("rate", "1000")]),
    (
        "churn",
        &[("rate", "50"), ("tasks", "6"), ("task_cpu", "any")],
    ),
    ("fork", &[]),
    ("fork", &[("rate", "60")]),
    ("fork", &[("rate", "100"), ("tasks", "8")]),
    ("flood", &[("bursts", "20"), ("burst", "50")]),
    (
        "flood",
        &[
            ("bursts", "100"),
            ("burst", "20"),
            ("tasks", "3"),
            ("task_cpu", "any"),
        ],
    ),
    ("torture5s", &[]),
    ("torture5s", &[("rate", "20"), ("pause", "100ms")]),
    (
        "torture5s",
        &[("rate", "10"), ("pause", "200ms"), ("busy", "2")],
    ),
    ("tab-switch", &[("switches", "100000"), ("every", "100ms")]),
    (
        "tab-switch",
        &[
            ("switches", "100000"),
            ("every", "100ms"),
            ("busy", "1,2,3"),
        ],
    ),
    (
        "sync",
        &[
            ("calls", "100000"),
            ("callers", "3"),
            ("pause", "30ms"),
            ("vary", "1"),
        ],
    ),
    (
        "sync",
        &[
            ("calls", "100000"),
            ("callers", "2"),
            ("pause", "50ms"),
            ("vary", "1"),
            ("busy", "2"),
        ],
    ),
];

const SMP: [&str; 2] = ["parallel", "serial"];
const IDLE: [&str; 2] = ["classic", "retain"];
const HZ: [&str; 3] = ["1000", "1000", "250"];
const CPUS: [&str; 3] = ["4", "8", "16"];

/// What is in force, and what is changed.
const CHANGES: [(Sets, Sets); 8] = [
    (&[("rcu", "default")], &[("early_qs", "init")]),
    (
        &[("rcu", "default")],
        &[
            ("jiffies_till_first_fqs", "8"),
            ("jiffies_till_next_fqs", "8"),
        ],
    ),
    (
        &[("rcu", "offload")],
        &[
            ("jiffies_till_first_fqs", "32"),
            ("jiffies_till_next_fqs", "32"),
        ],
    ),
    (&[("rcu", "default")], &[("rcu", "offload")]),
    (&[("rcu", "offload")], &[("rcu", "lazy")]),
    (&[("rcu", "default")], &[("rcu", "lazy")]),
    (&[("rcu", "default")], &[("rcu_normal_wake_from_gp", "1")]),
    (&[("rcu", "offload")], &[("rcu_expedited", "1")]),
];

/// A pair.
pub struct Pair {
    load: &'static str,
    machine: Vec<(&'static str, String)>,
    change: Sets,
    seed: u64,
}

impl Pair {
    pub fn draw(chance: &mut Chance) -> Pair {
        let (load, sets) = *of(chance, &LOADS);
        let (base, change) = *of(chance, &CHANGES);
        let mut machine: Vec<(&str, String)> = Vec::new();
        for (key, values) in [
            ("smp", &SMP[..]),
            ("idle_loop", &IDLE),
            ("hz", &HZ),
            ("cpus", &CPUS),
        ] {
            machine.push((key, (*of(chance, values)).into()));
        }
        machine.push(("gp_cpu", chance.below(4).to_string()));
        for jiffies in ["jiffies_till_first_fqs", "jiffies_till_next_fqs"] {
            machine.push((jiffies, "3".into()));
        }
        machine.extend(base.iter().chain(sets).map(|it| (it.0, it.1.into())));
        Pair {
            load,
            machine,
            change,
            seed: chance.below(1_000_000),
        }
    }

    pub fn name(&self) -> String {
        let all = self
            .machine
            .iter()
            .filter(|it| !it.0.starts_with("jiffies"));
        let all: Vec<String> = all.map(|it| format!("{}={}", it.0, it.1)).collect();
        let change: Vec<String> = self
            .change
            .iter()
            .map(|it| format!("{}={}", it.0, it.1))
            .collect();
        format!(
            "{} {} seed={} -> {}",
            self.load,
            all.join(" "),
            self.seed,
            change.join(" ")
        )
    }

    /// A run's record.
    fn record(&self, change: Sets, seed: u64) -> Trace {
        let seed = seed.to_string();
        let mut sets: Vec<(&str, &str)> = self.machine.iter().map(|it| (it.0, &*it.1)).collect();
        sets.extend(change);
        sets.push(("seed", &seed));
        let workload = Workload::named(self.load).expect("it is part of the program");
        let plan = workload.plan(&sets).expect("the tables fit");
        let mut machine = plan.machine();
        let (start, end) = match plan.options.lazy && !change.is_empty() {
            true => (START + LAZY_WARM_UP, END + LAZY_WARM_UP + 9 * (END - START)),
            false => (START, END),
        };
        machine.keep_trace();
        machine.run(end + 200_000_000);
        let mut text = Vec::new();
        machine
            .write_trace(&mut text)
            .expect("memory does not fail");
        let text = String::from_utf8(text).expect("ASCII");
        let kept = text
            .lines()
            .filter(|it| it.starts_with('#') || time(it) >= start - BEFORE);
        let text: String = kept.flat_map(|it| [it, "\n"]).collect();
        let hz = sets
            .iter()
            .find(|it| it.0 == "hz")
            .and_then(|it| it.1.parse().ok());
        let known = Known {
            hz,
            window: Some(Window {
                start_ns: start,
                end_ns: end,
            }),
        };
        whatif::read("record", text.as_bytes(), known).expect("the model's traces can be read")
    }

    pub fn judge(&self) -> Judged {
        let trace = self.record(&[], self.seed);
        let set = self.change.iter().map(|it| format!("{}={}", it.0, it.1));
        let answer = ask(&trace, &[], set.collect());
        let real = |change, seed| figures(&self.record(change, seed));
        Judged {
            same: real(self.change, self.seed),
            other: Some(real(self.change, self.seed + 1_000_000)),
            recorded: figures(&trace),
            again: Some(real(&[], self.seed + 1_000_000)),
            answer,
        }
    }
}

fn of<'a, T>(chance: &mut Chance, all: &'a [T]) -> &'a T {
    &all[chance.below(all.len() as u64) as usize]
}

/// When a line of a trace was written, in nanoseconds.
fn time(line: &str) -> u64 {
    let seconds = line
        .split_whitespace()
        .find_map(|it| it.strip_suffix(':')?.parse::<f64>().ok());
    seconds.map_or(u64::MAX, |it| (it * 1e9) as u64)
}
