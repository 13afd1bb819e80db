//! All experiments, in the order in which `reproduce` shows them, and their results.
//!
//! They run in virtual time: nothing here is timed, and the figures are the same on every machine.

use crate::base::batch;
use crate::base::error::Error;
use quiescent_report::Control;
use std::sync::atomic::Ordering::Relaxed;

use super::script;
use super::{Comparison, Listing, Outcome, Script, Shown};

/// The file of this name, which is part of the program.
fn file(name: &str, seed: u64) -> Part {
    let script = &Script::named(name.as_ref()).expect("a test reads them all")[0];
    script.part(seed).unwrap_or_else(|why| Part {
        name: script.name,
        what: script.about,
        outcome: Outcome {
            notes: vec![why.to_string()],
            ..Outcome::default()
        },
    })
}

/// What the experiments have shown.
#[derive(Debug, Clone, Default)]
pub struct Modelled {
    /// Each of them.
    pub parts: Vec<Part>,
}

/// An experiment and its outcome.
#[derive(Debug, Clone)]
pub struct Part {
    /// The experiment's name.
    pub name: &'static str,
    /// What it is about.
    pub what: &'static str,
    /// What it has shown.
    pub outcome: Outcome,
}

/// Runs the experiments, at `most` so many, on so many threads, or as many as there is time for.
pub fn run(most: usize, seed: u64, jobs: usize, control: Control<'_>) -> Modelled {
    let one = |at: usize| file(script::BUILT_IN[at].0, seed);
    Modelled::of(each(script::BUILT_IN.len().min(most), one, jobs, control))
}

/// Runs these in the same way.
///
/// # Errors
/// If a run does not have a figure that its file names.
pub fn of(
    scripts: &[Script],
    seed: u64,
    jobs: usize,
    control: Control<'_>,
) -> Result<Modelled, Error> {
    let parts = each(scripts.len(), |at| scripts[at].part(seed), jobs, control);
    parts
        .into_iter()
        .collect::<Result<_, _>>()
        .map(Modelled::of)
}

fn each<R: Send>(
    n: usize,
    run: impl Fn(usize) -> R + Sync,
    jobs: usize,
    control: Control<'_>,
) -> Vec<R> {
    let stop = control.flag();
    let one = |place: usize| (!stop.load(Relaxed)).then(|| run(place));
    control.progress.begin("the model", n as u64);
    let done = batch::run(jobs, n, one, |done| control.progress.advance(done));
    control.progress.end();
    done.into_iter().map(|(_, it)| it).collect()
}

impl Modelled {
    /// These outcomes, run elsewhere or made up.
    pub fn of(parts: Vec<Part>) -> Self {
        Modelled { parts }
    }

    /// Every figure beside the model's.
    pub fn comparisons(&self) -> impl Iterator<Item = &Comparison> {
        self.parts.iter().flat_map(|it| &it.outcome.comparisons)
    }

    /// Every figure of the model alone.
    pub fn shown(&self) -> impl Iterator<Item = &Shown> {
        self.parts.iter().flat_map(|it| &it.outcome.shown)
    }

