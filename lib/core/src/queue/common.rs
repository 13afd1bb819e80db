//! Data that all queues of a process share.

use crate::queue::block::Block;
use crate::queue::meter::{CountsOf, Meter};
use crate::queue::per_thread::Queue;

/// The queue of threads that have none, the block they push into, and the meter.
#[derive(Debug)]
pub struct Common {
    /// It has no credit, so every push takes the slow path.
    pub dummy: Queue,
    /// Its block, whose content is unused.
    pub nothing: &'static Block,
    pub meter: Meter,
}

impl Common {
    const_new! {
        /// # Safety
        /// The value is placed at `place` and stays there forever; `home` is the state of the process's
        /// domain.
        pub unsafe fn new(
            place: *const Common,
            home: *const (),
            counts: CountsOf,
            nothing: &'static Block,
        ) -> Common {
            Common {
                // SAFETY: the caller's promise.
                dummy: unsafe { Queue::new(0, place, home, nothing) },
                nothing,
                meter: Meter::new(counts),
            }
        }
    }
}
