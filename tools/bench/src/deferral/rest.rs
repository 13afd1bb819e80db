//! A process in which nothing is queued: what do the library's own threads do?
//!
//! For `at rest` of `bench retire` and for `bench idle`. Threads, their wake-ups and timers are the kernel's
//! word ([`crate::measure::process`]), the same for every library; what a library counts about itself comes
//! beside it.

use crate::deferral::Deferring;
use crate::measure::{process, threads};
use crate::subjects::{self, Counters};
use quiescent_report::rows::Figure;
use std::sync::mpsc::channel;
use std::time::Duration;

/// How long a library may go on after the last object is reclaimed before it counts as at rest.
const CALM: Duration = Duration::from_millis(300);

/// What happened while nothing was queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// Times that one of the library's threads was woken.
    pub wakeups: u64,
    /// Timers that were set at the end.
    pub timers: u64,
    /// The library's threads.
    pub threads: u64,
    /// Change of what it counts about itself.
    pub counters: Option<Counters>,
}

impl Rest {
    /// As figures of this case.
    pub fn figures(&self, case: &str) -> Vec<Figure> {
        let mut figures = vec![
            Figure::new(case, "wakeups", "wake-ups", self.wakeups as f64),
            Figure::new(case, "timers", "timers", self.timers as f64),
            Figure::new(case, "threads", "threads", self.threads as f64),
        ];
        figures.extend(
            self.counters
                .into_iter()
                .flat_map(|change| counted(case, change)),
        );
        figures
    }
}

/// What a library counted about itself.
pub fn counted(case: &str, change: Counters) -> [Figure; 3] {
    [
        ("grace_periods", change.grace_periods),
        ("scans", change.scans),
        ("fences", change.fences),
    ]
    .map(|(metric, count)| Figure::new(case, metric, metric, count as f64))
}

/// A library's counters, if it has some.
pub fn counters(subject: &Deferring) -> Option<Counters> {
    let counters = subjects::named(subject.name)?.waiting?.counters?;
    Some(counters())
}

/// Has a thread retire `objects` (0: it only attaches) and settles; then, with that thread still there but
/// asleep, watches for so long.
///
/// # Errors
/// A text with the reason and the remedy.
pub fn watch(subject: Deferring, objects: u64, rest: Duration) -> Result<Rest, String> {
    let (done, is_done) = channel();
    let (end, ended) = channel::<()>();
    let producer = threads::spawn("producer", move || {
        (subject.attach)();
        if objects > 0 {
            (subject.all_in)(objects);
            if let Some(owning) = subject.owning {
                owning(objects);
            }
            (subject.finish)();
        }
        let _ = done.send(process::this_thread());
        let _ = ended.recv();
        (subject.detach)();
    })?;
    let producer_number = is_done.recv().map_err(|_| threads::DIED)?;
    if objects > 0 {
        (subject.settle)();
    }
    std::thread::sleep(CALM);
    // All threads but this one: the producer sleeps in its channel, the rest are the library's.
    let this = process::this_thread();
    let others = || -> Vec<u32> {
        let all = process::threads().into_iter();
        all.filter(|thread| *thread != this).collect()
    };
    let (before, counted) = (process::voluntary_switches(&others()), counters(&subject));
    std::thread::sleep(rest);
    let others = others();
    let threads = others.iter().filter(|thread| **thread != producer_number);
    let rest = Rest {
        wakeups: process::voluntary_switches(&others).saturating_sub(before),
        timers: process::armed_timers() + process::sleep_with_limit(&others),
        threads: threads.count() as u64,
        counters: counters(&subject)
            .zip(counted)
            .map(|(after, before)| after.since(before)),
    };
    drop(end);
    // It has nothing left to do that could fail.
    let _ = producer.join();
    Ok(rest)
}
