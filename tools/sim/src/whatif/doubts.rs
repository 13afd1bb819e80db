//! Doubts about the figures of a replay, in sentences: the fit, missing parts of the trace, unknown facts.

use super::Answer;
use super::doings::Awaited;
use super::{Line, Trace};
use crate::load::settings;

/// Fewer events in the window are a matter of chance.
const FEW: u64 = 25;

/// A larger share of the window without a thread that had work is a doubt.
const UNCOVERED: f64 = 0.05;

/// More callbacks than this share that were queued unseen are worth a word.
const UNSEEN: f64 = 0.05;

pub(super) fn of(answer: &Answer, trace: &Trace, alike: bool) -> Vec<String> {
    let mut all: Vec<String> = fit(answer);
    all.extend(lacks(trace));
    all.extend(unknown(answer, trace, alike));
    all.extend(settings::warnings(&answer.machines[1]));
    all
}

/// Does the model fit this machine at all?
fn fit(answer: &Answer) -> Vec<String> {
    let wrong: Vec<String> = answer
        .misfits()
        .map(|it| {
            let ratio = it.ratio().unwrap_or(f64::NAN);
            format!("{} is {ratio:.2} of what was recorded", it.metric)
        })
        .collect();
    let mut said = Vec::new();
    if !wrong.is_empty() {
        said.push(format!(
            "the model does not fit this trace: {}. Do not trust the change; look at what was in force \
             (`sim --list`) and give it with --as",
            wrong.join(", ")
        ));
    }
    let few = |it: &&Line| it.decides && it.count.is_some_and(|it| it < FEW);
    let few: Vec<&str> = answer
        .lines
        .iter()
        .filter(few)
        .map(|it| it.metric)
        .collect();
    if !few.is_empty() {
        said.push(format!(
            "the trace has fewer than {FEW} of what {} counts: that is a matter of chance; record for longer",
            few.join(" and ")
        ));
    }
    said
}

/// What the trace does not have.
fn lacks(trace: &Trace) -> Vec<String> {
    let mut said = Vec::new();
    let arrivals = trace.recorded.arrivals.len() as f64;
    let unseen = trace.recorded.unseen;
    if unseen as f64 > UNSEEN * arrivals {
        said.push(format!(
            "{unseen} callbacks were invoked whose queueing is not in the trace, and are not replayed: a \
             kernel writes no rcu_callback for lazy ones, nor for floods"
        ));
    }
    if !trace.doings.switches {
        said.push("no sched_switch in the trace: how long threads ran is assumed, 15 us before a callback; \
         record that event too".into());
    }
    if trace.figures.total_wakeups() == 0 {
        said.push("no sched_wakeup in the trace: threads are woken when they are first seen; record that \
         event too".into());
    }
    if trace.figures.total_idle_entries() == 0 {
        said.push(
            "no cpu_idle in the trace: idle entries cannot be compared; record that event too"
                .into(),
        );
    }
    let doings = &trace.doings;
    let barriers = doings.waits.iter().any(|it| it.what == Awaited::Callbacks);
    if doings.barrier_callbacks > 0 && !barriers {
        said.push(
            "barriers end in the trace and no task is seen to wait for them: those waits are not \
         replayed; record rcu_barrier too"
                .into(),
        );
    }
    let undecoded = trace.recorded.undecoded.count();
    if undecoded > 0 {
        said.push(format!(
            "{undecoded} lines could not be read and are not replayed: `quiescent trace FILE gps` says which"
        ));
    }
    said
}

/// Unknown facts.
fn unknown(answer: &Answer, trace: &Trace, alike: bool) -> Vec<String> {
    let mut said = Vec::new();
    if alike {
        said.push(
            "several machines fit this trace as well as this one (smp, idle_loop); `by placement` has the \
             change on all of them; give --as smp=… and --as idle_loop=… if you know"
                .into(),
        );
    }
    let new = !answer.machines[1].offloaded().is_empty() && trace.recorded.offloaded.is_empty();
    if new {
        said.push(format!(
            "the trace has no rcuog and rcuop: the model has them begin on CPU {} (gp_cpu) and stay; ticks \
             and idle entries depend on where a scheduler puts them",
            answer.machines[1].gp_cpu
        ));
    }
    let length = answer.fed.seconds * answer.times as f64;
    if answer.uncovered > UNCOVERED * length {
        said.push(format!(
            "with the change threads wait less, and come to the end of the trace up to {:.1} s before the \
             window ends: what they do is counted too rarely in \
             `model with change`; choose a shorter window with --to, so that there is more of the trace \
             behind it",
            answer.uncovered
        ));
    }
    let waits = answer.fed.waits + answer.fed.barriers;
    if waits > 0 {
        said.push(format!(
            "{waits} waits for a grace period or a barrier take as long as the model says, and what those \
             threads do later moves with them"
        ));
    }
    said
}
