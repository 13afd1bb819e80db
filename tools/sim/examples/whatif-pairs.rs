//! How near `whatif` comes: pairs of the model's own runs, one of which is recorded, and the other has a change
//! that is predicted from the record.
//!
//! ```sh
//! cargo run --release -p quiescent-sim --example whatif-pairs -- NUMBER [SET] [only=PAIR]
//! ```
//!
//! A pair is drawn from the tables below, with the number of the set (default 1) as the seed: a workload with
//! its settings, a machine, a change. The record begins 0.7 s after the machine, as a recorder that is
//! started later, and lasts ten seconds. The prediction is compared with two runs that have the change: one
//! with the same load, which shows what the replay gets wrong; one with another seed, whose load differs by
//! chance as another hour of a real machine would. The record of a second seed *without* the change is
//! compared with the first: the share of its figures that are near is the most that a prediction can reach.
//!
//! Counted are the figures that decide: wake-ups, grace periods, ticks on idle CPUs. A pair in which a thread
//! runs out of trace has no figure.

use quiescent_report::{Control, Silent};
use quiescent_sim::chance::Chance;
use quiescent_sim::whatif::{self, Answer, Line, Request, Trace};
use quiescent_sim::{Workload, batch};
use quiescent_trace::{Options as Known, Window};

/// Near enough, as a share.
const NEAR: f64 = 0.20;

/// The record begins then, its window a tenth of a second later, and that ends then, in nanoseconds.
const FROM: u64 = 700_000_000;
const START: u64 = 800_000_000;
const END: u64 = 10_800_000_000;

/// The direction of a change by a smaller share is a matter of chance.
const CHANGE: f64 = 0.05;

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

