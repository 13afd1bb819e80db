//! How near `whatif` comes: pairs of records of which one has a change that is predicted from the other.
//!
//! ```sh
//! cargo run --release -p quiescent-sim --example whatif-pairs -- NUMBER [SET] [only=PAIR]
//! cargo run --release -p quiescent-sim --example whatif-pairs -- real
//! ```
//!
//! `NUMBER` pairs of the model's own runs are drawn from the tables in `drawn`, with the number of the set
//! (1) as the seed: a workload, a machine, a change. The record begins 0.7 s after the machine, as that of a
//! recorder that is started later, and its window is ten seconds. The prediction is compared with two runs
//! that have the change: one with the same load, which shows what the replay gets wrong; one with another
//! seed, whose load differs by chance, as another hour of a real machine would. A record of that seed
//! *without* the change is compared with the first: the share of its figures that are near is what a perfect
//! prediction would reach.
//!
//! `real` are pairs of a real kernel's traces.
//!
//! Counted are the figures that decide: wake-ups, grace periods, ticks on idle CPUs. A pair in which a thread
//! runs out of trace has no figure.

mod drawn;
mod real;

use quiescent_report::Control;
use quiescent_sim::batch;
use quiescent_sim::chance::Chance;
use quiescent_sim::whatif::{self, Answer, Direction, Line, Request, SMALL, Trace};

/// Near enough, as a share.
const NEAR: f64 = 0.20;

/// The figures that decide.
const FIGURES: [&str; 3] = ["wakeups_per_s", "grace_periods_per_s", "idle_ticks_per_s"];

/// As a trace has them.
fn figures(trace: &Trace) -> [f64; 3] {
    FIGURES.map(|it| whatif::recorded(trace, it).expect("it is a figure"))
}

fn ask(trace: &Trace, was: &[&str], set: Vec<String>) -> Answer {
    let request = Request {
        file: "record".into(),
        was: was.iter().map(|&it| it.into()).collect(),
        set,
        ..Request::default()
    };
    let answer = whatif::ask(trace, &request, Control::none());
    answer
        .expect("the change is one")
        .expect("it is not stopped")
}

/// A prediction, and what it is compared with.
struct Judged {
    answer: Answer,
    /// Without the change: the record, and another seed's.
    recorded: [f64; 3],
    again: Option<[f64; 3]>,
    /// With it: the same load, and another seed's.
    same: [f64; 3],
    other: Option<[f64; 3]>,
}

#[derive(Default)]
struct Count {
    figures: u32,
    near: u32,
    wrong_way: u32,
    /// Said to be about the same, and changed by more than what is near.
    not_same: u32,
    in_range: u32,
}

impl Count {
    /// Is the line near the real figure? `said`: it is said that it may be wrong.
    fn add(&mut self, line: &Line, before: f64, real: f64, said: bool) -> bool {
        let near = is_near(line.changed, real);
        self.figures += 1;
        self.near += u32::from(near);
        let (expected, happened) = (line.changed / line.modelled - 1.0, real / before - 1.0);
        let sure = happened.abs() > SMALL && expected.abs() > SMALL / 10.0;
        self.wrong_way += u32::from(sure && expected * happened < 0.0 && !said);
        let same = line.direction() == Direction::Same;
        self.not_same += u32::from(same && happened.abs() > NEAR);
        let range = line.spread.unwrap_or((line.changed, line.changed));
        self.in_range += u32::from((range.0..=range.1).contains(&real));
        near
    }

    fn text(&self) -> String {
        let share = 100 * self.near / self.figures.max(1);
        format!(
            "{} of {} within 20 % ({share} %), {} in their range, {} in the wrong direction, unsaid, {} said \
             to be about the same that changed by more than 20 %",
            self.near, self.figures, self.in_range, self.wrong_way, self.not_same
        )
    }
}

fn is_near(predicted: f64, real: f64) -> bool {
    (predicted - real).abs() <= NEAR * real
}

/// What was asked for: pairs by name, and how each is judged.
fn judged() -> Vec<(String, Judged)> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let only = args
        .iter()
        .find_map(|it| it.strip_prefix("only=")?.parse().ok());
    let number = |n: usize| args.get(n).and_then(|it| it.parse().ok());
    let wanted = |n: usize| only.is_none_or(|it: usize| it == n);
    let jobs = std::thread::available_parallelism().map_or(1, Into::into);
    let all = match args.first().is_some_and(|it| it == "real") {
        true => {
            let all = real::pairs();
            let one = |n: usize| Some(wanted(n).then(|| (all[n].name(), all[n].judge())));
            batch::run(jobs, all.len(), one, |_| {})
        }
        false => {
            let mut chance = Chance::new(number(1).unwrap_or(1));
            let pairs = (0..number(0).unwrap_or(30)).map(|_| drawn::Pair::draw(&mut chance));
            let all: Vec<drawn::Pair> = pairs.collect();
            let one = |n: usize| Some(wanted(n).then(|| (all[n].name(), all[n].judge())));
            batch::run(jobs, all.len(), one, |_| {})
        }
    };
    all.into_iter().filter_map(|(_, it)| it).collect()
}

fn main() {
    let all = judged();
    let mut counts: [Count; 3] = Default::default();
    let mut without = 0;
    for (n, (name, it)) in all.iter().enumerate() {
        println!("{n} {name}");
        if it.answer.lacks > 0.0 {
            without += 1;
            println!("  no figure: a thread ran out of trace");
        } else {
            show(it, &mut counts);
        }
    }
    println!("{} pairs, {without} without figures", all.len());
    for (what, count) in ["same load", "another seed", "another seed, unchanged"]
        .iter()
        .zip(counts)
    {
        if count.figures > 0 {
            println!("{what}: {}", count.text());
        }
    }
}

fn show(it: &Judged, [same, other, unchanged]: &mut [Count; 3]) {
    let marked = it.answer.misfits().next().is_some();
    let from = it
        .answer
        .settings()
        .into_iter()
        .filter(|it| it.2 != "default");
    let from: Vec<String> = from
        .map(|it| format!("{}={} ({})", it.0, it.1, it.2))
        .collect();
    println!(
        "  {}{}",
        from.join(" "),
        if marked { "  BAD FIT" } else { "" }
    );
    for (n, metric) in FIGURES.into_iter().enumerate() {
        let Some(line) = it.answer.lines.iter().find(|it| it.metric == metric) else {
            continue;
        };
        let said = marked || matches!(line.direction(), Direction::Unknown | Direction::Same);
        let before = it.recorded[n];
        let mut near = same.add(line, before, it.same[n], said);
        if let Some(real) = it.other {
            near &= other.add(line, before, real[n], said);
        }
        if let Some(again) = it.again {
            unchanged.figures += 1;
            unchanged.near += u32::from(is_near(before, again[n]));
        }
        let (least, most) = line.spread.unwrap_or((f64::NAN, f64::NAN));
        println!(
            "  {} {metric:20} recorded {before:.1}, model {:.1}, changed {:.1} ({least:.1} to {most:.1}), \
             real {:.1}{}",
            if near { "   " } else { "OFF" },
            line.modelled,
            line.changed,
            it.same[n],
            it.other
                .map_or(String::new(), |it| format!(", other seed {:.1}", it[n]))
        );
    }
}
