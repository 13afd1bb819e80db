//! What is left when no thread calls any more is done by the library.

use crate::alone::alone;
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

/// Of the calling thread, so far.
#[cfg(target_os = "linux")]
pub fn page_faults() -> i64 {
    // SAFETY: numbers, which zeros are.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: it writes to the place that it is given.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    assert_eq!(failed, 0);
    usage.ru_minflt
}

/// A page that is read before it is written takes two faults, and the second one interrupts the program's
/// other CPUs: then look-ups there take microseconds while a map grows.
#[test]
#[cfg(target_os = "linux")]
fn a_new_table_is_written_before_it_is_read() {
    alone(|| {
        const ENTRIES: u64 = 1 << 20;
        let map: RcuHashMap<u64, ()> = RcuHashMap::new();
        for key in 0..ENTRIES / 16 {
            map.pin().insert(key, ());
        }
        let before = page_faults();
        for key in ENTRIES / 16..ENTRIES {
            map.pin().insert(key, ());
        }
        let faults = page_faults() - before;
        // Entries of 8 bytes; a bucket of 64 bytes for 8, and the smaller tables before.
        let pages = (8 * ENTRIES + 2 * 8 * ENTRIES) as i64 / 4096;
        assert!(faults <= pages * 6 / 5, "{faults} faults in {pages} pages");
    });
}
