//! Doubts about the figures of a replay, in sentences: the fit, missing parts of the trace, unknown facts.

use super::doings::Awaited;
use super::{Answer, RanOut};
use super::{Line, Trace};
use crate::load::settings;

/// Fewer events in the window are a matter of chance.
const FEW: u64 = 25;

/// More callbacks than this share that were queued unseen are worth a word.
const UNSEEN: f64 = 0.05;

pub(super) fn of(answer: &Answer, trace: &Trace, alike: bool) -> Vec<String> {
    let mut all: Vec<String> = answer
        .ran_out
        .iter()
        .map(|it| ran_out(it, answer, trace))
        .collect();
    all.extend(again(answer));
    all.extend(fit(answer));
    all.extend(direction(answer));
    all.extend(trace.damage.iter().cloned());
    all.extend(lacks(trace));
    all.extend(unknown(answer, trace, alike));
    all.extend(settings::warnings(&answer.machines[1]));
    all
}

/// Who has no input left, and what to do about it.
fn ran_out(it: &RanOut, answer: &Answer, trace: &Trace) -> String {
    let window = trace.recorded.window;
    let until = window.end_ns as f64 / 1e9 - it.seconds * 1.01;
    let remedy = match answer.times {
        0 | 1 if until - window.start_ns as f64 / 1e9 > it.seconds / 10.0 => format!(
            "give --from {:.6} --to {until:.6}: there is trace behind that window; or record for longer",
            window.start_ns as f64 / 1e9
        ),
        0 | 1 => "record for longer".into(),
        _ => "give --repeat 1, and --to for a shorter window".into(),
    };
    format!(
        "of `{}` only the mean waits are known: thread {} waits less than in the trace and has no input \
         left {:.1} s before the window ends; {remedy}",
        match it.with_change {
            true => "model with change",
            false => "model as recorded",
        },
        it.thread,
        it.seconds
    )
}

/// Threads had no input left, and got the window's again.
fn again(answer: &Answer) -> Option<String> {
    (answer.again && answer.ran_out.is_none()).then(|| {
        "threads wait less than in the trace and come to its end before the window does; from there on what \
         they did in the window is fed to them again"
            .into()
    })
}

/// Figures that the change may make more or less.
fn direction(answer: &Answer) -> Option<String> {
    let unclear: Vec<&str> = answer.unclear().map(|it| it.metric).collect();
    (!unclear.is_empty()).then(|| {
        format!(
            "the direction of the change is not known for {}: the range has figures below and above those as \
             recorded",
            unclear.join(", ")
        )
    })
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
    said
}

/// Unknown facts.
fn unknown(answer: &Answer, trace: &Trace, alike: bool) -> Vec<String> {
    let mut said = Vec::new();
    if alike {
        said.push(
            "other machines fit this trace within 15 % too (smp, idle_loop); `range` has the change on all \
             of them; give --as smp=… and --as idle_loop=… if you know"
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
    let waits = answer.fed.waits + answer.fed.barriers;
    if waits > 0 {
        said.push(format!(
            "{waits} waits for a grace period or a barrier take as long as the model says, and what those \
             threads do later moves with them"
        ));
    }
    said
}
