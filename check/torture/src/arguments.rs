//! The options on the command line that a single run and a campaign share.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use clap::Args;

use crate::book::options::Broken;
use crate::child::{Fence, Request};

/// Options of a run.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
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
    pub threads: Option<usize>,
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
    /// Misuse the library: an oracle must find it
    #[arg(long, value_name = "KIND", hide = true, value_parser = Broken::named)]
    pub broken: Option<Broken>,
}

impl Arguments {
    /// A run of this scenario for the whole duration. A seed that was left out is drawn.
    pub fn request(&self, scenario: &str) -> Request {
        let draw = || RandomState::new().build_hasher().finish() % 1_000_000_000;
        Request {
            scenario: scenario.to_owned(),
            text: None,
            seed: self.seed.unwrap_or_else(draw),
            duration: self.duration,
            interval: self.interval,
            patience: self.stall,
            fence: self.fence,
            threads: self.threads,
            broken: self.broken.map(|it| it.name().to_owned()),
            events: None, // each run of a campaign has its own
        }
    }
}

/// A hundred hours, in ms.
const LONGEST: u64 = 360_000_000;

/// A time with its unit.
///
/// # Errors
/// What to give in its place.
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

fn threads(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=1000).contains(count));
    count.ok_or_else(|| "give 1 to 1000".into())
}

fn fence(text: &str) -> Result<Fence, String> {
    text.parse()
        .map_err(|_| "give any, membarrier or fenced".into())
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
