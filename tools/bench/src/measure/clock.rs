//! Clocks: thread CPU time for costs, monotonic time for latencies, a time stamp for "is it on a CPU?".

use std::time::Instant;

/// CPU time of the calling thread, in ns, without the time of other threads.
///
/// # Panics
/// When the kernel has no per-thread CPU clock (Linux always has).
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of all threads of this process, in ns.
///
/// # Panics
/// As [`thread_cpu_ns`].
pub fn process_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid, writable timespec for the whole call.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(result, 0, "clock_gettime refuses clock {clock}");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Time of the monotonic clock, in ns.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Sleeps until the monotonic clock has come to this. How late the last turn was does not add up.
pub fn sleep_until(ns: u64) {
    let until = libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    };
    let (clock, absolute) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
    // SAFETY: `until` is valid; with an absolute time nothing is written back.
    let sleep = || unsafe { libc::clock_nanosleep(clock, absolute, &until, std::ptr::null_mut()) };
    while sleep() == libc::EINTR {}
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
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `time` is a valid, writable timespec for the whole call.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
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
