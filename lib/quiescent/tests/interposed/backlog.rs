//! Backlogs while the library gets no threads.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::backlog::{
    ENTERED, MANY, OUT_OF_ORDER, RAN, has_second, pile_up, two_processors,
};
use crate::common::deferral::until_at_rest;
use crate::common::isolated;
use quiescent::{barrier, defer_hurry, statistics};

unsafe extern "C" {
    fn pthread_attr_getdetachstate(how: *const libc::pthread_attr_t, detached: *mut c_int)
    -> c_int;
}

static REFUSES: AtomicBool = AtomicBool::new(false);

/// Is a thread with these attributes refused? Those of the library are detached from their start.
///
/// # Safety
/// Null, or attributes of a thread.
pub unsafe fn refuses_thread(how: *const libc::pthread_attr_t) -> bool {
    let mut detached = 0;
    // SAFETY: `detached` is writable; the caller's promise.
    let is_known =
        !how.is_null() && unsafe { pthread_attr_getdetachstate(how, &mut detached) } == 0;
    REFUSES.load(Ordering::Acquire) && is_known && detached == libc::PTHREAD_CREATE_DETACHED
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
