//! Values that count how many of them are there.

use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

/// How many values there are of those that it has made.
#[derive(Clone, Default)]
pub struct Count(Arc<AtomicIsize>);

impl Count {
    pub fn value(&self, number: u64) -> Counted {
        self.0.fetch_add(1, Ordering::Relaxed);
        Counted(number, self.0.clone())
    }

    pub fn now(&self) -> isize {
        self.0.load(Ordering::Relaxed)
    }
}

pub struct Counted(pub u64, Arc<AtomicIsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        // A second drop of the same value would count below.
        assert_ne!(self.0, u64::MAX, "dropped twice");
        self.0 = u64::MAX;
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A batch that is not full is asked for, taken, and freed at three barriers; at more, if another test's
/// barrier has just begun with it.
pub fn barriers_until(done: impl Fn() -> bool) {
    (0..100)
        .take_while(|_| !done())
        .for_each(|_| quiescent::barrier());
}
