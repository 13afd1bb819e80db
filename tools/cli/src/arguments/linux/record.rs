//! The arguments of `record`.

use super::Force;
use super::torture::time;
use super::within;
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
other tracing is not changed. Events that this kernel does not have are listed and left out. For those of \
RCU it then places probes on
the kernel's functions, and removes them again; those that the kernel refuses are named.
Exit codes: 0 recorded; 1 the kernel refuses, or the command failed; 2 usage; 130 stopped by Ctrl-C, SIGTERM \
or SIGHUP (what was recorded is kept).";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Record {
    /// The file for the trace (`-`: standard output), always text, as tracefs prints it. It appears when the
    /// recording ends
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
    #[arg(long, value_name = "KIB", default_value = "4096", allow_negative_numbers = true,
          value_parser = within(64..=1_048_576_u64,
              "give 64 to 1048576 KiB; 4096 holds some ten thousand events"))]
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
