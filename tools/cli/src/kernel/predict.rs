//! The machine model's prediction for this kernel, for each possible placement and load.
//!
//! The duration of a call depends on more than a kernel's parameters: on whether the grace-period thread is
//! on the caller's CPU, on the other running ticks, on the idle loop, on whether CPUs execute at the same
//! time. Each combination is a configuration, and each is *run*: no formula is used. Where one of these is
//! known (read or observed), only matching configurations are compared.

use super::facts::Facts;
use super::load::{ALWAYS, Load};
use quiescent_report::Control;
use quiescent_sim::chance::Chance;
use quiescent_sim::{Hog, IdleLoop, Machine, Op, Options, Smp, Stats, Steps, Time};
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

/// The other load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadKind {
    /// Nothing.
    Idle,
    /// A busy program on the caller's CPU.
    Caller,
    /// A busy program on the thread's CPU.
    Thread,
    /// A busy program on a third CPU.
    Third,
    /// Programs that compute and sleep at random, with the measured shares.
    Measured,
}

impl LoadKind {
    const fn words(self) -> &'static str {
        match self {
            LoadKind::Idle => "idle",
            LoadKind::Caller => "the caller's CPU busy",
            LoadKind::Thread => "the thread's CPU busy",
            LoadKind::Third => "another CPU busy",
            LoadKind::Measured => "as busy as measured",
        }
    }
}

/// The model's result for one configuration, or for several with equal results.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The place of the thread.
    pub place: ThreadPlace,
    /// The other load.
    pub load: LoadKind,
    /// Idle loops and ways of execution with this result.
    pub ways: Vec<(IdleLoop, Smp)>,
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
        let words = [self.place.words(), self.load.words()];
        format!("thread {}, {}, {}", words[0], words[1], self.ways())
    }

    /// The other load as a text.
    pub const fn load_words(&self) -> &'static str {
        self.load.words()
    }

    /// The idle loops and ways of execution as a text.
    pub fn ways(&self) -> String {
        let smp = |it: &Smp| {
            if *it == Smp::Serial {
                "serial"
            } else {
                "parallel"
            }
        };
        let idle = |it: &IdleLoop| match it {
            IdleLoop::Retain => "retain",
            IdleLoop::Classic => "classic",
        };
        let list = |words: Vec<&str>| {
            let mut distinct: Vec<&str> = Vec::new();
            for word in words {
                if !distinct.contains(&word) {
                    distinct.push(word);
                }
            }
            distinct.join(" or ")
        };
        let smps = list(self.ways.iter().map(|it| smp(&it.1)).collect());
        let loops = list(self.ways.iter().map(|it| idle(&it.0)).collect());
        format!("{loops}, {smps}")
    }
}

/// The pattern of calls.
#[derive(Debug, Clone, PartialEq)]
pub struct CallPattern {
    /// Sleep after each, in ns.
    pub pause_ns: u64,
    /// Computing time of the caller between two calls, in ns.
    pub gap_ns: u64,
    /// The machine's number of the CPU that made most of them.
    pub cpu: Option<u32>,
    /// The load that was measured.
    pub load: Option<Load>,
    /// The seed of the model.
    pub seed: u64,
}

/// Runs every configuration; fewer when stopped.
pub fn predict(facts: &Facts, calls: &CallPattern, control: Control<'_>) -> Vec<Prediction> {
    let caller = calls
        .cpu
        .and_then(|cpu| facts.cpus.iter().position(|it| *it == cpu));
    let caller = caller.unwrap_or(0) as u32 % facts.options.cpus;
    let mut found: Vec<Prediction> = Vec::new();
    for place in ThreadPlace::ALL {
        for load in loads(facts.options.cpus, place, calls) {
            for &idle_loop in &facts.idle_loops {
                for &smp in &facts.smps {
                    if control.stopped() {
                        return found;
                    }
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
                    let stats = run(options, caller, load, calls, facts);
                    let Some(one) = reading(place, load, (idle_loop, smp), &stats, facts) else {
                        continue;
                    };
                    match found.iter_mut().find(|it| alike(it, &one)) {
                        Some(known) => known.ways.extend(one.ways),
                        None => found.push(one),
                    }
                }
            }
        }
    }
    found
}

