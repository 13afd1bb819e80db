//! `bench stall`: a reader that stays in its section while another thread retires.
//!
//! The reader enters a section, and stays for a while. Meanwhile a producer hands over a million blocks of 64
//! bytes, as fast as it can; or, by the verbs named `64 kib`, `String`s of 64 KiB whose weight is declared,
//! of five times the bytes in all. Measured: the memory that this takes, blocks freed nevertheless, delays of
//! the producer, and whether the library names the blocking reader. A case is a verb.

use crate::cases::flood::{self, BUDGET_MIB};
use crate::deferral::{self, BLOCK, Deferring, Verb};
use crate::measure::once::Ask;
use crate::measure::once::Question;
use crate::measure::waves::{self, Cell};
use crate::measure::{freed, process, threads};
use crate::subjects::ReaderControl;
use quiescent_report::OURS;
use quiescent_report::rows::MEBIBYTE;
use quiescent_report::rows::{Figure, samples};
use quiescent_report::text::cases::{self, Column};
use quiescent_report::verdict;
use quiescent_report::verdict::Target;
use quiescent_report::{Control, Error, Report};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is asked of a measuring process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallAsk {
    /// Who.
    pub subject: String,
    /// How: one of its verbs. Also the case in reports.
    pub verb: String,
    /// Blocks.
    pub objects: u64,
    /// How long the reader stays.
    pub ms: u64,
}

/// How often the main thread looks whether the producer is through.
const LOOK: Duration = Duration::from_millis(2);

/// A reader in a section.
struct Reader {
    control: Arc<ReaderControl>,
    number: u32,
    thread: JoinHandle<()>,
}

impl Reader {
    fn start(subject: Deferring, hold: fn(&ReaderControl)) -> Result<Self, String> {
        let control = Arc::new(ReaderControl::default());
        let (here, is_here) = channel();
        let shared = control.clone();
        let thread = threads::spawn("stalled reader", move || {
            (subject.attach)();
            let _ = here.send(process::this_thread());
            hold(&shared);
            (subject.detach)();
        })?;
        let number = is_here.recv().map_err(|_| threads::DIED)?;
        while control.heartbeat.0.load(Acquire) == 0 {
            if thread.is_finished() {
                return Err(threads::DIED.into());
            }
            std::thread::sleep(LOOK);
        }
        Ok(Reader {
            control,
            number,
            thread,
        })
    }

    fn end(self) -> Result<(), String> {
        self.control.stop.0.store(1, Release);
        self.thread.join().map_err(|_| threads::DIED.into())
    }
}

impl Question for StallAsk {
    const KIND: &'static str = "stall";

    fn name(&self) -> String {
        format!("{}, {} behind a stalled reader", self.subject, self.verb)
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(10 * self.ms) + Duration::from_micros(20 * self.objects)
    }

