//! `display-pipeline`: files are closed at every frame, and each callback is joined to the system call that
//! has queued it.
//!
//! Published is a trace of 66 ms: 25 closes, of which four queue a `file_free_rcu`, and six
//! `rcu_work_rcufn` of work items. The workload repeats its whole cycle (a test counts both). The work
//! items' callbacks are not lazy, so they flush the lazy ones on their CPUs, thirty times a second; the same
//! machine without them (`works=0`) shows what laziness alone does.
//!
//! Two ways lead from a callback back to its call. The machine knows it (each callback carries its call), and
//! a reader of the trace infers it: the call is the one in which the queueing task was, and the callback is
//! recognised by its address. A call counts as *joined* if
//!
//! * the callbacks that it queued, which may be none, have been invoked, each after its queueing, and
//! * the trace's way gives the same task, the same time of entry, and callback by callback the same function
//!   and time of invocation.
//!
//! Frames stop before the run does, so that even the laziest callback is invoked in it; rates count while
//! there are frames.

use std::collections::BTreeMap;

use super::claims::Bound::{self, Between};
use super::claims::{Named, Shown, shown};
use super::{Outcome, loads, states};
use crate::idling::Idled;
use crate::record::stats::Stats;
use crate::record::syscalls::SysCall;
use crate::record::syscalls::{JoinedCall, join};

const SECOND: u64 = 1_000_000_000;
/// Frames until then; counted from the workload's two seconds of warming up on.
const FRAMES: (u64, u64) = (2 * SECOND, 42 * SECOND);
/// The run's end. Ten seconds may become twenty (Linux 6.12 can begin them anew), and the wheel rounds up by
/// half a second each time.
const END: u64 = 65 * SECOND;
/// Invocations that are further apart belong to two flushes: less than a frame, and more than a batch takes.
const APART: u64 = 5_000_000;

const JOINED: Named = ("joined_pct", "%");
const MEDIAN: Named = ("freed_after_ms_p50", "ms");
const LONGEST: Named = ("freed_after_ms_max", "ms");

/// A run, and what the reader of its trace makes of it.
struct Shot {
    stats: Stats,
    joined: Vec<JoinedCall>,
}

fn shoot(rcu: &str, works: &str, seed: &str) -> Shot {
    let stop = format!("{}s", FRAMES.1 / SECOND);
    let sets = [
        ("rcu", rcu),
        ("works", works),
        ("seed", seed),
        ("stop", &*stop),
    ];
    let plan = loads::plan("display-pipeline", &sets);
    let mut machine = plan.machine();
    machine.window(FRAMES.0, FRAMES.1);
    machine.keep_calls();
    machine.run(END);
    let mut joined = join(&machine.kept());
    joined.retain(|it| FRAMES.0 <= it.entered && it.entered < FRAMES.1);
    Shot {
        stats: machine.stats(),
        joined,
    }
}

/// Is the call joined, by both ways alike?
fn same(call: &SysCall, read: &JoinedCall) -> bool {
    let known = call.callbacks.iter().map(|it| (it.func, it.invoked));
    let in_order = call
        .callbacks
        .iter()
        .all(|it| it.invoked.is_some_and(|at| at > it.queued) && it.queued >= call.entered);
    in_order
        && (call.task, call.entered) == (read.task, read.entered)
        && known.eq(read.callbacks.iter().copied())
}

impl Shot {
    /// The share of calls that are joined, in per cent. Calls that only one of the two ways knows are not.
    fn joined_pct(&self) -> f64 {
        let (known, read) = (&self.stats.syscalls, &self.joined);
        let joined = known.iter().zip(read).filter(|(a, b)| same(a, b)).count();
        100.0 * joined as f64 / known.len().max(read.len()).max(1) as f64
    }

