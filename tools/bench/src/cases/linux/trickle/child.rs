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
use crate::measure::once::Question;
use crate::measure::{clock, freed, process, threads};
use hdrhistogram::Histogram;
use quiescent_report::rows::Figure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrickleAsk {
    /// Who.
    pub subject: String,
    /// How: one of its verbs.
    pub verb: String,
    /// Blocks a second.
    pub rate: u64,
    /// For so long.
    pub ms: u64,
    /// Then the producer ends, rather than sleep.
    pub exits: bool,
    /// How long to wait, after that, for what has not been freed.
    pub patience_ms: u64,
}

impl TrickleAsk {
    /// The name in reports.
    pub fn case(&self) -> String {
        let exits = if self.exits { ", exits" } else { "" };
        format!("{} {}/s{exits}", self.verb, self.rate)
    }

    fn blocks(&self) -> u64 {
        (u128::from(self.rate) * u128::from(self.ms) / 1_000) as u64
    }

    /// How long after the beginning block number `index` is due, in ns.
    fn due_ns(&self, index: u64) -> u64 {
        (u128::from(index) * 1_000_000_000 / u128::from(self.rate.max(1))) as u64
    }
}

/// How often the main thread looks on.
const LOOK: Duration = Duration::from_millis(5);
/// When counting begins, at the latest: by then a library has started its threads.
const WARM_MS: u64 = 500;
/// The producer's name, which threads that it starts have too unless they take another.
const PRODUCER: &str = "producer";

impl Question for TrickleAsk {
    const KIND: &'static str = "trickle";

    fn patience(&self) -> Duration {
        Duration::from_millis(2 * self.ms + 2 * self.patience_ms)
    }

    fn measure(&self) -> Result<Vec<Figure>, String> {
        let subject = deferral::find(&self.subject)?;
        let verb = subject.verb(&self.verb)?;
        freed::take_delays();
        let mut watch = Watch::new(verb, self);
        let (start_rss, counted) = (process::rss_bytes(), rest::counters(&subject));
        let producer = Producer::start(subject, verb, self.clone(), watch.handed.clone())?;
        let warm = Duration::from_millis(WARM_MS.min(self.ms / 10));
        let ours = [process::this_thread(), producer.number];
        let mut before = None;
        let made = loop {
            watch.look();
            if before.is_none() && producer.began.elapsed() >= warm {
                before = Some((Instant::now(), library_threads(&ours)));
            }
            match producer.done.recv_timeout(LOOK) {
                Ok(made) => break made,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(threads::DIED.into());
                }
            }
        };
        let (since, before) = before.unwrap_or_else(|| (producer.began, BTreeMap::new()));
        let (whole, seconds) = (producer.began.elapsed(), since.elapsed().as_secs_f64());
        let after = library_threads(&ours);
        let peak = process::peak_rss_bytes();
        let drained = watch.wait(Duration::from_millis(self.patience_ms));
        let case = self.case();
        let (mut figures, cpu_ns) = woken(&case, &before, &after, seconds);
        figures.extend(watch.figures(&case, drained));
        figures.extend(made.figures(&case));
        if self.blocks() > 0 {
            let rate = self.blocks() as f64 / whole.as_secs_f64().max(1e-9);
            let each =
                made.calls_ns / self.blocks() as f64 + cpu_ns as f64 / (rate * seconds).max(1.0);
            figures.push(Figure::new(&case, "ops_per_s", "blocks/s", rate));
            figures.push(Figure::new(&case, "cpu_ns", "ns/block", each));
        }
        if let Some((peak, start)) = peak.zip(start_rss) {
            figures.push(Figure::new(&case, "peak_rss_bytes", "bytes", peak as f64));
            figures.push(Figure::new(&case, "start_rss_bytes", "bytes", start as f64));
        }
        if let Some((after, before)) = rest::counters(&subject).zip(counted) {
            figures.extend(rest::counted(&case, after.since(before)));
        }
        producer.end();
        Ok(figures)
    }
}

/// The thread that hands over.
struct Producer {
    number: u32,
    began: Instant,
    done: Receiver<Made>,
    stay: Sender<()>,
    thread: JoinHandle<()>,
}

/// What it found.
struct Made {
    /// Stamps of each call.
    calls: Histogram<u64>,
    /// Their sum, in ns.
    calls_ns: f64,
}

impl Producer {
    fn start(
        subject: Deferring,
        verb: Verb,
        ask: TrickleAsk,
        handed: Arc<Handed>,
    ) -> Result<Self, String> {
        let ((done, is_done), (stay, stays), (here, is_here)) = (channel(), channel(), channel());
        let thread = threads::spawn(PRODUCER, move || {
            (subject.attach)();
            let stamps_per_us = clock::stamps_per_us() as f64;
            // Not when the main thread hears of it, which may be later than the first blocks.
            let _ = here.send((process::this_thread(), Instant::now()));
            let found = hand_over(verb, &ask, stamps_per_us, &handed);
            if !ask.exits {
                let _ = done.send(found);
                let _ = stays.recv();
                (subject.finish)();
                (subject.detach)();
            } else {
                (subject.detach)();
                let _ = done.send(found);
            }
        })?;
        let (number, began) = is_here.recv().map_err(|_| threads::DIED)?;
        Ok(Producer {
            number,
            began,
            done: is_done,
            stay,
            thread,
        })
    }

    fn end(self) {
        drop(self.stay);
        // It has nothing left to do that could fail.
        let _ = self.thread.join();
    }
}

