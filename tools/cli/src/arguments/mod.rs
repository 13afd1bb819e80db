//! The arguments of every command.
//!
//! A count out of range is refused here, with the accepted range, before a run is started: clap then exits
//! with code 2.

pub mod bench;
pub mod lines;
#[cfg(target_os = "linux")]
pub mod linux;
pub mod metrics;
pub mod shard;
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
    arg = lines::option(),
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
    Bench(bench::Request),
    /// Run a workload on a simulated machine with many CPUs, whose RCU is this library's engine
    Sim(sim::Sim),
    /// Analyse a recorded trace of a kernel: wake-ups, callbacks, batches, grace periods, idle CPUs; a
    /// timeline
    Trace(trace::Trace),
    /// Replay a recorded trace on the machine model, as recorded and with changed settings
    Whatif(whatif::Whatif),
    /// Join what the shards of one run have printed (`--shard K/N --json`) to one report
    Merge(shard::Merge),
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
