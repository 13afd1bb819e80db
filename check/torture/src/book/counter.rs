//! Counters that a scenario may require to increase: paths inside the library that no call reaches directly.

use quiescent::stats::Statistics;

/// One of the library's own counters.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Its value.
    pub get: fn(&Statistics) -> u64,
}

/// All counters that a scenario may name.
pub const COUNTERS: [Counter; 22] = [
    counter("grace_periods", |s| s.grace_periods),
    counter("grace_periods_sole", |s| s.grace_periods_sole),
    counter("fences_gp", |s| s.fences_gp),
    counter("fences_take", |s| s.fences_take),
    counter("sleeps", |s| s.sleeps),
    counter("reader_wakeups", |s| s.reader_wakeups),
    counter("hand_overs", |s| s.hand_overs),
    counter("stalls", |s| s.stalls),
    counter("over_budget", |s| s.over_budget),
    counter("refused", |s| s.refused),
    counter("helped", |s| s.helped),
    counter("callbacks", |s| s.callbacks),
    counter("callback_panics", |s| s.callback_panics),
    counter("unregistered_sections", |s| s.unregistered_sections),
    counter("unregistered_queued", |s| s.unregistered_queued),
    counter("pressure_passes", |s| s.pressure_passes),
    counter("flushes.lazy", |s| s.flushes.lazy),
    counter("flushes.prompt", |s| s.flushes.prompt),
    counter("flushes.batch", |s| s.flushes.batch),
    counter("flushes.barrier", |s| s.flushes.barrier),
    counter("flushes.pressure", |s| s.flushes.pressure),
    counter("flushes.budget", |s| s.flushes.budget),
];

const fn counter(name: &'static str, get: fn(&Statistics) -> u64) -> Counter {
    Counter { name, get }
}

/// The counter of this name.
pub fn named(name: &str) -> Option<Counter> {
    COUNTERS.into_iter().find(|counter| counter.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_distinct() {
        for counter in COUNTERS {
            assert_eq!(named(counter.name).map(|it| it.name), Some(counter.name));
            let same = COUNTERS.iter().filter(|it| it.name == counter.name);
            assert_eq!(same.count(), 1);
        }
        assert!(named("luck").is_none());
    }
}
