//! Sandboxes: system calls that a filter refuses, memory that the kernel refuses.

use std::io;
use std::sync::OnceLock;

use libc::{c_long, sock_filter, sock_fprog};

/// The number that `seccomp_data.arch` has here.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const ARCHITECTURE: u32 = 0xc000_00f3;
#[cfg(target_arch = "s390x")]
const ARCHITECTURE: u32 = 0x8000_0016;
#[cfg(target_arch = "x86")]
const ARCHITECTURE: u32 = 0x4000_0003;

/// Offsets into `seccomp_data`.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;

const fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    }
}

const fn jump_unless(k: u32, skip: u8) -> sock_filter {
    sock_filter {
        code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
        jt: 0,
        jf: skip,
        k,
    }
}

/// From now on, in every thread of this process and its children, `call` fails with `errno`.
///
/// # Errors
/// The kernel has no seccomp filters, or refuses this one.
pub fn refuse(call: c_long, errno: i32) -> io::Result<()> {
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let give = libc::BPF_RET | libc::BPF_K;
    let mut program = [
        statement(load, ARCH),
        jump_unless(ARCHITECTURE, 3),
        statement(load, NUMBER),
        jump_unless(call as u32, 1),
        statement(give, libc::SECCOMP_RET_ERRNO | errno as u32),
        statement(give, libc::SECCOMP_RET_ALLOW),
    ];
    let program = sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: prctl with integers.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `program` and the instructions it points to live during the call, which copies them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &raw const program,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Whether this kernel has filters that make a call fail. (qemu, which runs programs of other processors, has
/// none.)
pub fn filters() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: a number, and the address of one that the kernel reads.
    unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0,
            &raw const action,
        ) == 0
    }
}

/// Whether a limit of the address space is one. (qemu forgets it.)
pub fn limits() -> bool {
    static IS_KEPT: OnceLock<bool> = OnceLock::new();
    *IS_KEPT.get_or_init(|| {
        let enough = (usize::MAX / 4) as libc::rlim_t;
        let before = limit_address_space(enough);
        limit_address_space(before) == enough
    })
}

/// Limits the address space of this process to `bytes` (soft limit); returns the limit before.
pub fn limit_address_space(bytes: libc::rlim_t) -> libc::rlim_t {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is writable.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) }, 0);
    let before = limit.rlim_cur;
    limit.rlim_cur = bytes.min(limit.rlim_max);
    // SAFETY: `limit` is readable.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    before
}
