//! What a run of an experiment's file has shown: the figures of `sim --json`, and some that only files need.

use std::collections::BTreeMap;

use quiescent_kernel::event::{CallbackEvent, Event};

use super::expression::Values;
use super::replays::Replay;
use crate::kernel::machine::Machine;
use crate::load::workload::Plan;
use crate::record::notes::What;
use crate::record::stats::{Func, Stats};
use crate::record::syscalls::{JoinedCall, Owed, SysCall, join};
use crate::show::report::{About, Figure, figures};
use crate::whatif::replay::Pair;

/// A run as its file describes it.
#[derive(Clone, Debug)]
pub(super) enum Planned {
    Load(Box<Load>),
    Replay(Box<Replay>),
}

/// A run of a workload.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub plan: Plan,
    /// It counts for so long, in nanoseconds, and not to its end.
    pub counted: Option<u64>,
    /// How events are kept, for the figures that are read from them.
    pub keep: Option<fn(&mut Machine)>,
}

/// A run's results.
#[derive(Default)]
pub(super) struct Run {
    pub figures: Vec<Figure>,
    stats: Vec<Stats>,
    /// Of a replay: the real figures, and the model's.
    pub pairs: Vec<Pair>,
    parameters: Vec<(String, String)>,
}

impl Run {
    /// With each of so many seeds; the plans take turns. A replay has nothing that is left to chance.
    pub fn of(plans: &[Planned], seeds: u64, seed: u64) -> Run {
        let (mut it, mut own) = (Run::default(), Vec::new());
        for n in 0..seeds {
            let seed = match seeds {
                1 => seed,
                _ => seed.wrapping_mul(1000).wrapping_add(n),
            };
            match &plans[n as usize % plans.len()] {
                Planned::Load(load) => {
                    it.stats.push(load.run(seed, &mut own));
                    it.parameters.clone_from(&load.plan.parameters);
                }
                Planned::Replay(replay) => it.pairs = replay.pairs(),
            }
        }
        it.figures = figures(&it.stats);
        it.figures.extend(own);
        it
    }

    /// The values of a figure; none if it has no such figure.
    pub fn values(&self, metric: &str, about: &str) -> Values {
        match metric {
            "parameter" => {
                let found = self.parameters.iter().filter(|it| it.0 == about);
                found.filter_map(|it| it.1.parse().ok()).collect()
            }
            "woken" => {
                let each = self.stats.iter();
                each.map(|it| it.wakeups_of(about) as f64).collect()
            }
            _ => {
                let fits = |it: &&Figure| it.metric == metric && is_about(&name(&it.about), about);
                let fit = self.figures.iter().filter(fits);
                fit.flat_map(|it| it.values.iter().copied()).collect()
            }
        }
    }
}

/// What a figure is about, as a file names it.
pub(super) fn name(about: &About) -> String {
    about.case("").trim_start_matches(", ").to_owned()
}

/// Is a figure about that? `*` at the end stands for anything.
fn is_about(name: &str, about: &str) -> bool {
    let start = about.strip_suffix('*');
    name == about || start.is_some_and(|it| name.starts_with(it))
}

impl Load {
    /// One run; its own figures are added to `own`.
    fn run(&self, seed: u64, own: &mut Vec<Figure>) -> Stats {
        let mut plan = self.plan.clone();
        plan.options.seed = seed;
        let mut add = |about, metric, values| {
            own.push(Figure {
                about,
                metric,
                unit: "",
                values,
            });
        };
        let mut run = |metric, values| add(About::Run, metric, values);
        let mut machine = plan.machine();
        if let Some(counted) = self.counted {
            machine.window(plan.warm_up, plan.warm_up + counted);
        }
        if let Some(keep) = self.keep {
            keep(&mut machine);
        }
        plan.run_on(&mut machine, || false);
        let stats = machine.stats();
        let shrunk = machine.counts()["shrunk"];
        run("flushed_by_shrinker", vec![shrunk as f64]);
        run("left", vec![machine.owed() as f64]);
        run("too_early", vec![machine.too_early() as f64]);
        calls(&machine, &stats, &mut run);
        batches(&machine, &stats, &mut run);
        run("seconds", vec![stats.seconds()]);
        run("rcu_ns", vec![stats.totals.rcu_ns as f64]);
        run("lock_waits", vec![stats.totals.lock_waits as f64]);
        run("lock_wait_ns", vec![stats.totals.lock_wait_ns as f64]);
        let calls = stats.calls.iter().skip(1);
        let calls = calls.map(|it| (it.end - it.start) as f64 / 1e6);
        run("in_step_ms", calls.collect());
        let waited = stats.grace_periods.iter().map(|it| &it.holdouts);
        let waited = waited.filter(|it| !it.is_empty());
        let gp_cpu = |it: &Vec<_>| f64::from(*it == [plan.options.gp_cpu]);
        run("waits_for_gp_cpu", waited.map(gp_cpu).collect());
        for (metric, of) in COUNTS {
            // The report has the other ones of each function.
            let shown = stats.funcs.iter().filter(|_| metric.starts_with("shown"));
            for it in shown {
                let each = About::Function(it.name.clone());
                add(each, metric, vec![of(it) as f64]);
            }
            let all = stats.funcs.iter().map(of).sum::<u64>();
            add(About::Run, metric, vec![all as f64]);
        }
        stats
    }
}

