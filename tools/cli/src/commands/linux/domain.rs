//! Carries out `bench domain`.

use crate::arguments::linux::domain::Domain;
use crate::commands::{measure, this_program};
use quiescent_bench::cases::domain::{self, DomainOptions};
use quiescent_bench::cases::read::ReadOptions;
use quiescent_bench::cases::sync::SyncOptions;
use quiescent_report::{Control, Error};

/// Does it; the exit code.
pub fn run(options: &Domain) -> Result<u8, Error> {
    let seed = options.measured.common.seed;
    let program = this_program()?;
    let wanted = DomainOptions {
        read: ReadOptions {
            threads: options.threads,
            compare: options.compare,
            rounds: options.rounds,
            seed,
            ..ReadOptions::default()
        },
        sync: SyncOptions {
            rounds: options.rounds,
            calls: options.calls,
            seed,
            ..SyncOptions::new(program.clone())
        },
        instructions: options.instructions,
        domains: options.domains,
        rest_ms: options.rest_ms,
        ..DomainOptions::new(program)
    };
    let run = |control: Control<'_>| domain::run(&wanted, control);
    measure(&options.measured, domain::text, run)
}
