//! Calls of the kernel's `synchronize_rcu`, timed, and where caller and grace-period thread were.
//!
//! `membarrier(MEMBARRIER_CMD_GLOBAL)` is one call of it. After each call it is looked up on which CPU the
//! thread ran last and on which one the caller is: that decides how many waits a grace period takes (see
//! `docs/model.md`). The look-up itself takes time between two calls, which moves them against the tick; so
//! that time is measured as well, and given to the model.

use super::place::{self, GpThread};
use super::timed;
use quiescent_report::Control;
use std::io;
use std::time::{Duration, Instant};

/// What to measure.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Runs.
    pub runs: u64,
    /// Calls of each.
    pub calls: u64,
    /// Sleep after each call.
    pub pause: Duration,
    /// Fewer calls a run when they would take longer than this in all.
    pub budget: Duration,
    /// The thread to be looked after.
    pub thread: Option<&'a GpThread>,
}

/// A call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// How long it took, in µs.
    pub us: f64,
    /// The caller's CPU when it returned.
    pub cpu: Option<u32>,
    /// The thread's CPU then.
    pub thread: Option<u32>,
    /// From its return to the next call, but for the pause, in µs.
    pub gap_us: f64,
}

/// Times the calls, and gives what was measured until then when stopped. A few calls before them do not
/// count.
///
/// # Errors
/// What the kernel says when it refuses the call.
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
                // A run that was cut short has its own extremes; it is not comparable, unless it is all there
                // is.
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
