//! The arguments of `top`.

use super::within;
use clap::{ArgGroup, Args, builder::PossibleValuesParser, builder::TypedValueParser};
use quiescent_live::Rung;
use quiescent_top::Order;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  QUIESCENT_TELEMETRY=1 server &                 a program with telemetry
  quiescent top --pid $!                         watch it: keys sort, filter, pause; q quits
  quiescent top --pid 1234 --batch -n 5          five intervals as text, for files and pipes
  quiescent top --pid 1234 -n 10 --json | jq .rows
  quiescent top --kernel                         the kernel's own RCU, from the best available source; as \
root by function
  quiescent top --sim local-video --set rcu=lazy   a simulated machine (quiescent sim --list)

To watch a process takes its own user, or root; no thread of it is woken. --kernel records in a tracefs \
instance of its own, which is always removed at the
end, and shows its source and how exact that is. A simulated machine runs in real time on a terminal, and at \
full speed with --batch, --json or -n. --help-metrics explains every column.
Exit codes: 0 done; 1 the process has ended or has no counters, or the kernel does not have the requested \
source; 2 usage; 130 stopped by Ctrl-C (what was counted is printed).";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group(ArgGroup::new("source").required(true).args(["pid", "kernel", "sim"])))]
pub struct Top {
    /// The process to watch
    #[arg(long, value_name = "PID", value_parser = within(1..=u32::MAX, "give the number of a process"),
          allow_negative_numbers = true)]
    pub pid: Option<u32>,
    /// Watch the running kernel's RCU in place of a process
    #[arg(long)]
    pub kernel: bool,
    /// Use this source of the kernel's figures only: RCU's own events, the memory that its callbacks free, or
    /// rates of /proc
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["pid", "sim"], value_parser = rung())]
    pub by: Option<Rung>,
    /// Mount tracefs, visible to this run only, if it is not mounted
    #[arg(long, conflicts_with_all = ["pid", "sim"])]
    pub mount: bool,
    /// Simulate and watch this workload: a name of `quiescent sim --list`, or a file
    #[arg(long, value_name = "WORKLOAD")]
    pub sim: Option<PathBuf>,
    /// A parameter of the simulated machine or its workload (may be repeated)
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = ["pid", "kernel"])]
    pub set: Vec<String>,
    /// The seed of the simulated machine
    #[arg(long, value_name = "N", conflicts_with_all = ["pid", "kernel"])]
    pub seed: Option<u64>,
    /// Print intervals as text, one after the other; the default if standard output is no terminal, or TERM
    /// is `dumb`
    #[arg(long)]
    pub batch: bool,
    /// Print one line of JSON (schema quiescent/1) at the end: each figure over all intervals
    #[arg(long)]
    pub json: bool,
    /// End after so many intervals; when left out: after one with --json, otherwise when stopped
    #[arg(long, short = 'n', value_name = "N", value_parser = within(1..=u32::MAX, "give 1 to 4294967295"),
          allow_negative_numbers = true)]
    pub intervals: Option<u32>,
    /// The length of an interval in seconds
    #[arg(long, short, value_name = "SECONDS", default_value = "1", value_parser = seconds(),
          allow_negative_numbers = true)]
    pub delay: Duration,
    /// Sort by this column
    #[arg(long, short, value_name = "COLUMN", default_value = "queued", value_parser = order())]
    pub sort: Order,
    /// Show only callbacks with this text in their names or domains
    #[arg(long, short, value_name = "TEXT", default_value = "")]
    pub filter: String,
}

fn order() -> impl TypedValueParser<Value = Order> {
    let named = |word: String| Order::ALL.into_iter().find(|it| it.word() == word);
    PossibleValuesParser::new(Order::ALL.map(Order::word))
        .map(move |word| named(word).unwrap_or_default())
}

fn rung() -> impl TypedValueParser<Value = Rung> {
    let named = |word: String| Rung::ALL.into_iter().find(|it| it.word() == word);
    PossibleValuesParser::new(Rung::ALL.map(Rung::word))
        .map(move |word| named(word).unwrap_or(Rung::Rates))
}

fn seconds() -> impl TypedValueParser<Value = Duration> {
    let seconds = within(0.1..=3600.0, "give 0.1 to 3600 seconds, such as 0.5");
    seconds.map(Duration::from_secs_f64)
}
