//! Counts blocks that were freed, and how late.
//!
//! A block with a destructor reports its end to [`note`]: with the time at which it was handed over, or with
//! 0 when it is only counted. A thread counts on a cache line of its own, so counting adds no traffic between
//! processors. Delays go into one histogram behind a lock: a few thousand blocks a second do not contend for
//! it.
//!
//! The counts belong to a measuring process: they begin at its start, and are never reset.

use crate::measure::clock;
use hdrhistogram::Histogram;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Something on cache lines of its own (two, because processors fetch them in pairs).
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Line<T>(pub T);

/// Threads that count on a line of their own; the others share the last one.
const LINES: usize = 64;
static COUNTS: [Line<AtomicU64>; LINES] = [const { Line(AtomicU64::new(0)) }; LINES];
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The calling thread's line, [`LINES`] before it has one. Without a destructor, so that blocks may be
    /// freed by those of other thread-locals.
    static MINE: Cell<usize> = const { Cell::new(LINES) };
}

/// The longest delay that is recorded as such, in µs: an hour.
const LONGEST: u64 = 3_600_000_000;

static DELAYS: LazyLock<Mutex<Histogram<u64>>> = LazyLock::new(|| Mutex::new(delays()));

/// A histogram of delays in µs, three digits.
fn delays() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST, 3).expect("1 is less than an hour")
}

/// A block was freed that was handed over at this time ([`clock::monotonic_ns`]); 0 when it is only to be
/// counted.
pub extern "C" fn note(handed_over: u64) {
    let mine = MINE.get();
    let mine = match mine < LINES {
        true => mine,
        false => {
            let next = THREADS.fetch_add(1, Relaxed).min(LINES - 1);
            MINE.set(next);
            next
        }
    };
    let count = &COUNTS[mine].0;
    match mine < LINES - 1 {
        // The only thread that writes here.
        true => count.store(count.load(Relaxed) + 1, Relaxed),
        false => _ = count.fetch_add(1, Relaxed),
    }
    if handed_over != 0 {
        delayed(clock::monotonic_ns().saturating_sub(handed_over), 1);
    }
}

/// So many blocks were freed this late.
pub fn delayed(ns: u64, blocks: u64) {
    let mut delays = DELAYS.lock().unwrap_or_else(PoisonError::into_inner);
    delays.saturating_record_n((ns / 1_000).max(1), blocks);
}

/// How many blocks were said to be freed.
pub fn count() -> u64 {
    COUNTS.iter().map(|line| line.0.load(Relaxed)).sum()
}

/// What is known of the delays so far.
pub fn take_delays() -> Histogram<u64> {
    let mut delays_so_far = DELAYS.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::replace(&mut *delays_so_far, delays())
}

/// Held by every test that retires in the test's own process: settling some libraries asks that no other test
/// is there.
#[cfg(test)]
pub(crate) static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_apart_and_together() {
        let _alone = ALONE.lock().unwrap();
        let before = count();
        std::thread::scope(|scope| {
            for _ in 0..2 * LINES {
                scope.spawn(|| (0..10).for_each(|_| note(0)));
            }
        });
        assert_eq!(count() - before, 20 * LINES as u64);
    }

    #[test]
    fn delays_are_from_the_time_that_was_given() {
        let _alone = ALONE.lock().unwrap();
        take_delays();
        note(clock::monotonic_ns() - 5_000_000);
        delayed(0, 2);
        delayed(u64::MAX, 1);
        let delays = take_delays();
        assert_eq!(delays.len(), 4);
        assert_eq!(delays.value_at_quantile(0.5), 1, "two of four at once");
        assert!(delays.value_at_quantile(0.75) >= 5_000, "5 ms or more");
        assert!(delays.max() >= LONGEST);
        assert_eq!(take_delays().len(), 0);
    }
}
