//! The arguments of `whatif`.

use super::lines;
use super::shard::Shard;
use super::trace::time;
use super::{Force, page_path, within};
use clap::Args;
use std::path::PathBuf;

pub const EXAMPLES: &str = "\
Examples:
  quiescent whatif boot.txt --set rcu=offload                   callbacks offloaded from every CPU
  quiescent whatif boot.txt --set rcu=lazy --html lazy.html   and lazy; a page with charts
  quiescent whatif boot.txt --set jiffies_till_first_fqs=8 --set jiffies_till_next_fqs=8
  quiescent whatif boot.txt --as early_qs=scan --set early_qs=init --json
  quiescent whatif hosts/*.xz --set rcu=lazy --shard 1/8 --json > 1.json    one of eight machines

The trace shows the number of CPUs, their ticks a second, the offloaded CPUs, usually the waits of \
grace periods,
and whether these report early; --as gives what it does not show (`sim --list` has all settings). \
Read the column
`ratio` first: if the model differs from the recording by more than 15 %, its figures for the change are not
reliable. --help-metrics explains every column.

Exit codes: 0 done; 1 the model does not fit this trace, a thread ran out of it, or lines of it could not be
read (everything is printed); 2 usage, no trace, no window in it, or records out of
order; 130 stopped by Ctrl-C.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Whatif {
    /// The trace: ftrace text (as tracefs, trace-cmd report or perf script print it) or Perfetto's trace,
    /// plain, .xz, .gz or .zst; a trace.dat; `-` is standard input. Of several each is replayed, and is the
    /// case of its rows; one that cannot be is named, and the rest go on
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Replay every N-th of these files only, from the K-th on; `quiescent merge` joins what the parts print
    /// with --json
    #[arg(long, value_name = "K/N", conflicts_with = lines::NAME)]
    pub shard: Option<Shard>,
    /// The change: a setting of the machine, such as `rcu=lazy` (may be repeated; `sim --list` shows them)
    #[arg(long, value_name = "KEY=VALUE", required = true)]
    pub set: Vec<String>,
    /// A setting that was in force during the recording, where the trace does not have it or is wrong (may be
    /// repeated)
    #[arg(long = "as", value_name = "KEY=VALUE")]
    pub was: Vec<String>,
    /// From this time of the trace's clock: seconds, or with a unit (`5.2`, `5200ms`); when left out: between
    /// the marks, or the whole trace
    #[arg(long, value_name = "TIME", value_parser = time, allow_negative_numbers = true)]
    pub from: Option<u64>,
    /// Up to this time
    #[arg(long, value_name = "TIME", value_parser = time, allow_negative_numbers = true)]
    pub to: Option<u64>,
    /// Ticks a second during the recording, if the trace does not show them
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = within(1..=10_000_u32, "give 1 to 10000 ticks a second"))]
    pub hz: Option<u32>,
    /// How often the recorded window is replayed; as often as a result about lazy callbacks needs, when left
    /// out
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = within(1..=1000_u64, "give 1 to 1000 replays"))]
    pub repeat: Option<u64>,
    /// Also write a page with the table and charts to this file; `-`: to standard output, in place of the
    /// table
    #[arg(long, visible_alias = "output", value_name = "FILE", value_parser = page_path())]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub force: Force,
    /// Seed of the model's random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Print one line of JSON (schema quiescent/1) instead of tables
    #[arg(long)]
    pub json: bool,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
}
