//! Timed calls of the kernel's `synchronize_rcu`, with the CPUs of caller and grace-period thread.
//!
//! `membarrier(MEMBARRIER_CMD_GLOBAL)` is one call of it. After each call the CPU on which the thread ran
//! last and the caller's CPU are looked up: they determine how many waits a grace period takes (see
//! `docs/model.md`). The look-up takes time between two calls, which moves them relative to the tick; so that
//! time is measured as well, and the model uses it.

use super::place::{self, GpThread};
use super::timed;
use quiescent_report::Control;
use std::io;
use std::time::{Duration, Instant};

/// The options of a measurement.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Runs.
    pub runs: u64,
    /// Calls of each.
    pub calls: u64,
    /// Sleep after each call.
    pub pause: Duration,
    /// The number of calls is reduced if they would take longer than this.
    pub budget: Duration,
    /// The grace-period thread.
    pub thread: Option<&'a GpThread>,
}

/// A call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// Its duration, in µs.
    pub us: f64,
    /// The caller's CPU when it returned.
    pub cpu: Option<u32>,
    /// The thread's CPU then.
    pub thread: Option<u32>,
    /// The time from its return to the next call, without the pause, in µs.
    pub gap_us: f64,
}

/// Times the calls; when stopped, returns what was measured until then. A few calls before them do not count.
///
/// # Errors
/// The kernel's error when it refuses the call.
pub fn measure(plan: &Plan<'_>, control: Control<'_>) -> io::Result<Vec<Vec<Call>>> {
    let mut pilot = Vec::new();
    while pilot.is_empty() || (pilot.len() < 3 && !control.stopped()) {
        pilot.push(timed()?);
    }
    let one = quiescent_report::rows::stats::summary(&pilot)
        .map_or(1.0, |summary| summary.median.max(1.0));
    let one = one + plan.pause.as_secs_f64() * 1e6;
    let affordable = plan.budget.as_micros() as f64 / (one * plan.runs.max(1) as f64);
    let calls = plan.calls.min(affordable as u64).max(1);
    control
        .progress
        .begin("kernel grace periods", plan.runs * calls);
    let mut measured = Vec::new();
    'runs: for _ in 0..plan.runs {
        let mut run = Vec::new();
        for _ in 0..calls {
            if control.stopped() {
                // A run that was cut short has other extremes; it is not comparable, unless it is the only
                // one.
                if measured.is_empty() && !run.is_empty() {
                    measured.push(run);
                }
                break 'runs;
            }
            run.push(one_call(plan)?);
            control.progress.advance(1);
        }
        measured.push(run);
    }
    control.progress.end();
    Ok(measured)
}

fn one_call(plan: &Plan<'_>) -> io::Result<Call> {
    let us = timed()?;
    let returned = Instant::now();
    let cpu = place::here();
    let thread = plan.thread.and_then(GpThread::cpu);
    let gap_us = returned.elapsed().as_nanos() as f64 / 1e3;
    if !plan.pause.is_zero() {
        std::thread::sleep(plan.pause);
    }
    Ok(Call {
        us,
        cpu,
        thread,
        gap_us,
    })
}
