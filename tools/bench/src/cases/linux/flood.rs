//! `bench flood`: producers that hand over as fast as they can, beside a thread that reads in a loop.
//!
//! Throughput is of blocks *freed*: the clock stops when the last one is. Meanwhile another thread looks
//! every few milliseconds how many blocks are held: handed over, and not freed yet. A case is a verb and a
//! number of producers, such as `retire 2p`; each process has the machine to itself. A library without a
//! limit may take gigabytes. Two verbs are of this library only: `drop` retires blocks with a destructor,
//! `offloaded` is `retire` where the worker reclaims. What the library counts against its budget is a metric
//! of its own.

use crate::cases::plan::{Bench, Body, Cell, Given};
use crate::cases::setting::{self, Setting};
use crate::deferral::swap::Content;
use crate::deferral::{self, BLOCK, Deferring, RETIRE, Verb};
use crate::measure::figures::Figures;
use crate::measure::once::{Ask, Said};
use crate::measure::{clock, freed, process, threads};
use crate::peers;
use crate::subjects::ReaderControl;
use quiescent_report::OURS;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The measurement.
pub static FLOOD: Bench = Bench {
    name: "flood",
    settings: &[
        setting::compare(),
        setting::threads("producers", "2"),
        Setting::seconds("ms", "seconds", "5"),
        setting::rounds("1"),
    ],
    body: Body::Asked(cells, |ask| 20 * ask.ms("ms"), measure),
    ..Bench::USUAL
};

fn cells(given: &Given) -> Vec<Cell> {
    let mut subjects = deferral::selected(given.is("compare"));
    subjects.retain(|subject| subject.beside(Content::Block).is_some());
    let cell = |(subject, verb): (Deferring, Verb)| Cell::of(given, subject.name, verb.name);
    todo(&subjects).into_iter().map(cell).collect()
}

/// Blocks between two looks at the stop flag.
pub(crate) const CHUNK: u64 = 64;
/// The interval between two readings of the blocks held.
const LOOK: Duration = Duration::from_millis(5);

fn measure(ask: &Ask) -> Said {
    let subject = deferral::find(&ask.subject)?;
    let own = own_verbs().into_iter().find(|verb| verb.name == ask.case);
    let verb = match own.filter(|_| subject.name == OURS) {
        Some(verb) => verb,
        None => subject.verb(&ask.case)?,
    };
    quiescent::tuning::set_on_worker(verb.name == OFFLOADED);
    let beside = subject
        .beside(Content::Block)
        .ok_or_else(|| format!("{} is not measured beside a reader", subject.name))?;
    let members = 1 + ask.of("producers") as usize;
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
        let beats = controls[1..].iter().map(|it| it.heartbeat.0.load(Relaxed));
        beats.sum::<u64>()
    };
    let (mut most_held, mut most_counted) = (0, 0);
    let watch = || {
        let end = Instant::now() + ask.ms("ms");
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
    let made = made();
    let reader_ns = ran.results.first().copied().unwrap_or(0);
    let cpu_ns = ran.cpu_ns.saturating_sub(reader_ns);
    let mut figures = Figures::of(format!("{} {}p", ask.case, ask.of("producers")));
    figures.add("ops_per_s", "blocks/s", ran.per_second(made));
    figures.add("cpu_ns", "ns/block", cpu_ns as f64 / made.max(1) as f64);
    figures.count("backlog", "blocks", most_held);
    figures.count("held_bytes", "bytes", most_held * BLOCK);
    if subject.name == OURS {
        figures.count("counted_bytes", "bytes", most_counted);
    }
    figures.peak_since(start_rss);
    Ok(figures.all)
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
    [peers::dropped(), offloaded]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_is_flooded() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        for (subject, verb) in todo(&deferral::all()) {
            let given = FLOOD.usual("true".into());
            let asked = |ms| measure(&Cell::of(&given, subject.name, verb.name).with("ms", ms).ask);
            if subject.beside(Content::Block).is_none() {
                assert!(asked(1).unwrap_err().contains("beside a reader"));
                continue;
            }
            let case = format!("{} 2p", verb.name);
            let freed = |ms| {
                let figures = asked(ms).unwrap();
                assert!(figures.iter().all(|figure| figure.case == case));
                figures[0].value > 0.0
            };
            // On a busy machine the first time may be too short.
            let freed = [10, 100, 1_000, 10_000].into_iter().any(freed);
            assert!(freed, "{}: none was freed", subject.name);
        }
    }

    /// However busy the machine is: what was freed took longer than producers were asked to hand over,
    /// nothing is held that was not handed over, and no more CPU time is used than there is.
    #[test]
    fn no_figure_is_larger_than_what_was_asked() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        let subject = deferral::find(OURS).unwrap();
        let given = FLOOD.usual("true".into());
        let cpus = std::thread::available_parallelism().map_or(1, |it| it.get());
        let check = |verb: &str, ms: u64| {
            let (before, begin) = (freed::count(), Instant::now());
            let figures =
                measure(&Cell::of(&given, subject.name, verb).with("ms", ms).ask).unwrap();
            let (freed, took) = (freed::count() - before, begin.elapsed().as_secs_f64());
            let value = |metric| {
                let found = figures.iter().find(|it| it.metric == metric);
                found
                    .unwrap_or_else(|| panic!("{metric}: {figures:?}"))
                    .value
            };
            let (per_s, freed) = (value("ops_per_s"), freed as f64);
            if freed == 0.0 {
                return false; // stopped before they began
            }
            assert!(
                per_s >= 0.999 * freed / took,
                "{verb}: {per_s}, {freed} in {took} s"
            );
            assert!(
                per_s < freed * 1e3 / ms as f64,
                "{verb}: {per_s}, {freed} in {ms} ms"
            );
            assert!(
                (0.0..=freed).contains(&value("backlog")),
                "{verb}: {figures:?}"
            );
            assert_eq!(value("held_bytes"), BLOCK as f64 * value("backlog"));
            let cpus_used = value("cpu_ns") * per_s / 1e9;
            assert!(
                cpus_used <= 1.01 * cpus as f64,
                "{verb}: {cpus_used} of {cpus}"
            );
            true
        };
        for verb in ["defer", "drop"] {
            let checked = [30, 300, 3_000].into_iter().any(|ms| check(verb, ms));
            assert!(checked, "{verb}: none was freed");
        }
    }
}
