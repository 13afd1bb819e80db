//! Clocks of Linux, macOS and other Unixes: `clock_gettime`.

/// CPU time of the calling thread, in ns, without the time of other threads.
///
/// # Panics
/// When the kernel has no per-thread CPU clock (Linux and macOS always have).
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

/// Time of the monotonic clock, in ns.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

#[inline]
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
