//! `bench trickle` of this run, beside the machine of threads.
//!
//! Wake-ups, grace periods and fences of real threads, measured a few minutes before, and the model's figures
//! for the same trickles. The model's input is the measuring method (durations, the step of the coarse
//! clock), and none of the results. Without a measurement nothing is compared.

use quiescent_report::{Control, OURS, Report};
use quiescent_sim::Verb;
use quiescent_sim::experiments::threads::{Trickle, TrickleResult, trickle};
use quiescent_sim::experiments::{Basis, Comparison, Outcome, Part, Source};

/// The largest error of the model.
const ALLOWED: f64 = 0.15;

/// The verbs that a part compares.
struct Verbs {
    name: &'static str,
    what: &'static str,
    verbs: &'static [&'static str],
    /// Includes producers that end.
    exits: bool,
}

const PARTS: [Verbs; 3] = [
    Verbs {
        name: "threads retire",
        what: "bench trickle of this run, real threads and the machine of threads: memory",
        verbs: &["retire"],
        exits: false,
    },
    Verbs {
        name: "threads call",
        what: "the same: code",
        verbs: &["call"],
        exits: false,
    },
    Verbs {
        name: "threads others",
        what: "the same: producers that end, memory that the worker frees, hurried callbacks",
        verbs: &["retire", "retire_on_worker", "call_hurry"],
        exits: true,
    },
];

/// Rates of `reproduce`.
const RATES: [u64; 3] = [10, 100, 1000];

/// Compares the model with the measurements.
pub(super) fn beside(measured: &Report, seed: u64, control: Control<'_>) -> Vec<Part> {
    let Some((ms, patience_ms)) = procedure(measured) else {
        return Vec::new();
    };
    let mut outcomes = Vec::new();
    for part in &PARTS {
        let mut outcome = Outcome::default();
        for (verb, rate) in part
            .verbs
            .iter()
            .flat_map(|verb| RATES.map(|rate| (verb, rate)))
        {
            if control.stopped() {
                return outcomes;
            }
            let exits = part.exits && *verb == "retire";
            let case = format!("{verb} {rate}/s{}", if exits { ", exits" } else { "" });
            if measured.find(OURS, &case, "wakeups_per_s").is_none() {
                continue;
            }
            let shown = trickle(Trickle {
                verb: Verb::named(verb).expect("a verb of the model"),
                rate,
                ms,
                exits,
                patience_ms,
                hz: coarse_hz(),
                seed,
            });
            let all = compare(measured, &case, *verb == "call_hurry", &shown);
            outcome.comparisons.extend(all);
        }
        if !outcome.comparisons.is_empty() {
            outcome.notes = notes(part);
            outcomes.push(Part {
                name: part.name,
                what: part.what,
                outcome,
            });
        }
    }
    outcomes
}

fn notes(part: &Verbs) -> Vec<String> {
    let mut notes = vec![format!(
        "assumed: every thread has a processor of its own; a tick of the coarse clock every 1/{} s",
        coarse_hz()
    )];
    if part.verbs.contains(&"call_hurry") {
        let note = "call_hurry: fences are left out: the worker is woken and the caller drives at the same \
                    time, and the order of the two decides the number";
        notes.push(note.into());
    }
    notes
}

/// The figures of a case, real and modelled.
fn compare(measured: &Report, case: &str, races: bool, shown: &TrickleResult) -> Vec<Comparison> {
    let figures = [
        ("wakeups_per_s", shown.wakeups_per_s),
        ("grace_periods", shown.grace_periods as f64),
        ("fences", shown.fences as f64),
    ];
    let figures = figures.into_iter().filter(|it| !races || it.0 != "fences");
    let comparison = |(metric, model)| {
        let row = measured.find(OURS, case, metric)?;
        Some(Comparison {
            experiment: "threads",
            case: case.into(),
            metric,
            unit: match metric {
                "wakeups_per_s" => "wake-ups/s",
                metric => metric,
            },
            source: Source::Threads,
            real: row.median,
            model,
            allowed: ALLOWED,
            basis: Basis::Predicted,
        })
    };
    figures.filter_map(comparison).collect()
}

/// The duration of the trickles, and of the wait for what was left.
fn procedure(measured: &Report) -> Option<(u64, u64)> {
    let options = measured.options.get("bench trickle")?;
    Some((options["ms"].as_u64()?, options["patience_ms"].as_u64()?))
}

/// Ticks a second of the coarse clock.
fn coarse_hz() -> u32 {
    let ns = quiescent_live::coarse_tick_ns();
    ns.map_or(250, |ns| (1_000_000_000 / ns).clamp(1, 10_000) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_report::Row;

    fn measured(rows: &[(&str, &str, f64)]) -> Report {
        let mut report = Report::new("reproduce", 1);
        let procedure = serde_json::json!({"ms": 15_000, "patience_ms": 12_000});
        report.option("bench trickle", procedure);
        for (case, metric, value) in rows {
            report
                .rows
                .extend(Row::single(OURS, case, metric, "unit", *value));
        }
        report
    }

    fn beside(report: &Report) -> Vec<Part> {
        super::beside(report, 1, Control::none())
    }

    #[test]
    fn what_was_measured_has_the_model_beside_it_and_a_verdict() {
        // As a real machine has shown it, with one wrong figure.
        let report = measured(&[
            ("retire 10/s", "wakeups_per_s", 1.0 / 14.5),
            ("retire 10/s", "grace_periods", 2.0),
            ("retire 10/s", "fences", 5.0),
            ("call 100/s", "wakeups_per_s", 19.95),
            ("call 100/s", "grace_periods", 299.0),
            ("call 100/s", "fences", 598.0),
            ("call_hurry 100/s", "wakeups_per_s", 100.0),
            ("call_hurry 100/s", "fences", 700.0),
        ]);
        let outcomes = beside(&report);
        let names: Vec<_> = outcomes.iter().map(|it| it.name).collect();
        assert_eq!(names, PARTS.map(|it| it.name));
        let all = || outcomes.iter().flat_map(|it| &it.outcome.comparisons);
        assert_eq!(
            all().count(),
            7,
            "those that were measured, but for the race"
        );
        let missed: Vec<_> = all().filter(|it| it.holds() == Some(false)).collect();
        assert_eq!(missed.len(), 1, "{missed:?}");
        assert_eq!((missed[0].metric, missed[0].model), ("fences", 4.0));
    }

    #[test]
    fn without_a_measurement_there_is_nothing_to_compare() {
        assert!(beside(&Report::new("reproduce", 1)).is_empty());
        assert!(beside(&measured(&[])).is_empty());
    }
}
