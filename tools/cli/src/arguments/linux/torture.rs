//! The arguments of `torture`.

mod machines;

use super::{Page, count};
use clap::Args;
use quiescent_torture::Broken;
use quiescent_torture::child::Fence;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct Torture {
    /// A scenario: a name, or the path of a file (may be repeated; all in turn when left out)
    #[arg(long, value_name = "NAME")]
    pub scenario: Vec<PathBuf>,
    /// List the scenarios and the parts that each stresses
    #[arg(long, conflicts_with_all = ["scenario", "tap", "html"])]
    pub list: bool,
    /// Duration of the whole campaign: a number with ms, s, m or h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time,
          allow_negative_numbers = true)]
    pub duration: Duration,
    /// Seed of every choice of the first run, not of the interleaving; the next runs have the next numbers.
    /// Drawn and printed when left out
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of readers and writers together, in the scenario's proportion
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub threads: Option<u64>,
    /// A fence mode in place of the scenario's: any, membarrier, fenced
    #[arg(long, value_name = "MODE", value_parser = fence)]
    pub fence: Option<Fence>,
    /// Interval of progress lines
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time,
          allow_negative_numbers = true)]
    pub interval: Duration,
    /// Time without progress after which a thread hangs; below 12s, lazy objects may count as late
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time,
          allow_negative_numbers = true)]
    pub stall: Duration,
    /// Print one line of JSON (schema quiescent/1) at the end
    #[arg(long, conflicts_with = "tap")]
    pub json: bool,
    /// Print TAP (Test Anything Protocol): a test point for each run
    #[arg(long)]
    pub tap: bool,
    /// No progress bar, and no lines while it runs
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub page: Page,
    #[command(flatten)]
    pub machines: machines::Machines,
    /// Misuse the library: an oracle must find it
    #[arg(long, value_name = "KIND", hide = true, value_parser = broken)]
    pub broken: Option<Broken>,
}

/// A hundred hours, in ms.
const LONGEST: u64 = 360_000_000;

pub fn time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let ms = match &text[digits.len()..] {
        "ms" => 1,
        "s" | "" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    let value = digits.parse::<f64>().ok().filter(|_| ms > 0);
    let ms = value.map(|value| value * f64::from(ms));
    match ms {
        Some(ms) if ms >= 100.0 && ms <= LONGEST as f64 => Ok(Duration::from_millis(ms as u64)),
        Some(_) => Err("give 100ms to 100h".into()),
        None => Err("give a number with ms, s, m or h, such as 90s".into()),
    }
}

fn threads(text: &str) -> Result<u64, String> {
    count(text, 1000, "give 1 to 1000")
}

fn fence(text: &str) -> Result<Fence, String> {
    match text {
        "any" => Ok(Fence::Any),
        "membarrier" => Ok(Fence::Membarrier),
        "fenced" => Ok(Fence::Fenced),
        _ => Err("give any, membarrier or fenced".into()),
    }
}

fn broken(text: &str) -> Result<Broken, String> {
    let names = Broken::ALL.map(Broken::name).join(", ");
    Broken::named(text).ok_or_else(|| format!("no such misuse; there are: {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let ms = |text| time(text).map(|time| time.as_millis());
        assert_eq!(
            (ms("60s"), ms("250ms"), ms("7")),
            (Ok(60_000), Ok(250), Ok(7000))
        );
        assert_eq!((ms("1.5m"), ms("2h")), (Ok(90_000), Ok(7_200_000)));
        for nonsense in [
            "", "s", "1d", "-5s", "0", "1e9h", "NaN", "infs", "5 s", "50ms",
        ] {
            assert!(time(nonsense).unwrap_err().contains("give"), "{nonsense}");
        }
    }
}
