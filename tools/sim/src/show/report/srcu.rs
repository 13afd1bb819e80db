//! Grace periods of SRCU, and the calls that waited for them.
//!
//! A machine on which no task used the domain has no such figures.

use super::{Figures, mean, ms, percentile, us};
use crate::record::stats::Stats;

pub(super) fn add(it: &mut Figures, stats: &Stats) {
    let Some(srcu) = &stats.srcu else { return };
    let n = srcu.grace_periods.len() as f64;
    it.run("srcu_grace_periods", "grace_periods", n);
    let wakeups = srcu.reader_wakeups as f64 / stats.seconds();
    it.run("srcu_reader_wakeups_per_s", "1/s", wakeups);
    if n > 0.0 {
        let scans = srcu.grace_periods.iter().map(|gp| u64::from(gp.scans));
        it.run("srcu_scans_per_gp", "scans", scans.sum::<u64>() as f64 / n);
        let lengths = srcu.grace_periods.iter().map(|gp| gp.end - gp.start);
        let mut lengths: Vec<u64> = lengths.collect();
        lengths.sort_unstable();
        it.run("srcu_gp_duration_ms_mean", "ms", mean(&lengths) / 1e6);
        let p99 = ms(percentile(&lengths, 99));
        it.run("srcu_gp_duration_ms_p99", "ms", p99);
    }
    let mut calls: Vec<u64> = srcu.calls.iter().map(|it| it.1 - it.0).collect();
    calls.sort_unstable();
    if !calls.is_empty() {
        it.run("srcu_calls", "calls", calls.len() as f64);
        it.run("srcu_latency_us_mean", "us", mean(&calls) / 1e3);
        it.run("srcu_latency_us_p50", "us", us(percentile(&calls, 50)));
        it.run("srcu_latency_us_p99", "us", us(percentile(&calls, 99)));
        it.run("srcu_latency_us_max", "us", us(percentile(&calls, 100)));
    }
}
