//! Backlogs while the library gets no threads.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::backlog::{
    ENTERED, MANY, OUT_OF_ORDER, RAN, has_second, pile_up, two_processors,
};
use crate::common::deferral::until_at_rest;
use crate::common::isolated;
use quiescent::{barrier, defer_hurry, statistics};

static REFUSES: AtomicBool = AtomicBool::new(false);

/// Is a thread that the caller creates refused? The library blocks the program's signals before.
pub fn refuses_thread() -> bool {
    // SAFETY: plain data, filled in before it is read; the call changes nothing.
    let masks = unsafe {
        let mut now: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut now);
        libc::sigismember(&raw const now, libc::SIGTERM) == 1
    };
    REFUSES.load(Ordering::Acquire) && masks
}

/// A backlog that waits until it is complete.
fn backlog(second: bool) {
    static RELEASE: AtomicBool = AtomicBool::new(false);
    ENTERED.store(0, Ordering::SeqCst);
    RAN.store(0, Ordering::SeqCst);
    let over = match second {
        true => || RAN.load(Ordering::SeqCst) >= MANY / 2,
        false => || RELEASE.swap(false, Ordering::SeqCst),
    };
    pile_up(over, || ());
    RELEASE.store(!second, Ordering::SeqCst);
    barrier();
    assert_eq!(
        (
            RAN.load(Ordering::SeqCst),
            OUT_OF_ORDER.load(Ordering::SeqCst)
        ),
        (MANY, 0)
    );
}

/// The worker does everything, and asks once.
#[test]
fn a_second_worker_that_cannot_be_started_is_asked_for_once() {
    isolated(|| {
        if !two_processors() {
            return;
        }
        defer_hurry(|| ());
        barrier();
        let errors = || statistics().worker_errors;
        assert_eq!(errors(), 0);
        REFUSES.store(true, Ordering::Release);
        for _ in 0..2 {
            backlog(false);
            assert!(!has_second());
            assert_eq!((errors(), statistics().worker_wakeups.backlog), (1, 1));
        }
        REFUSES.store(false, Ordering::Release);
        backlog(false);
        assert!(!has_second(), "it was not asked for");
        assert_eq!(errors(), 1);
        until_at_rest();
    });
}
