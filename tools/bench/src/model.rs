//! The experiments on the machine model, as `reproduce` shows them: published or measured beside the model.
//!
//! They run in virtual time: nothing here is timed, and the figures are the same on every machine. Subjects are `kernel`
//! or `published` for the real figure and `model` for ours, with the same case and metric, so that a script can
//! join them. The 108 configurations of one experiment are one line of text, and all of them rows of JSON.

use quiescent_sim::experiments::{self, Basis, Comparison, Outcome, Source};

use crate::table::{Table, figure};

pub(crate) mod claims;
pub(crate) mod listings;
mod threads;
use crate::subjects::OURS;
use crate::{Control, Error, Report, Row};

/// An experiment as it is run.
struct Experiment {
    name: &'static str,
    what: &'static str,
    run: fn(u64) -> Outcome,
}

const EXPERIMENTS: [Experiment; 24] = [
    Experiment {
        name: "kernel synchronize",
        what: "synchronize_rcu on Linux 6.12, idle, 108 configurations (measured)",
        run: |_| experiments::synchronize::all(),
    },
    Experiment {
        name: "kernel callbacks",
        what: "callbacks on Linux 6.12, eight traces replayed (measured)",
        run: |_| experiments::replays::all(),
    },
    Experiment {
        name: "whatif as recorded",
        what: "the same traces as `whatif` replays them, with all threads (measured)",
        run: |_| experiments::what_if::as_recorded(),
    },
    Experiment {
        name: "whatif",
        what: "changes predicted from the trace without them, held against the trace with them (measured)",
        run: |_| experiments::what_if::changed(),
    },
    Experiment {
        name: "early-qs-v2",
        what: "the early report, 32 CPUs (published)",
        run: experiments::early_qs::v2,
    },
    Experiment {
        name: "early-qs-rfc",
        what: "the same, first version (published)",
        run: experiments::early_qs::rfc,
    },
    Experiment {
        name: "accelerate",
        what: "stamping asks only for what is new, ten runs of five seconds (published)",
        run: experiments::loads::accelerate,
    },
    Experiment {
        name: "tab-switch",
        what: "jiffies from 3 to 32, a switch (published)",
        run: experiments::loads::tab_switch,
    },
    Experiment {
        name: "bridge",
        what: "variants over the default, 64 CPUs (published)",
        run: experiments::bridge::bridge,
    },
    Experiment {
        name: "cpu-overhead",
        what: "CPU time of the same with the early report (published)",
        run: experiments::bridge::cpu_overhead,
    },
    Experiment {
        name: "fast-no-hz",
        what: "how often an idle CPU looks at its callbacks (told)",
        run: experiments::fast_no_hz::fast_no_hz,
    },
    Experiment {
        name: "boot-selinux",
        what: "a boot that waits again and again, jiffies raised, and expedited (told)",
        run: experiments::waits::boot_selinux,
    },
    Experiment {
        name: "ftrace-start-stop",
        what: "the same of starting and stopping the function tracer (told)",
        run: experiments::waits::ftrace_start_stop,
    },
    Experiment {
        name: "percpu-ref",
        what: "the mode switch before a runtime suspend: raised jiffies, lazy, hurried (told)",
        run: experiments::percpu_ref::percpu_ref,
    },
    Experiment {
        name: "memory-pressure",
        what: "lazy callbacks and the shrinker (told)",
        run: experiments::memory_pressure::memory_pressure,
    },
    Experiment {
        name: "nohz-full",
        what: "CPUs that run without a tick, and who turns it on (the rules)",
        run: experiments::nohz_full::nohz_full,
    },
    Experiment {
        name: "local-video",
        what: "wake-ups and package states while a video is played, in sentences (published)",
        run: experiments::idle::local_video,
    },
    Experiment {
        name: "lazy-power",
        what: "lazy callbacks on top of offloading, the screen off (published)",
        run: experiments::idle::lazy_power,
    },
    Experiment {
        name: "jiffies-power",
        what: "power that raised jiffies save while a video is played (published)",
        run: experiments::idle::jiffies_power,
    },
    Experiment {
        name: "display-pipeline",
        what: "buffers closed at every frame: each callback and the system call that queued it (told)",
        run: experiments::pipeline::display_pipeline,
    },
    Experiment {
        name: "home-screen-swipe",
        what: "power that lazy callbacks save while a phone's home screen is swiped (published)",
        run: experiments::swipe::home_screen_swipe,
    },
    Experiment {
        name: "chromeos-idle",
        what: "callbacks by function, queued and executed in five idle seconds (published)",
        run: experiments::chromeos_idle::chromeos_idle,
    },
    Experiment {
        name: "android-static-image",
        what: "who is woken how often while a still image is shown and a daemon logs (published)",
        run: experiments::android::static_image,
    },
    Experiment {
        name: "android-batches",
        what: "batches of callbacks in the same: how far apart, and what is owed (published)",
        run: experiments::android::android_batches,
    },
];