/// The producer's work: a block at each deadline, then nothing until the time is over.
fn hand_over(verb: Verb, ask: &TrickleAsk, stamps_per_us: f64, handed: &Handed) -> Made {
    let begin_ns = clock::monotonic_ns();
    let mut calls = Histogram::new_with_bounds(1, u64::MAX / 2, 3).expect("1 is less than that");
    let mut stamps = 0;
    for index in 0..ask.blocks() {
        clock::sleep_until(begin_ns + ask.due_ns(index));
        let now = clock::monotonic_ns();
        if let Some(time) = handed.times.get(index as usize) {
            time.store(now, Relaxed);
        }
        let took = (verb.one)(now);
        handed.blocks.store(index + 1, Release);
        calls.saturating_record(took.max(1));
        stamps += took;
    }
    clock::sleep_until(begin_ns + ask.ms * 1_000_000);
    let mut in_ns = Histogram::new_with_bounds(1, u64::MAX / 2, 3).expect("as above");
    for step in calls.iter_recorded() {
        let ns = step.value_iterated_to() as f64 * 1_000.0 / stamps_per_us;
        in_ns.saturating_record_n(ns.max(1.0) as u64, step.count_at_value());
    }
    Made {
        calls: in_ns,
        calls_ns: stamps as f64 * 1_000.0 / stamps_per_us,
    }
}

impl Made {
    fn figures(&self, case: &str) -> Vec<Figure> {
        if self.calls.is_empty() {
            return Vec::new();
        }
        let figure = |metric, ns: u64| Figure::new(case, metric, "us", ns as f64 / 1_000.0);
        vec![
            figure("latency_us", self.calls.value_at_quantile(0.5)),
            figure("latency_us_p99.9", self.calls.value_at_quantile(0.999)),
            figure("latency_us_max", self.calls.max()),
        ]
    }
}

/// What the producer has handed over so far.
struct Handed {
    blocks: AtomicU64,
    /// When each was; nothing where blocks tell that themselves.
    times: Vec<AtomicU64>,
}

impl Handed {
    /// Room for so many, with memory that is touched already.
    fn room(blocks: u64) -> Self {
        Handed {
            blocks: AtomicU64::new(0),
            times: (0..blocks).map(|_| AtomicU64::new(1)).collect(),
        }
    }
}

/// The threads of this process but these two, by number.
fn library_threads(ours: &[u32]) -> BTreeMap<u32, process::Thread> {
    let all = process::threads().into_iter();
    let others = all.filter(|number| !ours.contains(number));
    others
        .filter_map(|number| Some((number, process::thread(number)?)))
        .collect()
}

/// What the library's threads did in between, and the CPU time that took.
fn woken(
    case: &str,
    before: &BTreeMap<u32, process::Thread>,
    after: &BTreeMap<u32, process::Thread>,
    seconds: f64,
) -> (Vec<Figure>, u64) {
    let rate = |wakeups: u64| wakeups as f64 / seconds.max(1e-9);
    let (mut wakeups, mut cpu_ns) = (0, 0);
    let mut figures = Vec::new();
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for (number, thread) in after {
        let earlier = before.get(number);
        let woken = thread.switches - earlier.map_or(0, |earlier| earlier.switches);
        *by_name.entry(&thread.name).or_default() += woken;
        wakeups += woken;
        cpu_ns += thread.cpu_ns - earlier.map_or(0, |earlier| earlier.cpu_ns);
    }
    let per_s = rate(wakeups);
    figures.push(Figure::new(case, "wakeups_per_s", "wake-ups/s", per_s));
    figures.push(Figure::new(case, "wakeups", "wake-ups", wakeups as f64));
    figures.push(Figure::new(case, "threads", "threads", after.len() as f64));
    for (name, wakeups) in by_name {
        let own = Some(name).filter(|name| *name != PRODUCER);
        let name = own.unwrap_or("without a name");
        let case = format!("{case}, thread {name}");
        let per_s = rate(wakeups);
        figures.push(Figure::new(&case, "wakeups_per_s", "wake-ups/s", per_s));
    }
    (figures, cpu_ns)
}

/// The main thread's view of the blocks.
struct Watch<'a> {
    verb: Verb,
    ask: &'a TrickleAsk,
    handed: Arc<Handed>,
    freed_before: u64,
    freed: u64,
    most_held: u64,
}

impl<'a> Watch<'a> {
    fn new(verb: Verb, ask: &'a TrickleAsk) -> Self {
        Watch {
            verb,
            ask,
            handed: Arc::new(Handed::room(verb.silent.map_or(0, |_| ask.blocks()))),
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
            if self.freed >= self.ask.blocks() {
                return Some(begin.elapsed());
            }
            if begin.elapsed() >= patience {
                return None;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn figures(&self, case: &str, drained: Option<Duration>) -> Vec<Figure> {
        if self.ask.blocks() == 0 {
            return Vec::new();
        }
        let delays = freed::take_delays();
        let never_run = self.ask.blocks().saturating_sub(self.freed);
        let mut figures = vec![
            Figure::new(case, "never_run", "blocks", never_run as f64),
            Figure::new(case, "backlog", "blocks", self.most_held as f64),
            Figure::new(case, "held_bytes", "bytes", (self.most_held * BLOCK) as f64),
        ];
        if !delays.is_empty() {
            let figure = |metric, us: u64| Figure::new(case, metric, "ms", us as f64 / 1_000.0);
            figures.push(figure("delay_ms", delays.value_at_quantile(0.5)));
            figures.push(figure("delay_ms_p99", delays.value_at_quantile(0.99)));
            figures.push(figure("delay_ms_max", delays.max()));
        }
        if let Some(drained) = drained {
            let ms = drained.as_secs_f64() * 1_000.0;
            figures.push(Figure::new(case, "drained_ms", "ms", ms));
        }
        figures
    }
}

#[cfg(test)]
mod tests;
