//! Commands that are for Linux.

mod doctor;
mod kernel;
mod record;
mod reproduce;
mod run_program;
mod top;
pub mod torture;

use super::{measure, this_program};
use crate::arguments::linux::kernel::Kernel;
use crate::arguments::linux::{Internal, Linux};
use crate::show::output::{self, DONE, Printed};
use quiescent_bench::instructions::{self, InstructionOptions};
use quiescent_report::Error;

/// Runs the command; returns the exit code.
pub fn run(command: Linux) -> Result<u8, Error> {
    match command {
        Linux::Reproduce(options) => reproduce::run(&options),
        Linux::Kernel(Kernel::Bench(options)) => kernel::run(options),
        Linux::Doctor(options) => doctor::run(&options),
        Linux::Record(options) => record::run(&options),
        Linux::Run(options) => run_program::run(&options),
        Linux::Top(options) => top::run(&options),
        Linux::Torture(options) => torture::run(&options),
        Linux::Internal(internal) => run_internal(internal),
    }
}

fn run_internal(internal: Internal) -> Result<u8, Error> {
    match internal {
        Internal::Loop {
            subject,
            case,
            turns,
        } => instructions::run_loop(&subject, case, turns).map(|()| DONE),
        Internal::Instructions {
            disassembly: true, ..
        } => {
            let text = instructions::disassembly(&this_program()?)?;
            output::print(&Printed::text(text)).map(|()| DONE)
        }
        Internal::Instructions {
            measured, subject, ..
        } => {
            let wanted = InstructionOptions {
                seed: measured.common.seed,
                program: this_program()?,
                only: subject,
            };
            measure(&measured, instructions::text, |control| {
                instructions::run(&wanted, control)
            })
        }
    }
}
