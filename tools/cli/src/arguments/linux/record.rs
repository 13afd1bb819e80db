//! The arguments of `record`.

use super::Force;
use super::torture::time;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  quiescent record --for 10s                        ten seconds of this machine, in trace.txt
  quiescent record -o idle.txt -- sleep 10          while a command runs; its time is marked in the trace
  quiescent record -- make -j4 && quiescent trace trace.txt wakeups
  quiescent record --events default,raw_syscalls:* --for 5s
  quiescent record --for 5s -o - | quiescent trace - idle

Needs root, and a kernel with tracing (`quiescent doctor` shows it). It records in a tracefs instance of its \
own, which is always removed at the end;
other tracing is not changed. Events that this kernel does not have are listed and left out.
Exit codes: 0 recorded; 1 the kernel refuses, or the command failed; 2 usage; 130 stopped by Ctrl-C, SIGTERM \
or SIGHUP (what was recorded is kept).";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Record {
    /// The file for the trace (`-`: standard output). It appears when the recording ends
    #[arg(long, short, value_name = "FILE", default_value = "trace.txt")]
    pub output: PathBuf,
    #[command(flatten)]
    pub force: Force,
    /// End after this time: a number with ms, s, m or h; a command that still runs is then ended
    #[arg(long = "for", value_name = "TIME", value_parser = time, allow_negative_numbers = true)]
    pub length: Option<Duration>,
    /// Events with commas in between, such as sched:sched_switch, cpu_idle, rcu:*; `default`: those listed in
    /// docs/tools.md
    #[arg(long, value_name = "LIST", default_value = "default")]
    pub events: String,
    /// Buffer for each CPU in KiB: give more if events are lost
    #[arg(long, value_name = "KIB", default_value = "4096", value_parser = kib,
          allow_negative_numbers = true)]
    pub buffer: u64,
    /// Mount tracefs, visible to this run only, if it is not mounted
    #[arg(long)]
    pub mount: bool,
    /// Print one line of JSON (schema quiescent/1) about the recording instead of text
    #[arg(long)]
    pub json: bool,
    /// Record while this command runs, and mark its time; without a command until --for is over, or Ctrl-C
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// A gibibyte for each CPU.
const MOST_KIB: u64 = 1 << 20;

fn kib(text: &str) -> Result<u64, String> {
    let advice = format!("give 64 to {MOST_KIB} KiB; 4096 holds some ten thousand events");
    match text.parse::<u64>() {
        Ok(kib) if (64..=MOST_KIB).contains(&kib) => Ok(kib),
        Ok(_) => Err(format!("out of range: {advice}")),
        Err(_) => Err(format!("not a size: {advice}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_within_reason() {
        assert_eq!((kib("64"), kib("1048576")), (Ok(64), Ok(1 << 20)));
        for text in ["0", "63", "1048577", "-1", "much"] {
            assert!(kib(text).unwrap_err().contains("give 64 to"), "{text}");
        }
    }
}
