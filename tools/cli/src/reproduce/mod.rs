//! `reproduce`: measures the library's claims on this machine, within one run.
//!
//! 1. The comparison tables of `bench read`, `bench sync`, `bench retire`, `bench mixed` and `bench hold`.
//! 2. The published synchronize benchmark, on this kernel and on this library ([`benchmark`]).
//! 3. A trickle: a block retired now and then, and the wake-ups of threads that it causes. While its last
//!    blocks are waited for: wake-ups at rest, instruction counts if valgrind is installed, and the machine
//!    model beside real kernels and published figures ([`quiescent_sim::experiments`]).
//! 4. The targets, met or not ([`quiescent_bench::targets`]).
//!
//! In all it takes about three minutes; option `seconds` of the report has what each part took.

mod benchmark;
mod busy;
pub mod first;
mod published;
mod sentences;
mod steps;

use crate::show::output;
use quiescent_bench::cases::sync::LOOPING;
use quiescent_bench::{subjects, targets};
use quiescent_report::text::folded;
use quiescent_report::verdict::{self, Target};
use quiescent_report::{Control, Error, OURS, Report};
use quiescent_sim::experiments::{Modelled, show};
use std::path::PathBuf;

/// The options of a run.
#[derive(Debug, Clone)]
pub struct ReproduceOptions {
    /// The path of this program.
    pub program: PathBuf,
    /// Fewer calls and experiments, no instruction counts: a test that it works, without figures to quote.
    pub quick: bool,
    /// The first subject of the rotation.
    pub seed: u64,
}

/// The results: the report, and the parts that only text shows.
#[derive(Debug, Clone)]
pub struct Reproduced {
    /// All rows.
    pub report: Report,
    /// The tables of the measured parts.
    pub tables: Vec<String>,
    /// The experiments on the machine model.
    pub modelled: Modelled,
    /// The targets.
    pub targets: Vec<Target>,
    /// Parts that could not be measured, with the remedy.
    pub notes: Vec<String>,
    /// A warning, if the machine was busy with something else.
    pub busy: Option<String>,
}

/// Runs everything. When stopped, the rest is left out and the measured part is returned.
///
/// # Errors
/// [`Error::Failed`] when a measuring thread or process cannot be started.
pub fn run(options: &ReproduceOptions, control: Control<'_>) -> Result<Reproduced, Error> {
    let before = busy::Before::now();
    let mut found = Reproduced {
        report: Report::new("reproduce", options.seed),
        tables: Vec::new(),
        modelled: Modelled::default(),
        targets: Vec::new(),
        notes: Vec::new(),
        busy: None,
    };
    steps::run(&mut found, options, control)?;
    note_missing(&mut found);
    if control.stopped() {
        let note = "stopped: the rest was not measured";
        found.notes.push(note.into());
    }
    found.targets = targets::of(&found.report, None);
    found.report.rows.extend(verdict::rows(&found.targets));
    found.report.option("notes", found.notes.clone());
    found.busy = before.warning();
    found.report.option("busy", found.busy.clone());
    Ok(found)
}

fn note_missing(found: &mut Reproduced) {
    for absent in subjects::absent() {
        let (name, remedy) = (absent.name, absent.remedy);
        let note = format!("{name} is not in this build: {remedy}");
        found.notes.push(note);
    }
    let ours = |case| found.report.find(OURS, case, "latency_us");
    if ours("sole thread").is_some() && ours(LOOPING).is_none() {
        let note = "reader looping: the reader was never on a CPU at the same time as the caller: two CPUs \
                    are needed";
        found.notes.push(note.into());
    }
}

/// The results as text.
pub fn text(found: &Reproduced) -> String {
    let report = &found.report;
    let mut parts = vec![report.host.line() + "\n"];
    let busy = found.busy.as_ref();
    parts.extend(busy.map(|it| folded(it, output::columns(), 2) + "\n"));
    parts.extend(found.tables.iter().cloned());
    if !found.modelled.parts.is_empty() {
        parts.push(show::text(&found.modelled, output::columns()));
    }
    parts.push(format!(
        "Targets (a bound that names a peer is that peer's figure of this run)\n\n{}",
        verdict::text(&found.targets)
    ));
    parts.extend(steps::text(report));
    if !found.notes.is_empty() {
        parts.push(format!("Notes\n- {}\n", found.notes.join("\n- ")));
    }
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopped_at_once_it_says_so_and_starts_nothing() {
        let options = ReproduceOptions {
            program: "/nowhere/quiescent".into(),
            quick: true,
            seed: 1,
        };
        let found = run(&options, Control::cancelled()).unwrap();
        found.report.check().unwrap();
        assert!(found.report.rows.is_empty());
        let text = text(&found);
        assert!(
            text.contains("stopped: the rest was not measured"),
            "{text}"
        );
        assert!(
            text.contains("not measured") && !text.contains("Read side"),
            "{text}"
        );
    }
}
