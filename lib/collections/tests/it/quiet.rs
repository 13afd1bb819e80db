//! What is left when no thread calls any more is done by the library.

use crate::counted::Count;
use quiescent::tuning::{FlushTimes, flush_times, set_flush_times};
use quiescent_collections::RcuHashMap;
use std::time::{Duration, Instant};

/// Waits without a call of the library.
fn wait_for(what: impl Fn() -> bool) {
    let begin = Instant::now();
    while !what() {
        assert!(
            begin.elapsed() < Duration::from_secs(100),
            "it does not happen"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What is lazy is freed in fractions of a second.
fn flush_soon() {
    let lazy = Duration::from_millis(200);
    set_flush_times(FlushTimes {
        lazy,
        ..flush_times()
    });
}

#[test]
fn a_batch_that_is_not_full_is_freed_without_a_call() {
    flush_soon();
    let count = Count::default();
    let map = RcuHashMap::new();
    for n in 0..100 {
        map.pin().insert(n, count.value(n));
    }
    for n in 0..3 {
        map.pin().remove(&n);
    }
    wait_for(|| count.now() == 97);
    // And again: the callback is armed anew.
    for n in 3..6 {
        map.pin().remove(&n);
    }
    wait_for(|| count.now() == 94);
}

#[test]
fn a_batch_of_a_thread_that_has_ended_is_freed() {
    flush_soon();
    let count = Count::default();
    let map = RcuHashMap::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            map.pin().insert(1, count.value(1));
            map.pin().remove(&1);
        });
    });
    wait_for(|| count.now() == 0);
}
