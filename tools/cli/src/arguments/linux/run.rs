//! The arguments of `quiescent run`.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    after_help = "Variables: QUIESCENT_LAZY=10s lets callbacks wait for others; QUIESCENT_BUDGET=64M bounds \
                  what is queued; QUIESCENT_STALL=10s reports readers that block a grace period; \
                  QUIESCENT_STATS=1 prints counters at the end; QUIESCENT_LOG=FILE: there, and not on \
                  standard error."
)]
pub struct Run {
    /// The folder with liburcu.so.8 and the others that `lib/urcu-abi/build` makes; when left out: `urcu`
    /// beside this program or in the folder above, or `../lib/quiescent`
    #[arg(long, value_name = "FOLDER")]
    pub libs: Option<PathBuf>,
    /// The program and its arguments, behind `--`
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    pub words: Vec<OsString>,
}
