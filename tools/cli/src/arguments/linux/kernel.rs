//! The arguments of `kernel bench`.

use super::count;
use clap::{Args, Subcommand};
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub enum Kernel {
    /// Time this kernel's own grace periods, and print the machine model's prediction beside them
    #[command(after_help = EXAMPLES)]
    Bench(KernelBench),
}

const EXAMPLES: &str = "\
Examples:
  quiescent kernel bench                        a hundred calls, one after the other
  quiescent kernel bench --cpu 0 --pause 2.5    the caller on CPU 0, with rests that end between ticks
  quiescent kernel bench --set smp=parallel     where CPUs are known to execute at the same time
  quiescent kernel bench --json | jq .options.prediction

Facts are read from /proc and /sys; each is printed with its source, or as `unknown -> assumed value`.
A measurement outside the predicted range is reported; it does not change the exit code.
Exit codes: 0 measured; 1 the kernel refuses the call, or a file has an invalid content; 2 usage; 130 \
stopped by Ctrl-C.";

#[derive(Debug, Args)]
pub struct KernelBench {
    /// Print one line of JSON (schema quiescent/1) instead of tables
    #[arg(long)]
    pub json: bool,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
    /// Seed of the model's random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Calls of the kernel's synchronize_rcu, by membarrier(2)
    #[arg(long, value_name = "N", default_value = "100", value_parser = calls, allow_negative_numbers = true)]
    pub calls: u64,
    /// Sleep after each call, in ms; without a sleep, calls are in step with the tick
    #[arg(long, value_name = "MS", default_value = "0", value_parser = pause, allow_negative_numbers = true)]
    pub pause: Duration,
    /// Pin the caller to this CPU; when left out, the scheduler places it
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub cpu: Option<u32>,
    /// A setting of the model, in place of the read or assumed value (may be repeated; `sim --list` shows
    /// them)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

fn calls(text: &str) -> Result<u64, String> {
    count(
        text,
        100_000,
        "give 1 to 100000; 100 or more for a 99th percentile",
    )
}

/// The longest useful sleep between two calls, in milliseconds.
const MOST_PAUSE: f64 = 60_000.0;

fn pause(text: &str) -> Result<Duration, String> {
    let advice = format!("give 0 to {MOST_PAUSE} milliseconds, such as 2.5");
    match text.parse::<f64>() {
        Ok(ms) if (0.0..=MOST_PAUSE).contains(&ms) => Ok(Duration::from_nanos((ms * 1e6) as u64)),
        Ok(_) => Err(format!("out of range: {advice}")),
        Err(_) => Err(format!("not a time: {advice}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_pauses() {
        assert_eq!(
            (calls("100000"), pause("2.5")),
            (Ok(100_000), Ok(Duration::from_micros(2_500)))
        );
        assert_eq!(pause("0"), Ok(Duration::ZERO));
        for text in ["-1", "60001", "NaN", "inf", "soon", ""] {
            assert!(
                pause(text).unwrap_err().contains("give 0 to 60000"),
                "{text}"
            );
        }
        for text in ["0", "100001", "-1", "x"] {
            assert!(
                calls(text).unwrap_err().contains("give 1 to 100000"),
                "{text}"
            );
        }
    }
}
