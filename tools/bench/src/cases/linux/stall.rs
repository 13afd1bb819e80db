//! `bench stall`: a reader that stays in its section while another thread retires.
//!
//! The reader enters a section, and stays for a while. Meanwhile a producer hands over a million blocks of 64
//! bytes, as fast as it can; or, by the verbs named `64 kib`, `String`s of 64 KiB whose weight is declared,
//! of five times the bytes in all. Measured: the memory that this takes, blocks freed nevertheless, delays of
//! the producer, and whether the library names the blocking reader. A case is a verb.

use super::flood;
use super::stalled;
use crate::cases::plan::{Bench, Body, Cell, Given};
use crate::cases::setting::{self, Setting};
use crate::deferral::{self, BLOCK, Deferring, Verb};
use crate::measure::figures::Figures;
use crate::measure::once::{Ask, Said};
use crate::measure::threads::{Helper, Steps};
use crate::measure::{freed, process};
use crate::subjects::ReaderControl;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

/// Blocks that may be held at the same time, by all processes of a wave: about a gigabyte.
const CAPACITY: u64 = 12_000_000;

/// The measurement.
pub static STALL: Bench = Bench {
    name: "stall",
    settings: &[
        setting::compare(),
        Setting::seconds("ms", "seconds", "5"),
        setting::objects("1000000"),
    ],
    body: Body::Asked(cells, patience, measure),
    capacity: |_| CAPACITY,
    ..Bench::USUAL
};

fn cells(given: &Given) -> Vec<Cell> {
    let mut subjects = deferral::selected(given.is("compare"));
    subjects.retain(|subject| subject.hold.is_some());
    let cell = |(subject, verb): (Deferring, Verb)| {
        let objects = objects(verb, given.of("objects"));
        let cell = Cell::of(given, subject.name, verb.name).with("objects", objects);
        cell.of_load(objects * (verb.bytes / BLOCK))
    };
    let mut cells: Vec<Cell> = deferral::massed(&subjects).into_iter().map(cell).collect();
    // Timed: alone.
    let apart = stalled::SUBJECTS.map(|it| Cell::of(given, it, stalled::ASKED).of_load(CAPACITY));
    cells.extend(apart);
    cells
}

fn patience(ask: &Ask) -> Duration {
    10 * ask.ms("ms") + Duration::from_micros(20 * ask.of("objects")) + stalled::MOST
}

/// How often the main thread looks whether the producer is through.
const LOOK: Duration = Duration::from_millis(2);

fn measure(ask: &Ask) -> Said {
    if ask.case == stalled::ASKED {
        return stalled::measure(&ask.subject, stalled::CALLS);
    }
    let subject = deferral::find(&ask.subject)?;
    let verb = subject.verb(&ask.case)?;
    let hold = subject
        .hold
        .ok_or_else(|| format!("{} has no sections to stay in", subject.name))?;
    let rss = || process::rss_bytes().unwrap_or(0);
    let (held, made) = (
        Arc::new(ReaderControl::default()),
        Arc::new(ReaderControl::default()),
    );
    let shared = held.clone();
    let (reader, number) = Helper::start("stalled reader", move |steps| {
        (subject.attach)();
        if steps.next(process::this_thread()).is_some() {
            hold(&shared);
        }
        (subject.detach)();
    })?;
    reader.go(())?;
    while held.heartbeat.0.load(Acquire) == 0 {
        reader.heard(LOOK)?; // an error when it has died
    }
    let (begin, start_rss, freed_before) = (Instant::now(), rss(), freed::count());
    let end = begin + ask.ms("ms");
    let (shared, objects) = (made.clone(), ask.of("objects"));
    let (producer, _) = Helper::start("producer", move |steps: &Steps| {
        (subject.attach)();
        steps.say(());
        flood::hand_over(verb, &shared, objects);
        steps.next(());
        (subject.finish)();
        (subject.detach)();
    })?;
    let mut through = false;
    while !through && Instant::now() < end {
        through = producer.heard(LOOK)?.is_some();
    }
    let (took, retired_rss) = (begin.elapsed(), rss());
    std::thread::sleep(end.saturating_duration_since(Instant::now()));
    let handed_over = made.heartbeat.0.load(Relaxed);
    let backlog = flood::held(verb, handed_over, freed_before);
    let counted_bytes = verb.silent.map(|held| held().1);
    through = through || producer.heard(Duration::ZERO)?.is_some();
    let stalled_rss = rss();
    let named = subject.names.is_some_and(|names| names(number));
    held.stop.0.store(1, Release);
    reader.end()?;
    if !through {
        producer.wait()?;
    }
    producer.end()?;
    (subject.settle)();
    let mut figures = Figures::of(&*ask.case);
    for (metric, unit, value) in [
        ("start_rss_bytes", "bytes", start_rss),
        ("retired_rss_bytes", "bytes", retired_rss),
        ("stalled_rss_bytes", "bytes", stalled_rss),
        ("end_rss_bytes", "bytes", rss()),
        (
            "grown_bytes",
            "bytes",
            stalled_rss.saturating_sub(start_rss),
        ),
        ("backlog", "blocks", backlog),
        ("held_bytes", "bytes", backlog * verb.bytes),
        ("freed", "blocks", handed_over.saturating_sub(backlog)),
        ("retire_ms", "ms", took.as_millis() as u64),
        ("blocked", "producers", u64::from(!through)),
        ("named", "readers", u64::from(named)),
    ] {
        figures.count(metric, unit, value);
    }
    figures.add(
        "counted_bytes",
        "bytes",
        counted_bytes.map(|bytes| bytes as f64),
    );
    Ok(figures.all)
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
            let given = STALL.usual("true".into()).with("ms", 50);
            let cell = Cell::of(&given, subject.name, verb.name);
            let figures = measure(&cell.with("objects", objects(verb, 10_000)).ask).unwrap();
            let named = figures.iter().find(|figure| figure.metric == "named");
            let can = subject.names.is_some();
            assert!(can || named.unwrap().value == 0.0, "{}", subject.name);
        }
    }
}
