//! The arguments of `trace`.

use super::{Force, within};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use quiescent_trace::{CpuSet, Filter, Kind, Thread};
use std::path::PathBuf;

pub const EXAMPLES: &str = "\
Examples:
  quiescent trace boot.txt                                what RCU's threads cost in wake-ups
  quiescent trace boot.txt wakeups                        wake-ups, and for which callback
  quiescent trace boot.txt callbacks --thread systemd     callbacks queued by systemd
  quiescent trace boot.txt idle --cpu 0-3 --from 5.2      four CPUs, from 5.2 s on
  quiescent trace boot.txt waits --thread rmmod           waits of rmmod, and what for
  quiescent trace boot.txt waits --remedies               and what would shorten the waits
  quiescent trace boot.txt timeline --output b.pftrace    for ui.perfetto.dev
  trace-cmd report -t | quiescent trace - gps --json      from a pipe
  quiescent trace --sql > quiescent.sql                   views for Perfetto's trace processor

Without --from and --to the part between the marks WORKLOAD_START and WORKLOAD_END is counted
(write them to trace_marker), or the whole trace. Warnings about the trace are printed above the
tables. --help-metrics explains every column.

Exit codes: 0 done; 1 lines of the file could not be read (the rest was counted), or the timeline
not written; 2 usage, or no trace at all; 130 stopped by Ctrl-C (what was counted is printed).";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Trace {
    /// The trace: ftrace text (as tracefs, trace-cmd report, perf script or atrace print it, also in a page
    /// of systrace or in Chrome's JSON) or Perfetto's trace, plain, .xz, .gz, .zst or zlib; a trace.dat;
    /// `-` is standard input
    #[arg(
        required = false,
        required_unless_present = "sql",
        default_value_if("sql", "true", "-")
    )]
    pub file: PathBuf,
    /// The analysis
    #[arg(value_enum, default_value = "summary")]
    pub analysis: Analysis,
    /// Print a module of views for Perfetto's trace processor that correspond to these analyses, and read
    /// nothing
    #[arg(long, conflicts_with_all = ["file", "analysis"])]
    pub sql: bool,
    /// From this time of the trace's clock: seconds, or with a unit (`5.2`, `5200ms`, `5200000000ns`)
    #[arg(long, value_name = "TIME", value_parser = time, allow_negative_numbers = true)]
    pub from: Option<u64>,
    /// Up to this time
    #[arg(long, value_name = "TIME", value_parser = time, allow_negative_numbers = true)]
    pub to: Option<u64>,
    /// These CPUs only (`0-3,7`)
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub cpu: Option<CpuSet>,
    /// This thread only, by its whole name or its id (may be repeated)
    #[arg(long, value_name = "NAME|PID", value_parser = NonEmptyStringValueParser::new())]
    pub thread: Vec<String>,
    /// Rows of each table; 0 is all. When left out: 20 in tables, all in JSON
    #[arg(long, value_name = "N", value_parser = rows, allow_negative_numbers = true)]
    pub limit: Option<u64>,
    /// With `waits`: replay the trace on the machine model under settings that could shorten the waits, and
    /// show the predicted mean wait beside the recorded one (`whatif` has more settings and figures)
    #[arg(long)]
    pub remedies: bool,
    /// File for the timeline
    #[arg(long, value_name = "FILE", required_if_eq("analysis", "timeline"))]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub force: Force,
    /// Print one line of JSON (schema quiescent/1) instead of tables
    #[arg(long)]
    pub json: bool,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Analysis {
    /// RCU's threads: wake-ups by kind, idle periods that they end, what settings could save at most
    Summary,
    /// Threads by wake-ups and intervals; causes of wake-ups of RCU's threads; from each callback to the
    /// threads that woke for it
    Wakeups,
    /// Callbacks by function, task and system call: queued, invoked, lazy, delays
    Callbacks,
    /// Batches of callbacks by invoking thread: sizes, durations, spacing
    Batches,
    /// Grace periods: phases, scans, the last CPU that was waited for, the requesting task
    Gps,
    /// Waits for a grace period, an expedited one, or all callbacks: who, how long, for which holdout, where
    Waits,
    /// Idle CPUs: segments, states, ticks during idle and their causes, time lost to RCU
    Idle,
    /// A file for Perfetto: tasks, idle states, grace periods, batches
    Timeline,
}

impl Analysis {
    /// The analysis; none for the timeline.
    pub fn kind(self) -> Option<Kind> {
        // They are in the same order.
        Kind::ALL.get(self as usize).copied()
    }
}

impl Trace {
    /// The requested analysis.
    pub fn filter(&self) -> Filter {
        let thread = |text: &String| match text.parse() {
            Ok(pid) => Thread::Pid(pid),
            Err(_) => Thread::Name(text.clone()),
        };
        Filter {
            from_ns: self.from,
            to_ns: self.to,
            cpus: self.cpu.clone(),
            threads: self.thread.iter().map(thread).collect(),
        }
    }
}

fn rows(text: &str) -> Result<u64, String> {
    match text {
        "0" => Ok(0),
        _ => within(1..=1 << 32, "give 0 for all rows, or a number of them")(text),
    }
}

/// Exact, in ns: rounding must not move a time of the trace.
pub(super) fn time(text: &str) -> Result<u64, String> {
    let wrong = || "give seconds (`5.2`) or a number with its unit: s, ms, us, ns".to_string();
    let at = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let digits = match unit {
        "" | "s" => 9,
        "ms" => 6,
        "us" => 3,
        "ns" => 0,
        _ => return Err(wrong()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let known = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !known(whole) || !known(fraction) || fraction.len() > digits {
        return Err(wrong());
    }
    let all = format!("{whole}{fraction:0<digits$}");
    all.parse().map_err(|_| wrong())
}

/// Above every CPU number of a trace.
const MOST_CPU: u32 = 65_535;

fn cpus(text: &str) -> Result<CpuSet, String> {
    let wrong = || format!("give numbers and ranges up to {MOST_CPU}, such as 0-3,7");
    let number = |text: &str| {
        text.parse::<u32>()
            .ok()
            .filter(|cpu| *cpu <= MOST_CPU)
            .ok_or_else(wrong)
    };
    let mut set = CpuSet::default();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(wrong());
        }
        (first..=last).for_each(|cpu| set.insert(cpu));
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(time("5.020396"), Ok(5_020_396_000));
        assert_eq!(time("5"), Ok(5_000_000_000));
        assert_eq!(time("17ns"), Ok(17));
        assert_eq!(time("1.5ms"), Ok(1_500_000));
        for wrong in [
            "",
            "x",
            "-1",
            "5.0000000001",
            "1.5ns",
            "5 s",
            "1e9",
            "5m",
            ".5",
            "99999999999999999999",
        ] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn cpus_are_numbers_and_ranges() {
        let set = cpus("0-2,7").expect("is a list");
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 1, 2, 7]);
        for wrong in ["", "a", "3-1", "1,", "70000", "-1"] {
            assert!(cpus(wrong).is_err(), "{wrong}");
        }
    }
}