/// What callbacks of a function are counted as.
type Count = (&'static str, fn(&Func) -> u64);

/// `shown` and `shown_executed` are what `rcutop` counts from the kernel's events: `rcu_callback` does not
/// show what goes to a bypass, and what is invoked counts only if the window's table has the function.
const COUNTS: [Count; 4] = [
    ("queued", |it| it.queued),
    ("executed", |it| it.invoked),
    ("shown", |it| it.shown),
    ("shown_executed", |it| it.shown_invoked),
];

/// Invocations that are further apart belong to two flushes: less than a frame, and more than a batch takes.
const APART: u64 = 5_000_000;

/// System calls and the callbacks that they have queued.
///
/// A call is *joined* if its callbacks, which may be none, have been invoked, each after its queueing, and if
/// a reader of the events finds the same: the same task, time of entry, and callback by callback the same
/// function and time of invocation.
fn calls(machine: &Machine, stats: &Stats, add: &mut impl FnMut(&'static str, Values)) {
    let freed = stats.syscalls.iter().filter_map(SysCall::freed_after);
    add("freed_after_ms", freed.map(|ns| ns as f64 / 1e6).collect());
    let mut tasks: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for call in &stats.syscalls {
        let invoked = call.callbacks.iter().filter_map(|it| it.invoked);
        tasks.entry(call.task).or_default().extend(invoked);
    }
    let (mut time, mut times) = (0, 0);
    for invoked in tasks.values_mut() {
        invoked.sort_unstable();
        let later = invoked.windows(2).filter(|it| it[1] - it[0] > APART);
        let later: Vec<u64> = later.map(|it| it[1]).collect();
        time += later.last().map_or(0, |it| it - invoked[0]);
        times += later.len();
    }
    add("flush_every_s", vec![time as f64 / 1e9 / times as f64]);
    let mut read = join(&machine.kept());
    read.retain(|it| stats.counts(it.entered));
    if !read.is_empty() {
        add("joined_pct", vec![joined_pct(&stats.syscalls, &read)]);
    }
}

/// The share of calls that are joined, in per cent. Calls that only one of the two ways knows are not.
fn joined_pct(known: &[SysCall], read: &[JoinedCall]) -> f64 {
    let same = |(call, read): &(&SysCall, &JoinedCall)| {
        let invoked = |it: &Owed| it.queued >= call.entered && it.invoked > Some(it.queued);
        let known = call.callbacks.iter().map(|it| (it.func, it.invoked));
        call.callbacks.iter().all(invoked)
            && (call.task, call.entered) == (read.task, read.entered)
            && known.eq(read.callbacks.iter().copied())
    };
    let joined = known.iter().zip(read).filter(same).count();
    100.0 * joined as f64 / known.len().max(read.len()) as f64
}

/// The batches that threads of offloaded callbacks began: how far each is from the thread's last one, what is
/// owed then and may be invoked, and whether the thread is on the CPU whose callbacks it invokes.
fn batches(machine: &Machine, stats: &Stats, add: &mut impl FnMut(&'static str, Values)) {
    let mut last: BTreeMap<&str, f64> = BTreeMap::new();
    for (place, what) in machine.kept().iter().filter(|it| stats.counts(it.0.at)) {
        let (
            What::Rcu(Event::Callbacks(CallbackEvent::BatchStart { n_cbs, limit, .. })),
            Some(task),
        ) = (what, place.task)
        else {
            continue;
        };
        let name = machine.sys.tasks[task].name.as_str();
        let Some(cpu) = name.strip_prefix("rcuop/") else {
            continue;
        };
        let at = place.at as f64 / 1e9;
        let apart = last.insert(name, at).map(|before| 1e3 * (at - before));
        add("batch_apart_ms", apart.into_iter().collect());
        add("batch_owed", vec![*n_cbs as f64]);
        add("batch_limit", vec![*limit as f64]);
        let on_own_cpu = cpu == place.cpu.to_string();
        add("batch_on_own_cpu", vec![f64::from(on_own_cpu)]);
    }
}

#[cfg(test)]
mod tests;
