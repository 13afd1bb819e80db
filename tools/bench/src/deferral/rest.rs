//! A process in which nothing is queued: what do the library's own threads do?
//!
//! For `at rest` of `bench retire` and for `bench idle`. Threads, their wake-ups and timers are the kernel's
//! word ([`crate::measure::process`]), the same for every library; what a library counts about itself comes
//! beside it.

use crate::deferral::Deferring;
use crate::measure::figures::Figures;
use crate::measure::process;
use crate::measure::threads::{Helper, Steps};
use crate::subjects::{self, Counters};
use quiescent_report::rows::Figure;
use std::time::Duration;

/// How long a library may go on after the last object is reclaimed before it counts as at rest.
pub const CALM: Duration = Duration::from_millis(300);

/// What a library counted about itself.
pub fn counted(figures: &mut Figures, change: Counters) {
    figures.count("grace_periods", "grace_periods", change.grace_periods);
    figures.count("scans", "scans", change.scans);
    figures.count("fences", "fences", change.fences);
}

/// A library's counters, if it has some.
pub fn counters(subject: &Deferring) -> Option<Counters> {
    let counters = subjects::named(subject.name)?.waiting?.counters?;
    Some(counters())
}

/// What the other threads of this process do in so long, with so many of them the program's own, asleep.
pub fn quiet(figures: &mut Figures, rest: Duration, own: u64) {
    let others = || {
        let mut all = process::threads();
        all.retain(|thread| *thread != process::this_thread());
        all
    };
    let before = process::voluntary_switches(&others());
    std::thread::sleep(rest);
    let others = others();
    let wakeups = process::voluntary_switches(&others).saturating_sub(before);
    let timers = process::armed_timers() + process::sleep_with_limit(&others);
    figures.count("wakeups", "wake-ups", wakeups);
    figures.count("timers", "timers", timers);
    figures.count(
        "threads",
        "threads",
        (others.len() as u64).saturating_sub(own),
    );
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
    let (producer, ()) = Helper::start("producer", move |steps: &Steps| {
        (subject.attach)();
        if objects > 0 {
            (subject.all_in)(objects);
            if let Some(owning) = subject.owning {
                owning(objects);
            }
            (subject.finish)();
        }
        steps.next(());
        (subject.detach)();
    })?;
    if objects > 0 {
        (subject.settle)();
    }
    std::thread::sleep(CALM);
    let before = counters(&subject);
    let mut figures = Figures::of(case);
    quiet(&mut figures, rest, 1);
    if let Some((after, before)) = counters(&subject).zip(before) {
        counted(&mut figures, after.since(before));
    }
    producer.end()?;
    Ok(figures.all)
}
