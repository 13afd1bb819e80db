//! The request for a live view: of a running process, or of a simulated machine.

use clap::{ArgGroup, Args, builder::PossibleValuesParser, builder::TypedValueParser};
use quiescent_top::Order;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  QUIESCENT_TELEMETRY=1 server &                 a program that counts what it does
  quiescent top --pid $!                         watch it: keys sort, filter, pause; q quits
  quiescent top --pid 1234 --batch -n 5          five intervals as text, for files and pipes
  quiescent top --pid 1234 -n 10 --json | jq .rows
  quiescent top --sim local-video --set rcu=lazy   the same of a simulated machine (quiescent sim --list)

Of a process it needs the process's own user, or root; nobody is woken in it. A simulated machine goes as fast as the clock on the wall where somebody watches,
and as fast as it can with --batch, --json or -n. docs/tools.md has the legend of every column.
Exit codes: 0 done; 1 the process has ended or counts nothing; 2 usage; 130 stopped by Ctrl-C (what was counted is printed).";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group(ArgGroup::new("source").required(true).args(["pid", "sim"])))]
pub struct Top {
    /// The process to look at
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub pid: Option<u32>,
    /// The workload to simulate, and to look at: a name of `quiescent sim --list`, or a file
    #[arg(long, value_name = "WORKLOAD")]
    pub sim: Option<String>,
    /// Set a parameter of the simulated machine or its workload; may be given several times
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "pid")]
    pub set: Vec<String>,
    /// The seed of the simulated machine
    #[arg(long, value_name = "N", conflicts_with = "pid")]
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
