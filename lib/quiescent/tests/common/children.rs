//! Children of a fork: their code, and how they end.
//!
//! The standard library has a lock that each of its threads takes as it ends, and that the next one takes as
//! it starts. So a test joins the threads that it has ended before it forks: the end of a scope comes before
//! that of its threads. (The library's own threads are not of that kind.)

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use quiescent::{Kind, RcuDomain};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Seconds after which a child that still runs is killed by the kernel: it hangs.
const PATIENCE: u32 = 20;

/// A child of this process.
#[must_use = "a child is checked only by `join`"]
pub struct Child(libc::pid_t);

/// Forks; the child runs `body` and ends with 0, or with 1 if that panics.
pub fn fork(body: impl FnOnce()) -> Child {
    fork_code(|| match catch_unwind(AssertUnwindSafe(body)) {
        Ok(()) => 0,
        Err(_) => 1,
    })
}

/// Forks; the child ends with what `body` returns.
pub fn fork_code(body: impl FnOnce() -> i32) -> Child {
    // SAFETY: the children of these tests make only calls that this library permits there.
    match unsafe { libc::fork() } {
        -1 => panic!("fork: {}", std::io::Error::last_os_error()),
        0 => {
            limit();
            // SAFETY: takes a number.
            unsafe { libc::_exit(body()) }
        }
        pid => Child(pid),
    }
}

/// The kernel ends this process if it hangs, whatever signals the thread that forked had blocked.
pub fn limit() {
    // SAFETY: the set is plain data, filled in before it is used; the rest are numbers.
    unsafe {
        let mut alarm: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut alarm);
        libc::sigaddset(&mut alarm, libc::SIGALRM);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &alarm, std::ptr::null_mut());
        libc::alarm(PATIENCE);
    }
}

impl Child {
    /// Waits for its end; what it ended with.
    ///
    /// # Panics
    /// If a signal killed it.
    #[track_caller]
    pub fn code(self) -> i32 {
        let mut status = 0;
        // SAFETY: `status` is writable.
        let waited = unsafe { libc::waitpid(self.0, &mut status, 0) };
        assert_eq!(waited, self.0);
        let hangs = libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGALRM;
        assert!(!hangs, "the child hangs");
        assert!(
            libc::WIFEXITED(status),
            "the child ended with status {status:#x}"
        );
        libc::WEXITSTATUS(status)
    }

    /// Waits for its end: was it a good one?
    pub fn ends_well(self) -> bool {
        let mut status = 0;
        // SAFETY: `status` is writable.
        let waited = unsafe { libc::waitpid(self.0, &mut status, 0) };
        waited == self.0 && status == 0
    }

    /// Waits for its end, which must be a good one.
    #[track_caller]
    pub fn join(self) {
        assert_eq!(self.code(), 0, "the child failed");
    }
}

/// Forks, and waits for the child.
#[track_caller]
pub fn in_child(body: impl FnOnce()) {
    fork(body).join();
}

/// Readers of this process stay inside for as long as its children take, which is any time on a busy
/// machine. So drivers do not look for stalls, and none is counted. (One that misses its wake-up hangs.)
pub fn readers_stay_meanwhile() {
    quiescent::report::set_stall_after(Duration::ZERO);
}

/// Everything works in the domain, which is at rest then.
pub fn works_and_rests<K: Kind>(domain: &'static RcuDomain<(), K>) {
    let ran: &AtomicU32 = Box::leak(Box::default());
    let count = || {
        ran.fetch_add(1, Ordering::Relaxed);
    };
    domain.defer_hurry(count);
    domain.defer(count);
    drop(domain.read_lock());
    domain.synchronize();
    domain.barrier();
    assert_eq!(ran.load(Ordering::Relaxed), 2);
    super::until("nothing keeps the domain busy", || {
        domain.statistics().at_rest
    });
}
