//! Timed calls of the kernel's `synchronize_rcu`, with the CPUs of caller and grace-period thread.
//!
//! `membarrier(MEMBARRIER_CMD_GLOBAL)` is one call of it. After each call the CPU on which the thread ran
//! last and the caller's CPU are looked up: they determine how many waits a grace period takes (see
//! `docs/model.md`). The look-up takes time between two calls, which moves them relative to the tick; so that
//! time is measured as well, and the model uses it.

use super::beside::KernelOptions;
use super::place::GpThread;
use quiescent_report::Control;
use quiescent_report::rows::stats;
use rustix::thread::{MembarrierCommand, membarrier, sched_getcpu};
use std::io;
use std::time::{Duration, Instant};

/// A call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// Its duration, in µs.
    pub us: f64,
    /// The caller's CPU when it returned.
    pub cpu: u32,
    /// The thread's CPU then.
    pub thread: Option<u32>,
    /// The time from its return to the next call, without the pause, in µs.
    pub gap_us: f64,
}

/// Times so many runs of calls, of fewer if they would take longer than the budget; when stopped, returns
/// what was measured until then. A few calls before them do not count.
///
/// # Errors
/// The kernel's error when it refuses the call.
pub fn measure(
    options: &KernelOptions,
    (runs, budget): (u64, Duration),
    thread: Option<&GpThread>,
    control: Control<'_>,
) -> io::Result<Vec<Vec<Call>>> {
    let mut pilot = vec![timed()?];
    while pilot.len() < 3 && !control.stopped() {
        pilot.push(timed()?);
    }
    let one = stats::summary(&pilot).map_or(1.0, |it| it.median.max(1.0));
    let one = one + options.pause.as_secs_f64() * 1e6;
    let affordable = budget.as_micros() as f64 / (one * runs.max(1) as f64);
    let calls = options.calls.min(affordable as u64).max(1);
    let progress = control.progress;
    progress.begin("kernel grace periods", runs * calls);
    let mut measured = Vec::new();
    for _ in 0..runs {
        let mut run = Vec::new();
        while (run.len() as u64) < calls && !control.stopped() {
            run.push(call(options.pause, thread)?);
            progress.advance(1);
        }
        // A run that was cut short has other extremes; it is not comparable, unless it is the only one.
        if run.len() as u64 == calls || measured.is_empty() && !run.is_empty() {
            measured.push(run);
        }
    }
    progress.end();
    Ok(measured)
}

fn call(pause: Duration, thread: Option<&GpThread>) -> io::Result<Call> {
    let us = timed()?;
    let returned = Instant::now();
    let cpu = sched_getcpu() as u32;
    let thread = thread.and_then(GpThread::cpu);
    let gap_us = returned.elapsed().as_nanos() as f64 / 1e3;
    if !pause.is_zero() {
        std::thread::sleep(pause);
    }
    Ok(Call {
        us,
        cpu,
        thread,
        gap_us,
    })
}

/// The duration of one call, in µs.
fn timed() -> io::Result<f64> {
    let begin = Instant::now();
    membarrier(MembarrierCommand::Global)?;
    Ok(begin.elapsed().as_nanos() as f64 / 1_000.0)
}