struct Pair {
    load: &'static str,
    machine: Vec<(&'static str, String)>,
    change: Sets,
    seed: u64,
}

impl Pair {
    fn draw(chance: &mut Chance) -> Pair {
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

    fn name(&self) -> String {
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
        let mut machine = workload.plan(&sets).expect("the tables fit").machine();
        machine.keep_trace();
        machine.run(END + 200_000_000);
        let mut text = Vec::new();
        machine
            .write_trace(&mut text)
            .expect("memory does not fail");
        let text = String::from_utf8(text).expect("ASCII");
        let kept = text
            .lines()
            .filter(|it| it.starts_with('#') || time(it) >= FROM);
        let text: String = kept.flat_map(|it| [it, "\n"]).collect();
        let hz = sets
            .iter()
            .find(|it| it.0 == "hz")
            .and_then(|it| it.1.parse().ok());
        let known = Known {
            hz,
            window: Some(Window {
                start_ns: START,
                end_ns: END,
            }),
        };
        whatif::read("record", text.as_bytes(), known).expect("the model's traces can be read")
    }

    fn judge(&self) -> Judged {
        let trace = self.record(&[], self.seed);
        let request = Request {
            file: "record".into(),
            set: self
                .change
                .iter()
                .map(|it| format!("{}={}", it.0, it.1))
                .collect(),
            ..Request::default()
        };
        let stop = std::sync::atomic::AtomicBool::new(false);
        let answer = whatif::ask(&trace, &request, Control::new(&stop, &Silent));
        let answer = answer
            .expect("the change is one")
            .expect("it is not stopped");
        let real = |change, seed| figures(&self.record(change, seed));
        Judged {
            same: real(self.change, self.seed),
            other: real(self.change, self.seed + 1_000_000),
            unchanged: [figures(&trace), real(&[], self.seed + 1_000_000)],
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

/// The figures that decide.
const FIGURES: [&str; 3] = ["wakeups_per_s", "grace_periods_per_s", "idle_ticks_per_s"];

/// As a trace has them.
fn figures(trace: &Trace) -> [f64; 3] {
    FIGURES.map(|it| whatif::recorded(trace, it).expect("it is a figure"))
}

struct Judged {
    answer: Answer,
    /// With the change: the same load, and another seed's.
    same: [f64; 3],
    other: [f64; 3],
    /// Without: the record, and another seed's.
    unchanged: [[f64; 3]; 2],
}

#[derive(Default)]
struct Count {
    figures: u32,
    near: u32,
    wrong_way: u32,
    in_range: u32,
}

impl Count {
    fn add(&mut self, line: &Line, before: f64, real: f64, said: bool) -> bool {
        let near = is_near(line.changed, real);
        self.figures += 1;
        self.near += u32::from(near);
        let (expected, happened) = (line.changed / line.modelled - 1.0, real / before - 1.0);
        let wrong =
            happened.abs() > CHANGE && expected * happened < 0.0 && expected.abs() > CHANGE / 10.0;
        self.wrong_way += u32::from(wrong && !said);
        let range = line.spread.unwrap_or((line.changed, line.changed));
        self.in_range += u32::from((range.0..=range.1).contains(&real));
        near
    }

    fn text(&self) -> String {
        let Count {
            figures,
            near,
            wrong_way,
            in_range,
        } = self;
        let pct = 100.0 * f64::from(*near) / f64::from((*figures).max(1));
        format!(
            "{near} of {figures} within 20 % ({pct:.0} %), {in_range} in their range, {wrong_way} in the wrong \
                 direction, unsaid"
        )
    }
}

fn is_near(predicted: f64, real: f64) -> bool {
    (predicted - real).abs() <= NEAR * real
}

fn main() {
    let mut number = 30;
    let mut set = 1;
    let mut only: Option<usize> = None;
    for (n, it) in std::env::args().skip(1).enumerate() {
        match it.strip_prefix("only=") {
            Some(it) => only = it.parse().ok(),
            None if n == 0 => number = it.parse().expect("a number of pairs"),
            None => set = it.parse().expect("the number of a set"),
        }
    }
    let mut chance = Chance::new(set);
    let all: Vec<Pair> = (0..number).map(|_| Pair::draw(&mut chance)).collect();
    let jobs = std::thread::available_parallelism().map_or(1, Into::into);
    let wanted = |n: usize| only.is_none_or(|it| it == n);
    let judged = batch::run(jobs, number, |n| wanted(n).then(|| all[n].judge()), || {});
    let (mut same, mut other, mut bad_fit, mut best) = Default::default();
    let mut without = 0;
    for (n, (pair, judged)) in all.iter().zip(judged).enumerate() {
        let Some(it) = judged else { continue };
        println!("{n} {}", pair.name());
        if it.answer.ran_out.is_some() {
            without += 1;
            println!("  no figure: a thread ran out of trace");
            continue;
        }
        show(&it, [&mut same, &mut other, &mut bad_fit, &mut best]);
    }
    println!("{number} pairs, {without} without figures");
    println!("the same load:      {}", same.text());
    println!("another seed:       {}", other.text());
    println!("  where not marked: {}", bad_fit.text());
    println!("unchanged, another seed: {}", best.text());
}

fn show(it: &Judged, [same, other, unmarked, best]: [&mut Count; 4]) {
    let marked = it.answer.misfits().next().is_some();
    let smp = it
        .answer
        .settings()
        .iter()
        .map(|it| format!("{}={} ({})", it.0, it.1, it.2))
        .collect::<Vec<_>>();
    println!(
        "  {}{}",
        smp.join(" "),
        if marked { "  BAD FIT" } else { "" }
    );
    for (n, metric) in FIGURES.into_iter().enumerate() {
        let Some(line) = it.answer.lines.iter().find(|it| it.metric == metric) else {
            continue;
        };
        let (before, again) = (it.unchanged[0][n], it.unchanged[1][n]);
        let said = marked || !line.direction_known();
        let ok = [
            same.add(line, before, it.same[n], said),
            other.add(line, before, it.other[n], said),
        ];
        if !marked {
            unmarked.add(line, before, it.other[n], said);
        }
        best.figures += 1;
        best.near += u32::from(is_near(before, again));
        let (least, most) = line.spread.unwrap_or((f64::NAN, f64::NAN));
        println!(
            "  {} {:20} recorded {before:.1} (other seed {again:.1}) model {:.1} changed {:.1} ({least:.1} to \
             {most:.1}), real {:.1} {:.1}",
            if ok[0] {
                if ok[1] { "   " } else { " o " }
            } else {
                "OFF"
            },
            line.metric,
            line.modelled,
            line.changed,
            it.same[n],
            it.other[n]
        );
    }
}