    /// How long each call's callbacks took, in milliseconds, in order.
    fn freed_ms(&self) -> Vec<f64> {
        let all = self.stats.syscalls.iter().filter_map(SysCall::freed_after);
        let mut all: Vec<f64> = all.map(|ns| ns as f64 / 1e6).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// Seconds between two flushes of one task's callbacks, on average; not a number if there are less than
    /// two.
    fn flush_every_s(&self) -> f64 {
        let mut tasks: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for call in &self.stats.syscalls {
            let invoked = call.callbacks.iter().filter_map(|it| it.invoked);
            tasks.entry(call.task).or_default().extend(invoked);
        }
        let (mut time, mut times) = (0, 0);
        for invoked in tasks.values_mut() {
            invoked.sort_unstable();
            let later = invoked.windows(2).filter(|it| it[1] - it[0] > APART);
            let begun: Vec<u64> = invoked
                .first()
                .copied()
                .into_iter()
                .chain(later.map(|it| it[1]))
                .collect();
            time += begun.last().map_or(0, |it| it - begun[0]);
            times += begun.len().saturating_sub(1);
        }
        time as f64 / 1e9 / times as f64
    }

    /// Wake-ups of RCU's threads and soft interrupts a second.
    fn rcu_per_s(&self) -> [(Named, f64); 3] {
        let per_s = |count: u64| count as f64 / self.stats.seconds();
        let of = |name| per_s(self.stats.wakeups_of(name));
        [
            (("callback_threads_woken_per_s", "1/s"), of("rcuo")),
            (("rcu_preempt_woken_per_s", "1/s"), of("rcu_preempt")),
            (
                ("rcu_softirqs_per_s", "1/s"),
                per_s(self.stats.totals.softirqs),
            ),
        ]
    }
}

/// The machines: how callbacks are treated, and whether there are work items.
const CASES: [(&str, &str); 4] = [
    ("default", "1"),
    ("offload", "1"),
    ("lazy", "1"),
    ("lazy", "0"),
];

/// `rcu=lazy works=0`; work items are the rule, and not said.
fn setting((rcu, works): (&str, &str)) -> String {
    match works {
        "1" => format!("rcu={rcu}"),
        _ => format!("rcu={rcu} works={works}"),
    }
}

/// What is said of how long files are kept, and the most for that in milliseconds; and of the time between
/// two flushes.
fn said(case: (&str, &str)) -> (&'static str, f64, Option<(&'static str, Bound)>) {
    match case {
        // Ten seconds, up to 0.512 s that the wheel rounds up by, and a grace period; from the first callback
        // of a cycle on.
        ("lazy", "0") => (
            "no callback waits longer than until the next flush",
            10_600.0,
            Some((
                "without others, lazy callbacks are batched to one flush per ten seconds",
                Bound::Between(9.9, 10.6),
            )),
        ),
        // A work item comes in every other cycle at the latest; then as below.
        ("lazy", _) => (
            "a callback that is not lazy flushes the lazy ones of its CPU",
            67.0 + 50.0,
            None,
        ),
        // Two grace periods of three ticks each, twice as much if a second wait is needed, and a tick until
        // the CPU is looked at: within 20 ms or so.
        _ => (
            "without laziness a file is freed within three frames",
            50.0,
            None,
        ),
    }
}

