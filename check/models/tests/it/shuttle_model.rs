//! The shuttle model: time, sleep and deadlocks; the errors that it finds, and those that it does not show.

use std::panic::catch_unwind;
use std::sync::Arc;
use std::time::Duration;

use quiescent_models::shuttle::Ordering::Relaxed;
use quiescent_models::shuttle::scheduler::{PctScheduler, RandomScheduler};
use quiescent_models::shuttle::{
    AtomicU32, NEVER, clock, futex_wait, futex_wake, nap, now_ns, run, spawn, tls_get, tls_set,
    yield_now,
};

const EXECUTIONS: usize = 60;

/// Runs it under both kinds of random schedules.
fn all(model: fn()) {
    run(RandomScheduler::new_from_seed(1, EXECUTIONS), model);
    run(PctScheduler::new_from_seed(1, 6, EXECUTIONS), model);
}

/// The text of the first failure.
fn failure(model: fn()) -> String {
    let payload = catch_unwind(|| all(model)).expect_err("it fails");
    let text = payload.downcast_ref::<String>().cloned();
    text.unwrap_or_else(|| (*payload.downcast_ref::<&str>().expect("a text")).to_owned())
}

/// Counts without a locked instruction.
fn lost_count() {
    let count = Arc::new(AtomicU32::new(0));
    let threads = [(); 2].map(|()| {
        let count = count.clone();
        spawn(move || {
            for _ in 0..50 {
                count.store(count.load(Relaxed) + 1, Relaxed);
            }
        })
    });
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(count.load(Relaxed), 100, "a count was lost");
}

#[test]
fn a_race_is_found() {
    let found = failure(lost_count);
    assert!(found.contains("a count was lost"), "{found}");
}

/// Each store passes the other thread's load on real machines; here none does, whatever the source says.
#[test]
fn orders_are_not_shown() {
    all(|| {
        let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let other = words.clone();
        let thread = spawn(move || {
            other[0].store(1, Relaxed);
            other[1].load(Relaxed)
        });
        words[1].store(1, Relaxed);
        let seen = words[0].load(Relaxed);
        assert!(seen == 1 || thread.join().unwrap() == 1);
    });
}

/// The word changes between the check and the sleep, or before, or after: the sleeper is woken in each case.
#[test]
fn a_wake_up_is_not_lost() {
    all(|| {
        let word = Arc::new(AtomicU32::new(0));
        let theirs = word.clone();
        let sleeper = spawn(move || futex_wait(&theirs, 0, None));
        word.store(1, Relaxed);
        futex_wake(&*word);
        sleeper.join().unwrap();
    });
}

/// A sleeper that is woken before the word changes may sleep for ever.
#[test]
fn a_lost_wake_up_is_a_deadlock() {
    let found = failure(|| {
        let word = Arc::new(AtomicU32::new(0));
        let theirs = word.clone();
        let sleeper = spawn(move || futex_wait(&theirs, 0, Some(NEVER)));
        futex_wake(&*word);
        word.store(1, Relaxed);
        sleeper.join().unwrap();
    });
    assert!(found.contains("deadlock"), "{found}");
}

/// When no thread can run, the clock advances to the first time-out.
#[test]
fn time_passes_where_no_thread_can_run() {
    all(|| {
        let late = spawn(|| {
            nap(9_000);
            clock()
        });
        let word = AtomicU32::new(0);
        futex_wait(&word, 0, Some(Duration::from_nanos(5_000)));
        assert_eq!(clock(), 5_000);
        assert_eq!(late.join().unwrap(), 9_000);
    });
}

/// Readings of the clock advance it as well: then a nap ends although others can run.
#[test]
fn looks_take_time() {
    all(|| {
        let napper = spawn(|| {
            nap(1_000);
            clock()
        });
        while now_ns() < 2_000 {
            yield_now();
        }
        let woken = napper.join().unwrap();
        assert!(woken >= 1_000, "woken at {woken}");
    });
}

/// A sleeper without a time is woken last, and the clock does not advance then.
#[test]
fn the_last_sleeper() {
    all(|| {
        let last = spawn(|| {
            yield_now();
            nap(u64::MAX);
            clock()
        });
        yield_now();
        nap(3_000);
        nap(6_000);
        assert_eq!(last.join().unwrap(), 6_000);
    });
}

#[test]
fn cells_are_a_thread_s_own_and_new_in_each_execution() {
    all(|| {
        let threads = [1, 2].map(|me| {
            spawn(move || {
                assert_eq!(tls_get(0), 0);
                tls_set(0, me);
                now_ns();
                assert_eq!(tls_get(0), me);
            })
        });
        assert_eq!(tls_get(0), 0);
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
}

/// An endless loop is a failure, too.
#[test]
fn an_execution_without_an_end() {
    let found = failure(|| {
        let word = AtomicU32::new(0);
        while word.load(Relaxed) == 0 {}
    });
    assert!(found.contains("max_steps"), "{found}");
}
