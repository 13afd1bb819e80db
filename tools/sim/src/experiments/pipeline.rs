//! `display-pipeline`: buffers are closed at every frame, and each callback is joined to the system call that
//! has queued it.
//!
//! Two ways lead from a callback back to its call. The machine knows it (each callback carries its call), and
//! a reader of the trace infers it: the call is the one in which the queueing task was, and the callback is
//! recognised by its address. A call counts as *joined* if
//!
//! * the call has queued as many callbacks as the workload says,
//! * all of them have been invoked, each after its queueing, and
//! * the trace's way gives the same task, the same time of entry, and callback by callback the same function
//!   and time of invocation.
//!
//! Frames stop before the run does, so that even the laziest callback is invoked in it; rates count while
//! there are frames.

use std::collections::BTreeMap;

use super::claims::Bound::{self, Between};
use super::claims::{Named, Shown, shown};
use super::idle::{idled, states, wakeups};
use super::{Outcome, loads};
use crate::record::stats::Stats;
use crate::record::syscalls::SysCall;
use crate::record::syscalls::{JoinedCall, join};

const SECOND: u64 = 1_000_000_000;
/// Frames until then; counted from the workload's two seconds of warming up on.
const FRAMES: (u64, u64) = (2 * SECOND, 42 * SECOND);
/// The run's end. Ten seconds may become twenty (Linux 6.12 can begin them anew), and the wheel rounds up by
/// half a second each time.
const END: u64 = 65 * SECOND;
/// Callbacks of each call, by the workload.
const EACH: usize = 2;
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

fn shoot(rcu: &str, seed: &str) -> Shot {
    let stop = format!("{}s", FRAMES.1 / SECOND);
    let sets = [("rcu", rcu), ("seed", seed), ("stop", &*stop)];
    let plan = loads::plan("display-pipeline", &sets);
    let mut machine = plan.machine();
    machine.window(FRAMES.0, FRAMES.1);
    machine.keep_calls();
    machine.run(END);
    let mut joined = join(&machine.kept()).calls;
    joined.retain(|it| FRAMES.0 <= it.entered && it.entered < FRAMES.1);
    Shot {
        stats: machine.stats(),
        joined,
    }
}

/// Is the call joined, by both ways alike?
fn same(call: &SysCall, read: &JoinedCall) -> bool {
    let known = call.callbacks.iter().map(|it| (it.func, it.invoked));
    let whole = call.callbacks.len() == EACH && call.freed_after().is_some();
    let in_order = call
        .callbacks
        .iter()
        .all(|it| it.invoked.is_some_and(|at| at > it.queued) && it.queued >= call.entered);
    whole
        && in_order
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

/// Default, offloaded and lazy callbacks of buffers that are closed.
pub fn display_pipeline(seed: u64) -> Outcome {
    let seed = seed.to_string();
    let kinds = ["default", "offload", "lazy"];
    let shots = kinds.map(|rcu| shoot(rcu, &seed));
    let mut outcome = Outcome::default();
    for (rcu, shot) in kinds.into_iter().zip(&shots) {
        let case = format!("display-pipeline rcu={rcu}");
        shown! { outcome;
            &case, JOINED => shot.joined_pct(),
                Between(100.0, 100.0) => "every closed buffer's callbacks are joined to their system call";
        }
        let freed = shot.freed_ms();
        let longest = freed.last().copied().unwrap_or(f64::NAN);
        // Two grace periods of three ticks each, twice as much if a second wait is needed, and a tick until
        // the CPU is looked at: within 20 ms or so. Lazily ten seconds, up to 0.512 s that the wheel rounds
        // up by, and the grace period.
        let (says, most) = match rcu {
            "lazy" => (
                "no callback waits longer than until the next flush",
                10_600.0,
            ),
            _ => (
                "without laziness a buffer is freed within three frames",
                50.0,
            ),
        };
        let longest = Shown::claimed(&case, LONGEST, longest, says, Bound::AtMost(most));
        outcome.shown.push(longest);
        let median = freed.get(freed.len() / 2).copied().unwrap_or(f64::NAN);
        shown! { outcome; &case, MEDIAN => median; }
        let flush = ("flush_every_s", "s");
        outcome.shown.push(match rcu {
            // The same half second, and the time until a frame's first callback starts the next ten.
            "lazy" => Shown::claimed(
                &case,
                flush,
                shot.flush_every_s(),
                "lazy callbacks are batched to one flush per ten seconds",
                Bound::Between(9.9, 10.6),
            ),
            _ => Shown::beside(&case, flush, shot.flush_every_s()),
        });
        for (named, figure) in shot.rcu_per_s() {
            shown! { outcome; &case, named => figure; }
        }
        let wakes = ("wakeups_per_s", "1/s");
        shown! { outcome; &case, wakes => wakeups(&shot.stats); }
        let held = shot.stats.held.most.1 as f64;
        shown! { outcome; &case, ("held_bytes_max", "bytes") => held; }
        outcome
            .states
            .push(states(format!("rcu={rcu}"), &shot.stats));
        outcome.notes.push(note(rcu, shot));
    }
    loads::notes("display-pipeline", &mut outcome);
    outcome
}

fn note(rcu: &str, shot: &Shot) -> String {
    let it = idled(&shot.stats);
    let callbacks: usize = shot
        .stats
        .syscalls
        .iter()
        .map(|it| it.callbacks.len())
        .sum();
    format!(
        "rcu={rcu}: {} calls of close, {callbacks} callbacks, joined both by what the machine knows and by \
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
        // The point of it all, and its price.
        let woken = ["offload", "lazy"].map(|rcu| find(rcu, "callback_threads_woken_per_s"));
        assert!(woken[1] < 0.05 * woken[0], "{woken:?}");
        let held = ["offload", "lazy"].map(|rcu| find(rcu, "held_bytes_max"));
        assert!(held[1] > 20.0 * held[0], "{held:?}");
    }

    #[test]
    fn a_callback_of_another_call_is_not_joined() {
        let shot = shoot("offload", "2");
        assert_eq!(shot.joined_pct(), 100.0);
        let share = 100.0 / shot.stats.syscalls.len() as f64;
        let with = |change: fn(&mut Shot)| {
            let mut it = Shot {
                stats: shot.stats.clone(),
                joined: shot.joined.clone(),
            };
            change(&mut it);
            100.0 - it.joined_pct()
        };
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        // Never invoked; lost; invoked at another time; of another task; and a call that the trace has not.
        assert!(near(
            with(|it| it.stats.syscalls[7].callbacks[1].invoked = None),
            share
        ));
        assert!(near(
            with(|it| it.stats.syscalls[7].callbacks.truncate(1)),
            share
        ));
        let moved = with(|it| {
            it.joined[7].callbacks[1].1 = it.joined[7].entered.checked_sub(1);
        });
        assert!(near(moved, share));
        assert!(near(with(|it| it.joined[7].task += 1), share));
        let gone = with(|it| it.joined.truncate(it.joined.len() - 1));
        assert!(near(gone, share));
    }
}
