//! Figures of idle states: residencies first, then the attribution, then watts.
//!
//! The states, lengths and causes depend on the run. A figure has a value for each run, or none at all: an
//! event that did not occur in a run counts as zero there.

use std::collections::BTreeMap;

use super::{About, Figures, us};
use crate::idling::{Blocked, By, Idled, Period, Residency};
use crate::record::stats::Stats;

pub(super) fn add(it: &mut Figures, runs: &[Stats]) {
    let all: Vec<&Idled> = runs.iter().filter_map(|it| it.idled.as_ref()).collect();
    for run in &all {
        states(it, run, &run.cpus, About::CpuState);
        states(it, run, &run.cores, About::CoreState);
        package(it, run);
    }
    periods(it, &all);
    blocked(it, &all);
    for run in &all {
        watts(it, run);
    }
}

fn pct(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

fn per_s(count: u64, run: &Idled) -> f64 {
    count as f64 / (run.ns.max(1) as f64 / 1e9)
}

fn states(it: &mut Figures, run: &Idled, all: &[Residency], about: fn(String) -> About) {
    for state in all {
        let about = about(state.name.clone());
        let chosen = matches!(about, About::CpuState(_)); // core states are not, by a governor
        let mut add = it.of(about);
        add("residency_pct", "%", pct(state.ns, state.of_ns));
        add("entries_per_s", "1/s", per_s(state.entries, run));
        if chosen {
            add("too_deep_per_s", "1/s", per_s(state.too_deep, run));
            add("too_shallow_per_s", "1/s", per_s(state.too_shallow, run));
        }
    }
}

fn package(it: &mut Figures, run: &Idled) {
    for (depth, state) in run.package.iter().enumerate() {
        let mut add = it.of(About::PackageState(state.name.clone()));
        add("residency_pct", "%", pct(state.ns, state.of_ns));
        add("entries_per_s", "1/s", per_s(state.entries, run));
        if depth == 0 {
            continue;
        }
        let blocked = |rcu| pct(run.blocked_ns(&state.name, rcu), run.ns);
        add("this_or_deeper_pct", "%", run.package_pct(&state.name));
        add("blocked_by_rcu_pct", "%", blocked(true));
        add("blocked_by_others_pct", "%", blocked(false));
    }
}

/// Lengths that no run has seen have no figures.
fn periods(it: &mut Figures, all: &[&Idled]) {
    let columns = all.first().map_or(0, |it| it.periods.len());
    for column in 0..columns {
        if all.iter().all(|it| it.periods[column].count == 0) {
            continue;
        }
        for run in all {
            let period = run.periods[column];
            let idle: u64 = run.periods.iter().map(|it| it.ns).sum();
            let mut add = it.of(About::IdlePeriods(length(&period)));
            add("idle_periods_per_s", "1/s", per_s(period.count, run));
            add("idle_time_pct", "%", pct(period.ns, idle));
        }
    }
}

fn length(period: &Period) -> String {
    let text = |ns: u64| match us(ns) {
        us if us >= 1e6 => format!("{} s", us / 1e6),
        us if us >= 1e3 => format!("{} ms", us / 1e3),
        us => format!("{us} us"),
    };
    match period.to {
        Some(to) => format!("{} to {}", text(period.from), text(to)),
        None => format!("{} and more", text(period.from)),
    }
}

/// A state, and the cause that kept the package out of it: threads of a family together.
type Blame = (usize, String);

fn blocked(it: &mut Figures, all: &[&Idled]) {
    let sums: Vec<BTreeMap<Blame, u64>> = all.iter().map(|run| sums(run)).collect();
    let each = sums.iter().flatten();
    let total = sum(each.map(|(blame, ns)| (blame.clone(), *ns)));
    let mut order: Vec<(&Blame, &u64)> = total.iter().collect();
    order.sort_by(|a, b| (a.0.0, b.1, &a.0.1).cmp(&(b.0.0, a.1, &b.0.1)));
    for (blame, _) in order {
        let state = &all[0].package[blame.0].name;
        let about = About::Blocked(state.clone(), blame.1.clone());
        for (run, sums) in all.iter().zip(&sums) {
            let ns = sums.get(blame).copied().unwrap_or(0);
            it.add(about.clone(), "blocked_pct", "%", pct(ns, run.ns));
        }
    }
    let breaks = |run: &&Idled| sum(run.breaks.iter().map(|(by, count)| (name(by), *count)));
    let breaks: Vec<BTreeMap<String, u64>> = all.iter().map(breaks).collect();
    let mut names: Vec<&String> = breaks.iter().flat_map(|it| it.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        for (run, breaks) in all.iter().zip(&breaks) {
            let count = breaks.get(name).copied().unwrap_or(0);
            let about = About::PackageWaker(name.clone());
            it.add(about, "package_wakeups_per_s", "1/s", per_s(count, run));
        }
    }
}

fn sums(run: &Idled) -> BTreeMap<Blame, u64> {
    let one = |Blocked { state, by, ns }: &Blocked| {
        let depth = run.package.iter().position(|it| it.name == *state);
        ((depth.expect("it is one of the package's"), name(by)), *ns)
    };
    sum(run.blocked.iter().map(one))
}

/// The sum of each key's values.
fn sum<K: Ord>(all: impl Iterator<Item = (K, u64)>) -> BTreeMap<K, u64> {
    let mut sums = BTreeMap::new();
    for (key, value) in all {
        *sums.entry(key).or_default() += value;
    }
    sums
}

/// Threads of a family, and the callback's function.
fn name(by: &By) -> String {
    let thread = match by.thread.rsplit_once('/') {
        Some((family, _)) => format!("{family}/*"),
        None => by.thread.clone(),
    };
    let whose = if by.rcu { " [RCU]" } else { "" };
    match &by.function {
        Some(function) => format!("{thread} for {function}{whose}"),
        None => thread + whose,
    }
}

fn watts(it: &mut Figures, run: &Idled) {
    let Some(energy) = &run.energy else {
        return;
    };
    let (low, high) = energy.watts();
    let mut add = it.of(About::Power(energy.profile.clone()));
    add("watts_at_least", "W", low);
    add("watts_at_most", "W", high);
}
