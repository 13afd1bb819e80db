//! Accuracy of `whatif`: eight traces as they were recorded, and each change that was recorded as well,
//! predicted from the trace without it.
//!
//! Given for each machine: one CPU executes at a time. The trace has everything else. The
//! bounds are 15 % as recorded and 20 % for a change, set before the first run. Nothing is fitted.
//!
//! **Common and different parts of two traces.** All were recorded with one seed: the load arrives at the
//! same times after its start, to within a tenth of a millisecond. Different are the place of those times in
//! a jiffy, the lengths of the traces, the slow timers, and the CPUs on which the scheduler placed RCU's
//! threads. So a prediction is compared with another boot, and with less noise than between two loads.
//!
//! Ticks depend on the placement, so they have a second row beside the prediction, with RCU's threads where
//! they were in the predicted trace (*assumed*: that is known only afterwards), and with the ticks without
//! callbacks over the same time of both.

use quiescent_trace::{Options as Known, Recorded, Window, from_read};

use super::replays::{RecordedKernel, TRACES};
use super::{Basis, Judged, Outcome};
use crate::input::options::Options;
use crate::load::settings;
use crate::whatif::{self, Line};

/// How far the model may be off as recorded.
const AS_RECORDED: f64 = whatif::BAD_FIT;

/// And with a change.
const CHANGED: f64 = 0.20;

/// A change: the trace without it, what is set, the trace with it.
struct Change {
    from: &'static str,
    set: &'static [(&'static str, &'static str)],
    to: &'static str,
}

const CHANGES: [Change; 6] = [
    Change {
        from: "classic-a-softirq-file100",
        set: &[("rcu", "offload")],
        to: "classic-b-nocb-file100",
    },
    Change {
        from: "a-softirq-file100-cut",
        set: &[("rcu", "offload")],
        to: "b-nocb-file100-cut",
    },
    Change {
        from: "classic-b-nocb-file100",
        set: &[("rcu", "lazy")],
        to: "classic-c-lazy-file100",
    },
    Change {
        from: "classic-b-nocb-file100",
        set: &[
            ("jiffies_till_first_fqs", "8"),
            ("jiffies_till_next_fqs", "8"),
        ],
        to: "classic-d-nocb-j8-file100-cut",
    },
    Change {
        from: "classic-b-nocb-file100",
        set: &[
            ("jiffies_till_first_fqs", "32"),
            ("jiffies_till_next_fqs", "32"),
        ],
        to: "classic-d-nocb-j32-file100",
    },
    Change {
        from: "classic-a-softirq-file100",
        set: &[("early_qs", "init")],
        to: "classic-a-softirq-file100-early",
    },
];

fn named(name: &str) -> &'static RecordedKernel {
    let found = TRACES.iter().find(|it| it.name == name);
    found.expect("each change names traces that are there")
}

fn read(trace: &RecordedKernel, window: Option<Window>) -> whatif::Trace {
    let input = from_read(trace.name, trace.bytes).expect("the data that is built in is whole");
    let known = Known {
        window,
        ..Known::default()
    };
    whatif::read(trace.name, input, known).expect("it is whole, and has a window")
}

/// The machine that the trace was recorded on, as far as the trace shows it, and what it does not show.
fn machine(read: &whatif::Trace) -> Options {
    Options {
        smp: crate::input::options::Smp::Serial,
        ..read.options()
    }
}

/// Lines of the trace and the model under these settings.
fn lines(trace: &whatif::Trace, options: &Options, real: &whatif::Trace) -> Vec<Line> {
    let times = trace.times([options]);
    let stats = trace.run(options, times, || false);
    let stats = stats.expect("no caller stops the plan");
    whatif::lines(real, &stats, &stats)
}

fn add(outcome: &mut Outcome, case: &str, lines: &[Line], allowed: f64, basis: Basis) {
    for line in lines.iter().filter(|it| it.decides) {
        let by = Judged::kernel("whatif", allowed, basis);
        let both = [line.recorded.unwrap_or(0.0), line.changed];
        outcome.compare(by, case, (line.metric, line.unit), both);
    }
}

/// Eight traces, each under its own settings.
pub fn as_recorded() -> Outcome {
    let mut outcome = Outcome::default();
    for trace in &TRACES {
        let read = read(trace, None);
        let lines = lines(&read, &machine(&read), &read);
        let case = format!("{} as recorded", trace.name);
        add(&mut outcome, &case, &lines, AS_RECORDED, Basis::Predicted);
    }
    outcome.notes.push(
        "fed: what every thread but RCU's did, callbacks as part of it, ticks of other timers, where RCU's \
         threads ran; given: smp=serial and idle_loop, which no trace tells".into(),
    );
    outcome
}

/// Each change, from the trace without it.
pub fn changed() -> Outcome {
    let mut outcome = Outcome::default();
    for change in &CHANGES {
        let (from, to) = (named(change.from), named(change.to));
        let (before, after) = (read(from, None), read(to, None));
        let mut options = machine(&before);
        settings::apply(&mut options, change.set).expect("the table of changes is right");
        let set: Vec<String> = change
            .set
            .iter()
            .map(|it| format!("{}={}", it.0, it.1))
            .collect();
        let case = format!("{} {} for {}", from.name, set.join(" "), to.name);
        let predicted = lines(&before, &options, &after);
        add(&mut outcome, &case, &predicted, CHANGED, Basis::Predicted);
        for it in predicted.iter().filter(|it| it.decides) {
            outcome.notes.push(format!(
                "{case}: {} {:.4} recorded, {:.4} predicted, ratio {:.3}",
                it.metric,
                it.recorded.unwrap_or(0.0),
                it.changed,
                it.ratio().unwrap_or(f64::NAN)
            ));
        }
        explain(&mut outcome, &case, to, (&before, &after), &options);
    }
    outcome
}

/// The same where what differs between the two boots is taken away, as far as it can be.
fn explain(
    outcome: &mut Outcome,
    case: &str,
    to: &RecordedKernel,
    (before, after): (&whatif::Trace, &whatif::Trace),
    options: &Options,
) {
    if to.lazy {
        // Of the longer trace as much as the shorter one has: slow timers go off in a few seconds only. Grace
        // periods are too few to count there.
        let Window { start_ns, .. } = after.recorded.window;
        let length = before.recorded.window.end_ns - before.recorded.window.start_ns;
        let end_ns = start_ns + length;
        let first = read(to, Some(Window { start_ns, end_ns }));
        let mut lines = lines(before, options, &first);
        lines.retain(|it| it.metric == "idle_ticks_per_s");
        let case = format!("{case}, of which as long");
        add(outcome, &case, &lines, CHANGED, Basis::Assumed);
    } else {
        let mut placed = before.clone();
        placed.recorded.placements = moved(&after.recorded, &before.recorded);
        let case = format!("{case}, RCU's threads where they were there");
        let lines = lines(&placed, options, after);
        add(outcome, &case, &lines, CHANGED, Basis::Assumed);
    }
}

/// Placements of one trace at the times of another, from the beginning of the window on.
fn moved(from: &Recorded, to: &Recorded) -> quiescent_trace::Placements {
    let (there, here) = (from.window.start_ns, to.window.start_ns);
    let mut all = from.placements.clone();
    for place in all.values_mut().flatten() {
        place.time_ns = (place.time_ns + here).saturating_sub(there);
    }
    all
}
