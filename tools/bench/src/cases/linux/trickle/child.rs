//! A measuring process of `bench trickle`: one subject, one verb, one rate, once.
//!
//! The producer sleeps to absolute deadlines and hands over one block at each. The main thread looks on; both
//! are the program's, every other thread is the library's. Wake-ups are counted from a little after the first
//! block on, so that the start of a library's thread is not taken for one.
//!
//! Most blocks report when they are freed ([`crate::measure::freed`]). Plain ones of quiescent are freed
//! without a report, in the order in which they were retired; for them the main thread reads the number left
//! from the library, every few milliseconds, and counts the missing ones as freed just then. A delay counts
//! from just before the call.
//!
//! On a busy machine the producer may fall behind its deadlines; it then hands over as fast as it can.
//! `ops_per_s` is the rate there really was.

use crate::deferral::rest;
use crate::deferral::{self, BLOCK, Deferring, Verb};
use crate::measure::figures::Figures;
use crate::measure::once::{Ask, Said};
use crate::measure::threads::{Helper, Steps};
use crate::measure::{clock, freed, process};
use hdrhistogram::Histogram;
use quiescent_report::rows::Figure;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

/// The name in reports.
pub fn case(ask: &Ask) -> String {
    let exits = if ask.of("exits") != 0 { ", exits" } else { "" };
    format!("{} {}/s{exits}", ask.case, ask.of("rate"))
}

fn blocks(ask: &Ask) -> u64 {
    (u128::from(ask.of("rate")) * u128::from(ask.of("ms")) / 1_000) as u64
}

pub(super) fn patience(ask: &Ask) -> Duration {
    2 * (ask.ms("ms") + ask.ms("patience_ms"))
}

/// How often the main thread looks on.
const LOOK: Duration = Duration::from_millis(5);
/// When counting begins, at the latest: by then a library has started its threads.
const WARM_MS: u64 = 500;
/// The producer's name, which threads that it starts have too unless they take another.
const PRODUCER: &str = "producer";

pub(super) fn measure(ask: &Ask) -> Said {
    let subject = deferral::find(&ask.subject)?;
    let verb = subject.verb(&ask.case)?;
    freed::take_delays();
    let blocks = blocks(ask);
    let mut watch = Watch::new(verb, blocks);
    let (start_rss, counted) = (process::rss_bytes(), rest::counters(&subject));
    let (handed, asked) = (watch.handed.clone(), ask.clone());
    let body = move |steps: &Steps<Option<Made>>| produce(steps, subject, verb, &asked, &handed);
    let (producer, _) = Helper::start(PRODUCER, body)?;
    let began = Instant::now();
    producer.go(())?;
    let warm = Duration::from_millis(WARM_MS.min(ask.of("ms") / 10));
    let ours = [process::this_thread(), watch.handed.producer.load(Relaxed)];
    let mut before = None;
    let made = loop {
        watch.look();
        if before.is_none() && began.elapsed() >= warm {
            before = Some((Instant::now(), library_threads(&ours)));
        }
        if let Some(made) = producer.heard(LOOK)?.flatten() {
            break made;
        }
    };
    let (since, before) = before.unwrap_or_else(|| (began, BTreeMap::new()));
    let (whole, seconds) = (began.elapsed(), since.elapsed().as_secs_f64());
    let after = library_threads(&ours);
    let peak = process::peak_rss_bytes();
    let drained = watch.wait(ask.ms("patience_ms"));
    let (mut figures, mut by_thread) = (Figures::of(case(ask)), Vec::new());
    let cpu_ns = woken(
        &mut figures,
        &mut by_thread,
        &case(ask),
        (&before, &after),
        seconds,
    );
    figures.all.append(&mut by_thread);
    watch.figures(&mut figures, drained);
    let wanted = [
        ("latency_us", 0.5),
        ("latency_us_p99.9", 0.999),
        ("latency_us_max", 1.0),
    ];
    figures.quantiles(("us", made.stamps_per_us), &made.calls, wanted);
    if blocks > 0 {
        let rate = blocks as f64 / whole.as_secs_f64().max(1e-9);
        let calls_ns = made.stamps as f64 * 1_000.0 / made.stamps_per_us;
        let each = calls_ns / blocks as f64 + cpu_ns as f64 / (rate * seconds).max(1.0);
        figures.add("ops_per_s", "blocks/s", rate);
        figures.add("cpu_ns", "ns/block", each);
    }
    if let Some((peak, start)) = peak.zip(start_rss) {
        figures.count("peak_rss_bytes", "bytes", peak);
        figures.count("start_rss_bytes", "bytes", start);
    }
    if let Some((after, before)) = rest::counters(&subject).zip(counted) {
        rest::counted(&mut figures, after.since(before));
    }
    producer.end()?;
    Ok(figures.all)
}

/// What the producer found.
struct Made {
    /// Stamps of each call, and of all together.
    calls: Histogram<u64>,
    stamps: u64,
    stamps_per_us: f64,
}

/// The thread that hands over.
fn produce(
    steps: &Steps<Option<Made>>,
    subject: Deferring,
    verb: Verb,
    ask: &Ask,
    handed: &Handed,
) {
    (subject.attach)();
    let stamps_per_us = clock::stamps_per_us() as f64;
    handed.producer.store(process::this_thread(), Relaxed);
    steps.next(None);
    let found = Some(hand_over(verb, ask, stamps_per_us, handed));
    if ask.of("exits") != 0 {
        (subject.detach)();
        steps.say(found);
    } else {
        steps.next(found);
        (subject.finish)();
        (subject.detach)();
    }
}

