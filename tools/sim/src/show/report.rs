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
mod idle;
mod threads;

pub use about::About;

use crate::record::stats::{Credits, GracePeriod, Stats, Synchronized};

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

    /// Adds figures of one subject.
    fn of(&mut self, about: About) -> impl FnMut(&'static str, &'static str, f64) {
        move |metric, unit, value| self.add(about.clone(), metric, unit, value)
    }

    fn run(&mut self, metric: &'static str, unit: &'static str, value: f64) {
        self.add(About::Run, metric, unit, value);
    }

    /// How many calls there were, if any, and their times.
    fn calls(&mut self, metric: &'static str, times: Vec<u64>, wanted: &[(&'static str, usize)]) {
        if !times.is_empty() {
            self.run(metric, "calls", times.len() as f64);
        }
        self.times(&About::Run, times, wanted);
    }

    /// A mean, or percentiles, of times in nanoseconds; nothing if there are none. The names say the unit.
    fn times(&mut self, about: &About, mut times: Vec<u64>, wanted: &[(&'static str, usize)]) {
        times.sort_unstable();
        for &(metric, share) in wanted.iter().filter(|_| !times.is_empty()) {
            let ns = match share {
                MEAN => times.iter().map(|&it| it as f64).sum::<f64>() / times.len() as f64,
                share => percentile(&times, share) as f64,
            };
            match metric.contains("_us") {
                true => self.add(about.clone(), metric, "us", ns / 1e3),
                false => self.add(about.clone(), metric, "ms", ns / 1e6),
            }
        }
    }
}

/// In place of a percentile.
const MEAN: usize = usize::MAX;

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
        syscalls(&mut it, stats);
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

/// The value below which `share` percent of a sorted list lie (nearest rank).
fn percentile(sorted: &[u64], share: usize) -> u64 {
    let rank = (sorted.len() * share).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

fn latencies(stats: &Stats) -> impl Iterator<Item = u64> {
    stats.calls.iter().map(|it| it.end - it.start)
}

/// All runs together.
fn pooled(it: &mut Figures, runs: &[Stats]) {
    let mut all: Vec<u64> = runs.iter().flat_map(latencies).collect();
    all.sort_unstable();
    for &ns in &all {
        it.run("latency_us", "us", us(ns));
    }
    let pooled = [
        ("latency_us_pooled_mean", MEAN),
        ("latency_us_pooled_p99", 99),
    ];
    it.times(&About::Run, all, &pooled);
}

fn latency(it: &mut Figures, stats: &Stats) {
    let all = [
        ("latency_us_mean", MEAN),
        ("latency_us_min", 0),
        ("latency_us_p50", 50),
        ("latency_us_p99", 99),
        ("latency_us_max", 100),
    ];
    it.calls("calls", latencies(stats).collect(), &all);
    let waits = stats.calls.iter().filter_map(|call| waits(stats, call));
    let waits: Vec<u32> = waits.collect();
    let share = |of: fn(u32) -> bool| {
        let those = waits.iter().filter(|it| of(**it)).count();
        100.0 * those as f64 / waits.len() as f64
    };
    if !waits.is_empty() {
        it.run("one_wait_pct", "%", share(|it| it <= 1));
        it.run("two_wait_pct", "%", share(|it| it == 2));
        it.run("more_waits_pct", "%", share(|it| it > 2));
    }
}

/// Calls of `rcu_barrier`.
fn barriers(it: &mut Figures, stats: &Stats) {
    let all = stats.barriers.iter().map(|it| it.1 - it.0).collect();
    let wanted = [
        ("barrier_ms_mean", MEAN),
        ("barrier_ms_p99", 99),
        ("barrier_ms_max", 100),
    ];
    it.calls("barriers", all, &wanted);
}

/// Scans of the grace period that a call ended with: the last one that began after the call and ended before
/// its return.
fn waits(stats: &Stats, call: &Synchronized) -> Option<u32> {
    let ended = stats.grace_periods.partition_point(|gp| gp.end <= call.end);
    let gp = stats.grace_periods.get(ended.checked_sub(1)?)?;
    (gp.start >= call.start).then_some(gp.scans)
}

fn lengths(gps: &[GracePeriod]) -> Vec<u64> {
    gps.iter().map(|gp| gp.end - gp.start).collect()
}

fn grace_periods(it: &mut Figures, stats: &Stats) {
    let gps = &stats.grace_periods;
    let n = gps.len() as f64;
    it.run("grace_periods", "grace_periods", n);
    it.run("grace_periods_per_s", "1/s", n / stats.seconds());
    if gps.is_empty() {
        return;
    }
    let wanted = [("gp_duration_ms_mean", MEAN), ("gp_duration_ms_p99", 99)];
    it.times(&About::Run, lengths(gps), &wanted);
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
    let worst = stats.interruptions.iter().map(|it| it.1).max();
    it.run("interruption_us_max", "us", us(worst.unwrap_or(0)));
    looks(it, stats);
    srcu(it, stats);
    if let Some(full) = &stats.full {
        it.run("nohz_full_ticks_per_s", "1/s", per_s(full.ticks));
        it.run("nohz_full_ticks_sched", "ticks", full.sched as f64);
        it.run("nohz_full_ticks_rcu", "ticks", full.rcu as f64);
        it.run("nohz_full_ticks_rcu_exp", "ticks", full.rcu_exp as f64);
    }
}

/// How often idle CPUs checked callbacks that they owed: the effect of `RCU_FAST_NO_HZ`. A machine on which
/// no idle CPU ever owed any has no such figures.
fn looks(it: &mut Figures, stats: &Stats) {
    let (least, most) = (stats.looks.first_key_value(), stats.looks.last_key_value());
    if let Some(((least, _), (most, _))) = least.zip(most) {
        let times: u64 = stats.looks.values().sum();
        it.run("idle_looks_per_s", "1/s", times as f64 / stats.seconds());
        it.run("idle_look_ticks_min", "ticks", *least as f64);
        it.run("idle_look_ticks_max", "ticks", *most as f64);
    }
}

/// Grace periods of SRCU, and the calls that waited for them; nothing where no task used the domain.
fn srcu(it: &mut Figures, stats: &Stats) {
    let Some(srcu) = &stats.srcu else { return };
    let n = srcu.grace_periods.len() as f64;
    it.run("srcu_grace_periods", "grace_periods", n);
    let wakeups = srcu.reader_wakeups as f64 / stats.seconds();
    it.run("srcu_reader_wakeups_per_s", "1/s", wakeups);
    if n > 0.0 {
        let scans = srcu.grace_periods.iter().map(|gp| u64::from(gp.scans));
        it.run("srcu_scans_per_gp", "scans", scans.sum::<u64>() as f64 / n);
    }
    let wanted = [
        ("srcu_gp_duration_ms_mean", MEAN),
        ("srcu_gp_duration_ms_p99", 99),
    ];
    it.times(&About::Run, lengths(&srcu.grace_periods), &wanted);
    let calls = srcu.calls.iter().map(|it| it.1 - it.0).collect();
    let wanted = [
        ("srcu_latency_us_mean", MEAN),
        ("srcu_latency_us_p50", 50),
        ("srcu_latency_us_p99", 99),
        ("srcu_latency_us_max", 100),
    ];
    it.calls("srcu_calls", calls, &wanted);
}

/// Objects given back by system calls, and the time until they were freed: from the call until the last of
/// its callbacks has been invoked. A call that queued none frees nothing later. A run in which no task states
/// its calls has no such figures.
fn syscalls(it: &mut Figures, stats: &Stats) {
    let all = &stats.syscalls;
    if all.is_empty() {
        return;
    }
    it.run("syscalls_per_s", "1/s", all.len() as f64 / stats.seconds());
    let freed: Vec<u64> = all.iter().filter_map(|it| it.freed_after()).collect();
    let owe = all.iter().filter(|it| !it.callbacks.is_empty());
    let owe = owe.count().max(1) as f64;
    it.run("syscalls_freed_pct", "%", 100.0 * freed.len() as f64 / owe);
    let wanted = [
        ("freed_after_ms_p50", 50),
        ("freed_after_ms_p99", 99),
        ("freed_after_ms_max", 100),
    ];
    it.times(&About::Run, freed, &wanted);
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
    it.times(&About::Run, delays, &DELAYS);
}

const DELAYS: [(&str, usize); 4] = [
    ("delay_ms_p50", 50),
    ("delay_ms_p99", 99),
    ("delay_ms_max", 100),
    ("delay_ms_mean", MEAN),
];

fn functions(it: &mut Figures, stats: &Stats) {
    for func in &stats.funcs {
        let about = About::Function(func.name.clone());
        it.add(about.clone(), "queued", "callbacks", func.queued as f64);
        it.add(about.clone(), "executed", "callbacks", func.invoked as f64);
        it.times(&about, func.delays.clone(), &DELAYS);
    }
}

fn credits(it: &mut Figures, stats: &Stats) {
    let sum = |of: fn(&Credits) -> u64| stats.credits.iter().map(of).sum::<u64>() as f64;
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
        let mut add = it.of(About::Cpu(cpu as u32));
        add("credited_by_scan", "credits", credits.scan as f64);
        add("credited_by_own_report", "credits", credits.own as f64);
        add("credited_by_early_report", "credits", credits.early as f64);
        let (times, longest) = stats.interruptions.get(cpu).copied().unwrap_or_default();
        add("interruptions_per_s", "1/s", times as f64 / stats.seconds());
        add("interruption_us_max", "us", us(longest));
    }
}

#[cfg(test)]
mod tests;
