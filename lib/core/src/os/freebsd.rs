//! FreeBSD: its `membarrier(2)`, from 14.1 on. The rest is portable. (Compiled, never run by this project.)

use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::{Has, NO_SUCH_CALL, portable};
pub use portable::{
    AtExit, Ended, SharedPage, Timer, Wakeups, coarse_ns, doze, futex_wait, futex_wake,
    futex_wake_all, has_more_rights, has_one_processor, map, now_ns, of_thread, on_fork, pin,
    resident, spawn, thread_id, thread_name, unmap, unpin,
};

/// What the others may lack.
pub const HAS: Has = Has {
    fence: true,
    ..portable::HAS
};

/// The commands, numbered as in Linux; `QUERY` returns those that the kernel has.
const QUERY: c_int = 0;
const PRIVATE_EXPEDITED: c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;

type Membarrier = unsafe extern "C" fn(command: c_int, flags: u32, cpu: c_int) -> c_int;

/// The C library's function; null until it was found. (By its name: earlier versions have none, and the bare
/// system call would be answered with a signal.)
static CALL: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// A full fence on every CPU that runs a thread of this process.
///
/// # Errors
/// The `errno` with which the kernel refused it.
pub fn heavy_fence() -> Result<(), i32> {
    membarrier(PRIVATE_EXPEDITED).map(drop)
}

/// Registers the process for [`heavy_fence`].
///
/// # Errors
/// The `errno` with which it was refused.
pub fn register_heavy_fence() -> Result<(), i32> {
    if CALL.load(Ordering::Acquire).is_null() {
        // SAFETY: a name that ends with 0; nothing is loaded.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"membarrier".as_ptr()) };
        CALL.store(found.cast(), Ordering::Release);
    }
    let both = PRIVATE_EXPEDITED | REGISTER_PRIVATE_EXPEDITED;
    if membarrier(QUERY)? & both != both {
        return Err(NO_SUCH_CALL);
    }
    membarrier(REGISTER_PRIVATE_EXPEDITED).map(drop)
}

fn membarrier(command: c_int) -> Result<c_int, i32> {
    let call = CALL.load(Ordering::Acquire);
    if call.is_null() {
        return Err(NO_SUCH_CALL);
    }
    // SAFETY: the function of that name has this type.
    let call = unsafe { std::mem::transmute::<*mut (), Membarrier>(call) };
    // SAFETY: takes three integers and accesses no memory of ours.
    let result = unsafe { call(command, 0, 0) };
    if result >= 0 {
        return Ok(result);
    }
    let error = std::io::Error::last_os_error();
    Err(error.raw_os_error().unwrap_or(NO_SUCH_CALL))
}
