//! Windows, from 8 on: `FlushProcessWriteBuffers`, and sleeping with `WaitOnAddress`. The rest is portable.
//!
//! `FlushProcessWriteBuffers` interrupts every processor that runs a thread of the process; its return means
//! that each has executed a full fence. Wine has a stub in its place: there readers must execute fences
//! (`QUIESCENT_FENCE=fenced`), and so this file is checked by the compiler, and tested except for the fence.

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use super::{Has, portable};
pub use portable::{
    AtExit, Ended, SharedPage, Timer, Wakeups, coarse_ns, doze, has_more_rights, has_one_processor,
    map, now_ns, of_thread, on_fork, pin, resident, spawn, thread_name, unmap, unpin,
};

/// What the others may lack.
pub const HAS: Has = Has {
    fence: true,
    ..portable::HAS
};

#[link(name = "kernel32", kind = "raw-dylib")]
unsafe extern "system" {
    fn FlushProcessWriteBuffers();
    fn GetCurrentThreadId() -> u32;
    fn GetModuleHandleW(name: *const u16) -> *mut c_void;
    fn GetProcAddress(module: *mut c_void, name: *const i8) -> *mut c_void;
}

#[link(name = "api-ms-win-core-synch-l1-2-0", kind = "raw-dylib")]
unsafe extern "system" {
    fn WaitOnAddress(
        word: *const c_void,
        expected: *const c_void,
        size: usize,
        milliseconds: u32,
    ) -> c_int;
    fn WakeByAddressSingle(word: *const c_void);
    fn WakeByAddressAll(word: *const c_void);
}

/// No time-out.
const INFINITE: u32 = u32::MAX;

/// A full fence on every CPU that runs a thread of this process.
///
/// # Errors
/// Never.
#[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
pub fn heavy_fence() -> Result<(), i32> {
    // SAFETY: takes nothing, returns nothing, and is there on every version.
    unsafe { FlushProcessWriteBuffers() };
    Ok(())
}

/// No registration is needed. Refused under Wine, whose fence does nothing.
///
/// # Errors
/// There is no fence.
pub fn register_heavy_fence() -> Result<(), i32> {
    if is_wine() {
        return Err(super::NO_SUCH_CALL);
    }
    Ok(())
}

/// True if this is not Windows, but Wine: its `ntdll` says its version.
fn is_wine() -> bool {
    let name: Vec<u16> = "ntdll.dll\0".encode_utf16().collect();
    // SAFETY: names that end with 0; nothing is loaded.
    unsafe {
        let ntdll = GetModuleHandleW(name.as_ptr());
        !ntdll.is_null() && !GetProcAddress(ntdll, c"wine_get_version".as_ptr().cast()).is_null()
    }
}

/// Sleeps while `word` contains `expected`, at most for `timeout`. Returns early for any reason.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    // Rounded up: a sleep that is too short is one more wake-up. The longest is 49 days, and then another.
    let milliseconds = timeout.map_or(INFINITE, |timeout| {
        let up = timeout.as_nanos().div_ceil(1_000_000);
        u32::try_from(up).unwrap_or(INFINITE).min(INFINITE - 1)
    });
    // SAFETY: both are four readable bytes for the call.
    unsafe {
        WaitOnAddress(
            word.as_ptr().cast(),
            (&raw const expected).cast(),
            size_of::<u32>(),
            milliseconds,
        );
    }
}

/// Wakes one sleeper on the address `word`, which need not be valid any more: it is a key.
pub fn futex_wake(word: *const AtomicU32) {
    // SAFETY: the address is not followed.
    unsafe { WakeByAddressSingle(word.cast()) };
}

/// Wakes all sleepers on the address `word`.
pub fn futex_wake_all(word: &AtomicU32) {
    // SAFETY: the address is not followed.
    unsafe { WakeByAddressAll(word.as_ptr().cast()) };
}

/// The system's id of this thread.
pub fn thread_id() -> u32 {
    // SAFETY: takes nothing, and cannot fail.
    portable::numbered(|| unsafe { GetCurrentThreadId() })
}
