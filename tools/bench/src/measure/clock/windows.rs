//! Clocks of Windows. CPU time is counted there by the tick, of 15.6 ms: costs need long rounds.

use std::sync::OnceLock;
use std::time::Instant;
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentThread, GetProcessTimes, GetThreadTimes,
};

/// CPU time of the calling thread, in ns, without the time of other threads.
///
/// # Panics
/// When the system refuses to tell (it never does about a thread of its own).
pub fn thread_cpu_ns() -> u64 {
    // SAFETY: the four are writable, and the handle is this thread's.
    spent(|[a, b, kernel, user]| unsafe { GetThreadTimes(GetCurrentThread(), a, b, kernel, user) })
}

/// CPU time of all threads of this process, in ns.
///
/// # Panics
/// As [`thread_cpu_ns`].
pub fn process_cpu_ns() -> u64 {
    // SAFETY: the four are writable, and the handle is this process's.
    spent(|[a, b, kernel, user]| unsafe {
        GetProcessTimes(GetCurrentProcess(), a, b, kernel, user)
    })
}

fn spent(ask: impl FnOnce([&mut FILETIME; 4]) -> i32) -> u64 {
    let mut times = [FILETIME {
        dwLowDateTime: 0,
        dwHighDateTime: 0,
    }; 4];
    assert_ne!(
        ask(times.each_mut()),
        0,
        "Windows does not tell the time of a thread"
    );
    let ns =
        |it: FILETIME| 100 * (u64::from(it.dwHighDateTime) << 32 | u64::from(it.dwLowDateTime));
    ns(times[2]) + ns(times[3])
}

/// Time of the monotonic clock, in ns.
pub fn monotonic_ns() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
