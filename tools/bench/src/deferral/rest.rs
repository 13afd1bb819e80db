//! A process in which nothing is queued: what do the library's own threads do?
//!
//! For `at rest` of `bench retire` and for `bench idle`. Threads, their wake-ups and timers are the kernel's
//! word ([`crate::measure::process`]), the same for every library; what a library counts about itself comes
//! beside it.

use crate::deferral::Deferring;
use crate::measure::process;
use crate::measure::threads::Helper;
use crate::subjects::{self, Counters};
use quiescent_report::rows::Figure;
use std::time::Duration;

/// How long a library may go on after the last object is reclaimed before it counts as at rest.
const CALM: Duration = Duration::from_millis(300);

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
/// asleep, watches for so long: what happened, as figures of this case.
///
/// # Errors
/// A text with the reason and the remedy.
pub fn watch(
    subject: Deferring,
    objects: u64,
    rest: Duration,
    case: &str,
) -> Result<Vec<Figure>, String> {
    let (producer, number) = Helper::start("producer", move |steps| {
        (subject.attach)();
        if objects > 0 {
            (subject.all_in)(objects);
            if let Some(owning) = subject.owning {
                owning(objects);
            }
            (subject.finish)();
        }
        steps.next(process::this_thread());
        (subject.detach)();
    })?;
    if objects > 0 {
        (subject.settle)();
    }
    std::thread::sleep(CALM);
    // All threads but this one: the producer sleeps, the rest are the library's.
    let this = process::this_thread();
    let others = || -> Vec<u32> {
        let all = process::threads().into_iter();
        all.filter(|thread| *thread != this).collect()
    };
    let (before, counters_before) = (process::voluntary_switches(&others()), counters(&subject));
    std::thread::sleep(rest);
    let others = others();
    let wakeups = process::voluntary_switches(&others).saturating_sub(before);
    let timers = process::armed_timers() + process::sleep_with_limit(&others);
    let threads = others.iter().filter(|thread| **thread != number).count();
    let mut figures = vec![
        Figure::new(case, "wakeups", "wake-ups", wakeups as f64),
        Figure::new(case, "timers", "timers", timers as f64),
        Figure::new(case, "threads", "threads", threads as f64),
    ];
    if let Some((after, before)) = counters(&subject).zip(counters_before) {
        figures.extend(counted(case, after.since(before)));
    }
    producer.end()?;
    Ok(figures)
}
