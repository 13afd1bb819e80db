//! The overflow worker: it runs during a backlog, keeps the order of callbacks, sleeps afterwards, and is
//! replaced when it is stuck. Programs without backlogs have none.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::common::deferral::{library_switches, library_threads, until_at_rest};
use crate::common::healed;
use crate::common::{in_both_modes, on_thread, until};
use quiescent::{barrier, defer, defer_hurry, drain, statistics};

/// So many gather behind a worker that is busy.
const MANY: u64 = 40_000;
const NAME: &str = "quiescent-3";

static ENTERED: AtomicU64 = AtomicU64::new(0);
static RAN: AtomicU64 = AtomicU64::new(0);
static OUT_OF_ORDER: AtomicU64 = AtomicU64::new(0);

/// The next callback of a producer runs: it must be this one.
fn run(index: u64) {
    let before = RAN.fetch_add(1, Ordering::SeqCst);
    OUT_OF_ORDER.fetch_add(u64::from(before != index), Ordering::SeqCst);
}

/// May there be two?
fn two_processors() -> bool {
    thread::available_parallelism().is_ok_and(|processors| processors.get() > 1)
}

fn has_second() -> bool {
    let is_second = |task: &u32| {
        std::fs::read_to_string(format!("/proc/self/task/{task}/comm"))
            .is_ok_and(|name| name.trim_end() == NAME)
    };
    library_threads().iter().any(is_second)
}

/// The worker is in a callback until `over`; meanwhile another thread calls `first` and queues `MANY`.
fn pile_up(over: fn() -> bool, first: impl FnOnce() + Send + 'static) {
    on_thread("busy", move || {
        defer_hurry(move || {
            ENTERED.fetch_add(1, Ordering::SeqCst);
            until("others have run", over);
        });
    });
    until("the worker is busy", || ENTERED.load(Ordering::SeqCst) == 1);
    on_thread("producer", move || {
        first();
        (0..MANY).for_each(|index| defer(move || run(index)));
    });
}

#[test]
#[cfg_attr(
    quiescent_portable,
    ignore = "SKIPPED: needs a timer that wakes no thread when it is set"
)]
fn a_backlog_has_a_second_worker_and_keeps_its_order() {
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
    in_both_modes(|| {
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
    });
}

unsafe extern "C-unwind" {
    fn pthread_exit(value: *mut std::ffi::c_void) -> !;
}

#[test]
fn a_second_worker_whose_thread_a_callback_ends_leaves_nothing_behind() {
    in_both_modes(|| {
        if !two_processors() {
            return;
        }
        // The first of them is not the worker's: that one waits until it has been run.
        pile_up(
            || ENTERED.load(Ordering::SeqCst) == 2,
            || {
                defer(|| {
                    ENTERED.fetch_add(1, Ordering::SeqCst);
                    // SAFETY: on a thread of the library's, which allows for it.
                    unsafe { pthread_exit(std::ptr::null_mut()) }
                });
            },
        );
        barrier();
        assert_eq!(
            RAN.load(Ordering::SeqCst),
            MANY,
            "its turn has ended with it"
        );
        assert_eq!(OUT_OF_ORDER.load(Ordering::SeqCst), 0);
        let now = statistics();
        assert_eq!((now.callbacks, now.queued), (MANY + 2, 0));
        // Its post is free: the next backlog has a second worker again.
        let before = now.worker_wakeups.backlog;
        ENTERED.store(0, Ordering::SeqCst);
        RAN.store(0, Ordering::SeqCst);
        pile_up(|| RAN.load(Ordering::SeqCst) >= MANY / 2, || ());
        barrier();
        assert_eq!(RAN.load(Ordering::SeqCst), MANY);
        assert!(statistics().worker_wakeups.backlog > before);
    });
}
