//! The request for a live view: of a running process, of the running kernel, or of a simulated machine.

use clap::{ArgGroup, Args, builder::PossibleValuesParser, builder::TypedValueParser};
use quiescent_live::Rung;
use quiescent_top::Order;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  QUIESCENT_TELEMETRY=1 server &                 a program that counts what it does
  quiescent top --pid $!                         watch it: keys sort, filter, pause; q quits
  quiescent top --pid 1234 --batch -n 5          five intervals as text, for files and pipes
  quiescent top --pid 1234 -n 10 --json | jq .rows
  quiescent top --kernel                         the kernel's own RCU, by the best source there is; as root by function
  quiescent top --sim local-video --set rcu=lazy   the same of a simulated machine (quiescent sim --list)

Of a process it needs the process's own user, or root; nobody is woken in it. --kernel records in a tracefs instance of its own, which goes away however
this ends, and says which source it uses and how exact it is. A simulated machine goes as fast as the clock on the wall where somebody watches, and as fast as it
can with --batch, --json or -n. docs/tools.md has the legend of every column.
Exit codes: 0 done; 1 the process has ended or counts nothing, or the kernel does not have the source that was asked for; 2 usage; 130 stopped by Ctrl-C (what was counted is printed).";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group(ArgGroup::new("source").required(true).args(["pid", "kernel", "sim"])))]
pub struct Top {
    /// The process to look at
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub pid: Option<u32>,
    /// The running kernel's RCU instead of a process
    #[arg(long)]
    pub kernel: bool,
    /// The kernel's figures by this source, and no other: RCU's own events, what its callbacks free, or rates
    /// of /proc
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["pid", "sim"], value_parser = rung())]
    pub by: Option<Rung>,
    /// Mount tracefs if it is not, where only this run sees it
    #[arg(long, conflicts_with_all = ["pid", "sim"])]
    pub mount: bool,
    /// The workload to simulate, and to look at: a name of `quiescent sim --list`, or a file
    #[arg(long, value_name = "WORKLOAD")]
    pub sim: Option<String>,
    /// Set a parameter of the simulated machine or its workload; may be given several times
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = ["pid", "kernel"])]
    pub set: Vec<String>,
    /// The seed of the simulated machine
    #[arg(long, value_name = "N", conflicts_with_all = ["pid", "kernel"])]
    pub seed: Option<u64>,
    /// Print intervals as text, one after the other; so it does when standard output is no terminal
    #[arg(long)]
    pub batch: bool,
    /// Print one line of JSON (schema quiescent/1) at the end: each figure over all intervals
    #[arg(long)]
    pub json: bool,
    /// End after so many intervals; when left out: with --json after one, else when stopped
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub intervals: Option<u32>,
    /// The length of an interval in seconds
    #[arg(long, short, value_name = "SECONDS", default_value = "1", value_parser = seconds, allow_negative_numbers = true)]
    pub delay: Duration,
    /// Sort by this column
    #[arg(long, short, value_name = "COLUMN", default_value = "queued", value_parser = order())]
    pub sort: Order,
    /// Show only callbacks with this in their names or domains
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

fn seconds(text: &str) -> Result<Duration, String> {
    let advice = "give 0.1 to 3600 seconds, such as 0.5";
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        Ok(_) => Err(format!("too short or too long: {advice}")),
        Err(_) => Err(format!("not a time: {advice}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_within_reason() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["0", "-1", "NaN", "3601", "soon"] {
            let why = seconds(text).expect_err(text);
            assert!(why.contains("give 0.1 to 3600"), "{why}");
        }
    }
}
