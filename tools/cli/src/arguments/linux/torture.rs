//! The arguments of `torture`.

mod machines;

use super::Page;
use crate::arguments::lines;
use clap::Args;
use quiescent_torture::arguments::Arguments;
pub use quiescent_torture::arguments::time;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Torture {
    /// A scenario: a name, or the path of a file (may be repeated; all in turn when left out)
    #[arg(long, value_name = "NAME")]
    pub scenario: Vec<PathBuf>,
    /// List the scenarios and the parts that each stresses
    #[arg(long, conflicts_with_all = ["scenario", "tap", "html", lines::NAME])]
    pub list: bool,
    #[command(flatten)]
    pub run: Arguments,
    /// Print one line of JSON (schema quiescent/1) at the end
    #[arg(long, conflicts_with = "tap")]
    pub json: bool,
    /// Print TAP (Test Anything Protocol): a test point for each run
    #[arg(long)]
    pub tap: bool,
    /// No progress bar, and no lines while it runs
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub page: Page,
    #[command(flatten)]
    pub machines: machines::Machines,
}