/// The possible loads of a machine with so many CPUs, with the thread in that place.
fn loads(cpus: u32, place: ThreadPlace, calls: &CallPattern) -> Vec<LoadKind> {
    let all = [
        LoadKind::Idle,
        LoadKind::Caller,
        LoadKind::Thread,
        LoadKind::Third,
        LoadKind::Measured,
    ];
    let has = |load: &LoadKind| match (load, place) {
        (LoadKind::Idle | LoadKind::Caller, _) => true,
        (LoadKind::Thread, ThreadPlace::Other) => true,
        (LoadKind::Thread, ThreadPlace::Same) => false, // the caller's as well
        (LoadKind::Third, ThreadPlace::Other) => cpus > 2,
        (LoadKind::Third, ThreadPlace::Same) => cpus > 1,
        (LoadKind::Measured, _) => calls.load.as_ref().is_some_and(|it| !it.idle()),
    };
    let possible = cpus > 1 || place == ThreadPlace::Same;
    all.into_iter().filter(|it| possible && has(it)).collect()
}

/// The means differ by less than a two-hundredth, and the waits are the same.
fn alike(a: &Prediction, b: &Prediction) -> bool {
    let near = (a.mean_us / b.mean_us - 1.0).abs() < 0.005 && (a.waits - b.waits).abs() < 0.05;
    near && a.place == b.place && a.load == b.load
}

fn run(options: Options, caller: u32, load: LoadKind, calls: &CallPattern, facts: &Facts) -> Stats {
    let (cpus, gp_cpu, seed) = (options.cpus, options.gp_cpu, options.seed);
    let mut machine = Machine::new(options);
    let third = (0..cpus).rev().find(|it| ![caller, gp_cpu].contains(it));
    let hog = match load {
        LoadKind::Caller => Some(caller),
        LoadKind::Thread => Some(gp_cpu),
        LoadKind::Third => third,
        LoadKind::Idle | LoadKind::Measured => None,
    };
    if let Some(cpu) = hog {
        machine.spawn_endless("hog", cpu, 0, Hog);
    }
    if load == LoadKind::Measured {
        spawn_measured(&mut machine, calls, facts, seed);
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

/// Programs with the measured load: the busy time of all CPUs, divided by the number of wake-ups.
fn spawn_measured(machine: &mut Machine, calls: &CallPattern, facts: &Facts, seed: u64) {
    let Some(load) = &calls.load else { return };
    let total: f64 = load.busy.iter().map(|it| it.1).sum();
    let compute = (1e9 * total / load.wakeups_per_s.max(1.0)).max(1.0);
    let mut chance = Chance::new(seed);
    for (cpu, busy) in &load.busy {
        let Some(index) = facts.cpus.iter().position(|it| it == cpu) else {
            continue;
        };
        let (name, index) = (format!("load/{index}"), index as u32);
        if index >= facts.options.cpus || *busy < 0.001 {
            continue;
        }
        if *busy > ALWAYS {
            machine.spawn_endless(&name, index, 0, Hog);
            continue;
        }
        let [compute, sleep] = [compute, compute * (1.0 - busy) / busy].map(|mean| Time {
            mean: mean as u64,
            vary: true,
        });
        let turns = Steps::default().repeat(None, |it| it.run(compute).pause(sleep));
        let work = turns.of(Vec::new(), Chance::new(chance.next()));
        machine.spawn_endless(&name, index, u64::from(index), work);
    }
}

fn reading(
    place: ThreadPlace,
    load: LoadKind,
    way: (IdleLoop, Smp),
    stats: &Stats,
    facts: &Facts,
) -> Option<Prediction> {
    let calls = stats.calls.get(1..)?;
    let first = calls.first()?.start;
    let tick = facts.options.jiffy_ns() as f64;
    let mut ticks = BTreeMap::new();
    let mut sum = 0.0;
    for call in calls {
        let ns = (call.end - call.start) as f64;
        sum += ns;
        *ticks.entry((ns / tick).round() as u64).or_insert(0) += 1;
    }
    let gps: Vec<u32> = stats
        .grace_periods
        .iter()
        .filter(|it| it.end >= first)
        .map(|it| it.scans)
        .collect();
    Some(Prediction {
        place,
        load,
        ways: vec![way],
        mean_us: sum / calls.len() as f64 / 1e3,
        waits: gps.iter().sum::<u32>() as f64 / gps.len().max(1) as f64,
        ticks,
    })
}

#[cfg(test)]
mod tests;
