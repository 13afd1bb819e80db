//! The arguments of every command.
//!
//! A count out of range is refused here, with the accepted range, before a run is started: clap then exits
//! with code 2.

pub mod doctor;
pub mod domain;
pub mod kernel;
pub mod quiet;
pub mod record;
pub mod sim;
pub mod top;
pub mod torture;
pub mod trace;
mod values;
pub mod whatif;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use quiescent_bench::cases::sync::SyncCase;
use quiescent_bench::instructions::LoopCase;

use std::path::{Path, PathBuf};
use values::*;

/// Read-copy-update that does less, and later: measure it, compare it, reproduce its figures.
#[derive(Debug, Parser)]
#[command(name = "quiescent", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done; 1 something failed or was found; 2 usage; 130 stopped by Ctrl-C (what \
                  was measured is printed)."
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure the library's claims on this machine: comparisons, the kernel's grace periods, targets; a page
    /// with charts (two to three minutes)
    Reproduce(Reproduce),
    /// Measure one part of the library, alone or beside others
    #[command(subcommand)]
    Bench(Bench),
    /// Run a workload on a simulated machine with many CPUs, whose RCU is this library's engine
    Sim(sim::Sim),
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
    /// Analyse a recorded trace of a kernel: wake-ups, callbacks, batches, grace periods, idle CPUs; a
    /// timeline
    Trace(trace::Trace),
    /// Replay a recorded trace on the machine model, as recorded and with changed settings
    Whatif(whatif::Whatif),
    /// Try to break the library: threads that use it in every way at once, in scenarios, under oracles that
    /// detect its errors
    Torture(torture::Torture),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print a manual page (troff; try `quiescent man bench read | man -l -`)
    Man {
        /// The command whose page is printed; when left out, the page of the whole program
        command: Vec<String>,
    },
    /// Parts that the other commands run
    #[command(subcommand, hide = true)]
    Internal(Internal),
}

#[derive(Debug, Subcommand)]
pub enum Bench {
    /// CPU time of a read-side critical section: empty, nested, load, repin
    Read(Read),
    /// Latency and fences of a grace period: sole thread, other asleep, reader looping
    Sync(Sync),
    /// Readers that may sleep: CPU time of a section, across an await, ended elsewhere; their grace periods
    Srcu(Srcu),
    /// Domains of the program's own: CPU time of a section, grace periods, isolation, memory and wake-ups at
    /// rest
    Domain(domain::Domain),
    /// What it costs to have an object reclaimed later: the call, everything in, memory, at rest
    Retire(Retire),
    /// Reads beside updates: one thread reads, another replaces and retires
    Mixed(Mixed),
    /// When memory is low: how long until the first of what is held is freed, and the last
    Pressure(Pressure),
    /// Many registered threads: grace periods, registration, exit, memory a thread
    Scale(Scale),
    #[command(flatten)]
    Quiet(quiet::Quiet),
}

/// Options that every measuring command has.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Print one line of JSON (schema quiescent/1) instead of tables
    #[arg(long)]
    pub json: bool,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
    /// The first subject of the rotation; printed with the results
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// The page that a measuring command can write.
#[derive(Debug, Clone, Default, Args)]
pub struct Page {
    /// Also write a page with charts to this file; `-`: to standard output, in place of the tables
    #[arg(long, value_name = "FILE", value_parser = page_path())]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub force: Force,
}

/// Whether existing files are replaced.
#[derive(Debug, Clone, Default, Args)]
pub struct Force {
    /// Replace an existing file that this program did not write (never the input)
    #[arg(long)]
    pub force: bool,
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
pub struct Read {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub page: Page,
    /// Beside every other library in this build
    #[arg(long)]
    pub compare: bool,
    /// Threads that read at once
    #[arg(long, value_name = "N", default_value = "1", value_parser = threads, allow_negative_numbers = true)]
    pub threads: usize,
    /// Rounds over all subjects; 30 or more for figures worth quoting
    #[arg(long, value_name = "N", default_value = "60", value_parser = rounds, allow_negative_numbers = true)]
    pub rounds: u64,
}

#[derive(Debug, Args)]
pub struct Sync {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub page: Page,
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
    pub common: Common,
    #[command(flatten)]
    pub page: Page,
    /// Beside a reader-writer lock and arc-swap
    #[arg(long)]
    pub compare: bool,
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
pub struct Retire {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub page: Page,
    /// Beside every other library in this build that reclaims later
    #[arg(long)]
    pub compare: bool,
    /// Rounds over all subjects and cases, a process each
    #[arg(long, value_name = "N", default_value = "5", value_parser = rounds, allow_negative_numbers = true)]
    pub rounds: u64,
    /// Objects a process, of all its producers together
    #[arg(long, value_name = "N", default_value = "4000000", value_parser = objects,
          allow_negative_numbers = true)]
    pub objects: u64,
    /// How long a process at rest is watched for wake-ups
    #[arg(long, value_name = "MS", default_value = "3000", value_parser = milliseconds,
          allow_negative_numbers = true)]
    pub rest_ms: u64,
}

#[derive(Debug, Args)]
pub struct Mixed {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub page: Page,
    /// Beside other libraries in this build
    #[arg(long)]
    pub compare: bool,
    /// Rounds over all subjects, a process each
    #[arg(long, value_name = "N", default_value = "7", value_parser = rounds, allow_negative_numbers = true)]
    pub rounds: u64,
    /// Updates a second, beside none and as many as possible
    #[arg(long, value_name = "N,…", default_value = "1000,100000,1000000", value_delimiter = ',',
          value_parser = rate, allow_negative_numbers = true)]
    pub rates: Vec<u64>,
    /// How long a process reads and updates at each rate
    #[arg(long, value_name = "MS", default_value = "100", value_parser = milliseconds,
          allow_negative_numbers = true)]
    pub ms: u64,
    /// Threads that read beside the one that updates
    #[arg(long, value_name = "N", default_value = "1", value_parser = threads, allow_negative_numbers = true)]
    pub readers: usize,
}

#[derive(Debug, Args)]
pub struct Scale {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub page: Page,
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
    pub common: Common,
    #[command(flatten)]
    pub page: Page,
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
