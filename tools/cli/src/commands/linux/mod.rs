//! Commands that are for Linux.

mod doctor;
mod kernel;
mod quiet;
mod record;
mod reproduce;
mod top;
mod torture;

use super::{measure, this_program};
use crate::arguments::linux::domain::Domain;
use crate::arguments::linux::{Internal, Linux, LinuxBench, Pressure, Scale, Sections, Srcu, Sync};
use crate::arguments::{Common, Measured, Page};
use crate::show::output::{self, DONE, Printed};
use quiescent_bench::cases::domain::{self, DomainOptions};
use quiescent_bench::cases::pressure::{self, PressureOptions};
use quiescent_bench::cases::read::ReadOptions;
use quiescent_bench::cases::scale::{self, ScaleOptions};
use quiescent_bench::cases::sections::SectionOptions;
use quiescent_bench::cases::srcu;
use quiescent_bench::cases::sync::{self, SyncOptions, child};
use quiescent_bench::instructions::{self, InstructionOptions};
use quiescent_report::Error;

/// Runs the command; returns the exit code.
pub fn run(command: Linux) -> Result<u8, Error> {
    match command {
        Linux::Reproduce(options) => reproduce::run(&options),
        Linux::Kernel(kernel) => kernel::run(&kernel),
        Linux::Doctor(options) => doctor::run(&options),
        Linux::Record(options) => record::run(&options),
        Linux::Top(options) => top::run(&options),
        Linux::Torture(options) => torture::run(&options),
        Linux::Internal(internal) => run_internal(internal),
    }
}

/// Runs the measurement; returns the exit code.
pub fn bench(command: LinuxBench) -> Result<u8, Error> {
    match command {
        LinuxBench::Sync(options) => bench_sync(&options),
        LinuxBench::Srcu(options) => bench_srcu(&options),
        LinuxBench::Domain(options) => bench_domain(&options),
        LinuxBench::Pressure(options) => bench_pressure(&options),
        LinuxBench::Scale(options) => bench_scale(&options),
        LinuxBench::Quiet(options) => quiet::run(&options),
    }
}

fn run_internal(internal: Internal) -> Result<u8, Error> {
    match internal {
        Internal::SyncChild {
            subject,
            case,
            threads,
            count_fences,
        } => Ok(child::serve(&subject, case, threads, count_fences)),
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
            common, subject, ..
        } => count_instructions(&common, subject),
    }
}

fn bench_sync(options: &Sync) -> Result<u8, Error> {
    let wanted = SyncOptions {
        compare: options.compare,
        rounds: options.rounds,
        calls: options.calls,
        threads: options.threads,
        seed: options.measured.common.seed,
        ..SyncOptions::new(this_program()?)
    };
    measure(&options.measured, sync::text, sync::run, &wanted)
}

fn bench_srcu(options: &Srcu) -> Result<u8, Error> {
    let wanted = section_options(&options.sections, &options.measured, options.compare)?;
    measure(&options.measured, srcu::text, srcu::run, &wanted)
}

fn bench_domain(options: &Domain) -> Result<u8, Error> {
    let wanted = DomainOptions {
        sections: section_options(&options.sections, &options.measured, options.compare)?,
        domains: options.domains,
        rest_ms: options.rest_ms,
        ..DomainOptions::new(this_program()?)
    };
    measure(&options.measured, domain::text, domain::run, &wanted)
}

fn section_options(
    options: &Sections,
    measured: &Measured,
    compare: bool,
) -> Result<SectionOptions, Error> {
    let seed = measured.common.seed;
    Ok(SectionOptions {
        read: ReadOptions {
            threads: options.threads,
            compare,
            rounds: options.rounds,
            seed,
            ..ReadOptions::default()
        },
        sync: SyncOptions {
            rounds: options.rounds,
            calls: options.calls,
            seed,
            ..SyncOptions::new(this_program()?)
        },
        instructions: options.instructions,
    })
}

fn bench_scale(options: &Scale) -> Result<u8, Error> {
    let wanted = ScaleOptions {
        compare: options.compare,
        threads: options.threads.clone(),
        rounds: options.rounds,
        calls: options.calls,
        seed: options.measured.common.seed,
        ..ScaleOptions::new(this_program()?)
    };
    measure(&options.measured, scale::text, scale::run, &wanted)
}

fn bench_pressure(options: &Pressure) -> Result<u8, Error> {
    let wanted = PressureOptions {
        rounds: options.rounds,
        objects: options.objects,
        seed: options.measured.common.seed,
        ..PressureOptions::new(this_program()?)
    };
    measure(&options.measured, pressure::text, pressure::run, &wanted)
}

fn count_instructions(common: &Common, only: Vec<String>) -> Result<u8, Error> {
    for name in &only {
        if !instructions::names().contains(&name.as_str()) {
            let known = instructions::names().join(", ");
            return Err(Error::Usage(format!(
                "--subject {name}: not in this build, which has {known}"
            )));
        }
    }
    let wanted = InstructionOptions {
        seed: common.seed,
        program: this_program()?,
        compare: true,
        only,
    };
    let measured = Measured {
        common: common.clone(),
        page: Page::default(),
    };
    measure(&measured, instructions::text, instructions::run, &wanted)
}
