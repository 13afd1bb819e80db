//! What readers tell a domain when a grace period waits for them.

use quiescent_engine::CpuId;

use crate::inner::domain::Readers;
use crate::inner::domain::state::State;
use crate::inner::prim::{self, Ordering};
use crate::inner::reader::counted::Counted;
use crate::inner::reader::word::{FLAG_CLEAR, Reader};

impl State {
    /// The calling thread's number among the readers, if it is one.
    #[inline]
    pub(crate) fn own_cpu(&self) -> Option<CpuId> {
        match &self.domain().readers {
            Readers::Threads => self.env().own_slot().map(|slot| slot.cpu()),
            Readers::Spots(_) => self.domain().own_spot().map(|spot| spot.cpu()),
            Readers::Counted(_) => None,
        }
    }

    /// Is the calling thread in a section that only this domain's grace periods wait for?
    pub(crate) fn is_inside(&self) -> bool {
        match &self.domain().readers {
            Readers::Spots(_) => self.domain().is_inside_here(),
            _ => false,
        }
    }

    /// A reader that was flagged has ended its section: clears its flag and wakes the driver, or the worker that
    /// waits for it. Called by readers, perhaps in a signal handler: no lock.
    pub(crate) fn wake_driver(&self, reader: &Reader) {
        // Both are locked instructions, in this order: [FS-1].
        reader.flag.swap(FLAG_CLEAR, Ordering::AcqRel); // [GR-1]
        self.reader_is_out();
    }

    /// A reader for which a driver or the worker waits is outside.
    pub(crate) fn reader_is_out(&self) {
        self.rouse_driver(true);
        self.tell_worker();
    }

    /// A counted section has ended, and a driver waits for its count: it is woken if that was the last one.
    #[cold]
    #[inline(never)]
    pub(crate) fn may_be_empty(&self, counted: &Counted, which: usize) {
        prim::full_fence(); // of two that are the last ones, one sees both
        if !counted.is_empty(which) {
            return; // whoever ends its section later sees the flag
        }
        counted.unflag(which);
        self.reader_is_out();
    }
}
