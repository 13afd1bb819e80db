//! Mutual exclusion of calls of the program's reporter.

use super::{AtomicU32, Ordering};

/// One while a thread calls the reporter.
#[derive(Debug)]
pub struct Teller(AtomicU32);

impl Teller {
    const_new! {
        pub fn new() -> Teller {
            Teller(AtomicU32::new(0))
        }
    }

    /// The calling thread begins. False: another thread, or this one already, calls the reporter.
    pub fn begin(&self) -> bool {
        self.0.swap(1, Ordering::Acquire) == 0
    }

    /// The reporter has returned.
    pub fn end(&self) {
        self.0.store(0, Ordering::Release);
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    #[test]
    fn one_thread_tells_at_a_time() {
        let teller = Teller::new();
        assert!(teller.begin() && !teller.begin());
        teller.end();
        assert!(teller.begin());
    }
}
