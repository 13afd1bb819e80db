//! Mutual exclusion of calls of the program's reporter.
//!
//! A reporter may end its thread, possibly without running the destructors of its frames. So the word
//! contains the thread's id, and the code that detects the end of a thread releases what that thread has
//! left.

use super::{AtomicU32, Ordering, thread_id};

/// No thread has the id 0.
const NO_THREAD: u32 = 0;

/// The thread that calls the reporter.
#[derive(Debug)]
pub struct Teller(AtomicU32);

impl Teller {
    const_new! {
        pub fn new() -> Teller {
            Teller(AtomicU32::new(NO_THREAD))
        }
    }

    /// Enters the calling thread. False: another thread, or this one already, calls the reporter.
    pub fn begin(&self) -> bool {
        let order = (Ordering::Acquire, Ordering::Relaxed);
        (self.0)
            .compare_exchange(NO_THREAD, thread_id(), order.0, order.1)
            .is_ok()
    }

    /// The reporter has returned.
    pub fn end(&self) {
        self.0.store(NO_THREAD, Ordering::Release);
    }

    /// The calling thread ends, possibly inside the reporter.
    pub fn leave(&self) {
        let order = (Ordering::Release, Ordering::Relaxed);
        let _ = (self.0).compare_exchange(thread_id(), NO_THREAD, order.0, order.1);
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    #[test]
    fn one_thread_tells_at_a_time_and_may_leave_its_own_turn_only() {
        let teller = Teller::new();
        assert!(teller.begin() && !teller.begin());
        std::thread::scope(|scope| scope.spawn(|| teller.leave()).join()).expect("no panic");
        assert!(!teller.begin(), "it is this thread's");
        teller.leave();
        assert!(teller.begin());
        teller.end();
        assert!(teller.begin());
    }
}