/// The producer's work: a block at each deadline, then nothing until the time is over.
fn hand_over(verb: Verb, ask: &Ask, stamps_per_us: f64, handed: &Handed) -> Made {
    let begin_ns = clock::monotonic_ns();
    let mut calls = Histogram::new_with_bounds(1, u64::MAX / 2, 3).expect("1 is less than that");
    let mut stamps = 0;
    for index in 0..blocks(ask) {
        let due_ns = u128::from(index) * 1_000_000_000 / u128::from(ask.of("rate").max(1));
        clock::sleep_until(begin_ns + due_ns as u64);
        let now = clock::monotonic_ns();
        if let Some(time) = handed.times.get(index as usize) {
            time.store(now, Relaxed);
        }
        let took = (verb.one)(now);
        handed.blocks.store(index + 1, Release);
        calls.saturating_record(took.max(1));
        stamps += took;
    }
    clock::sleep_until(begin_ns + ask.of("ms") * 1_000_000);
    Made {
        calls,
        stamps,
        stamps_per_us,
    }
}

/// What the producer has handed over so far.
struct Handed {
    /// The number of its thread.
    producer: AtomicU32,
    blocks: AtomicU64,
    /// When each was; nothing where blocks tell that themselves.
    times: Vec<AtomicU64>,
}

impl Handed {
    /// Room for so many, with memory that is touched already.
    fn room(blocks: u64) -> Self {
        Handed {
            producer: AtomicU32::new(0),
            blocks: AtomicU64::new(0),
            times: (0..blocks).map(|_| AtomicU64::new(1)).collect(),
        }
    }
}

/// Threads by number.
type Threads = BTreeMap<u32, process::Thread>;

/// The threads of this process but these two.
fn library_threads(ours: &[u32]) -> Threads {
    let all = process::threads().into_iter();
    let others = all.filter(|number| !ours.contains(number));
    others
        .filter_map(|number| Some((number, process::thread(number)?)))
        .collect()
}

/// What the library's threads did between two looks, in all and by their names; the CPU time that took.
fn woken(
    figures: &mut Figures,
    by_thread: &mut Vec<Figure>,
    case: &str,
    (before, after): (&Threads, &Threads),
    seconds: f64,
) -> u64 {
    let rate = |wakeups: u64| wakeups as f64 / seconds.max(1e-9);
    let (mut wakeups, mut cpu_ns) = (0, 0);
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for (number, thread) in after {
        let (switches, cpu) = before
            .get(number)
            .map_or((0, 0), |it| (it.switches, it.cpu_ns));
        let own = Some(&*thread.name).filter(|name| *name != PRODUCER);
        *by_name.entry(own.unwrap_or("without a name")).or_default() += thread.switches - switches;
        wakeups += thread.switches - switches;
        cpu_ns += thread.cpu_ns - cpu;
    }
    figures.add("wakeups_per_s", "wake-ups/s", rate(wakeups));
    figures.count("wakeups", "wake-ups", wakeups);
    figures.count("threads", "threads", after.len() as u64);
    for (name, wakeups) in by_name {
        let mut own = Figures::of(format!("{case}, thread {name}"));
        own.add("wakeups_per_s", "wake-ups/s", rate(wakeups));
        by_thread.append(&mut own.all);
    }
    cpu_ns
}

/// The main thread's view of the blocks.
struct Watch {
    verb: Verb,
    /// How many there will be.
    blocks: u64,
    handed: Arc<Handed>,
    freed_before: u64,
    freed: u64,
    most_held: u64,
}

impl Watch {
    fn new(verb: Verb, blocks: u64) -> Self {
        Watch {
            verb,
            blocks,
            handed: Arc::new(Handed::room(verb.silent.map_or(0, |_| blocks))),
            freed_before: freed::count(),
            freed: 0,
            most_held: 0,
        }
    }

    fn look(&mut self) {
        // In this order: a block that is handed over in between makes it look as if fewer were freed, never
        // more.
        let made = self.handed.blocks.load(Acquire);
        let freed = match self.verb.silent {
            Some(held) => made.saturating_sub(held().0),
            None => freed::count() - self.freed_before,
        };
        if self.verb.silent.is_some() && freed > self.freed {
            let now = clock::monotonic_ns();
            for time in &self.handed.times[self.freed as usize..freed as usize] {
                freed::delayed(now.saturating_sub(time.load(Relaxed)), 1);
            }
        }
        self.freed = self.freed.max(freed);
        self.most_held = self.most_held.max(made.saturating_sub(freed));
    }

    /// Waits until nothing is left: how long that took; `None` when it takes longer than this.
    fn wait(&mut self, patience: Duration) -> Option<Duration> {
        let begin = Instant::now();
        loop {
            self.look();
            if self.freed >= self.blocks {
                return Some(begin.elapsed());
            }
            if begin.elapsed() >= patience {
                return None;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn figures(&self, figures: &mut Figures, drained: Option<Duration>) {
        if self.blocks == 0 {
            return;
        }
        figures.count(
            "never_run",
            "blocks",
            self.blocks.saturating_sub(self.freed),
        );
        figures.count("backlog", "blocks", self.most_held);
        figures.count("held_bytes", "bytes", self.most_held * BLOCK);
        let wanted = [
            ("delay_ms", 0.5),
            ("delay_ms_p99", 0.99),
            ("delay_ms_max", 1.0),
        ];
        figures.quantiles(("ms", 1e3), &freed::take_delays(), wanted);
        let ms = drained.map(|drained| drained.as_secs_f64() * 1_000.0);
        figures.add("drained_ms", "ms", ms);
    }
}

#[cfg(test)]
mod tests;
