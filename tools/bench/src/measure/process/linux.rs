//! What Linux is asked by system calls, and their numbers.

use std::time::Instant;

/// What a process-wide fence takes now, in ns: the median of some. `None` where this process is not
/// registered for it.
pub fn fence_ns() -> Option<u64> {
    const CALLS: usize = 15;
    let fence = || {
        let begin = Instant::now();
        // SAFETY: the system call takes numbers only, and touches no memory of this process.
        let done = unsafe {
            libc::syscall(
                libc::SYS_membarrier,
                libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED,
                0,
                0,
            )
        };
        (done == 0).then(|| begin.elapsed().as_nanos() as u64)
    };
    let mut took: Vec<u64> = (0..CALLS).map_while(|_| fence()).collect();
    took.sort_unstable();
    took.get(took.len() / 2).copied()
}

/// What the allocator has given out, with its own heads and rounding, in bytes; `None` where it is not
/// glibc's.
pub fn allocated_bytes() -> Option<u64> {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: no arguments; it locks the allocator's arenas, and adds up.
        let counted = unsafe { libc::mallinfo2() };
        Some((counted.uordblks + counted.hblkhd) as u64)
    }
    #[cfg(not(target_env = "gnu"))]
    None
}

/// How often the kernel took the CPU away from the calling thread, or gave it memory.
pub fn interruptions() -> u64 {
    // SAFETY: numbers only, for which 0 is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: it writes to that, and nowhere else.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    (usage.ru_nvcsw + usage.ru_nivcsw + usage.ru_minflt + usage.ru_majflt) as u64
}

/// The kernel's number of the calling thread.
pub fn this_thread() -> u32 {
    // SAFETY: no arguments, no memory, cannot fail.
    unsafe { libc::gettid() as u32 }
}

/// Whether a line of `/proc/self/task/*/syscall` is a sleep that ends by itself: the call's number, then its
/// arguments.
pub(super) fn has_time_limit(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let Some(number) = words.next().and_then(|word| word.parse::<i64>().ok()) else {
        return false;
    };
    let arguments: Vec<u64> = words
        .filter_map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok())
        .collect();
    let argument = |index: usize| arguments.get(index).copied().unwrap_or(0);
    let no_limit = |milliseconds: u64| (milliseconds as i32) < 0;
    match number {
        libc::SYS_futex | libc::SYS_epoll_pwait2 | libc::SYS_rt_sigtimedwait => argument(3) != 0,
        libc::SYS_epoll_pwait => !no_limit(argument(3)),
        libc::SYS_ppoll => argument(2) != 0,
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => true,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_epoll_wait => !no_limit(argument(3)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll => !no_limit(argument(2)),
        _ => false,
    }
}
