//! The arguments of every command.
//!
//! A count out of range is refused here, with the accepted range, before a run is started: clap then exits
//! with code 2.

#[cfg(target_os = "linux")]
pub mod linux;
pub mod metrics;
pub mod sim;
pub mod trace;
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "some is for its commands")
)]
mod values;
pub mod whatif;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
#[cfg(not(target_os = "linux"))]
use std::ffi::OsString;
use std::path::PathBuf;
use values::*;

/// Read-copy-update that does less, and later: measure it, compare it, reproduce its figures.
#[derive(Debug, Parser)]
#[command(
    name = "quiescent",
    arg = metrics::option(),
    bin_name = "quiescent",
    version,
    max_term_width = 100
)]
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
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    Linux(linux::Linux),
    /// Measure one part of the library, alone or beside others
    #[command(subcommand)]
    Bench(Bench),
    /// Run a workload on a simulated machine with many CPUs, whose RCU is this library's engine
    Sim(sim::Sim),
    /// Analyse a recorded trace of a kernel: wake-ups, callbacks, batches, grace periods, idle CPUs; a
    /// timeline
    Trace(trace::Trace),
    /// Replay a recorded trace on the machine model, as recorded and with changed settings
    Whatif(whatif::Whatif),
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
    /// A command that is for Linux, or none
    #[cfg(not(target_os = "linux"))]
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

#[derive(Debug, Subcommand)]
pub enum Bench {
    /// CPU time of a read-side critical section: empty, nested, load, repin
    Read(Read),
    /// What it costs to have an object reclaimed later: the call, everything in, inside a section, memory, at
    /// rest
    Retire(Retire),
    /// Reads beside updates: one thread reads, another replaces and retires
    Mixed(Mixed),
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    Linux(linux::LinuxBench),
    /// A measurement that is for Linux, or none
    #[cfg(not(target_os = "linux"))]
    #[command(external_subcommand)]
    Other(Vec<OsString>),
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

/// What every measurement of `bench` has.
#[derive(Debug, Clone, Args)]
pub struct Measured {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub page: Page,
}

/// Whether existing files are replaced.
#[derive(Debug, Clone, Default, Args)]
pub struct Force {
    /// Replace an existing file that this program did not write (never the input)
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct Read {
    #[command(flatten)]
    pub measured: Measured,
    /// Beside every other library in this build
    #[arg(long)]
    pub compare: bool,
    /// Our readers carry the fence, as on systems that have none of the process (built with
    /// --no-default-features --features peers, seize's do as well)
    #[arg(long)]
    pub fenced: bool,
    /// Threads that read at once
    #[arg(long, value_name = "N", default_value = "1", value_parser = threads, allow_negative_numbers = true)]
    pub threads: usize,
    /// Rounds over all subjects; 30 or more for figures worth quoting
    #[arg(long, value_name = "N", default_value = "60", value_parser = rounds, allow_negative_numbers = true)]
    pub rounds: u64,
}

#[derive(Debug, Args)]
pub struct Retire {
    #[command(flatten)]
    pub measured: Measured,
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
    pub measured: Measured,
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
