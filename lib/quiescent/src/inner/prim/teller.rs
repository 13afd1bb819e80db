//! One thread at a time calls the program's reporter.
//!
//! A reporter may end its thread, also where no destructor of a frame runs. So the word says which thread it is, and whoever notices the
//! end of a thread gives back what that has left.

use super::{AtomicU32, Ordering, thread_id};

/// No thread has the number 0.
const NOBODY: u32 = 0;

/// The thread that calls the reporter.
#[derive(Debug)]
pub(crate) struct Teller(AtomicU32);

impl Teller {
    const_new! {
        pub(crate) fn new() -> Teller {
            Teller(AtomicU32::new(NOBODY))
        }
    }

    /// Makes it the calling thread. False: another one is, or this one already.
    pub(crate) fn begin(&self) -> bool {
        let order = (Ordering::Acquire, Ordering::Relaxed);
        (self.0)
            .compare_exchange(NOBODY, thread_id(), order.0, order.1)
            .is_ok()
    }

    /// The reporter has returned.
    pub(crate) fn end(&self) {
        self.0.store(NOBODY, Ordering::Release);
    }

    /// The calling thread ends: in the reporter, perhaps.
    #[cfg(not(quiescent_model))]
    pub(crate) fn leave(&self) {
        let order = (Ordering::Release, Ordering::Relaxed);
        let _ = (self.0).compare_exchange(thread_id(), NOBODY, order.0, order.1);
    }
}
