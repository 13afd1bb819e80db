//! The arguments of `torture --sim`.

use crate::arguments::lines;
use crate::arguments::shard::Shard;
use crate::arguments::values::within;
use clap::Args;
use std::path::PathBuf;

/// Options of the library on threads. Each option of machines excludes them by itself: clap does not ask for
/// `--sim` where something excludes it.
const OF_THREADS: [&str; 9] = [
    "scenario", "list", "duration", "threads", "fence", "interval", "stall", "tap", "broken",
];

/// Torture in virtual time, on machines of the model.
#[derive(Debug, Args)]
pub struct Machines {
    /// Test the engine on simulated machines, random ones with faults, in place of the library on threads
    #[arg(long, conflicts_with_all = OF_THREADS)]
    pub sim: bool,
    /// Number of machines, each with its seed, from --seed on
    #[arg(long, value_name = "N", default_value = "1000", allow_negative_numbers = true,
          value_parser = within(1..=1_000_000_000_u64, "give 1 to 1000000000"))]
    pub seeds: u64,
    /// Run every N-th of these machines only, from the K-th on; `quiescent merge` joins what the parts print
    /// with --json
    #[arg(long, value_name = "K/N", requires = "sim", conflicts_with_all = ["replay", lines::NAME],
          conflicts_with_all = OF_THREADS)]
    pub shard: Option<Shard>,
    /// Machines at the same time [default: this machine's processors]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = within(1..=1024_u64, "give 1 to 1024"))]
    pub jobs: Option<u64>,
    /// Run a kept machine again
    #[arg(long, value_name = "FILE", requires = "sim", conflicts_with_all = ["seeds", "seed", "keep"],
          conflicts_with_all = OF_THREADS)]
    pub replay: Option<PathBuf>,
    /// File for the machine with the first finding, reduced as far as possible
    #[arg(long, value_name = "FILE", requires = "sim", conflicts_with_all = OF_THREADS)]
    pub keep: Option<PathBuf>,
    /// Write the machine of --replay in the form of a kernel's trace
    #[arg(long, value_name = "FILE", requires = "replay")]
    pub trace: Option<PathBuf>,
}
