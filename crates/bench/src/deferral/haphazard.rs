//! haphazard: `retire_ptr` on the global domain.

use super::Deferring;
use super::loops::{Block, Defer, deferring};
use haphazard::{Domain, Global};

struct Haphazard(&'static Domain<Global>);

impl Defer for Haphazard {
    fn new() -> Self {
        Haphazard(Domain::global())
    }

    #[inline(always)]
    fn make(value: u64) -> *mut () {
        Box::into_raw(Box::new(Block::new(value))).cast()
    }

    #[inline(always)]
    unsafe fn retire(&self, block: *mut ()) {
        // SAFETY: the caller's promise: a box of `make`, retired once, that no hazard pointer guards from now on.
        unsafe { self.0.retire_ptr::<Block, Box<Block>>(block.cast()) };
    }
}

fn settle() {
    Domain::global().eager_reclaim();
}

pub(super) fn subject() -> Deferring {
    Deferring {
        settle,
        ..deferring::<Haphazard>("haphazard")
    }
}
