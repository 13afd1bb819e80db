//! The requests about doing little: `bench idle`, `trickle`, `flood`, `stall`, `hold` and `barrier`.

use super::{Measured, calls, count, objects, rounds, threads};
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum Quiet {
    /// What happens when there is nothing to do: wake-ups, timers, threads, fences
    Idle(Idle),
    /// A block reclaimed now and then: wake-ups, delay, what is never freed, memory held (up to 10 minutes
    /// with --compare)
    Trickle(Trickle),
    /// Producers as fast as they can, beside a looping reader: throughput, memory held
    Flood(Flood),
    /// A reader that stays in its section while another thread retires: memory, and whether it is named
    Stall(Stall),
    /// Large values that are replaced now and then, with no weight declared: peak memory, old values held
    Hold(Hold),
    /// How long it takes until everything that was queued is gone
    Barrier(Barrier),
}

#[derive(Debug, Args)]
pub struct Idle {
    #[command(flatten)]
    pub measured: Measured,
    /// Beside every other library in this build that reclaims later
    #[arg(long)]
    pub compare: bool,
    /// How long to watch
    #[arg(long, value_name = "S", default_value = "10", value_parser = seconds,
          allow_negative_numbers = true)]
    pub seconds: u64,
}

#[derive(Debug, Args)]
pub struct Trickle {
    #[command(flatten)]
    pub measured: Measured,
    /// Beside every other library in this build that reclaims later
    #[arg(long)]
    pub compare: bool,
    /// Blocks a second; several with commas between them
    #[arg(long, value_name = "N", default_value = "0,1,10,100,1000,10000", value_delimiter = ',',
          value_parser = rate, allow_negative_numbers = true)]
    pub rate: Vec<u64>,
    /// How long each trickle lasts; 20 or more for wake-ups that come every 10 seconds
    #[arg(long, value_name = "S", default_value = "20", value_parser = seconds,
          allow_negative_numbers = true)]
    pub seconds: u64,
    /// How long to wait, after it, for blocks that have not been freed
    #[arg(long, value_name = "S", default_value = "12", value_parser = seconds,
          allow_negative_numbers = true)]
    pub wait: u64,
}

#[derive(Debug, Args)]
pub struct Flood {
    #[command(flatten)]
    pub measured: Measured,
    /// Beside every other library in this build that is measured beside a reader; some may take gigabytes
    #[arg(long)]
    pub compare: bool,
    /// Threads that hand over
    #[arg(long, value_name = "N", default_value = "2", value_parser = threads, allow_negative_numbers = true)]
    pub producers: usize,
    /// How long they do
    #[arg(long, value_name = "S", default_value = "5", value_parser = seconds, allow_negative_numbers = true)]
    pub seconds: u64,
    /// Rounds over all subjects, a process each
    #[arg(long, value_name = "N", default_value = "1", value_parser = rounds, allow_negative_numbers = true)]
    pub rounds: u64,
}

#[derive(Debug, Args)]
pub struct Stall {
    #[command(flatten)]
    pub measured: Measured,
    /// Beside every other library in this build that reclaims later
    #[arg(long)]
    pub compare: bool,
    /// How long the reader stays in its section
    #[arg(long, value_name = "S", default_value = "5", value_parser = seconds, allow_negative_numbers = true)]
    pub seconds: u64,
    /// Blocks of 64 bytes that the other thread retires meanwhile
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = objects,
          allow_negative_numbers = true)]
    pub objects: u64,
}

#[derive(Debug, Args)]
pub struct Hold {
    #[command(flatten)]
    pub measured: Measured,
    /// Beside arc-swap, crossbeam-epoch and seize, as far as they are in this build; some take gigabytes
    #[arg(long)]
    pub compare: bool,
    /// How long values are stored in each process
    #[arg(long, value_name = "S", default_value = "4", value_parser = seconds, allow_negative_numbers = true)]
    pub seconds: u64,
}

#[derive(Debug, Args)]
pub struct Barrier {
    #[command(flatten)]
    pub measured: Measured,
    /// Beside liburcu's rcu_barrier
    #[arg(long)]
    pub compare: bool,
    /// Rounds over all subjects and cases, a process each
    #[arg(long, value_name = "N", default_value = "3", value_parser = rounds, allow_negative_numbers = true)]
    pub rounds: u64,
    /// Barriers a process
    #[arg(long, value_name = "N", default_value = "200", value_parser = calls, allow_negative_numbers = true)]
    pub calls: u64,
    /// Blocks queued before each barrier, where it is not for empty queues
    #[arg(long, value_name = "N", default_value = "10000", value_parser = objects,
          allow_negative_numbers = true)]
    pub objects: u64,
    /// Threads that queue them
    #[arg(long, value_name = "N", default_value = "4", value_parser = threads, allow_negative_numbers = true)]
    pub threads: usize,
}

/// Faster than a thread that sleeps in between can be.
const MOST_RATE: u64 = 100_000;

fn rate(text: &str) -> Result<u64, String> {
    match text {
        "0" => Ok(0), // nothing is queued at all
        _ => count(
            text,
            MOST_RATE,
            &format!("give 0 to {MOST_RATE} a second, such as 10,100"),
        ),
    }
}

/// The longest useful time to watch, in seconds.
const MOST_SECONDS: f64 = 3_600.0;

/// Seconds, with a fraction or without, in ms.
fn seconds(text: &str) -> Result<u64, String> {
    let advice = format!("give 0.001 to {MOST_SECONDS} seconds");
    match text.parse::<f64>() {
        Ok(seconds) if (0.001..=MOST_SECONDS).contains(&seconds) => Ok((seconds * 1_000.0) as u64),
        Ok(_) => Err(format!("too little or too much: {advice}")),
        Err(_) => Err(format!("not a time: {advice}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_times() {
        assert_eq!((rate("0"), rate("10000")), (Ok(0), Ok(10_000)));
        assert_eq!((seconds("20"), seconds("0.25")), (Ok(20_000), Ok(250)));
        for text in ["-1", "100001", "1e9", "ten", ""] {
            assert!(rate(text).unwrap_err().contains("give 0 to"), "{text}");
        }
        for text in ["0", "-1", "3601", "NaN", "inf", "soon", ""] {
            assert!(
                seconds(text).unwrap_err().contains("give 0.001 to"),
                "{text}"
            );
        }
    }
}
