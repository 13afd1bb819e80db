//! The request for a diagnosis of a kernel.

use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  quiescent doctor                         this machine; as root it sees tracing events too
  quiescent doctor --root phone/           another one: a folder with copies of its proc/, sys/, boot/ (docs/tools.md has a script)
  quiescent doctor --json | jq '.options.findings[] | select(.severity == \"without effect\")'

Nothing is changed. Each finding says what was asked for and where, what is in force and who says so, and what to do.
Exit codes: 0 nothing that was asked for is without effect; 1 something is, or the folder cannot be read; 2 usage.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Doctor {
    /// Print one line of JSON (schema quiescent/1) instead of text
    #[arg(long)]
    pub json: bool,
    /// Read another machine's files: those below this folder, named as on the machine
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}
