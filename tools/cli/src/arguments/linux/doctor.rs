//! The arguments of `doctor`.

use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  quiescent doctor                         this machine; as root with tracing events
  quiescent doctor --root phone/           another machine: a folder with copies of its proc/, sys/, boot/ \
(docs/tools.md has a script)
  quiescent doctor --json | jq '.options.findings[] | select(.severity == \"without effect\")'
  quiescent doctor --clean                 as root: removes what recorders have left that were killed

Nothing is changed but by --clean. Each finding has the requested setting and its place, the setting in \
force and its source, and a remedy.
Exit codes: 0 every requested setting is in force, as far as it is known; 1 one is not; 2 nothing could be \
read, or usage.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Doctor {
    /// Print one line of JSON (schema quiescent/1) instead of text
    #[arg(long)]
    pub json: bool,
    /// Read the files of another machine below this folder, named as on that machine
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Remove the trace buffers and probes of recorders that have ended without removing them, and nothing
    /// else
    #[arg(long, conflicts_with = "root")]
    pub clean: bool,
}
