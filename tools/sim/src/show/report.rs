//! Figures of runs: one value a run, under the names that reports use.
//!
//! A [`Figure`] is about a whole run, a thread, a family of threads, a callback's function or a CPU. Runs of
//! one variant differ in their seed only; the printed figure is its median and range over them. Latencies of
//! all runs together are figures of their own (`latency_us`, `latency_us_pooled_mean`).
//!
//! ```
//! use quiescent_sim::{Workload, report};
//!
//! let plan = Workload::named("sync")?.plan(&[("calls", "20"), ("caller_cpu", "1")])?;
//! let figures = report::figures(&[plan.run(|| false).expect("no caller stopped the plan")]);
//! let find = |metric: &str| figures.iter().find(|it| it.metric == metric).expect("it is there");
//! assert_eq!(find("two_wait_pct").values, [100.0]);
//! assert_eq!(find("scans_per_gp").values, [2.0]);
//! # Ok::<(), quiescent_sim::Error>(())
//! ```

mod about;
mod full;
mod idle;
mod looks;
mod srcu;
mod syscalls;
mod threads;

pub use about::About;

use crate::record::stats::{Stats, Synchronized};

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it is about.
    pub about: About,
    /// Its name; ends in its unit where it has one.
    pub metric: &'static str,
    /// Its unit in words.
    pub unit: &'static str,
    /// A value a run; of `latency_us` a value a call.
    pub values: Vec<f64>,
}

/// Figures under construction.
#[derive(Debug, Default)]
struct Figures(Vec<Figure>);

impl Figures {
    fn add(&mut self, about: About, metric: &'static str, unit: &'static str, value: f64) {
        let known = |it: &&mut Figure| it.metric == metric && it.about == about;
        match self.0.iter_mut().find(known) {
            Some(figure) => figure.values.push(value),
            None => self.0.push(Figure {
                about,
                metric,
                unit,
                values: vec![value],
            }),
        }
    }

    fn run(&mut self, metric: &'static str, unit: &'static str, value: f64) {
        self.add(About::Run, metric, unit, value);
    }
}

/// CPUs below this number have figures of their own.
const MOST_CPUS: usize = 64;

