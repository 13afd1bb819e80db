//! Data that all queues of a process share.

use crate::queue::lane::Block;
use crate::queue::meter::Meter;
use crate::queue::per_thread::Queue;

/// The queue of threads that have none, the block they push into, and the meter.
#[derive(Debug)]
pub struct Common {
    /// It has no credit, so every push takes the slow path.
    pub dummy: Queue,
    /// No thread uses its content.
    block: Block,
    pub meter: &'static dyn Meter,
}

impl Common {
    const_new! {
        /// # Safety
        /// The value is placed at `place` and stays there forever; `home` is the state of the process's
        /// domain.
        pub unsafe fn new(
            place: *const Common,
            home: *const (),
            meter: &'static dyn Meter,
        ) -> Common {
            Common {
                // SAFETY: the caller's promise.
                dummy: unsafe { Queue::new(0, place, home) },
                block: Block::new(),
                meter,
            }
        }
    }

    /// The block of threads without a queue, in `common`.
    ///
    /// # Safety
    /// `common` is the address of a `Common`, which may be uninitialized.
    pub const unsafe fn block(common: *const Common) -> *mut Block {
        // SAFETY: an address inside it; nothing is read.
        unsafe { &raw const (*common).block }.cast_mut()
    }
}
