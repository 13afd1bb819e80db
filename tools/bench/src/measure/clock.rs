//! Clocks: thread CPU time for costs, monotonic time for latencies, a time stamp for "is it on a CPU?".

use std::time::{Duration, Instant};

#[cfg(unix)]
#[path = "clock/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "clock/windows.rs"]
mod system;

pub use system::{monotonic_ns, process_cpu_ns, thread_cpu_ns};

/// Sleeps until the monotonic clock has come to this. How late the last turn was does not add up.
pub fn sleep_until(ns: u64) {
    loop {
        let left = ns.saturating_sub(monotonic_ns());
        if left == 0 {
            return;
        }
        std::thread::sleep(Duration::from_nanos(left));
    }
}

/// How long something takes by the monotonic clock, which is read once more for that: in µs.
pub fn us(what: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    what();
    begin.elapsed().as_nanos() as f64 / 1_000.0
}

/// A cheap time stamp, the same on all CPUs (the processor's counter on x86-64, monotonic ns elsewhere).
/// `shims/loops.h` `qb_stamp` is the same for C.
#[inline(always)]
pub fn stamp() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 processor has `rdtsc`; it touches no memory.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        monotonic_ns()
    }
}

/// The same, once what is before it is done, and before what is behind it begins.
#[inline(always)]
pub fn stamp_in_order() -> u64 {
    let wait = || {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 processor has it.
        unsafe {
            core::arch::x86_64::_mm_lfence();
        }
    };
    wait();
    let now = stamp();
    wait();
    now
}

/// How many units of [`stamp`] pass in a µs, measured against the monotonic clock for about 5 ms; at least 1.
pub fn stamps_per_us() -> u64 {
    let begin = Instant::now();
    let first = stamp();
    while begin.elapsed().as_micros() < 5_000 {
        std::hint::spin_loop();
    }
    let passed = stamp().wrapping_sub(first);
    (passed / begin.elapsed().as_micros().max(1) as u64).max(1)
}

/// What two readings of the monotonic clock, one after the other, differ by: median of 1001, in ns. A latency
/// contains it once.
pub fn clock_pair_ns() -> f64 {
    let pairs: Vec<f64> = (0..1001)
        .map(|_| {
            let begin = Instant::now();
            begin.elapsed().as_nanos() as f64
        })
        .collect();
    quiescent_report::rows::stats::summary(&pairs).map_or(0.0, |summary| summary.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_do_not_run_backwards() {
        let (cpu, ticks) = (thread_cpu_ns(), stamp());
        let mut sum = 0u64;
        for i in 0..100_000u64 {
            sum = std::hint::black_box(sum + i);
        }
        assert!(thread_cpu_ns() >= cpu);
        assert!(process_cpu_ns() >= cpu, "one thread of several");
        let soon = monotonic_ns() + 100_000;
        sleep_until(soon);
        sleep_until(0);
        assert!(monotonic_ns() >= soon);
        assert!(
            stamp() >= ticks,
            "the stamp must not run backwards on one thread"
        );
        assert!(stamps_per_us() >= 1);
    }
}
