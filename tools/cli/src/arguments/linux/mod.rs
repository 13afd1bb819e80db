//! Commands that are for Linux: they ask its kernel, `/proc`, signals or `fork`.

pub mod doctor;
pub mod kernel;
pub mod record;
pub mod run;
pub mod top;
pub mod torture;

use super::values::*;
use super::{Common, Force, Measured, Page};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use quiescent_bench::instructions::{self, LoopCase};
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub enum Linux {
    /// Measure the library's claims on this machine: comparisons, the kernel's grace periods, targets; a page
    /// with charts (three minutes)
    Reproduce(Reproduce),
    /// Measure this machine's own kernel beside the machine model
    #[command(subcommand)]
    Kernel(kernel::Kernel),
    /// Compare requested and effective RCU settings of this machine's kernel (laziness, offloading,
    /// parameters), with remedies
    Doctor(doctor::Doctor),
    /// Record a trace of this machine's kernel for `quiescent trace`, in buffers of its own
    Record(record::Record),
    /// Watch a running program, or the running kernel: callbacks by function, grace periods, wake-ups,
    /// readers that block grace periods
    Top(top::Top),
    /// Try to break the library: threads that use it in every way at once, in scenarios, under oracles that
    /// detect its errors
    Torture(torture::Torture),
    /// Run a program that is linked to liburcu on this library, as it is: QUIESCENT_LAZY, _BUDGET, _STALL and
    /// _STATS have an effect on it
    Run(run::Run),
    /// Parts that the other commands run
    #[command(subcommand, hide = true)]
    Internal(Internal),
}

#[derive(Debug, Args)]
pub struct Reproduce {
    #[command(flatten)]
    pub common: Common,
    /// Fewer calls and experiments, no instruction counts: a test that it works, without figures to quote
    #[arg(long)]
    pub quick: bool,
    /// Print all tables, not only the first screen
    #[arg(long, conflicts_with = "json")]
    pub full: bool,
    /// Write the page with the charts to this file (`-`: to standard output, in place of the tables); when
    /// left out: reproduce.html; no file with --json
    #[arg(long, value_name = "FILE", value_parser = page_path())]
    pub html: Option<PathBuf>,
    /// Write no page
    #[arg(long, conflicts_with = "html")]
    pub no_html: bool,
    #[command(flatten)]
    pub force: Force,
}

impl Reproduce {
    /// The place of the page, if one is written.
    pub fn page(&self) -> Option<&Path> {
        match &self.html {
            Some(path) => Some(path),
            None if self.no_html || self.common.json => None,
            None => Some(Path::new("reproduce.html")),
        }
    }
}

// `internal measure JSON`, one measuring process of `bench`, is not here: see `main`.
#[derive(Debug, Subcommand)]
pub enum Internal {
    /// One loop, to be counted by callgrind
    Loop {
        #[arg(long)]
        subject: String,
        #[arg(long, value_parser = loop_case)]
        case: LoopCase,
        #[arg(long)]
        turns: u64,
    },
    /// Instruction counts of all subjects (`ci/instructions`)
    Instructions {
        #[command(flatten)]
        measured: Measured,
        /// The machine code of our own pairs instead
        #[arg(long, conflicts_with = "json")]
        disassembly: bool,
        /// Only these subjects (may be repeated)
        #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(instructions::names()))]
        subject: Vec<String>,
    },
}

fn loop_case(text: &str) -> Result<LoopCase, String> {
    let names: Vec<&str> = LoopCase::all().into_iter().map(LoopCase::name).collect();
    LoopCase::named(text).ok_or_else(|| format!("no such case; there are: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_by_name() {
        assert_eq!(loop_case("push"), Ok(LoopCase::Push));
        assert!(loop_case("nesting").unwrap_err().contains("nested"));
    }
}