    /// Every published table that has the model's beside it.
    pub fn listings(&self) -> impl Iterator<Item = &Listing> {
        self.parts.iter().flat_map(|it| &it.outcome.listings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Source;
    use crate::experiments::show::{report, table, text, unjudged};
    use crate::experiments::sources::Places;
    use quiescent_report::{Report, Row};

    /// `data/published-verdicts.md` has this table between two marks of its name; `QUIESCENT_BLESS=1` writes
    /// it there.
    fn docs_have(name: &str, table: &str) {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../data/published-verdicts.md"
        );
        let text = std::fs::read_to_string(path).unwrap();
        let (begin, end) = (
            format!("<!-- {name} -->\n"),
            format!("<!-- end of the {name} -->"),
        );
        let (before, rest) = text.split_once(&begin).expect("its first mark");
        let (found, after) = rest.split_once(&end).expect("its last mark");
        if std::env::var_os("QUIESCENT_BLESS").is_some() {
            let new = format!("{before}{begin}{table}{end}{after}");
            return std::fs::write(path, new).unwrap();
        }
        assert_eq!(
            found, table,
            "data/published-verdicts.md: QUIESCENT_BLESS=1 cargo test -p quiescent-sim --lib catalogue"
        );
    }

    /// Published figures that the data name and that no row of the run has; `missed`: that are named as
    /// missed, and are not, and rows that are missed without a reason.
    fn astray(modelled: &Modelled, missed: bool) -> Vec<String> {
        let places = Places::read();
        let rows = modelled.parts.iter().flat_map(|part| {
            let real = part.outcome.comparisons.iter();
            let real = real.filter(|it| it.source == Source::Published);
            let real = real.map(|it| (it.metric, it.case.as_str(), it.holds()));
            let claimed = part.outcome.shown.iter().filter(|it| it.claim.is_some());
            let claimed = claimed.map(|it| (it.metric, it.case.as_str(), it.holds()));
            real.chain(claimed).map(|it| (part.name, it))
        });
        let rows = rows.filter(|(_, it)| !missed || it.2 == Some(false));
        let rows: Vec<_> = rows.collect();
        let is = |experiment: &str, named: &String, row: &(&str, (&str, &str, _))| {
            let (metric, end) = named.split_once(' ').unwrap_or((named, ""));
            row.0 == experiment && row.1.0 == metric && row.1.1.ends_with(end)
        };
        let mut all = places.named(missed);
        all.retain(|(experiment, named)| !rows.iter().any(|row| is(experiment, named, row)));
        let mut astray: Vec<String> = all
            .iter()
            .map(|(experiment, named)| format!("{experiment}: no such row: {named}"))
            .collect();
        if missed {
            let why =
                |row: &&(&str, (&str, &str, _))| places.missed(row.0, row.1.0, row.1.1).is_none();
            let without = rows.iter().filter(why);
            astray.extend(
                without.map(|row| format!("{}: no reason: {} {}", row.0, row.1.0, row.1.1)),
            );
        }
        astray
    }

    #[test]
    fn each_real_figure_has_the_models_beside_it() {
        let modelled = run(usize::MAX, 1, 2, Control::none());
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
        // Published figures and sentences have their reasons in the data (`astray`).
        let missed: Vec<(&str, &str)> = modelled
            .comparisons()
            .filter(|it| it.holds() == Some(false) && it.source == Source::Kernel)
            .map(|it| (it.case.as_str(), it.metric))
            .collect();
        let known = [
            ("6.18.15 caller_cpu=1 booted", "latency_ms_mean"),
            ("6.18.15 jiffies=8 booted", "latency_ms_mean"),
            ("7.2.12 caller_cpu=1 booted", "latency_ms_mean"),
            ("7.2.12 jiffies=8 booted", "latency_ms_mean"),
            ("7.3.4 caller_cpu=1 booted", "latency_ms_mean"),
            (
                "a-softirq-file100-cut rcu=offload for b-nocb-file100-cut",
                "idle_ticks_per_s",
            ),
            (
                "classic-b-nocb-file100 rcu=lazy for classic-c-lazy-file100",
                "idle_ticks_per_s",
            ),
            (
                "classic-b-nocb-file100 jiffies_till_first_fqs=32 jiffies_till_next_fqs=32 for \
                 classic-d-nocb-j32-file100",
                "idle_ticks_per_s",
            ),
        ];
        assert_eq!(missed, known);
        println!("{}", text(&modelled, 110));
        docs_have("table", &table(&modelled));
        docs_have("sentences", &unjudged());
        assert_eq!(
            astray(&modelled, false),
            [""; 0],
            "every sentence has its row"
        );
        assert_eq!(
            astray(&modelled, true),
            [""; 0],
            "every missed row has its reason, and no other"
        );
        let places = Places::read();
        for part in &modelled.parts {
            for it in part
                .outcome
                .shown
                .iter()
                .filter(|it| it.holds() == Some(false))
            {
                assert!(
                    places.missed(part.name, it.metric, &it.case).is_some(),
                    "{it:?}"
                );
            }
        }
        let shown = modelled.shown().map(|it| (&it.case, it.metric));
        for (case, metric) in shown {
            assert!(found.find("model", case, metric).is_some());
        }
    }
}
