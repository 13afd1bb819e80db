//! Forks a child, steps it, delivers the signal, and waits for its end.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, pid_t};
use quiescent::{FenceMode, Options};

use super::scenarios::{self, Scenario};

/// A child that takes longer hangs.
const PATIENCE_SECONDS: u32 = 20;

/// What parent and child share: a page mapped before the fork.
pub struct Shared {
    /// The region is over.
    pub ended: AtomicU32,
    /// Handlers that ran.
    pub handled: AtomicU32,
}

impl Shared {
    /// The page; lives for ever.
    pub fn new() -> &'static Shared {
        let (read_write, shared) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
        );
        let size = size_of::<Shared>();
        // SAFETY: a new mapping at an address of the kernel's choice.
        let page = unsafe { libc::mmap(ptr::null_mut(), size, read_write, shared, -1, 0) };
        assert_ne!(page, libc::MAP_FAILED);
        // SAFETY: zeroed, large enough, aligned to a page, never unmapped; all zeroes is a value.
        unsafe { &*page.cast::<Shared>() }
    }
}

/// How a child ended.
pub enum End {
    /// The handler ran at that instruction, and all was well afterwards.
    Checked,
    /// The region has fewer instructions.
    PastTheRegion,
    /// Something is wrong.
    Failed(Failure),
}

/// What went wrong.
pub enum Failure {
    Exit(c_int),
    Signal(c_int),
    Stop(c_int),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Exit(code) => write!(f, "the child failed with status {code}"),
            Failure::Signal(libc::SIGALRM) => write!(f, "the child hangs"),
            Failure::Signal(signal) => write!(f, "the child was killed by signal {signal}"),
            Failure::Stop(signal) => write!(f, "the child was stopped by signal {signal}"),
        }
    }
}

fn ptrace(request: libc::c_uint, thread: pid_t, data: c_int) {
    let data = ptr::without_provenance_mut::<u8>(data as usize);
    // SAFETY: requests without pointers: `data` is a signal number.
    let result = unsafe { libc::ptrace(request, thread, ptr::null_mut::<u8>(), data) };
    assert_eq!(result, 0, "ptrace: {}", std::io::Error::last_os_error());
}

/// Waits for a thread of the child, or for any of them (-1); returns which, and its status.
fn wait_for(thread: pid_t) -> (pid_t, c_int) {
    let mut status = 0;
    loop {
        // SAFETY: `status` is writable.
        let which = unsafe { libc::waitpid(thread, &mut status, libc::__WALL) };
        if which > 0 {
            return (which, status);
        }
        let error = std::io::Error::last_os_error();
        assert_eq!(
            error.kind(),
            std::io::ErrorKind::Interrupted,
            "waitpid: {error}"
        );
    }
}

/// Calls `work` in a child, which ends with it, or with its parent.
pub fn in_fork(work: impl FnOnce()) -> pid_t {
    // SAFETY: this process has one thread, so the child may do anything.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork: {}", std::io::Error::last_os_error());
    if child == 0 {
        // SAFETY: integers; a child whose parent dies ends.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        let result = std::panic::catch_unwind(AssertUnwindSafe(work));
        std::process::exit(i32::from(result.is_err()));
    }
    child
}

/// Waits for the end of a worker; did it return?
pub fn wait_for_worker(worker: pid_t) -> bool {
    let (_, status) = wait_for(worker);
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

/// One run: a handler after `step` instructions of the region.
pub fn run_child(scenario: &Scenario, fenced: bool, step: u64, shared: &'static Shared) -> End {
    shared.ended.store(0, Ordering::Relaxed);
    shared.handled.store(0, Ordering::Relaxed);
    let child = in_fork(|| be_the_child(scenario, fenced, shared));
    let (thread, status) = wait_for(-1);
    if !libc::WIFSTOPPED(status) || libc::WSTOPSIG(status) != libc::SIGSTOP {
        return until_its_end(child, thread, status);
    }
    for _ in 0..step {
        ptrace(libc::PTRACE_SINGLESTEP, thread, 0);
        let (thread, status) = wait_for(thread);
        if !libc::WIFSTOPPED(status) || libc::WSTOPSIG(status) != libc::SIGTRAP {
            return until_its_end(child, thread, status);
        }
        if shared.ended.load(Ordering::Relaxed) != 0 {
            // SAFETY: two integers; the child has not been waited for.
            unsafe { libc::kill(child, libc::SIGKILL) };
            while wait_for(-1).0 != child {}
            return End::PastTheRegion;
        }
    }
    ptrace(libc::PTRACE_CONT, thread, libc::SIGUSR1);
    let (thread, status) = wait_for(-1);
    until_its_end(child, thread, status)
}

/// The end of the child, of which this is the next event.
fn until_its_end(child: pid_t, mut thread: pid_t, mut status: c_int) -> End {
    loop {
        if libc::WIFSTOPPED(status) {
            let signal = libc::WSTOPSIG(status);
            if signal != libc::SIGALRM {
                // SAFETY: two integers; the child has not been waited for.
                unsafe { libc::kill(child, libc::SIGKILL) };
                while wait_for(-1).0 != child {}
                return End::Failed(Failure::Stop(signal));
            }
            ptrace(libc::PTRACE_CONT, thread, signal);
        } else if thread == child {
            return match libc::WIFSIGNALED(status) {
                true => End::Failed(Failure::Signal(libc::WTERMSIG(status))),
                false if libc::WEXITSTATUS(status) == 0 => End::Checked,
                false => End::Failed(Failure::Exit(libc::WEXITSTATUS(status))),
            };
        }
        (thread, status) = wait_for(-1);
    }
}

/// The child: the scenario, the checks, the end.
fn be_the_child(scenario: &Scenario, fenced: bool, shared: &'static Shared) -> ! {
    // SAFETY: an integer; one that hangs is killed.
    unsafe { libc::alarm(PATIENCE_SECONDS) };
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| {
        if fenced {
            Options::new()
                .fence(FenceMode::Fenced)
                .apply()
                .expect("no thread has read");
        }
        scenarios::install_handler(shared);
        let registered = (scenario.run)(shared);
        scenarios::check(registered, shared);
    }));
    // SAFETY: ends the process without the parent's exit handlers.
    unsafe { libc::_exit(if result.is_ok() { 0 } else { 1 }) }
}

/// The calling thread is traced from now on, and stops here: the region begins.
pub fn begin() {
    // SAFETY: no pointers. (A system call of its own, since `raise` blocks signals around it.)
    unsafe {
        let none = ptr::null_mut::<u8>();
        assert_eq!(libc::ptrace(libc::PTRACE_TRACEME, 0, none, none), 0);
        let thread = libc::syscall(libc::SYS_gettid);
        libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGSTOP);
    }
}