/// Rows with more comparisons than this are one line of text.
const MANY: usize = 9;

/// What the experiments have shown.
#[derive(Debug, Clone, Default)]
pub struct Modelled {
    outcomes: Vec<(&'static str, Outcome)>,
}

impl Modelled {
    /// Was anything run?
    pub fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
    }

    /// Every figure, the real one and the model's.
    pub fn rows(&self) -> Vec<Row> {
        let all = self.outcomes.iter().flat_map(|it| &it.1.comparisons);
        all.flat_map(|it| {
            let of = |subject, value| Row::single(subject, &it.case, it.metric, it.unit, value);
            // What was measured in this run has its row already.
            let real = (it.source != Source::Threads).then(|| of(subject(it.source), it.real));
            [real.flatten(), of("model", it.model)]
        })
        .flatten()
        .chain(
            self.shown()
                .filter_map(|it| Row::single("model", &it.case, it.metric, it.unit, it.model)),
        )
        .chain(listings::rows(self))
        .collect()
    }

    /// Experiments whose figures are not all near enough.
    pub fn missed(&self) -> impl Iterator<Item = &Comparison> {
        let all = self.outcomes.iter().flat_map(|it| &it.1.comparisons);
        all.filter(|it| !it.holds())
    }
}

pub(crate) fn subject(source: Source) -> &'static str {
    match source {
        Source::Kernel => "kernel",
        Source::Published => "published",
        Source::Threads => OURS,
    }
}

/// Runs all experiments, or as many as there is time for. What `measured` has of real threads gets the model's figures beside it.
///
/// # Errors
/// None so far; the shape is that of the other parts.
pub fn run(seed: u64, measured: &Report, control: Control<'_>) -> Result<Modelled, Error> {
    let mut modelled = Modelled::default();
    for experiment in &EXPERIMENTS {
        if control.stopped() {
            break;
        }
        let outcome = (experiment.run)(seed);
        modelled.outcomes.push((experiment.name, outcome));
    }
    modelled
        .outcomes
        .extend(threads::beside(measured, seed, control));
    Ok(modelled)
}

/// Notes the rows and what was assumed.
pub fn report(modelled: &Modelled, report: &mut Report) {
    report.rows.extend(modelled.rows());
    for (name, outcome) in &modelled.outcomes {
        let mut basis: Vec<&str> = Vec::new();
        let all = outcome.comparisons.iter().map(|it| it.basis);
        for it in all.chain(outcome.shown.iter().map(|it| it.basis)) {
            if !basis.contains(&it.name()) {
                basis.push(it.name());
            }
        }
        let basis = basis.join(", ");
        report.option(
            &format!("model {name}"),
            serde_json::json!({
                "basis": basis,
                "claims": claims::json(&outcome.shown),
                "notes": outcome.notes,
            }),
        );
    }
}

/// As text: real figure, model, ratio, verdict.
pub fn text(modelled: &Modelled) -> String {
    let mut table = Table::new(&["", "real", "model", "ratio", "at most off by", "", ""], 1);
    let mut notes = String::new();
    for (name, outcome) in &modelled.outcomes {
        let what = what(name);
        if outcome.comparisons.len() > MANY {
            table.row(summary(name, outcome));
        } else {
            for it in &outcome.comparisons {
                table.row(line(it));
            }
        }
        notes += &format!("{name}: {what}\n");
        for note in &outcome.notes {
            notes += &format!("  - {note}\n");
        }
    }
    format!(
        "The machine model beside real machines (virtual time; the same on every machine)\n\n{}\n{}{}\n{notes}",
        table.render(),
        claims::text(modelled),
        listings::text(modelled),
    )
}

/// What an experiment is about.
fn what(name: &str) -> &'static str {
    let of_name = EXPERIMENTS.iter().find(|it| it.name == name);
    let threads = || threads::PARTS.iter().find(|it| it.name == name);
    of_name.map_or_else(|| threads().map_or("", |it| it.what), |it| it.what)
}

