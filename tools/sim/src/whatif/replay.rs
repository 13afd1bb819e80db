//! A machine that replays a recorded trace.
//!
//! Its input is what came from outside RCU: which callbacks were queued when and on which CPU, and where
//! RCU's threads ran (the scheduler's choice). It produces everything else itself: grace periods, scans,
//! wake-ups, ticks, delays.

use std::collections::BTreeMap;

use quiescent_kernel::CpuId;
use quiescent_trace::Recorded;

use super::feed::{call, place};
use super::{Trace, columns};
use crate::input::options::Options;
use crate::input::work::{Arrivals, Churn};
use crate::kernel::machine::Machine;
use crate::record::stats::Stats;

/// Callbacks that are queued within this time on one CPU are one task's work, in nanoseconds.
const ONE_WORK: u64 = 60_000;

/// The options that the trace itself tells, on top of `base`.
pub fn options(recorded: &Recorded, base: Options) -> Options {
    Options {
        cpus: recorded.cpus,
        hz: recorded.hz,
        jiffies: recorded.jiffies_at_zero.unwrap_or(base.jiffies),
        ..base
    }
}

/// A machine with the trace's arrivals before it. Run it to the end of the trace's window.
pub fn machine(recorded: &Recorded, options: Options) -> Machine {
    let mut machine = Machine::new(options);
    place(&mut machine, recorded, None, 1);
    let mut work: BTreeMap<CpuId, Vec<Arrivals>> = BTreeMap::new();
    for arrival in &recorded.arrivals {
        let call = call(&mut machine, arrival);
        let here = work.entry(arrival.cpu).or_default();
        match here.last_mut() {
            Some(last) if arrival.time_ns - last.at < ONE_WORK => last.calls.push(call),
            _ => here.push(Arrivals {
                at: arrival.time_ns,
                calls: vec![call],
            }),
        }
    }
    for (cpu, arrivals) in work {
        machine.spawn(&format!("recorded/{cpu}"), cpu, 0, Churn::new(arrivals));
    }
    machine.window(recorded.window.start_ns, recorded.window.end_ns);
    machine
}

/// What an idle machine does a second, whatever else it does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Background {
    /// Ticks on idle CPUs.
    pub ticks: f64,
    /// Idle entries.
    pub entries: f64,
}

/// What is compared, its unit, the kernel's figure, and the model's.
pub type Pair = (&'static str, &'static str, f64, f64);

/// What a replay of callbacks alone can be held against, in the order of its rows.
const COMPARED: [&str; 9] = [
    "grace_periods_per_s",
    "wakeups_per_s rcu_preempt",
    "wakeups_per_s rcuog",
    "wakeups_per_s rcuop",
    "idle_ticks_per_s",
    "idle_entries_per_s",
    "delay_ms_p50",
    "scans_per_gp",
    "gp_duration_ms_mean",
];

/// Fewer grace periods than this have no mean that says anything.
const FEW: usize = 10;

/// The figures of a trace beside those of a run that replays it.
pub fn pairs(trace: &Trace, stats: &Stats, background: &Background) -> Vec<Pair> {
    let all = columns(trace, stats);
    let mut pairs: Vec<Pair> = COMPARED
        .iter()
        .filter_map(|name| all.iter().find(|it| it.0 == *name).copied())
        .collect();
    pairs.retain(|&(metric, unit, kernel, model)| match unit {
        "1/s" => kernel != 0.0 || !metric.starts_with("wakeups"),
        "ms" if metric.starts_with("delay") => kernel != 0.0 && model != 0.0,
        _ => kernel != 0.0 && stats.grace_periods.len() >= FEW,
    });
    for it in &mut pairs {
        match it.0 {
            "idle_ticks_per_s" => it.3 += background.ticks,
            "idle_entries_per_s" => it.3 += background.entries,
            _ => {}
        }
    }
    pairs
}
