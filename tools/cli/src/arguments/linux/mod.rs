//! Commands that are for Linux: they ask its kernel, `/proc`, signals or `fork`.

pub mod doctor;
pub mod domain;
pub mod kernel;
pub mod quiet;
pub mod record;
pub mod top;
pub mod torture;

use super::values::*;
use super::{Common, Force, Measured, Page};
use clap::{Args, Subcommand};
use quiescent_bench::cases::pressure::MOST_OBJECTS as MOST_HELD;
use quiescent_bench::cases::scale::MOST_REGISTERED;
use quiescent_bench::cases::sync::SyncCase;
use quiescent_bench::instructions::LoopCase;
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
    /// Parts that the other commands run
    #[command(subcommand, hide = true)]
    Internal(Internal),
}

#[derive(Debug, Subcommand)]
pub enum LinuxBench {
    /// Latency and fences of a grace period: sole thread, other asleep, reader looping
    Sync(Sync),
    /// Readers that may sleep: CPU time of a section, across an await, ended elsewhere; their grace periods
    Srcu(Srcu),
    /// Domains of the program's own: CPU time of a section, grace periods, isolation, memory and wake-ups at
    /// rest
    Domain(domain::Domain),
    /// When memory is low: how long until the first of what is held is freed, and the last
    Pressure(Pressure),
    /// Many registered threads: grace periods, registration, exit, memory a thread
    Scale(Scale),
    #[command(flatten)]
    Quiet(quiet::Quiet),
}

#[derive(Debug, Args)]
pub struct Reproduce {
    #[command(flatten)]
    pub common: Common,
    /// Fewer calls, no instruction counts: a test that it works, without figures to quote
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

#[derive(Debug, Args)]
pub struct Sync {
    #[command(flatten)]
    pub measured: Measured,
    /// Beside every other library in this build that has a grace period to wait for
    #[arg(long)]
    pub compare: bool,
    /// Rounds over all subjects; 30 or more for figures worth quoting
    #[arg(long, value_name = "N", default_value = "60", value_parser = rounds, allow_negative_numbers = true)]
    pub rounds: u64,
    /// Threads beside the caller: asleep in one case, reading in another
    #[arg(long, value_name = "N", default_value = "1", value_parser = threads, allow_negative_numbers = true)]
    pub threads: usize,
    /// Grace periods a round
    #[arg(long, value_name = "N", default_value = "1000", value_parser = calls,
          allow_negative_numbers = true)]
    pub calls: u64,
}

#[derive(Debug, Args)]
pub struct Srcu {
    #[command(flatten)]
    pub measured: Measured,
    /// Beside a reader-writer lock and arc-swap
    #[arg(long)]
    pub compare: bool,
    #[command(flatten)]
    pub sections: Sections,
}

// How `bench srcu` and `bench domain` measure sections and grace periods. (A documentation comment would
// replace theirs.)
#[derive(Debug, Args)]
pub struct Sections {
    /// Rounds over all subjects; 30 or more for figures worth quoting
    #[arg(long, value_name = "N", default_value = "60", value_parser = rounds, allow_negative_numbers = true)]
    pub rounds: u64,
    /// Threads that read at once
    #[arg(long, value_name = "N", default_value = "1", value_parser = threads, allow_negative_numbers = true)]
    pub threads: usize,
    /// Grace periods a round
    #[arg(long, value_name = "N", default_value = "1000", value_parser = calls,
          allow_negative_numbers = true)]
    pub calls: u64,
    /// Also count instructions, under valgrind
    #[arg(long)]
    pub instructions: bool,
}

#[derive(Debug, Args)]
pub struct Scale {
    #[command(flatten)]
    pub measured: Measured,
    /// Beside every other library in this build that has a grace period to wait for
    #[arg(long)]
    pub compare: bool,
    /// Numbers of registered threads, the caller among them
    #[arg(long, value_name = "N,…", default_value = "1,10,100,1000,5000", value_delimiter = ',',
          value_parser = registered, allow_negative_numbers = true)]
    pub threads: Vec<u64>,
    /// Rounds over all subjects and numbers, a process each
    #[arg(long, value_name = "N", default_value = "5", value_parser = rounds, allow_negative_numbers = true)]
    pub rounds: u64,
    /// Grace periods a process
    #[arg(long, value_name = "N", default_value = "200", value_parser = calls, allow_negative_numbers = true)]
    pub calls: u64,
}

#[derive(Debug, Args)]
pub struct Pressure {
    #[command(flatten)]
    pub measured: Measured,
    /// Rounds over all cases, a process each
    #[arg(long, value_name = "N", default_value = "30", value_parser = rounds, allow_negative_numbers = true)]
    pub rounds: u64,
    /// Objects that a thread holds; more than 1000 would be a batch, which does not wait
    #[arg(long, value_name = "N", default_value = "1000", value_parser = held, allow_negative_numbers = true)]
    pub objects: u64,
}

// `internal measure JSON`, one measuring process of `bench retire`, `bench mixed` or `bench scale`, is not
// here: see `main`.
#[derive(Debug, Subcommand)]
pub enum Internal {
    /// One measuring process of `bench sync`
    SyncChild {
        #[arg(long)]
        subject: String,
        #[arg(long, value_parser = sync_case)]
        case: SyncCase,
        #[arg(long, default_value = "1", value_parser = threads)]
        threads: usize,
        #[arg(long)]
        count_fences: bool,
    },
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
        common: Common,
        /// The machine code of our own pairs instead
        #[arg(long, conflicts_with = "json")]
        disassembly: bool,
        /// Only these subjects (may be repeated)
        #[arg(long, value_name = "NAME")]
        subject: Vec<String>,
    },
}

fn registered(text: &str) -> Result<u64, String> {
    let advice =
        format!("give numbers of threads from 1 to {MOST_REGISTERED}, with commas in between");
    count(text, MOST_REGISTERED, &advice)
}

fn held(text: &str) -> Result<u64, String> {
    let advice = format!("give 1 to {MOST_HELD}");
    count(text, MOST_HELD, &advice)
}

fn loop_case(text: &str) -> Result<LoopCase, String> {
    let names: Vec<&str> = LoopCase::all().into_iter().map(LoopCase::name).collect();
    LoopCase::named(text).ok_or_else(|| format!("no such case; there are: {}", names.join(", ")))
}

fn sync_case(text: &str) -> Result<SyncCase, String> {
    let names = SyncCase::ALL.map(SyncCase::name).join(", ");
    SyncCase::named(text).ok_or_else(|| format!("no such case; there are: {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_by_name() {
        assert_eq!(sync_case("reader looping"), Ok(SyncCase::ReaderLooping));
        assert_eq!(loop_case("push"), Ok(LoopCase::Push));
        assert!(loop_case("nesting").unwrap_err().contains("nested"));
    }
}
