//! Long executions: time, sleep and deadlocks; the errors that they find.

use std::sync::Arc;
use std::time::Duration;

use quiescent_models::explorer::Ordering::Relaxed;
use quiescent_models::explorer::{
    AtomicU32, Model, allow_timer, clock, futex_wait, futex_wake, long, nap, now_ns, random,
    set_timer, spawn, wait_for_events, yield_now,
};

const SEEDS: u64 = 240;

/// Runs so many executions; the first failure, with its seed.
fn all(scenario: fn()) -> Result<(), (u64, String)> {
    let run = |seed| long(Model::Sc, seed, scenario).map_err(|why| (seed, why));
    (0..SEEDS).try_for_each(|seed| run(seed).map(drop))
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
    threads.into_iter().for_each(|thread| thread.join());
    assert_eq!(count.load(Relaxed), 100, "a count was lost");
}

/// A failure is found again by its seed, at the same step.
#[test]
fn a_seed_is_the_same_again() {
    let (seed, why) = all(lost_count).expect_err("a race");
    assert!(why.contains("a count was lost"), "{why}");
    for _ in 0..3 {
        assert_eq!(long(Model::Sc, seed, lost_count), Err(why.clone()));
    }
}

/// Random numbers belong to the seed: so do the actions of a life.
#[test]
fn numbers_belong_to_the_seed() {
    let drawn = |seed| long(Model::Sc, seed, || panic!("{}", random())).unwrap_err();
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

/// The word changes between the check and the sleep, or before, or after: the sleeper is woken in each case.
#[test]
fn a_wake_up_is_not_lost() {
    let found = all(|| {
        let word = Arc::new(AtomicU32::new(0));
        let theirs = word.clone();
        let sleeper = spawn(move || futex_wait(&theirs, 0, None));
        word.store(1, Relaxed);
        futex_wake(&*word);
        sleeper.join();
    });
    assert_eq!(found, Ok(()));
}

/// A sleeper that is woken before the word changes may sleep for ever: long time-outs count as none.
#[test]
fn a_lost_wake_up_is_a_deadlock() {
    let found = all(|| {
        let word = Arc::new(AtomicU32::new(0));
        let theirs = word.clone();
        let sleeper = spawn(move || futex_wait(&theirs, 0, Some(Duration::from_secs(1))));
        futex_wake(&*word);
        word.store(1, Relaxed);
        sleeper.join();
    });
    let (_, why) = found.unwrap_err();
    assert!(why.contains("deadlock"), "{why}");
}

/// When no thread can run, the clock advances to the first time-out.
#[test]
fn time_passes_where_no_thread_can_run() {
    let found = all(|| {
        let late = spawn(|| {
            nap(9_000);
            clock()
        });
        let word = AtomicU32::new(0);
        futex_wait(&word, 0, Some(Duration::from_nanos(5_000)));
        assert_eq!(clock(), 5_000);
        assert_eq!(late.join(), 9_000);
    });
    assert_eq!(found, Ok(()));
}

/// The timer fires at its time, and wakes the thread that waits for it.
#[test]
fn the_timer_fires_at_its_time() {
    let found = all(|| {
        allow_timer();
        let waits = spawn(|| (wait_for_events(), clock()));
        set_timer(7_000);
        nap(3_000);
        assert_eq!(waits.join(), ((true, false), 7_000));
    });
    assert_eq!(found, Ok(()));
}

/// Readings of the clock advance it as well: then a nap ends although others can run.
#[test]
fn looks_take_time() {
    let found = all(|| {
        let napper = spawn(|| {
            nap(1_000);
            clock()
        });
        while now_ns() < 2_000 {
            yield_now();
        }
        let woken = napper.join();
        assert!(woken >= 1_000, "woken at {woken}");
    });
    assert_eq!(found, Ok(()));
}

/// A sleeper without a time is woken last, and the clock does not advance then.
#[test]
fn the_last_sleeper() {
    let found = all(|| {
        let last = spawn(|| {
            yield_now();
            nap(u64::MAX);
            clock()
        });
        yield_now();
        nap(3_000);
        nap(6_000);
        assert_eq!(last.join(), 6_000);
    });
    assert_eq!(found, Ok(()));
}

/// An endless loop is a failure, too.
#[test]
fn an_execution_without_an_end() {
    let found = long(Model::Sc, 1, || {
        let word = AtomicU32::new(0);
        while word.load(Relaxed) == 0 {}
    });
    let why = found.unwrap_err();
    assert!(why.contains("livelock"), "{why}");
}