/// Default, offloaded and lazy callbacks of files that are closed.
pub fn display_pipeline(seed: u64) -> Outcome {
    let seed = seed.to_string();
    let mut outcome = Outcome::default();
    for kind in CASES {
        let shot = shoot(kind.0, kind.1, &seed);
        let setting = setting(kind);
        let case = format!("display-pipeline {setting}");
        shown! { outcome;
            &case, JOINED => shot.joined_pct(),
                Between(100.0, 100.0) => "every callback that a close queued is joined to its system call";
        }
        let freed = shot.freed_ms();
        let longest = freed.last().copied().unwrap_or(f64::NAN);
        let (says, most, flushed) = said(kind);
        let longest = Shown::claimed(&case, LONGEST, longest, says, Bound::AtMost(most));
        outcome.shown.push(longest);
        let median = freed.get(freed.len() / 2).copied().unwrap_or(f64::NAN);
        shown! { outcome; &case, MEDIAN => median; }
        let (flush, every) = (("flush_every_s", "s"), shot.flush_every_s());
        outcome.shown.push(match flushed {
            Some((says, bound)) => Shown::claimed(&case, flush, every, says, bound),
            None => Shown::beside(&case, flush, every),
        });
        for (named, figure) in shot.rcu_per_s() {
            shown! { outcome; &case, named => figure; }
        }
        let held = shot.stats.held.most.1 as f64;
        shown! { outcome;
            &case, ("wakeups_per_s", "1/s") => shot.stats.totals.idle_entries as f64 / shot.stats.seconds();
            &case, ("held_bytes_max", "bytes") => held;
        }
        outcome.states.extend(states(setting.clone(), &shot.stats));
        outcome.notes.push(note(&setting, &shot));
    }
    loads::notes("display-pipeline", &mut outcome);
    outcome
}

