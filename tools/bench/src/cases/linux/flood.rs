//! `bench flood`: producers that hand over as fast as they can, beside a thread that reads in a loop.
//!
//! Throughput is of blocks *freed*: the clock stops when the last one is. Meanwhile another thread looks
//! every few milliseconds how many blocks are held: handed over, and not freed yet. A case is a verb and a
//! number of producers, such as `retire 2p`; each process has the machine to itself. A library without a
//! limit may take gigabytes. Two verbs are of this library only: `drop` retires blocks with a destructor,
//! `offloaded` is `retire` where the worker reclaims. What the library counts against its budget is a metric
//! of its own.

use crate::deferral::swap::Content;
use crate::deferral::{self, BLOCK, Deferring, RETIRE, Verb};
use crate::measure::once::{self, Ask, Question};
use crate::measure::{clock, freed, process, threads};
use crate::subjects::ReaderControl;
use crate::subjects::pool::MOST_THREADS;
use quiescent_report::OURS;
use quiescent_report::rows::{Figure, MEBIBYTE, MILLION, samples};
use quiescent_report::text::cases::{self, Column};
use quiescent_report::verdict::{self, Target};
use quiescent_report::{Control, Error, Report};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// What is asked of a measuring process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloodAsk {
    /// Who.
    pub subject: String,
    /// How: one of its verbs.
    pub verb: String,
    /// Threads that hand over.
    pub producers: u64,
    /// For so long.
    pub ms: u64,
}

impl FloodAsk {
    /// The name in reports.
    pub fn case(&self) -> String {
        case_name(&self.verb, self.producers)
    }
}

/// The name in reports of a verb and so many producers.
pub(crate) fn case_name(verb: &str, producers: u64) -> String {
    format!("{verb} {producers}p")
}

/// Blocks between two looks at the stop flag.
pub(crate) const CHUNK: u64 = 64;
/// The interval between two readings of the blocks held.
const LOOK: Duration = Duration::from_millis(5);

impl Question for FloodAsk {
    const KIND: &'static str = "flood";

    fn name(&self) -> String {
        format!("{}, a flood of {}", self.subject, self.case())
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(20 * self.ms)
    }

    fn measure(&self) -> Result<Vec<Figure>, String> {
        let subject = deferral::find(&self.subject)?;
        let own = own_verbs().into_iter().find(|verb| verb.name == self.verb);
        let verb = match own.filter(|_| subject.name == OURS) {
            Some(verb) => verb,
            None => subject.verb(&self.verb)?,
        };
        quiescent::tuning::set_on_worker(verb.name == OFFLOADED);
        let beside = subject
            .beside(Content::Block)
            .ok_or_else(|| format!("{} is not measured beside a reader", subject.name))?;
        let members = 1 + self.producers as usize;
        let controls: Vec<ReaderControl> = (0..members).map(|_| ReaderControl::default()).collect();
        let start_rss = process::rss_bytes();
        let freed_before = freed::count();
        // The first member reads, the others hand over. What each gives: the CPU time it used.
        let work = |number: usize, ()| {
            let cpu = clock::thread_cpu_ns();
            match number {
                0 => _ = (beside.read)(&controls[0]),
                _ => hand_over(verb, &controls[number], u64::MAX),
            }
            clock::thread_cpu_ns() - cpu
        };
        let made = || {
            controls[1..]
                .iter()
                .map(|control| control.heartbeat.0.load(Relaxed))
                .sum()
        };
        let (mut most_held, mut most_counted) = (0, 0);
        let watch = || {
            let end = Instant::now() + Duration::from_millis(self.ms);
            while Instant::now() < end {
                std::thread::sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
                most_held = most_held.max(held(verb, made(), freed_before));
                most_counted = most_counted.max(quiescent::statistics().queued_bytes);
            }
            for control in &controls {
                control.stop.0.store(1, Relaxed);
            }
        };
        let ran = threads::run(&subject, members, |_| (), work, watch)?;
        let (made, case): (u64, _) = (made(), self.case());
        let of_block = |ns: u64| ns as f64 / made.max(1) as f64;
        let reader_ns = ran.results.first().copied().unwrap_or(0);
        let per_second = made as f64 * 1e9 / ran.wall_ns.max(1) as f64;
        let cpu = of_block(ran.cpu_ns.saturating_sub(reader_ns));
        let mut figures = vec![
            Figure::new(&case, "ops_per_s", "blocks/s", per_second),
            Figure::new(&case, "cpu_ns", "ns/block", cpu),
            Figure::new(&case, "backlog", "blocks", most_held as f64),
            Figure::new(&case, "held_bytes", "bytes", (most_held * BLOCK) as f64),
        ];
        if subject.name == OURS {
            let counted = most_counted as f64;
            figures.push(Figure::new(&case, "counted_bytes", "bytes", counted));
        }
        for (metric, bytes) in [
            ("peak_rss_bytes", process::peak_rss_bytes()),
            ("start_rss_bytes", start_rss),
        ] {
            figures.extend(bytes.map(|bytes| Figure::new(&case, metric, "bytes", bytes as f64)));
        }
        Ok(figures)
    }
}