    fn measure(&self) -> Result<Vec<Figure>, String> {
        let subject = deferral::find(&self.subject)?;
        let verb = subject.verb(&self.verb)?;
        let hold = subject
            .hold
            .ok_or_else(|| format!("{} has no sections to stay in", subject.name))?;
        let rss = || process::rss_bytes().unwrap_or(0);
        let reader = Reader::start(subject, hold)?;
        let (begin, start_rss, freed_before) = (Instant::now(), rss(), freed::count());
        let end = begin + Duration::from_millis(self.ms);
        let made = Arc::new(ReaderControl::default());
        let (shared, objects) = (made.clone(), self.objects);
        let producer = threads::spawn("producer", move || {
            (subject.attach)();
            flood::hand_over(verb, &shared, objects);
            shared.stop.0.store(2, Release);
            while shared.stop.0.load(Acquire) != 3 {
                std::thread::park();
            }
            (subject.finish)();
            (subject.detach)();
        })?;
        let through = || made.stop.0.load(Acquire) == 2;
        while !through() && Instant::now() < end && !producer.is_finished() {
            std::thread::sleep(LOOK);
        }
        let (took, retired_rss) = (begin.elapsed(), rss());
        std::thread::sleep(end.saturating_duration_since(Instant::now()));
        let handed_over = made.heartbeat.0.load(Relaxed);
        let held = flood::held(verb, handed_over, freed_before);
        let counted_bytes = verb.silent.map(|held| held().1);
        let blocked = !through();
        let (stalled_rss, named) = (
            rss(),
            subject.names.is_some_and(|names| names(reader.number)),
        );
        reader.end()?;
        while !through() && !producer.is_finished() {
            std::thread::sleep(LOOK);
        }
        made.stop.0.store(3, Release);
        producer.thread().unpark();
        producer.join().map_err(|_| threads::DIED)?;
        (subject.settle)();
        let figure = |metric, unit, value: u64| Figure::new(&self.verb, metric, unit, value as f64);
        let freed = handed_over.saturating_sub(held);
        let mut figures = vec![
            figure("start_rss_bytes", "bytes", start_rss),
            figure("retired_rss_bytes", "bytes", retired_rss),
            figure("stalled_rss_bytes", "bytes", stalled_rss),
            figure("end_rss_bytes", "bytes", rss()),
            figure(
                "grown_bytes",
                "bytes",
                stalled_rss.saturating_sub(start_rss),
            ),
            figure("backlog", "blocks", held),
            figure("held_bytes", "bytes", held * verb.bytes),
            figure("freed", "blocks", freed),
            figure("retire_ms", "ms", took.as_millis() as u64),
            figure("blocked", "producers", u64::from(blocked)),
            figure("named", "readers", u64::from(named)),
        ];
        figures.extend(counted_bytes.map(|bytes| figure("counted_bytes", "bytes", bytes)));
        Ok(figures)
    }
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct StallOptions {
    /// The program that can [`crate::measure::once::serve`]: this program itself.
    pub program: PathBuf,
    /// All subjects, not only quiescent's.
    pub compare: bool,
    /// Blocks.
    pub objects: u64,
    /// How long the reader stays.
    pub ms: u64,
    /// Printed with the results: all are measured at the same time, so there is no order.
    pub seed: u64,
}

impl StallOptions {
    /// The usual measurement, by `program`.
    pub fn new(program: PathBuf) -> Self {
        StallOptions {
            program,
            compare: false,
            objects: 1_000_000,
            ms: 5_000,
            seed: 1,
        }
    }
}

/// How many objects of a verb there are where there are so many blocks: larger ones of five times the bytes,
/// which are well over the budget.
fn objects(verb: Verb, blocks: u64) -> u64 {
    match verb.bytes {
        BLOCK => blocks,
        bytes => (5 * blocks * BLOCK / bytes).max(1),
    }
}

/// Blocks that may be held at the same time, by all processes of a wave: about a gigabyte.
const CAPACITY: u64 = 12_000_000;

/// Measures and reports. When stopped, the report has what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for counts of 0; [`Error::Failed`] when a measuring process cannot be started, dies or
/// hangs.
pub fn run(options: &StallOptions, control: Control<'_>) -> Result<Report, Error> {
    if options.objects == 0 || options.ms == 0 {
        let text = "no blocks, or no time: give 100000 blocks or more, 5 seconds or more";
        return Err(Error::Usage(text.into()));
    }
    let mut subjects = deferral::selected(options.compare);
    subjects.retain(|subject| subject.hold.is_some());
    let todo = deferral::massed(&subjects);
    let cell = |(subject, verb): &(Deferring, Verb)| {
        let objects = objects(*verb, options.objects);
        Cell {
            subject: subject.name,
            ask: Ask::of(&StallAsk {
                subject: subject.name.into(),
                verb: verb.name.into(),
                objects,
                ms: options.ms,
            }),
            load: objects * (verb.bytes / BLOCK),
        }
    };
    let waves = waves::plan(todo.iter().map(cell).collect(), CAPACITY);
    let samples = waves::run(&options.program, "bench stall", waves, control)?;
    let mut report = Report::new("bench stall", options.seed);
    report.option("compare", options.compare);
    report.option("objects", options.objects);
    report.option("ms", options.ms);
    report.option(
        "method",
        "a fresh process a subject and verb, several at a time; 64 kib: a String of that size with its \
         weight declared, five times the bytes in all; counted: bytes held by the library's own count; \
         resident memory before, when the producer is through (or at the end of the stall), at the end of \
         the stall, and when everything is freed; freed: blocks freed while the reader was in its section; \
         blocked: the producer was not through by then; named: the library could say which thread is in the \
         way",
    );
    deferral::note(&mut report, options.compare);
    let cases = todo.iter().map(|(_, verb)| verb.name.to_string());
    let names: Vec<&str> = subjects.iter().map(|it| it.name).collect();
    report.rows = samples.rows(&names, &samples::distinct(cases));
    report.rows.extend(verdict::rows(&targets(&report)));
    Ok(report)
}

/// The report as text.
pub fn text(report: &Report) -> String {
    const COLUMNS: [Column; 10] = [
        Column("before", "start_rss_bytes"),
        Column("retired", "retired_rss_bytes"),
        Column("stalled", "stalled_rss_bytes"),
        Column("after", "end_rss_bytes"),
        Column("grown", "grown_bytes"),
        Column("counted", "counted_bytes"),
        Column("freed", "freed"),
        Column("retiring ms", "retire_ms"),
        Column("blocked", "blocked"),
        Column("named", "named"),
    ];
    let ours = |case: &str| !case.starts_with("target");
    let table = cases::of_metrics(report, ours, &COLUMNS);
    let text =
        "A reader stays in its section while another thread retires; resident memory in MiB\n\n";
    text.to_string() + &table.fitted() + &verdict::section(&targets(report))
}

/// The verbs that promise to stay within the budget.
const BOUNDED: [&str; 3] = ["try_retire", "retire_wait", "try_retire 64 kib"];

/// Named under every verb, bounded under those that can wait or refuse.
pub fn targets(report: &Report) -> Vec<Target> {
    let ours = |verb: &str, metric| report.median(OURS, verb, metric);
    let mut targets = Vec::new();
    for verb in BOUNDED {
        targets.push(Target::at_most(
            format!("stalled reader, {verb}: memory grows by at most 1.2 x {BUDGET_MIB} MiB"),
            ours(verb, "grown_bytes").map(|bytes| bytes / MEBIBYTE),
            Some(1.2 * BUDGET_MIB),
            "MiB",
        ));
    }
    // What a value owns is counted: what is held, and what the library says is held, are the same.
    let counted = ours("retire 64 kib", "counted_bytes");
    let held = ours("retire 64 kib", "held_bytes");
    targets.push(Target::at_least(
        "stalled reader, retire 64 kib: the library counts what is held".into(),
        counted.map(|bytes| bytes / MEBIBYTE),
        held.map(|bytes| bytes / MEBIBYTE),
        "MiB",
    ));
    for verb in ["retire", "call", "retire 64 kib"]
        .into_iter()
        .chain(BOUNDED)
    {
        targets.push(Target::at_least(
            format!("stalled reader, {verb}: the reader is named"),
            ours(verb, "named"),
            Some(1.0),
            "readers",
        ));
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::fixture::{met, report};

    #[test]
    fn every_subject_goes_on_after_a_stall() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        for (subject, verb) in deferral::massed(&deferral::all()) {
            let ask = StallAsk {
                subject: subject.name.into(),
                verb: verb.name.into(),
                objects: objects(verb, 10_000),
                ms: 50,
            };
            let figures = ask.measure().unwrap();
            let named = figures.iter().find(|figure| figure.metric == "named");
            let can = subject.names.is_some();
            assert!(can || named.unwrap().value == 0.0, "{}", subject.name);
        }
    }

    #[test]
    fn the_reader_has_to_be_named() {
        let measured = report(&[(OURS, "retire", "named", 1.0), (OURS, "call", "named", 0.0)]);
        let targets = targets(&measured);
        let named = |verb| met(&targets, &format!("reader, {verb}: the reader is named"));
        assert_eq!((named("retire"), named("call")), (Some(true), Some(false)));
        assert_eq!(met(&targets, "try_retire: memory"), None);
        assert_eq!(met(&targets, "counts what is held"), None);
    }
}