fn note(setting: &str, shot: &Shot) -> String {
    let it: &Idled = shot
        .stats
        .idled
        .as_ref()
        .expect("the workload has idle states");
    let callbacks: usize = shot
        .stats
        .syscalls
        .iter()
        .map(|it| it.callbacks.len())
        .sum();
    format!(
        "{setting}: {} calls of close, {callbacks} callbacks, joined both by what the machine knows and by \
         what its trace shows; PC8 {:.1} % of the time, \
         kept out of it by RCU {:.1} %",
        shot.stats.syscalls.len(),
        it.package_pct("PC8"),
        100.0 * it.blocked_ns("PC8", true) as f64 / it.ns as f64,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::data::published;

    /// A line of the published trace: time, CPU, thread, event, and a callback's function.
    #[derive(serde::Deserialize)]
    struct Event(f64, usize, String, String, String);

    #[derive(serde::Deserialize)]
    struct Trace {
        rows: Vec<Event>,
    }

    /// By thread and kind, how many there are in one cycle: from the last but one `file_free_rcu` of the
    /// DrmThread to the last.
    fn published_cycle() -> BTreeMap<(String, String), u64> {
        let Trace { rows } = published("display-pipeline");
        let ends = rows
            .iter()
            .filter(|it| it.2 == "DrmThread" && it.4 == "file_free_rcu");
        let ends: Vec<f64> = ends.map(|it| it.0).collect();
        let [.., from, until] = ends[..] else {
            panic!("two files");
        };
        let mut counts = BTreeMap::new();
        for it in rows.iter().filter(|it| from < it.0 && it.0 <= until) {
            let what = if it.4.is_empty() { &it.3 } else { &it.4 };
            let thread = it.2.split('/').next().unwrap().to_owned();
            *counts.entry((thread, what.clone())).or_default() += 1;
        }
        counts
    }

    #[test]
    fn the_workload_has_the_published_cycle() {
        let Trace { rows } = published("display-pipeline");
        let count = |kind: &str| {
            rows.iter()
                .filter(|it| it.3 == kind || it.4 == kind)
                .count()
        };
        let published = (
            count("close"),
            count("file_free_rcu"),
            count("rcu_work_rcufn"),
        );
        assert_eq!(published, (25, 4, 6));
        let shot = shoot("default", "1", "1");
        let cycles = 30 * (FRAMES.1 - FRAMES.0) / SECOND;
        let mut counts = BTreeMap::new();
        let mut add = |thread: &str, what: &str, n: u64| {
            let thread = thread.split('/').next().unwrap().to_owned();
            *counts.entry((thread, what.to_owned())).or_default() += n;
        };
        for call in &shot.stats.syscalls {
            let thread = &shot.stats.wakeups[call.task].0;
            add(thread, "close", 1);
            for it in &call.callbacks {
                // Nothing else is queued in a call: the work items' callbacks are joined to none.
                assert_eq!(shot.stats.funcs[it.func].name, "file_free_rcu");
                add(thread, "file_free_rcu", 1);
            }
        }
        let works = shot
            .stats
            .funcs
            .iter()
            .find(|it| it.name == "rcu_work_rcufn");
        add("kworker", "rcu_work_rcufn", works.unwrap().queued);
        for (what, published) in published_cycle() {
            let model = counts.remove(&what).unwrap_or(0) as f64 / cycles as f64;
            assert!(
                (model - published as f64).abs() < 0.01,
                "{what:?}: {model} and {published}"
            );
        }
        assert!(counts.is_empty(), "{counts:?}");
    }

    #[test]
    fn each_thread_closes_on_the_published_cpu() {
        let Trace { rows } = published("display-pipeline");
        let mut machine = loads::plan("display-pipeline", &[]).machine();
        machine.keep_calls();
        machine.run(4 * SECOND);
        let calls = join(&machine.kept());
        for it in rows.iter().filter(|it| it.3 == "close") {
            let model = |task: usize| machine.tasks[task].name.starts_with(&it.2);
            let theirs: Vec<usize> = calls
                .iter()
                .map(|it| it.task)
                .filter(|&it| model(it))
                .collect();
            assert!(theirs.len() > 30, "{}", it.2);
            let there = |&task: &usize| machine.tasks[task].cpu == Some(it.1 as u32);
            assert!(theirs.iter().all(there), "{} is not on CPU {}", it.2, it.1);
        }
    }

    #[test]
    fn what_is_said_of_closed_buffers_holds() {
        let outcome = display_pipeline(1);
        for it in outcome.shown.iter().filter(|it| it.claim.is_some()) {
            assert_eq!(it.holds(), Some(true), "{it:?}");
        }
        let find = |rcu: &str, metric: &str| {
            let case = format!("display-pipeline rcu={rcu}");
            let mut all = outcome.shown.iter();
            all.find(|it| it.case == case && it.metric == metric)
                .unwrap()
                .model
        };
        // The point of it all, and its price; work items take most of the gain away.
        let cases = ["offload", "lazy", "lazy works=0"];
        let woken = cases.map(|it| find(it, "callback_threads_woken_per_s"));
        assert!(woken[2] < 0.05 * woken[0], "{woken:?}");
        assert!(
            woken[1] > 0.3 * woken[0] && woken[1] < woken[0],
            "{woken:?}"
        );
        let held = cases.map(|it| find(it, "held_bytes_max"));
        assert!(held[2] > 20.0 * held[0], "{held:?}");
    }

    #[test]
    fn a_callback_of_another_call_is_not_joined() {
        let shot = shoot("offload", "1", "2");
        assert_eq!(shot.joined_pct(), 100.0);
        let share = 100.0 / shot.stats.syscalls.len() as f64;
        let with = |change: &dyn Fn(&mut Shot)| {
            let mut it = Shot {
                stats: shot.stats.clone(),
                joined: shot.joined.clone(),
            };
            change(&mut it);
            100.0 - it.joined_pct()
        };
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let owes = |it: &SysCall| !it.callbacks.is_empty();
        let at = shot.stats.syscalls.iter().position(owes).unwrap();
        // Never invoked; lost; invoked at another time; of another task; and a call that the trace has not.
        assert!(near(
            with(&|it| it.stats.syscalls[at].callbacks[0].invoked = None),
            share
        ));
        assert!(near(
            with(&|it| it.stats.syscalls[at].callbacks.clear()),
            share
        ));
        let moved = with(&|it| {
            it.joined[at].callbacks[0].1 = it.joined[at].entered.checked_sub(1);
        });
        assert!(near(moved, share));
        assert!(near(with(&|it| it.joined[at].task += 1), share));
        let gone = with(&|it| it.joined.truncate(it.joined.len() - 1));
        assert!(near(gone, share));
    }
}
