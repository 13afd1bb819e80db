//! `reproduce`: checks the place of the page, measures, prints the tables or the JSON, writes the page.
//!
//! Results are printed before the page is written, so that a full disk loses only the page.

use crate::arguments::linux::Reproduce;
use crate::commands::{code, this_program};
use crate::reproduce::{self, ReproduceOptions, Reproduced};
use crate::show::interrupt::stop_flag;
use crate::show::output::{self, DONE, Printed};
use crate::show::paper::Paper;
use crate::show::progress::Bar;
use quiescent_report::{Control, Error};

/// Runs the command; returns the exit code.
pub fn run(options: &Reproduce) -> Result<u8, Error> {
    let (json, force) = (options.common.json, options.force.force);
    let paper = Paper::settle(options.page(), json, force, &[])?;
    let wanted = ReproduceOptions {
        program: this_program()?,
        quick: options.quick,
        seed: options.common.seed,
    };
    let stop = stop_flag()?;
    let bar = Bar::new(options.common.quiet);
    let found = reproduce::run(&wanted, Control::new(&stop, &bar))?;
    paper.tables(|| printed(options, &found))?;
    let stopped = code(&stop) != DONE;
    paper.write(&found.report, &reproduce::text(&found), stopped)?;
    Ok(code(&stop))
}

fn printed(options: &Reproduce, found: &Reproduced) -> Printed {
    if options.common.json {
        return Printed::json(&found.report);
    }
    Printed::coloured(match options.full {
        true => reproduce::text(found),
        false => reproduce::first::text(found, output::columns()),
    })
}
