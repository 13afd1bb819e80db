//! Waiting inside a section of the same thread: it panics or returns the error in every build, and never
//! waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::{PATIENCE, in_both_modes, panic_text};
use quiescent::{
    Cookie, RcuCell, RcuOption, SyncError, barrier, in_section, read, read_lock,
    start_grace_period, statistics, synchronize, synchronize_expedited, synchronize_timeout,
    try_barrier, try_synchronize,
};

/// The remedy is part of the text.
#[track_caller]
fn assert_names_the_reason(text: &str, place: &str) {
    assert!(text.starts_with(place), "{text}");
    assert!(
        text.contains("inside a read-side critical section"),
        "{text}"
    );
    assert!(text.contains("drop the guard first"), "{text}");
}

#[test]
fn every_wait_refuses_inside_a_section() {
    in_both_modes(|| {
        for depth in 1..4 {
            let guards: Vec<_> = (0..depth).map(|_| read_lock()).collect();
            let cookie = start_grace_period();
            assert_eq!(try_synchronize(), Err(SyncError::InsideSection));
            assert_eq!(synchronize_timeout(PATIENCE), Err(SyncError::InsideSection));
            assert_names_the_reason(&panic_text(synchronize), "synchronize: ");
            let text = panic_text(synchronize_expedited);
            assert_names_the_reason(&text, "synchronize_expedited: ");
            assert_names_the_reason(&panic_text(|| cookie.wait()), "");
            assert!(!cookie.is_done());
            // Nothing to wait for is no misuse.
            Cookie::COMPLETED.wait();
            assert!(in_section());
            drop(guards);
            cookie.wait();
            assert_eq!(try_synchronize(), Ok(()));
        }
    });
}

#[test]
fn with_other_threads_about_it_is_the_same() {
    in_both_modes(|| {
        let idle = crate::common::Reader::idle("idle");
        let inside = crate::common::Reader::inside("inside");
        read(|_| {
            assert_eq!(try_synchronize(), Err(SyncError::InsideSection));
            assert_eq!(synchronize_timeout(PATIENCE), Err(SyncError::InsideSection));
        });
        inside.end();
        synchronize();
        idle.end();
    });
}

/// Counts how often it is dropped.
struct Counted(Arc<AtomicU32>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_retired_value_inside_a_section_comes_back_or_is_retired() {
    in_both_modes(|| {
        let drops = Arc::new(AtomicU32::new(0));
        let count = || drops.load(Ordering::Relaxed);
        let cell = RcuCell::new(Counted(drops.clone()));
        let replace = || cell.store(Counted(drops.clone()));
        let guard = read_lock();
        // Asked politely, the value comes back, any number of times.
        let Err(refused) = replace().try_wait() else {
            panic!("waited")
        };
        assert_eq!(refused.reason, SyncError::InsideSection);
        let Err(refused) = refused.object.wait_timeout(PATIENCE) else {
            panic!("waited")
        };
        assert_eq!(refused.reason, SyncError::InsideSection);
        let back = refused.object;
        // `wait` panics, and what it was called on is retired: nothing may wait here.
        assert_names_the_reason(&panic_text(|| drop(replace().wait())), "Retired::wait: ");
        drop(replace());
        assert_eq!(try_barrier(), Err(SyncError::InsideSection));
        assert_eq!(count(), 0, "this section may still read them");
        drop(guard);
        drop(back);
        barrier();
        assert_eq!(count(), 3);
        drop(replace().wait());
        assert_eq!((statistics().leaked, count()), (0, 4));
        // Said to be kept, it is kept, and not counted as lost.
        let kept = replace().leak();
        synchronize();
        assert_eq!(
            (statistics().leaked, count(), kept.0.load(Ordering::Relaxed)),
            (0, 4, 4)
        );
        drop(cell);
        assert_eq!(count(), 5);
    });
}

#[test]
fn replacing_inside_a_section_waits_for_nothing() {
    in_both_modes(|| {
        let option = RcuOption::new(Some(1));
        let before = statistics().grace_periods;
        let retired = read(|guard| {
            let seen = option.load(guard);
            let old = option
                .compare_exchange(seen, Some(2), guard)
                .expect("the only writer");
            assert_eq!(seen, Some(&1));
            old
        });
        let emptied = read(|_| option.store(None));
        assert_eq!(statistics().grace_periods, before);
        assert_eq!(*retired.expect("it held one").wait(), 1);
        assert_eq!(*emptied.expect("it held two").wait(), 2);
        assert!(read(|guard| option.load(guard).is_none()));
    });
}
