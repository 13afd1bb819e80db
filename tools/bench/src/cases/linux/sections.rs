//! What `bench srcu` and `bench domain` share: sections and grace periods of several kinds of domains in one
//! run, measured as by `bench read` and `bench sync`.

use crate::cases::read::{self, ReadOptions};
use crate::cases::sync::{self, SyncOptions};
use crate::instructions::{self, LoopCase};
use crate::subjects::Subject;
use quiescent_report::{Control, Error, Report, Row};
use std::path::PathBuf;

/// How they are measured.
#[derive(Debug, Clone)]
pub struct SectionOptions {
    /// The reads: `compare`, rounds, threads, seed.
    pub read: ReadOptions,
    /// The grace periods; the program that measures them and the rest.
    pub sync: SyncOptions,
    /// Whether instructions are counted as well (valgrind).
    pub instructions: bool,
}

impl SectionOptions {
    /// The usual measurement, by `program`.
    pub fn new(program: PathBuf) -> Self {
        SectionOptions {
            read: ReadOptions::default(),
            sync: SyncOptions::new(program),
            instructions: false,
        }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        read::check(&self.read)?;
        if self.instructions {
            instructions::check_valgrind()?;
        }
        Ok(())
    }

    /// The instructions of these loops, if they are to be counted; then the grace periods.
    pub(super) fn rows(
        &self,
        subjects: Vec<Subject>,
        counted: &[LoopCase],
        control: Control<'_>,
    ) -> Result<Vec<Row>, Error> {
        let mut rows = Vec::new();
        if self.instructions {
            let names: Vec<&str> = subjects.iter().map(|subject| subject.name).collect();
            rows = instructions::rows(&self.sync.program, &names, counted, control)?;
        }
        let measured = sync::measure_of(subjects, "grace periods", &self.sync, control)?;
        rows.extend(sync::rows(&measured));
        Ok(rows)
    }

    pub(super) fn describe(&self, report: &mut Report) {
        report.option("compare", self.read.compare);
        report.option("threads", self.read.threads);
        report.option("rounds", self.read.rounds);
        report.option("calls", self.sync.calls);
        report.option("instructions", self.instructions);
        report.option("cell_us", self.read.cell_us);
    }
}

/// All subjects, in two short rounds.
#[cfg(test)]
pub(super) fn tiny() -> SectionOptions {
    let mut options = SectionOptions::new("true".into());
    options.read.compare = true;
    options.read.rounds = 2;
    options.read.cell_us = 50;
    options
}
