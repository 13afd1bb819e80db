//! Statistics counters. Never part of an algorithm, so the models do not see them.

use std::sync::atomic::Ordering;

/// A counter.
pub type Counter = std::sync::atomic::AtomicU64;

/// Adds one to a counter.
pub fn count(counter: &Counter) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Adds some to a counter.
pub fn add(counter: &Counter, some: u64) {
    if some != 0 {
        counter.fetch_add(some, Ordering::Relaxed);
    }
}

/// Subtracts one from a counter, unless it is 0, as after a fork.
pub fn uncount(counter: &Counter) {
    let order = Ordering::Relaxed;
    let _ = counter.fetch_update(order, order, |value| value.checked_sub(1));
}

/// The value of a counter.
pub fn value(counter: &Counter) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    #[test]
    fn a_counter_counts_up_and_down_to_zero() {
        let counter = Counter::new(0);
        uncount(&counter);
        assert_eq!(value(&counter), 0);
        count(&counter);
        add(&counter, 5);
        add(&counter, 0);
        assert_eq!(value(&counter), 6);
        uncount(&counter);
        assert_eq!(value(&counter), 5);
    }
}
