//! Waiting: deadlines, every form, one grace period for several callers.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::healed::Delays;
use crate::common::{PATIENCE, Reader, SHORT, in_both_modes, sleepers, until};
use quiescent::stats::holdouts;
use quiescent::{
    SyncError, read, start_grace_period, statistics, synchronize, synchronize_expedited,
    synchronize_timeout, try_synchronize,
};

#[test]
fn a_deadline_names_who_is_in_the_way() {
    in_both_modes(|| {
        let idle = Reader::idle("innocent");
        let inside = Reader::inside("stubborn");
        for deadline in [Duration::ZERO, SHORT, SHORT] {
            let error = synchronize_timeout(deadline).expect_err("a reader is inside");
            let text = error.to_string();
            let SyncError::TimedOut { holdouts } = error else {
                panic!("{error:?}")
            };
            assert_eq!(holdouts.len(), 1, "{holdouts:?}");
            assert_eq!(holdouts[0].thread_id, inside.thread_id);
            assert_eq!(holdouts[0].name.as_deref(), Some("stubborn"));
            assert_eq!(holdouts[0].nesting, 1);
            assert!(text.contains("\"stubborn\" (nesting 1)"), "{text}");
        }
        // The grace period still exists without a driver, and so does its reader.
        assert_eq!((statistics().busy, statistics().holdouts), (true, 1));
        assert_eq!(holdouts().len(), 1);
        inside.end();
        assert_eq!(synchronize_timeout(PATIENCE), Ok(()));
        assert_eq!((statistics().busy, statistics().holdouts), (false, 0));
        idle.end();
    });
}

#[test]
fn a_deadline_of_zero_suffices_without_readers() {
    in_both_modes(|| {
        let idle = Reader::idle("idle");
        for _ in 0..100 {
            assert_eq!(synchronize_timeout(Duration::ZERO), Ok(()));
            assert_eq!(synchronize_timeout(Duration::MAX), Ok(()));
        }
        idle.end();
    });
}

#[test]
fn every_form_waits_for_a_grace_period() {
    in_both_modes(|| {
        type Form = fn(quiescent::Cookie);
        let forms: [Form; 5] = [
            |_| synchronize(),
            |_| synchronize_expedited(),
            |_| try_synchronize().expect("nothing is wrong"),
            |_| synchronize_timeout(PATIENCE).expect("the reader leaves"),
            quiescent::Cookie::wait,
        ];
        for form in forms {
            let inside = Reader::inside("inside");
            let done = AtomicBool::new(false);
            let sleeping = statistics().sleeps;
            thread::scope(|scope| {
                let (done, cookie) = (&done, start_grace_period());
                scope.spawn(move || {
                    form(cookie);
                    done.store(true, Ordering::Relaxed);
                });
                until("the driver sleeps", || statistics().sleeps > sleeping);
                assert!(!done.load(Ordering::Relaxed), "it did not wait");
                inside.end();
            });
            assert!(done.load(Ordering::Relaxed));
        }
    });
}

#[test]
fn many_callers_share_grace_periods() {
    in_both_modes(|| {
        const CALLERS: usize = 24;
        for _ in 0..5 {
            let inside = Reader::inside("inside");
            let before = statistics();
            thread::scope(|scope| {
                let callers = sleepers(scope, CALLERS, synchronize);
                inside.end();
                callers
                    .into_iter()
                    .for_each(|caller| caller.join().expect("no panic"));
            });
            let after = statistics();
            // One for the first caller, one for the rest; a few more if some came late.
            let periods = after.grace_periods - before.grace_periods;
            assert!(
                (2..CALLERS as u64 / 2).contains(&periods),
                "{periods} for {CALLERS} calls"
            );
            // The first was satisfied while others waited, and left.
            assert!(after.hand_overs > before.hand_overs, "{after:?}");
        }
        assert_eq!(statistics().stalls, 0);
    });
}

/// The second caller waits for the first, which waits for a reader. Its own look would come 0.1 s after it
/// began to sleep: later than what counts as late.
#[test]
fn a_wake_up_is_not_left_to_a_time_out() {
    in_both_modes(|| {
        let (delays, late) = (Delays::default(), statistics().late_wakeups);
        for _ in 0..20 {
            let inside = Reader::inside("inside");
            thread::scope(|scope| {
                sleepers(scope, 2, || delays.of(synchronize));
                inside.end();
            });
        }
        let late = statistics().late_wakeups - late;
        assert!(late <= delays.late(), "{late} late, but {}", delays.late());
    });
}

#[test]
fn callers_that_come_all_at_once_all_return() {
    in_both_modes(|| {
        const CALLERS: usize = 40;
        let barrier = Barrier::new(CALLERS);
        thread::scope(|scope| {
            for caller in 0..CALLERS {
                let barrier = &barrier;
                scope.spawn(move || {
                    for round in 0..50 {
                        barrier.wait();
                        read(|_| ());
                        match (caller + round) % 3 {
                            0 => synchronize_expedited(),
                            _ => synchronize(),
                        }
                    }
                });
            }
        });
        assert_eq!((statistics().stalls, statistics().busy), (0, false));
    });
}
