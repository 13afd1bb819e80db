//! Carries out the requests about doing little.

use crate::arguments::linux::quiet::{Barrier, Flood, Hold, Idle, Quiet, Stall, Trickle};
use crate::commands::{measure, this_program};
use quiescent_bench::cases::barrier::{self, BarrierOptions};
use quiescent_bench::cases::flood::{self, FloodOptions};
use quiescent_bench::cases::hold::{self, HoldOptions};
use quiescent_bench::cases::idle::{self, IdleOptions};
use quiescent_bench::cases::stall::{self, StallOptions};
use quiescent_bench::cases::trickle::{self, TrickleOptions};
use quiescent_report::Error;

/// Does it; the exit code.
pub fn run(quiet: &Quiet) -> Result<u8, Error> {
    match quiet {
        Quiet::Idle(options) => bench_idle(options),
        Quiet::Trickle(options) => bench_trickle(options),
        Quiet::Flood(options) => bench_flood(options),
        Quiet::Stall(options) => bench_stall(options),
        Quiet::Hold(options) => bench_hold(options),
        Quiet::Barrier(options) => bench_barrier(options),
    }
}

fn bench_idle(options: &Idle) -> Result<u8, Error> {
    let wanted = IdleOptions {
        compare: options.compare,
        ms: options.seconds,
        seed: options.measured.common.seed,
        ..IdleOptions::new(this_program()?)
    };
    measure(&options.measured, idle::text, idle::run, &wanted)
}

fn bench_trickle(options: &Trickle) -> Result<u8, Error> {
    let wanted = TrickleOptions {
        compare: options.compare,
        rates: options.rate.clone(),
        ms: options.seconds,
        patience_ms: options.wait,
        seed: options.measured.common.seed,
        ..TrickleOptions::new(this_program()?)
    };
    measure(&options.measured, trickle::text, trickle::run, &wanted)
}

fn bench_flood(options: &Flood) -> Result<u8, Error> {
    let wanted = FloodOptions {
        compare: options.compare,
        rounds: options.rounds,
        producers: options.producers as u64,
        ms: options.seconds,
        seed: options.measured.common.seed,
        ..FloodOptions::new(this_program()?)
    };
    measure(&options.measured, flood::text, flood::run, &wanted)
}

fn bench_stall(options: &Stall) -> Result<u8, Error> {
    let wanted = StallOptions {
        compare: options.compare,
        objects: options.objects,
        ms: options.seconds,
        seed: options.measured.common.seed,
        ..StallOptions::new(this_program()?)
    };
    measure(&options.measured, stall::text, stall::run, &wanted)
}

fn bench_hold(options: &Hold) -> Result<u8, Error> {
    let wanted = HoldOptions {
        compare: options.compare,
        ms: options.seconds,
        seed: options.measured.common.seed,
        ..HoldOptions::new(this_program()?)
    };
    measure(&options.measured, hold::text, hold::run, &wanted)
}

fn bench_barrier(options: &Barrier) -> Result<u8, Error> {
    let wanted = BarrierOptions {
        compare: options.compare,
        rounds: options.rounds,
        calls: options.calls,
        objects: options.objects,
        threads: options.threads as u64,
        seed: options.measured.common.seed,
        ..BarrierOptions::new(this_program()?)
    };
    measure(&options.measured, barrier::text, barrier::run, &wanted)
}