/// [`RETIRE`], where the worker frees.
const OFFLOADED: &str = "offloaded";

/// The ways to retire that are this library's only.
fn own_verbs() -> [Verb; 2] {
    let subject = deferral::find(OURS).expect("it is always there");
    let retire = subject.verb(RETIRE).expect("it has that");
    let offloaded = Verb {
        name: OFFLOADED,
        ..retire
    };
    [deferral::dropped(), offloaded]
}

/// What is measured of these subjects.
fn todo(subjects: &[Deferring]) -> Vec<(Deferring, Verb)> {
    let mut todo = deferral::massed(subjects);
    todo.retain(|(_, verb)| verb.bytes == BLOCK);
    if let Some(&ours) = subjects.iter().find(|it| it.name == OURS) {
        todo.extend(own_verbs().map(|verb| (ours, verb)));
    }
    todo
}

/// Hands over up to `most` blocks, and beats with their number so far, until `control` stops it.
pub(crate) fn hand_over(verb: Verb, control: &ReaderControl, most: u64) {
    let mut made = 0;
    while made < most && control.stop.0.load(Relaxed) == 0 {
        let chunk = CHUNK.min(most - made);
        (verb.many)(chunk);
        made += chunk;
        control.heartbeat.0.store(made, Relaxed);
    }
}

