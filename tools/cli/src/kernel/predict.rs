//! The machine model's prediction for this kernel, for each possible placement and load.
//!
//! The duration of a call depends on more than a kernel's parameters: on whether the grace-period thread is
//! on the caller's CPU, on the other running ticks, on the idle loop, on whether CPUs execute at the same
//! time. Each combination is a configuration, and each is *run*: no formula is used. Where one of these is
//! known (read or observed), only matching configurations are compared.

use super::facts::Facts;
use quiescent_report::Control;
use quiescent_report::rows::samples::distinct;
use quiescent_report::rows::stats;
use quiescent_sim::{Hog, Machine, Op, Options, Stats, Steps, Time, settings};
use std::collections::BTreeMap;

/// Calls of each configuration, and one before them that does not count.
const CALLS: u64 = 100;

/// The place of the grace-period thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThreadPlace {
    /// On the caller's CPU.
    Same,
    /// On another CPU.
    Other,
}

impl ThreadPlace {
    /// Both places.
    pub const ALL: [ThreadPlace; 2] = [ThreadPlace::Other, ThreadPlace::Same];

    /// As a text, after "the thread is".
    pub const fn words(self) -> &'static str {
        match self {
            ThreadPlace::Same => "on the caller's CPU",
            ThreadPlace::Other => "on another CPU",
        }
    }
}

/// The load of a machine on which nothing else runs.
pub const IDLE: &str = "idle";

/// A load: in words, and the CPU of a busy program, if it has one; none where there is no such CPU, or where
/// it has another name. It is made of the machine and the caller's CPU.
type Load = (&'static str, fn(&Options, u32) -> Option<Option<u32>>);

const LOADS: [Load; 4] = [
    (IDLE, |_, _| Some(None)),
    ("the caller's CPU busy", |_, caller| Some(Some(caller))),
    ("the thread's CPU busy", |machine, caller| {
        let thread = machine.gp_cpu;
        (thread != caller).then_some(Some(thread))
    }),
    ("another CPU busy", |machine, caller| {
        let mut others = (0..machine.cpus).rev();
        let third = others.find(|it| ![caller, machine.gp_cpu].contains(it));
        third.map(Some)
    }),
];

/// The model's result for one configuration, or for several with equal results.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The place of the thread.
    pub place: ThreadPlace,
    /// The other load.
    pub load: &'static str,
    /// Idle loops and ways of execution with this result.
    pub ways: Vec<[String; 2]>,
    /// The mean of a call, in µs.
    pub mean_us: f64,
    /// Waits of a grace period that ended in a scan, on average: 0 where every CPU reported by itself before.
    pub waits: f64,
    /// The number of calls with each duration in ticks.
    pub ticks: BTreeMap<u64, u64>,
}

impl Prediction {
    /// The configuration as a text.
    pub fn case(&self) -> String {
        let words = |at: usize| distinct(self.ways.iter().map(|it| it[at].clone()));
        let [idle_loops, smps] = [0, 1].map(|at| words(at).join(" or "));
        let (place, load) = (self.place.words(), self.load);
        format!("thread {place}, {load}, {idle_loops}, {smps}")
    }

    /// The means differ by less than a two-hundredth, and the waits are the same.
    fn is_alike(&self, other: &Prediction) -> bool {
        let mean = (self.mean_us / other.mean_us - 1.0).abs() < 0.005;
        let waits = (self.waits - other.waits).abs() < 0.05;
        mean && waits && self.place == other.place && self.load == other.load
    }
}

/// The pattern of calls.
#[derive(Debug, Clone, PartialEq)]
pub struct CallPattern {
    /// Sleep after each, in ns.
    pub pause_ns: u64,
    /// Computing time of the caller between two calls, in ns.
    pub gap_ns: u64,
    /// The machine's number of the CPU that made the last one.
    pub cpu: Option<u32>,
    /// The seed of the model.
    pub seed: u64,
}

