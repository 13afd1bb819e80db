//! `bench stall`: a reader that stays in its section while another thread retires.
//!
//! The reader enters a section, and stays for a while. Meanwhile a producer hands over a million blocks of 64
//! bytes, as fast as it can; or, by the verbs named `64 kib`, `String`s of 64 KiB whose weight is declared,
//! of five times the bytes in all. Measured: the memory that this takes, blocks freed nevertheless, delays of
//! the producer, and whether the library names the blocking reader. A case is a verb.

use super::flood;
use super::stalled::{self, StalledAsk};
use crate::cases::plan::{Bench, Body, Cell, Given, Processes, Shown};
use crate::cases::setting::{self, Setting};
use crate::deferral::{self, BLOCK, Deferring, Verb};
use crate::measure::once::Question;
use crate::measure::{freed, process, threads};
use crate::subjects::ReaderControl;
use quiescent_report::rows::Figure;
use quiescent_report::text::cases::Column;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Blocks that may be held at the same time, by all processes of a wave: about a gigabyte.
const CAPACITY: u64 = 12_000_000;

/// The measurement.
pub static STALL: Bench = Bench {
    name: "stall",
    about: "A reader that stays in its section while another thread retires: memory, and whether it is \
            named; or while another domain goes on",
    settings: &[
        setting::compare("Beside every other library in this build that reclaims later"),
        Setting::seconds(
            "ms",
            "seconds",
            "5",
            "How long the reader stays in its section",
        ),
        setting::objects(
            "1000000",
            "Blocks of 64 bytes that the other thread retires meanwhile",
        ),
    ],
    method: "a fresh process a subject and verb, several at a time; 64 kib: a String of that size with its \
             weight declared, five times the bytes in all; counted: bytes held by the library's own count; \
             resident memory before, when the producer is through (or at the end of the stall), at the end \
             of the stall, and when everything is freed; freed: blocks freed while the reader was in its \
             section; blocked: the producer was not through by then; named: the library could say which \
             thread is in the way; in another domain: sleeps, reader_wakeups: the domain's own counters",
    body: Body::Processes(Processes {
        cells,
        capacity: |_| CAPACITY,
        ..Processes::USUAL
    }),
    title: "A reader stays in its section",
    tables: &[
        Shown::Metrics(
            "Another thread retires meanwhile; resident memory in MiB",
            |case| !stalled::CASES.contains(&case),
            &[
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
            ],
        ),
        Shown::Metrics(
            "While a reader stays in a section of another domain",
            |case| stalled::CASES.contains(&case),
            &[
                Column("sleeps", "sleeps"),
                Column("woken by readers", "reader_wakeups"),
                Column("left", "left"),
                Column("held up elsewhere", "held_up"),
                Column("latency us", "latency_us"),
                Column("callback us", "delay_us"),
                Column("callback, times", "delay_us_ratio"),
            ],
        ),
    ],
    ..Bench::USUAL
};

fn cells(given: &Given) -> Vec<Cell> {
    let mut subjects = deferral::selected(given.is("compare"));
    subjects.retain(|subject| subject.hold.is_some());
    let cell = |(subject, verb): (Deferring, Verb)| {
        let ask = StallAsk {
            subject: subject.name.into(),
            verb: verb.name.into(),
            objects: objects(verb, given.of("objects")),
            ms: given.of("ms"),
        };
        Cell::of_load(subject.name, &ask, ask.objects * (verb.bytes / BLOCK))
    };
    let mut cells: Vec<Cell> = deferral::massed(&subjects).into_iter().map(cell).collect();
    // Timed: alone.
    let apart = StalledAsk::BOTH
        .iter()
        .map(|it| Cell::of_load(it.subject(), it, CAPACITY));
    cells.extend(apart);
    cells
}

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

/// How many objects of a verb there are where there are so many blocks: larger ones of five times the bytes,
/// which are well over the budget.
fn objects(verb: Verb, blocks: u64) -> u64 {
    match verb.bytes {
        BLOCK => blocks,
        bytes => (5 * blocks * BLOCK / bytes).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