/// The figures of runs that differ in their seed.
pub fn figures(runs: &[Stats]) -> Vec<Figure> {
    let mut it = Figures::default();
    pooled(&mut it, runs);
    for stats in runs {
        latency(&mut it, stats);
        barriers(&mut it, stats);
        grace_periods(&mut it, stats);
        totals(&mut it, stats);
        callbacks(&mut it, stats);
        credits(&mut it, stats);
        syscalls::add(&mut it, stats);
    }
    threads::add(&mut it, runs);
    for stats in runs {
        functions(&mut it, stats);
        cpus(&mut it, stats);
    }
    idle::add(&mut it, runs);
    it.0
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// The value below which `share` percent of a sorted list lie (nearest rank).
fn percentile(sorted: &[u64], share: usize) -> u64 {
    let rank = (sorted.len() * share).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

fn mean(values: &[u64]) -> f64 {
    values.iter().map(|&it| it as f64).sum::<f64>() / values.len() as f64
}

fn latencies(stats: &Stats) -> Vec<u64> {
    let mut all: Vec<u64> = stats.calls.iter().map(|it| it.end - it.start).collect();
    all.sort_unstable();
    all
}

/// All runs together.
fn pooled(it: &mut Figures, runs: &[Stats]) {
    let mut all: Vec<u64> = runs.iter().flat_map(latencies).collect();
    if all.is_empty() {
        return;
    }
    all.sort_unstable();
    it.0.push(Figure {
        about: About::Run,
        metric: "latency_us",
        unit: "us",
        values: all.iter().map(|&ns| us(ns)).collect(),
    });
    it.run("latency_us_pooled_mean", "us", mean(&all) / 1e3);
    it.run("latency_us_pooled_p99", "us", us(percentile(&all, 99)));
}

fn latency(it: &mut Figures, stats: &Stats) {
    let all = latencies(stats);
    let (Some(&min), Some(&max)) = (all.first(), all.last()) else {
        return;
    };
    it.run("calls", "calls", all.len() as f64);
    it.run("latency_us_mean", "us", mean(&all) / 1e3);
    it.run("latency_us_min", "us", us(min));
    it.run("latency_us_p50", "us", us(percentile(&all, 50)));
    it.run("latency_us_p99", "us", us(percentile(&all, 99)));
    it.run("latency_us_max", "us", us(max));
    let waits: Vec<u32> = stats
        .calls
        .iter()
        .filter_map(|call| waits(stats, call))
        .collect();
    if waits.is_empty() {
        return;
    }
    let share = |of: fn(u32) -> bool| {
        let those = waits.iter().filter(|it| of(**it)).count();
        100.0 * those as f64 / waits.len() as f64
    };
    it.run("one_wait_pct", "%", share(|it| it <= 1));
    it.run("two_wait_pct", "%", share(|it| it == 2));
    it.run("more_waits_pct", "%", share(|it| it > 2));
}

/// Calls of `rcu_barrier`.
fn barriers(it: &mut Figures, stats: &Stats) {
    let mut all: Vec<u64> = stats.barriers.iter().map(|it| it.1 - it.0).collect();
    if all.is_empty() {
        return;
    }
    all.sort_unstable();
    it.run("barriers", "calls", all.len() as f64);
    it.run("barrier_ms_mean", "ms", mean(&all) / 1e6);
    it.run("barrier_ms_p99", "ms", ms(percentile(&all, 99)));
    it.run("barrier_ms_max", "ms", ms(percentile(&all, 100)));
}

/// Scans of the grace period that a call ended with: the last one that began after the call and ended before
/// its return.
fn waits(stats: &Stats, call: &Synchronized) -> Option<u32> {
    let ended = stats.grace_periods.partition_point(|gp| gp.end <= call.end);
    let gp = stats.grace_periods.get(ended.checked_sub(1)?)?;
    (gp.start >= call.start).then_some(gp.scans)
}

fn grace_periods(it: &mut Figures, stats: &Stats) {
    let gps = &stats.grace_periods;
    let n = gps.len() as f64;
    it.run("grace_periods", "grace_periods", n);
    it.run("grace_periods_per_s", "1/s", n / stats.seconds());
    if gps.is_empty() {
        return;
    }
    let mut lengths: Vec<u64> = gps.iter().map(|gp| gp.end - gp.start).collect();
    lengths.sort_unstable();
    it.run("gp_duration_ms_mean", "ms", mean(&lengths) / 1e6);
    it.run("gp_duration_ms_p99", "ms", ms(percentile(&lengths, 99)));
    let scans = gps.iter().map(|gp| u64::from(gp.scans)).sum::<u64>();
    it.run("scans_per_gp", "scans", scans as f64 / n);
    let once = gps.iter().filter(|gp| gp.scans <= 1).count();
    it.run("one_scan_gp_pct", "%", 100.0 * once as f64 / n);
}

fn totals(it: &mut Figures, stats: &Stats) {
    let totals = &stats.totals;
    let per_s = |count: u64| count as f64 / stats.seconds();
    it.run("idle_ticks_per_s", "1/s", per_s(totals.idle_ticks));
    it.run("busy_ticks_per_s", "1/s", per_s(totals.busy_ticks));
    it.run("idle_entries_per_s", "1/s", per_s(totals.idle_entries));
    it.run("ipis_per_s", "1/s", per_s(totals.ipis));
    it.run("softirqs_per_s", "1/s", per_s(totals.softirqs));
    let rcu = per_s(totals.rcu_ns) / 1e3;
    it.run("rcu_cpu_us_per_s", "us/s", rcu);
    let worst = stats.interruptions.iter().max().copied();
    it.run("interruption_us_max", "us", us(worst.unwrap_or(0)));
    looks::add(it, stats);
    srcu::add(it, stats);
    full::add(it, stats);
}

/// What each figure is; `quiescent sim --help-metrics` prints it.
pub const METRICS: &str = include_str!("report/metrics.txt");

/// The function of the callback that wakes callers of `synchronize_rcu`: it is no work of the workload's.
const WAKES: &str = "wakeme_after_rcu";

fn callbacks(it: &mut Figures, stats: &Stats) {
    let own = || stats.funcs.iter().filter(|it| it.name != WAKES);
    let executed: u64 = stats.funcs.iter().map(|it| it.invoked).sum();
    it.run("batches", "batches", stats.totals.batches as f64);
    if stats.totals.batches > 0 {
        let each = executed as f64 / stats.totals.batches as f64;
        it.run("callbacks_per_batch", "callbacks", each);
    }
    it.run("backlog_max", "callbacks", stats.held.most.0 as f64);
    it.run("held_bytes_max", "bytes", stats.held.most.1 as f64);
    let held = stats.held.area as f64 / 1e9 / stats.seconds();
    it.run("held_bytes_mean", "bytes", held);
    let delays = own().flat_map(|it| it.delays.iter().copied()).collect();
    delay(it, &About::Run, delays);
}

fn delay(it: &mut Figures, about: &About, mut delays: Vec<u64>) {
    if delays.is_empty() {
        return;
    }
    delays.sort_unstable();
    for (metric, share) in [
        ("delay_ms_p50", 50),
        ("delay_ms_p99", 99),
        ("delay_ms_max", 100),
    ] {
        it.add(about.clone(), metric, "ms", ms(percentile(&delays, share)));
    }
    it.add(about.clone(), "delay_ms_mean", "ms", mean(&delays) / 1e6);
}

fn functions(it: &mut Figures, stats: &Stats) {
    for func in &stats.funcs {
        let about = About::Function(func.name.clone());
        it.add(about.clone(), "queued", "callbacks", func.queued as f64);
        it.add(about.clone(), "executed", "callbacks", func.invoked as f64);
        delay(it, &about, func.delays.clone());
    }
}

fn credits(it: &mut Figures, stats: &Stats) {
    let sum = |of: fn(&crate::record::stats::Credits) -> u64| {
        stats.credits.iter().map(of).sum::<u64>() as f64
    };
    let (scan, own, early) = (sum(|it| it.scan), sum(|it| it.own), sum(|it| it.early));
    let all = scan + own + early;
    if all > 0.0 {
        it.run("credited_by_scan_pct", "%", 100.0 * scan / all);
        it.run("credited_by_own_report_pct", "%", 100.0 * own / all);
        it.run("credited_by_early_report_pct", "%", 100.0 * early / all);
    }
}

fn cpus(it: &mut Figures, stats: &Stats) {
    if stats.credits.len() > MOST_CPUS {
        return;
    }
    for (cpu, credits) in stats.credits.iter().enumerate() {
        let about = About::Cpu(cpu as u32);
        let mut add = |metric, count: u64| {
            it.add(about.clone(), metric, "credits", count as f64);
        };
        add("credited_by_scan", credits.scan);
        add("credited_by_own_report", credits.own);
        add("credited_by_early_report", credits.early);
        let worst = stats.interruptions.get(cpu).copied();
        it.add(about, "interruption_us_max", "us", us(worst.unwrap_or(0)));
    }
}

#[cfg(test)]
mod tests;