/// Runs every configuration; fewer when stopped.
pub fn predict(facts: &Facts, calls: &CallPattern, control: Control<'_>) -> Vec<Prediction> {
    let caller = facts.cpus.iter().position(|it| Some(*it) == calls.cpu);
    let caller = caller.unwrap_or(0) as u32 % facts.options.cpus;
    let ways = facts.idle_loops.iter();
    let ways = ways.flat_map(|&idle_loop| facts.smps.iter().map(move |&smp| (idle_loop, smp)));
    let places = ThreadPlace::ALL.into_iter();
    let loads = places.flat_map(|place| LOADS.map(|load| (place, load)));
    let mut found: Vec<Prediction> = Vec::new();
    for ((place, (load, busy)), (idle_loop, smp)) in
        loads.flat_map(|it| ways.clone().map(move |way| (it, way)))
    {
        let options = Options {
            idle_loop,
            smp,
            seed: calls.seed,
            gp_cpu: match place {
                ThreadPlace::Same => caller,
                ThreadPlace::Other => (caller + 1) % facts.options.cpus,
            },
            ..facts.options.clone()
        };
        let is_there = (options.gp_cpu == caller) == (place == ThreadPlace::Same);
        let Some(hog) = busy(&options, caller).filter(|_| is_there) else {
            continue;
        };
        if control.stopped() {
            break;
        }
        let stats = run(&options, caller, hog, calls);
        let Some(one) = reading(place, load, &stats, &options) else {
            continue;
        };
        match found.iter_mut().find(|it| it.is_alike(&one)) {
            Some(known) => known.ways.extend(one.ways),
            None => found.push(one),
        }
    }
    found
}

fn run(options: &Options, caller: u32, hog: Option<u32>, calls: &CallPattern) -> Stats {
    let mut machine = Machine::new(options.clone());
    if let Some(cpu) = hog {
        machine.spawn_endless("hog", cpu, 0, Hog);
    }
    let call = |it: Steps| match calls.gap_ns {
        0 => it.op(Op::Synchronize),
        gap => it.op(Op::Compute(gap)).op(Op::Synchronize),
    };
    let paused = Steps::default().repeat(Some(CALLS), |it| match calls.pause_ns {
        0 => call(it),
        pause => call(it).pause(Time::of(pause)),
    });
    machine.spawn("caller", caller, 500_000, call(paused));
    // Ten seconds a call: no call takes so long, and a model that does not end must not block the command.
    machine.run_tasks((CALLS + 1) * (10_000_000_000 + calls.pause_ns));
    machine.stats()
}

/// What a run shows; none if it was ended before the second call.
fn reading(
    place: ThreadPlace,
    load: &'static str,
    stats: &Stats,
    options: &Options,
) -> Option<Prediction> {
    let calls = stats.calls.get(1..)?;
    let first = calls.first()?.start;
    let us = calls.iter().map(|it| (it.end - it.start) as f64 / 1e3);
    let us: Vec<f64> = us.collect();
    let gps = stats.grace_periods.iter().filter(|it| it.end >= first);
    let scans: Vec<f64> = gps.map(|it| f64::from(it.scans)).collect();
    let ways = ["idle_loop", "smp"].map(|key| {
        let setting = settings::find(key).expect("the table has it");
        setting.get(options)
    });
    Some(Prediction {
        place,
        load,
        ways: vec![ways],
        mean_us: stats::mean(&us)?,
        waits: stats::mean(&scans).unwrap_or(0.0),
        ticks: in_ticks(&us, options),
    })
}

/// The number of calls with each duration in ticks.
pub fn in_ticks(us: &[f64], options: &Options) -> BTreeMap<u64, u64> {
    let tick = options.jiffy_ns() as f64 / 1e3;
    let mut ticks = BTreeMap::new();
    for us in us {
        *ticks.entry((us / tick).round() as u64).or_insert(0) += 1;
    }
    ticks
}

#[cfg(test)]
mod tests;
