//! Doubts about the figures of a replay, in sentences: the fit, missing parts of the trace, unknown facts.

use super::doings::Awaited;
use super::{Answer, Line, Placement, Trace};
use crate::load::settings;

/// Fewer events in the window are a matter of chance.
pub(super) const FEW: u64 = 25;

/// More callbacks than this share that were queued unseen are worth a word.
const UNSEEN: f64 = 0.05;

pub(super) fn of(answer: &Answer, trace: &Trace, alike: bool) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    if answer.lacks > 0.0 {
        all.push(lacks_input(answer, trace));
    } else if answer.again {
        all.push(AGAIN.into());
    }
    fit(answer, &mut all);
    let unclear = names(answer.unclear());
    if !unclear.is_empty() {
        all.push(format!(
            "the direction of the change is not known for {}: the range has figures below and above those as \
             recorded",
            unclear.join(", ")
        ));
    }
    all.extend(trace.damage.iter().cloned());
    lacks(trace, &mut all);
    if alike {
        let give: Vec<String> = answer
            .fitted
            .iter()
            .map(|it| format!("--as {it}=…"))
            .collect();
        all.push(format!(
            "other machines fit this trace within 15 % too ({}); `range` has the change on all of them; give \
             {} if you know",
            answer.fitted.join(", "),
            give.join(" and ")
        ));
    }
    let machine = &answer.machines[1];
    let booted = trace.booted(&answer.machines);
    if let Some(Placement::Booted(gp)) = booted.filter(|_| answer.no_effect().is_none()) {
        let gp = gp.map_or("as recorded".into(), |it| format!("on CPU {it} (idle)"));
        all.push(format!(
            "a boot with the change places RCU's threads anew: the model has rcu_preempt {gp}, and rcuog \
             begins on CPU {} (gp_cpu), which is likely, not certain; ticks and idle entries depend on it",
            machine.gp_cpu
        ));
    }
    if !machine.later.is_empty() {
        all.push(CHANGES.into());
    }
    let waits = answer.fed.waits + answer.fed.barriers;
    if waits > 0 {
        all.push(format!(
            "{waits} waits for a grace period or a barrier take as long as the model says, and what those \
             threads do later moves with them"
        ));
    }
    all.extend(settings::warnings(machine));
    all
}

const CHANGES: &str = "settings change within this trace, and both machines change with them; --as and --set \
                       hold from the beginning to the end, and --from and --to leave a part out";

const AGAIN: &str = "threads wait longer than in the trace, and the run takes longer than it; what others \
                     did in the window is fed to them again";

fn names<'a>(lines: impl Iterator<Item = &'a Line>) -> Vec<&'static str> {
    lines.map(|it| it.metric).collect()
}

/// The input is over before the run is, and what to do about it.
fn lacks_input(answer: &Answer, trace: &Trace) -> String {
    let window = trace.recorded.window;
    let [from, to] = [window.start_ns, window.end_ns].map(|it| it as f64 / 1e9);
    format!(
        "the input ends {:.1} s before the run does ({:.1} s): rates of what does not wait are too low; give \
         a smaller part of the trace, of {from:.6} to {to:.6}, with --from and --to",
        answer.lacks, answer.took[1]
    )
}

/// Does the model fit this machine at all?
fn fit(answer: &Answer, all: &mut Vec<String>) {
    let ratio = |it: &Line| it.ratio().unwrap_or(f64::NAN);
    let wrong = |it: &Line| format!("{} is {:.2} of what was recorded", it.metric, ratio(it));
    let wrong: Vec<String> = answer.misfits().map(wrong).collect();
    if !wrong.is_empty() {
        all.push(format!(
            "the model does not fit this trace: {}. Do not trust the change; look at what was in force \
             (`sim --list`) and give it with --as",
            wrong.join(", ")
        ));
    }
    // What is fed again is no more input.
    let changed = |it: &Line| (it.changed * answer.fed.seconds) as u64;
    let few = |it: &Line| it.count.is_some_and(|n| n.min(changed(it)) < FEW);
    let few = names(answer.lines.iter().filter(|it| it.decides && few(it)));
    if !few.is_empty() {
        all.push(format!(
            "the trace has fewer than {FEW} of what {} counts, or would have with the change: that is a \
             matter of chance; record for longer",
            few.join(" and ")
        ));
    }
}

/// What the trace does not have.
fn lacks(trace: &Trace, all: &mut Vec<String>) {
    let unseen = trace.recorded.unseen;
    if unseen as f64 > UNSEEN * trace.recorded.arrivals.len() as f64 {
        all.push(format!(
            "{unseen} callbacks were invoked whose queueing is not in the trace, and are not replayed: a \
             kernel writes no rcu_callback for lazy ones, nor for floods"
        ));
    }
    let doings = &trace.doings;
    let barriers = doings.waits.iter().any(|it| it.what == Awaited::Callbacks);
    let missing = [
        (
            !doings.switches,
            "no sched_switch in the trace: how long threads ran is assumed, 15 us before a callback; record \
             that event too",
        ),
        (
            trace.figures.wakeups.is_empty(),
            "no sched_wakeup in the trace: threads are woken when they are first seen; record that event too",
        ),
        (
            trace.figures.idle_entries == 0,
            "no cpu_idle in the trace: idle entries cannot be compared; record that event too",
        ),
        (
            doings.barrier_callbacks > 0 && !barriers,
            "barriers end in the trace and no task is seen to wait for them: those waits are not replayed; \
             record rcu_barrier too",
        ),
    ];
    let missing = missing.into_iter().filter(|it| it.0);
    all.extend(missing.map(|it| it.1.to_owned()));
}