fn line(it: &Comparison) -> Vec<String> {
    vec![
        it.case.clone(),
        format!("{} {}", figure(it.real), it.unit),
        format!("{} {}", figure(it.model), it.unit),
        format!("{:.3}", it.ratio()),
        format!("{} %", figure(100.0 * it.allowed)),
        verdict(it.holds()).into(),
        it.basis.name().into(),
    ]
}

fn summary(name: &str, outcome: &Outcome) -> Vec<String> {
    let off = |it: &Comparison| (it.ratio() - 1.0).abs();
    let predicted = outcome
        .comparisons
        .iter()
        .filter(|it| it.basis != Basis::Fitted);
    let mut all: Vec<&Comparison> = predicted.collect();
    all.sort_by(|a, b| off(a).total_cmp(&off(b)));
    let median = all[all.len() / 2];
    let worst = all[all.len() - 1];
    vec![
        format!("{name}: worst of {}", all.len()),
        format!("{} {}", figure(worst.real), worst.unit),
        format!("{} {}", figure(worst.model), worst.unit),
        format!("{:.3} (median {:.5})", worst.ratio(), median.ratio()),
        format!("{} %", figure(100.0 * worst.allowed)),
        verdict(worst.holds()).into(),
        worst.basis.name().into(),
    ]
}

pub(crate) fn verdict(holds: bool) -> &'static str {
    match holds {
        true => "met",
        false => "MISSED",
    }
}

mod parts;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Silent;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn each_real_figure_has_the_models_beside_it() {
        let stop = AtomicBool::new(false);
        let measured = Report::new("reproduce", 1);
        let modelled = run(1, &measured, Control::new(&stop, &Silent)).unwrap();
        let mut found = Report::new("reproduce", 1);
        report(&modelled, &mut found);
        found.check().unwrap();
        let real: Vec<&Row> = found
            .rows
            .iter()
            .filter(|row| row.subject != "model")
            .collect();
        assert!(real.len() > 100);
        for row in real {
            assert!(found.find("model", &row.case, &row.metric).is_some());
        }
        // What the model is known not to reach, and `docs/model.md` says so: nothing else may join it unseen.
        let missed = modelled.missed().filter(|it| it.basis != Basis::Fitted);
        let missed: Vec<(&str, &str)> = missed.map(|it| (it.case.as_str(), it.metric)).collect();
        let known = [
            (
                "a-softirq-file100-cut rcu=offload for b-nocb-file100-cut",
                "idle_ticks_per_s",
            ),
            (
                "classic-b-nocb-file100 rcu=lazy for classic-c-lazy-file100",
                "idle_ticks_per_s",
            ),
            (
                "classic-b-nocb-file100 jiffies_till_first_fqs=32 jiffies_till_next_fqs=32 for classic-d-nocb-j32-file100",
                "idle_ticks_per_s",
            ),
            (
                "bridge early_qs=init rcu_normal_wake_from_gp=1",
                "ratio_to_default",
            ),
            (
                "bridge early_qs=off rcu_normal_wake_from_gp=1",
                "ratio_to_default",
            ),
            ("cpu-overhead early_qs=init", "rcu_time_ratio_to_default"),
            ("jiffies-power jiffies=8", "saving_pct"),
            ("jiffies-power jiffies=16", "saving_pct"),
            ("jiffies-power jiffies=24", "saving_pct"),
            ("jiffies-power jiffies=32", "saving_pct"),
            ("home-screen-swipe, RCU's threads stay", "saving_pct"),
            ("chromeos-idle rcu=default", "executed_ratio_to_queued"),
            ("chromeos-idle rcu=offload", "executed_ratio_to_queued"),
            (
                "android-static-image rcu=offload, thread rcu_preempt",
                "wakeups",
            ),
            (
                "android-static-image rcu=offload, threads rcuog/*",
                "wakeups",
            ),
            (
                "android-static-image rcu=offload, threads rcuop/*",
                "wakeups",
            ),
        ];
        assert_eq!(missed, known, "{}", text(&modelled));
        let untrue: Vec<_> = modelled.untrue().collect();
        assert!(untrue.is_empty(), "{untrue:?}");
        let shown = modelled.shown().map(|it| (&it.case, it.metric));
        for (case, metric) in shown {
            assert!(found.find("model", case, metric).is_some());
        }
    }
}
