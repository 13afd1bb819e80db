//! The arguments of `sim`.

use super::shard::Shard;
use super::values::within;
use super::{Force, lines};
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Sim {
    /// Print one line of JSON (schema quiescent/1) instead of tables
    #[arg(long)]
    pub json: bool,
    /// Print every figure, assumption and setting, not only the first screen
    #[arg(long, conflicts_with = "json")]
    pub full: bool,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
    /// Seed of the first run; it determines everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The workload: a name, or the path of a file (`--list` shows the names)
    #[arg(required_unless_present_any = ["list", "experiment"])]
    pub workload: Option<PathBuf>,
    /// Run an experiment in place of a workload: a name such as `flood`, or the path of a file or of a folder
    /// of files
    #[arg(long, value_name = "PATH", conflicts_with_all = [
        "workload", "list", "set", "recorded", "sweep", "compare", "cpus", "hz", "kernel", "seeds", "seconds",
        "trace",
    ])]
    pub experiment: Option<PathBuf>,
    /// List the workloads with their parameters, and the settings of a machine
    #[arg(long, conflicts_with_all = ["workload", "set", "sweep", "trace", lines::NAME])]
    pub list: bool,
    /// A setting of the machine or a parameter of the workload, such as `early_qs=init` (may be repeated)
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting())]
    pub set: Vec<String>,
    /// Of `sim replay`: the trace, as --set trace=FILE, by any name
    #[arg(long, value_name = "FILE")]
    pub recorded: Option<PathBuf>,
    /// A setting with several values, each a variant; separate values that contain commas with `;` (may be
    /// repeated)
    #[arg(long, value_name = "KEY=A,B,…")]
    pub sweep: Vec<String>,
    /// A setting with two values: as --sweep, and what the second saves beside the first
    #[arg(long, value_name = "KEY=A,B", conflicts_with = "sweep")]
    pub compare: Option<String>,
    /// Recommend one of the variants, by its latency and its cost, and hold the others against it
    #[arg(long, requires = "sweep")]
    pub recommend: bool,
    /// The same as --set cpus=N
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub cpus: Option<String>,
    /// The same as --set hz=N
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub hz: Option<String>,
    /// The same as --set kernel=VERSION: the defaults of a version of Linux
    #[arg(long, value_name = "VERSION")]
    pub kernel: Option<String>,
    /// Runs of each variant, with --seed and the numbers after it
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
          value_parser = within(1..=10_000_u64, "give 1 to 10000"))]
    pub seeds: u64,
    /// Runs at the same time; as many as there are CPUs when left out. The results do not depend on it
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = within(1..=1024_u64, "give 1 to 1024"))]
    pub jobs: Option<u64>,
    /// Longest duration of a run, in virtual seconds; the workload's own when left out
    #[arg(long, value_name = "S", allow_negative_numbers = true,
          value_parser = within(1..=86_400_u64, "give 1 to 86400"))]
    pub seconds: Option<u64>,
    /// Run every N-th variant of a sweep only, from the K-th on; `quiescent merge` joins what the parts print
    /// with --json
    #[arg(long, value_name = "K/N", conflicts_with_all = [
        "list", "experiment", "trace", lines::NAME,
    ])]
    pub shard: Option<Shard>,
    /// Write the run in the form of a kernel's trace; for one variant and one seed
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub force: Force,
}

/// All settings are text; the only name of a file among them has an option of its own.
fn setting() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().try_map(|it| {
        let remedy = "not UTF-8: give a trace of any name with --recorded FILE";
        it.into_string().map_err(|_| remedy)
    })
}
