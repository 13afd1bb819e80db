//! The arguments of `kernel bench`.

use super::within;
use clap::builder::TypedValueParser;
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
    #[command(flatten)]
    pub options: KernelOptions,
}

/// What is measured and modelled.
#[derive(Clone, Debug, Default, Args)]
pub struct KernelOptions {
    /// Seed of the model's random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Calls of the kernel's synchronize_rcu, by membarrier(2)
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true,
          value_parser = within(1..=100_000_u64,
              "give 1 to 100000; 100 or more for a 99th percentile"))]
    pub calls: u64,
    /// Sleep after each call, in ms; without a sleep, calls are in step with the tick
    #[arg(long, value_name = "MS", default_value = "0", value_parser = pause(),
          allow_negative_numbers = true)]
    pub pause: Duration,
    /// Pin the caller to this CPU; when left out, the scheduler places it
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = within(0..=u32::MAX, "give the number of a CPU, such as 0"))]
    pub cpu: Option<u32>,
    /// A setting of the model, in place of the read or assumed value (may be repeated; `sim --list` shows
    /// them)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

fn pause() -> impl TypedValueParser<Value = Duration> {
    let ms = within(0.0..=60_000.0, "give 0 to 60000 milliseconds, such as 2.5");
    ms.map(|ms: f64| Duration::from_nanos((ms * 1e6) as u64))
}
