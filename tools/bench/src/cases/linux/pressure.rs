//! `bench pressure`: how long it takes, when memory is low, until the first of what is held is freed, and the
//! last.
//!
//! Threads retire objects lazily, fewer than a batch each, and go quiet; the flush time is an hour. Then the
//! main thread reports low memory. The measured time is from that call to the first destructor and to the
//! last, on the wall clock: the wake-up of the worker, one process-wide fence, a grace period, the objects
//! before. It is an upper bound of the time after the worker's `epoll_wait` has returned, for any source of
//! the report. The guide has the delays of the *kernel*'s reports, source by source; this program does not
//! measure them.
//!
//! Only for quiescent: no other library here reacts to low memory. A process a case and round.

use crate::cases::plan::{Bench, Body, Cell, Given};
use crate::cases::setting::{self, Setting};
use crate::measure::figures::Figures;
use crate::measure::once::{Ask, Said};
use quiescent::tuning::{FlushTimes, memory_is_low, set_flush_times};
use quiescent::{RcuCell, statistics};
use quiescent_report::OURS;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Barrier, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// The measurement.
pub static PRESSURE: Bench = Bench {
    name: "pressure",
    settings: &[
        setting::rounds("30"),
        // More would be a batch, and not wait.
        Setting::count("objects", "1000", 1_000),
    ],
    body: Body::Asked(cells, |_| Duration::ZERO, measure),
    ..Bench::USUAL
};

/// Threads that hold objects, a case each.
const HOLDERS: [u64; 2] = [1, 8];

fn cells(given: &Given) -> Vec<Cell> {
    let cell =
        |holders| Cell::of(given, OURS, format!("held by {holders}")).with("holders", holders);
    HOLDERS.map(cell).to_vec()
}

/// When memory was said to be low.
static SAID: OnceLock<Instant> = OnceLock::new();
/// Nanoseconds from then to the first destructor, and to the last.
static FIRST: AtomicU64 = AtomicU64::new(u64::MAX);
static LAST: AtomicU64 = AtomicU64::new(0);
static GONE: AtomicU64 = AtomicU64::new(0);

/// An object of 64 bytes that says when it goes.
struct Stamped(#[allow(dead_code, reason = "the size counts")] [u64; 8]);

impl Drop for Stamped {
    fn drop(&mut self) {
        // Before it was said nothing may go: it counts as gone at once, and the measurement is refused.
        let ns = SAID
            .get()
            .map_or(0, |said| said.elapsed().as_nanos() as u64);
        FIRST.fetch_min(ns, SeqCst);
        LAST.fetch_max(ns, SeqCst);
        GONE.fetch_add(1, SeqCst);
    }
}

/// After so long something is wrong.
const PATIENCE: Duration = Duration::from_secs(20);

fn measure(ask: &Ask) -> Said {
    let (holders, objects) = (ask.of("holders"), ask.of("objects"));
    let never = Duration::from_secs(3600);
    set_flush_times(FlushTimes {
        lazy: never,
        prompt: never,
    });
    let (held, over) = (barrier_of(holders), barrier_of(holders));
    let all = holders * objects;
    thread::scope(|scope| {
        for _ in 0..holders {
            scope.spawn(|| {
                hold(objects);
                held.wait();
                over.wait();
            });
        }
        held.wait();
        let early = GONE.load(SeqCst);
        // The worker has its first look behind it, and sleeps.
        thread::sleep(Duration::from_millis(20));
        let begin = Instant::now();
        let said = SAID.get_or_init(Instant::now);
        memory_is_low();
        while GONE.load(SeqCst) < all && begin.elapsed() < PATIENCE {
            thread::sleep(Duration::from_micros(100));
        }
        let took = said.elapsed();
        over.wait();
        check(early, all, took)
    })?;
    let mut figures = Figures::of(&*ask.case);
    for (metric, ns) in [("first_free_us", &FIRST), ("last_free_us", &LAST)] {
        figures.add(metric, "us", ns.load(SeqCst) as f64 / 1000.0);
    }
    Ok(figures.all)
}

fn barrier_of(holders: u64) -> Barrier {
    Barrier::new(holders as usize + 1)
}

fn hold(objects: u64) {
    let cell = RcuCell::new(Stamped([0; 8]));
    for n in 0..objects {
        drop(cell.store(Stamped([n; 8])));
    }
    std::mem::forget(cell); // its last object is not retired
}

fn check(early: u64, all: u64, took: Duration) -> Result<(), String> {
    let gone = GONE.load(SeqCst);
    match (early, gone) {
        (0, gone) if gone == all => Ok(()),
        (0, gone) => Err(format!(
            "{gone} of {all} objects were freed in {took:?} (statistics: {:?}): please report it",
            statistics()
        )),
        _ => Err(format!(
            "{early} objects were freed before memory was low: the machine itself is short of memory; \
             try again when it is not"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_goes_and_the_first_before_the_last() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        let given = PRESSURE.usual("true".into()).with("objects", 100);
        let ask = Cell::of(&given, OURS, "held by 2").with("holders", 2).ask;
        let before = quiescent::tuning::flush_times();
        // Other tests have retired much in this process, after which a thread reclaims as it retires.
        quiescent::tuning::set_on_worker(true);
        let figures = measure(&ask).unwrap();
        set_flush_times(before);
        quiescent::tuning::set_on_worker(false);
        let [first, last] = &figures[..] else {
            panic!("two figures");
        };
        assert_eq!(
            (&*first.case, &*first.metric),
            ("held by 2", "first_free_us")
        );
        assert!(
            first.value > 0.0 && first.value <= last.value,
            "{figures:?}"
        );
    }
}