/// How many of the blocks made so far are held.
pub(crate) fn held(verb: Verb, made: u64, freed_before: u64) -> u64 {
    match verb.silent {
        Some(held) => held().0,
        None => made.saturating_sub(freed::count() - freed_before),
    }
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct FloodOptions {
    /// The program that can [`crate::measure::once::serve`]: this program itself.
    pub program: PathBuf,
    /// All subjects, not only quiescent's.
    pub compare: bool,
    /// Rounds.
    pub rounds: u64,
    /// Threads that hand over.
    pub producers: u64,
    /// How long they do.
    pub ms: u64,
    /// Where the rotation of subjects starts.
    pub seed: u64,
}

impl FloodOptions {
    /// The usual measurement, by `program`.
    pub fn new(program: PathBuf) -> Self {
        FloodOptions {
            program,
            compare: false,
            rounds: 1,
            producers: 2,
            ms: 5_000,
            seed: 1,
        }
    }
}

/// Measures and reports. When stopped, the report has what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for counts of 0 or too many producers; [`Error::Failed`] when a measuring process cannot
/// be started, dies or hangs.
pub fn run(options: &FloodOptions, control: Control<'_>) -> Result<Report, Error> {
    if options.rounds == 0 || options.ms == 0 {
        let text = "0 rounds or no time measure nothing: give 1 round or more, 5 seconds or more";
        return Err(Error::Usage(text.into()));
    }
    if !(1..=MOST_THREADS as u64).contains(&options.producers) {
        let text = format!("{} producers: give 1 to {MOST_THREADS}", options.producers);
        return Err(Error::Usage(text));
    }
    let mut subjects = deferral::selected(options.compare);
    subjects.retain(|subject| subject.beside(Content::Block).is_some());
    let todo = todo(&subjects);
    let ask = |(subject, verb): &(Deferring, Verb)| {
        let ask = FloodAsk {
            subject: subject.name.into(),
            verb: verb.name.into(),
            producers: options.producers,
            ms: options.ms,
        };
        (subject.name, Ask::of(&ask))
    };
    let (asks, rounds) = (
        todo.iter().map(ask).collect(),
        (options.rounds, options.seed),
    );
    let samples = once::sampled(&options.program, "bench flood", asks, rounds, control)?;
    let mut report = Report::new("bench flood", options.seed);
    report.option("compare", options.compare);
    report.option("rounds", options.rounds);
    report.option("producers", options.producers);
    report.option("ms", options.ms);
    report.option(
        "method",
        "a fresh process a subject, verb and round, alone, order rotated; producers beside one looping \
         reader; ops_per_s: blocks freed by the wall clock, the final barrier included; cpu_ns: all threads \
         but the reader; backlog: the most seen by a look every 5 ms; held_bytes: 64 bytes of each, the \
         library's own memory left out; counted_bytes: the most that the library counted against its \
         budget",
    );
    deferral::note(&mut report, options.compare);
    let cases = todo
        .iter()
        .map(|(_, verb)| case_name(verb.name, options.producers));
    let names: Vec<&str> = subjects.iter().map(|it| it.name).collect();
    report.rows = samples.rows(&names, &samples::distinct(cases));
    report.rows.extend(verdict::rows(&targets(&report)));
    Ok(report)
}

/// The report as text.
pub fn text(report: &Report) -> String {
    const COLUMNS: [Column; 6] = [
        Column("blocks/s", "ops_per_s"),
        Column("CPU ns a block", "cpu_ns"),
        Column("most held", "backlog"),
        Column("held MiB", "held_bytes"),
        Column("counted MiB", "counted_bytes"),
        Column("peak RSS MiB", "peak_rss_bytes"),
    ];
    let ours = |case: &str| !case.starts_with("target");
    let table = cases::of_metrics(report, ours, &COLUMNS);
    let text =
        "Blocks handed over as fast as possible, beside a looping reader, until all are freed\n\n";
    text.to_string() + &table.fitted() + &verdict::section(&targets(report))
}

/// What a program may hold by default, in MiB.
pub(super) const BUDGET_MIB: f64 = 64.0;

/// Every way of handing over.
const VERBS: [&str; 5] = [
    RETIRE,
    "retire_on_worker",
    "try_retire",
    "retire_wait",
    "call",
];

/// Bounded, and not slower for it. `cpus`: where producers and the reader are as many, none waits for a CPU.
pub fn targets(report: &Report) -> Vec<Target> {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
    targets_on(report, cpus)
}

fn targets_on(report: &Report, cpus: u64) -> Vec<Target> {
    let of = |subject, verb, producers, metric, unit: f64| {
        let figure = report.median(subject, &case_name(verb, producers), metric);
        figure.map(|figure| figure / unit)
    };
    let measured = |producers: &u64| of(OURS, RETIRE, *producers, "ops_per_s", 1.0).is_some();
    let all = (1..=MOST_THREADS as u64).filter(|it| *it == 2 || measured(it));
    let mut targets = Vec::new();
    for producers in all {
        let share = match producers < cpus {
            true => 1.0,
            false => 0.9,
        };
        let rate = |subject| of(subject, RETIRE, producers, "ops_per_s", MILLION);
        targets.push(Target::at_least(
            format!(
                "flood, {}: blocks a second at least {share} x ck",
                case_name(RETIRE, producers)
            ),
            rate(OURS),
            rate("ck").map(|rate| share * rate),
            "M/s",
        ));
        for verb in VERBS {
            let what = case_name(verb, producers);
            targets.push(Target::at_most(
                format!("flood, {what}: held at most 1.2 x {BUDGET_MIB} MiB"),
                of(OURS, verb, producers, "held_bytes", MEBIBYTE),
                Some(1.2 * BUDGET_MIB),
                "MiB",
            ));
        }
    }
    let ours = report.rows.iter().filter(|row| row.subject == OURS);
    for row in ours.filter(|row| row.metric == "counted_bytes") {
        targets.push(Target::at_most(
            format!("flood, {}: counted at most 1.2 times the budget", row.case),
            Some(row.median / MEBIBYTE),
            Some(1.2 * BUDGET_MIB),
            "MiB",
        ));
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::fixture::{met, nonsense, report};

    #[test]
    fn nothing_to_do_is_a_usage_error() {
        for (rounds, ms, producers) in [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 1 << 40)] {
            let options = FloodOptions {
                rounds,
                ms,
                producers,
                ..FloodOptions::new("true".into())
            };
            nonsense(|control| run(&options, control));
        }
    }

    #[test]
    fn every_subject_is_flooded() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        for (subject, verb) in todo(&deferral::all()) {
            let mut ask = FloodAsk {
                subject: subject.name.into(),
                verb: verb.name.into(),
                producers: 2,
                ms: 10,
            };
            if subject.beside(Content::Block).is_none() {
                assert!(ask.measure().unwrap_err().contains("beside a reader"));
                continue;
            }
            let mut freed = || {
                let figures = ask.measure().unwrap();
                assert!(figures.iter().all(|figure| figure.case == ask.case()));
                ask.ms *= 10; // on a busy machine the first time may be too short
                figures[0].value > 0.0
            };
            let freed = (0..4).any(|_| freed());
            assert!(freed, "{}: none was freed", subject.name);
        }
    }

    #[test]
    fn blocks_a_second_and_memory_have_bounds() {
        let measured = report(&[
            (OURS, "retire 2p", "ops_per_s", 9e6),
            ("ck", "retire 2p", "ops_per_s", 8e6),
            (OURS, "retire 2p", "held_bytes", 77.0 * MEBIBYTE),
            (OURS, "drop 2p", "counted_bytes", 70.0 * MEBIBYTE),
            (OURS, "retire 1p", "ops_per_s", 9e6),
            ("ck", "retire 1p", "ops_per_s", 9.5e6),
        ]);
        let targets = targets_on(&measured, 2);
        assert_eq!(
            met(&targets, "2p: blocks a second at least 0.9 x"),
            Some(true)
        );
        let alone = met(&targets, "1p: blocks a second at least 1 x");
        assert_eq!(alone, Some(false), "a CPU for each thread");
        assert_eq!(met(&targets, "flood, retire 2p: held at most"), Some(false));
        assert_eq!(met(&targets, "flood, call 2p: held at most"), None);
        assert_eq!(met(&targets, "drop 2p: counted at most"), Some(true));
    }
}
