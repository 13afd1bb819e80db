//! The arguments of `torture --sim`.

use crate::arguments::count;
use clap::Args;
use std::path::PathBuf;

/// Torture in virtual time, on machines of the model.
#[derive(Debug, Args)]
pub struct Machines {
    /// Test the engine on simulated machines, random ones with faults, in place of the library on threads
    #[arg(long, conflicts_with_all = ["scenario", "list", "duration", "threads", "fence", "interval",
          "stall", "tap", "broken"])]
    pub sim: bool,
    /// Number of machines, each with its seed, from --seed on
    #[arg(long, value_name = "N", default_value = "1000", value_parser = seeds,
          allow_negative_numbers = true)]
    pub seeds: u64,
    /// Machines at the same time [default: this machine's processors]
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub jobs: Option<u64>,
    /// Run a kept machine again
    #[arg(long, value_name = "FILE", requires = "sim", conflicts_with_all = ["seeds", "seed", "keep"])]
    pub replay: Option<PathBuf>,
    /// File for the machine with the first finding, reduced as far as possible
    #[arg(long, value_name = "FILE", requires = "sim")]
    pub keep: Option<PathBuf>,
    /// Write the machine of --replay in the form of a kernel's trace
    #[arg(long, value_name = "FILE", requires = "replay")]
    pub trace: Option<PathBuf>,
}

fn seeds(text: &str) -> Result<u64, String> {
    count(text, 1_000_000_000, "give 1 to 1000000000")
}

fn jobs(text: &str) -> Result<u64, String> {
    count(text, 1024, "give 1 to 1024")
}
