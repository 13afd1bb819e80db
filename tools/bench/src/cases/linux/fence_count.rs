//! Counts process-wide fences from outside the library that issues them.
//!
//! A system-call filter turns each `membarrier` call that would be a fence into `SIGSYS`; the handler counts
//! it and answers 0 without fencing. So the count trusts no library's own counters, and is the same for all.
//! Nothing in a counting process relies on the fence: no memory is reclaimed there, and latencies are not
//! reported. The filter covers the calling thread and those it starts later, so it is installed while there
//! is only one.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

static FENCES: AtomicU64 = AtomicU64::new(0);

/// Fences since the start.
pub fn count() -> u64 {
    FENCES.load(Ordering::Relaxed)
}

/// Starts counting in this process, for good.
///
/// # Errors
/// What the kernel says when it refuses a filter (a sandbox; a kernel without seccomp), and
/// [`io::ErrorKind::Unsupported`] on a processor whose signal frame this file does not know.
pub fn start() -> io::Result<()> {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    install_handler()?;
    install_filter()
}

fn install_handler() -> io::Result<()> {
    // SAFETY: an all-zero `sigaction` is a valid one (no flags, empty mask); its handler is set before use.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_fence as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
    // SAFETY: `action` is valid, and the handler only touches an atomic and the frame it is given.
    match unsafe { libc::sigaction(libc::SIGSYS, &action, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Counts, and makes the interrupted call return 0.
extern "C" fn on_fence(
    _signal: libc::c_int,
    _info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    FENCES.fetch_add(1, Ordering::Relaxed);
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel hands a SA_SIGINFO handler the frame of the interrupted call, valid until it
    // returns.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        (*context).uc_mcontext.gregs[libc::REG_RAX as usize] = 0;
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        (*context).uc_mcontext.regs[0] = 0;
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = context;
}

/// The fences among membarrier's commands (membarrier(2)): GLOBAL, GLOBAL_EXPEDITED, PRIVATE_EXPEDITED and
/// PRIVATE_EXPEDITED_SYNC_CORE. Queries and registrations pass.
const FENCE_COMMANDS: u32 = 1 | 1 << 1 | 1 << 3 | 1 << 5;

fn install_filter() -> io::Result<()> {
    /// Offsets into `struct seccomp_data` (seccomp(2)): the call's number, and the low half of its first
    /// argument.
    const NUMBER: u32 = 0;
    const ARGUMENT: u32 = if cfg!(target_endian = "little") {
        16
    } else {
        20
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let any_bit = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    let give = libc::BPF_RET | libc::BPF_K;
    let op = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let mut filter = [
        op(load, 0, 0, NUMBER),
        op(equal, 0, 3, libc::SYS_membarrier as u32),
        op(load, 0, 0, ARGUMENT),
        op(any_bit, 0, 1, FENCE_COMMANDS),
        op(give, 0, 0, libc::SECCOMP_RET_TRAP),
        op(give, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    install(&mut filter)
}

/// Installs a filter of system calls in the calling thread and those that it starts later. Makes two system
/// calls and allocates nothing.
///
/// # Errors
/// What the kernel says when it refuses a filter.
pub fn install(filter: &mut [libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: both calls take plain numbers and, the second, a filter program that outlives the call.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ) != 0
    };
    if refused {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
