//! The overflow worker: it runs during a backlog, keeps the order of callbacks, sleeps afterwards, and is
//! replaced when it is stuck. Programs without backlogs have none.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::backlog::{
    ENTERED, MANY, OUT_OF_ORDER, RAN, has_second, pile_up, two_processors,
};
use crate::common::deferral::{library_switches, library_threads, until_at_rest};
use crate::common::healed;
use crate::common::{in_both_modes, isolated, until};
use quiescent::{barrier, defer, drain, statistics};

#[test]
fn a_backlog_has_a_second_worker_and_keeps_its_order() {
    needs!(native);
    needs!(silent_timer);
    in_both_modes(|| {
        // Another thread runs what the worker waits for.
        pile_up(|| RAN.load(Ordering::SeqCst) >= MANY / 2, || ());
        barrier();
        assert_eq!(RAN.load(Ordering::SeqCst), MANY);
        assert_eq!(OUT_OF_ORDER.load(Ordering::SeqCst), 0);
        let now = statistics();
        assert_eq!((now.callbacks, now.queued), (MANY + 1, 0));
        if two_processors() {
            assert!(now.worker_wakeups.backlog > 0, "{now:?}");
            // It may not have run before it was needed no more, and names itself.
            until("there is a second one", has_second);
        }
        // It stays, and does nothing: no library thread runs.
        until_at_rest();
        let before = (library_switches(), statistics().worker_passes);
        thread::sleep(std::time::Duration::from_millis(1500));
        assert_eq!((library_switches(), statistics().worker_passes), before);
    });
}

/// What a dropped domain has left runs inside of a callback of the process's domain. The overflow worker that
/// runs both goes on after it, and rests.
#[test]
fn a_second_worker_that_empties_a_dropped_domain_stays() {
    needs!(linux);
    in_both_modes(|| {
        healed::expected(); // the callback that waits for half of the others may be found stuck
        static LEFT: AtomicU64 = AtomicU64::new(0);
        pile_up(
            || RAN.load(Ordering::SeqCst) >= MANY / 2,
            || {
                let domain = quiescent::Domain::new();
                (0..9).for_each(|_| domain.defer(|| _ = LEFT.fetch_add(1, Ordering::SeqCst)));
            },
        );
        barrier();
        assert_eq!(
            (LEFT.load(Ordering::SeqCst), RAN.load(Ordering::SeqCst)),
            (9, MANY)
        );
        until_at_rest();
        if two_processors() {
            assert!(
                statistics().worker_wakeups.backlog > 0,
                "{:?}",
                statistics()
            );
            until("it is still there", has_second);
        }
    });
}

#[test]
fn a_quiet_program_has_none() {
    in_both_modes(|| {
        for round in 0..20 {
            let producers = (0..4).map(|_| {
                thread::spawn(move || {
                    (0..1000).for_each(|n| defer(move || assert!(n + round < 2000)))
                })
            });
            for producer in producers.collect::<Vec<_>>() {
                producer.join().expect("no panic");
            }
            barrier();
        }
        let now = statistics();
        assert_eq!((now.callbacks, now.worker_wakeups.backlog), (80_000, 0));
        assert!(!has_second(), "{:?}", library_threads());
    });
}

#[test]
fn a_second_worker_that_is_stuck_is_replaced() {
    in_both_modes(|| {
        healed::expected();
        // The worker goes on as soon as another thread is in the producer's first callback, which does not
        // return before all behind it have been run.
        pile_up(
            || ENTERED.load(Ordering::SeqCst) == 2,
            || {
                defer(|| {
                    ENTERED.fetch_add(1, Ordering::SeqCst);
                    until("the others have run", || RAN.load(Ordering::SeqCst) == MANY);
                });
            },
        );
        until("the others have run", || RAN.load(Ordering::SeqCst) == MANY);
        barrier();
        assert_eq!(OUT_OF_ORDER.load(Ordering::SeqCst), 0);
        let now = statistics();
        assert_eq!(now.callbacks, MANY + 2);
        assert!(now.callbacks_stuck > 0, "{now:?}");
        // Another overflow worker is ready for the next backlog: the one that returned late has ended.
        assert_eq!(drain(crate::common::PATIENCE).left, 0);
        until("it has gone", || {
            !has_second() || statistics().callbacks_stuck > 1
        });
        until_at_rest(); // no thread looks after it any more
    });
}

/// While the overflow worker is in a callback, the worker looks after it once a second, and sleeps.
#[test]
fn the_worker_sleeps_beside_a_second_one_that_is_busy() {
    isolated(|| {
        if !two_processors() {
            return;
        }
        static LEAVE: AtomicBool = AtomicBool::new(false);
        // The producer's first callback is the second worker's, and takes a while; the worker's is over then.
        pile_up(
            || ENTERED.load(Ordering::SeqCst) == 2,
            || {
                defer(|| {
                    ENTERED.fetch_add(1, Ordering::SeqCst);
                    until("it has been watched", || LEAVE.load(Ordering::SeqCst));
                });
            },
        );
        until("one is in there", || ENTERED.load(Ordering::SeqCst) == 2);
        thread::sleep(Duration::from_millis(50));
        let looks = || statistics().worker_passes + statistics().worker_wakeups.timer;
        let before = looks();
        thread::sleep(Duration::from_millis(200));
        let passes = looks() - before;
        LEAVE.store(true, Ordering::SeqCst);
        barrier();
        assert!(passes < 100, "{passes} passes");
        assert_eq!((RAN.load(Ordering::SeqCst), statistics().queued), (MANY, 0));
    });
}

/// Restricts this process to one processor.
#[cfg(target_os = "linux")]
fn on_one_processor() {
    // SAFETY: plain data, which the calls read and write.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of_val(&all), &mut all), 0);
        let first = (0..1024).find(|cpu| libc::CPU_ISSET(*cpu, &all));
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(first.expect("this thread runs"), &mut one);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&one), &one), 0);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn on_one_processor_there_is_no_second_worker() {
    isolated(|| {
        on_one_processor();
        for round in 1..=2 {
            ENTERED.store(0, Ordering::SeqCst);
            RAN.store(0, Ordering::SeqCst);
            let now = || statistics().worker_wakeups.backlog;
            pile_up(|| RELEASE.swap(false, Ordering::SeqCst), || ());
            RELEASE.store(true, Ordering::SeqCst);
            barrier();
            assert_eq!(
                (
                    RAN.load(Ordering::SeqCst),
                    OUT_OF_ORDER.load(Ordering::SeqCst)
                ),
                (MANY, 0)
            );
            assert!(!has_second(), "in round {round}");
            // It is asked for once, and never again.
            assert_eq!(now(), 1, "in round {round}");
        }
        until_at_rest();
    });
}

static RELEASE: AtomicBool = AtomicBool::new(false);
