//! `kernel bench`: this machine's own kernel beside the model.

use crate::arguments::linux::kernel::KernelBench;
use crate::arguments::{Common, Measured, Page};
use crate::commands::measure;
use crate::kernel::beside;
use crate::kernel::show;
use crate::show::output;
use quiescent_report::{Error, Report};
use std::cell::OnceCell;

/// Runs the command; returns the exit code.
pub fn run(options: KernelBench) -> Result<u8, Error> {
    let measured = Measured {
        common: Common {
            json: options.json,
            quiet: options.quiet,
            seed: options.options.seed,
        },
        page: Page::default(),
    };
    // The text has more than the report.
    let beside = OnceCell::new();
    let text = |_: &Report| {
        let found = beside.get();
        found.map_or_else(String::new, |it| show::text(it, output::columns()))
    };
    measure(&measured, text, |control| {
        let (report, found) = beside::run(&options.options, control)?;
        beside.get_or_init(|| found);
        Ok(report)
    })
}
