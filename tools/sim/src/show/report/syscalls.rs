//! Objects given back by system calls, and the time until they were freed: from the call until the last of
//! its callbacks has been invoked. A call that queued none frees nothing later.
//!
//! A run in which no task states its calls has no such figures.

use super::{Figures, ms, percentile};
use crate::record::stats::Stats;

pub(super) fn add(it: &mut Figures, stats: &Stats) {
    if stats.syscalls.is_empty() {
        return;
    }
    let all = stats.syscalls.len() as f64;
    it.run("syscalls_per_s", "1/s", all / stats.seconds());
    let mut freed: Vec<u64> = stats
        .syscalls
        .iter()
        .filter_map(|it| it.freed_after())
        .collect();
    freed.sort_unstable();
    let owe = stats.syscalls.iter().filter(|it| !it.callbacks.is_empty());
    let owe = owe.count().max(1) as f64;
    it.run("syscalls_freed_pct", "%", 100.0 * freed.len() as f64 / owe);
    for (metric, share) in [
        ("freed_after_ms_p50", 50),
        ("freed_after_ms_p99", 99),
        ("freed_after_ms_max", 100),
    ] {
        if !freed.is_empty() {
            it.run(metric, "ms", ms(percentile(&freed, share)));
        }
    }
}
