//! haphazard: `retire_ptr` on the global domain.

use super::Deferring;
use super::loops::{Block, Defer, deferring};
use super::noted::{self, Noted, RetireNoted};
use crate::subjects::ReaderControl;
use crate::subjects::loops::used;
use haphazard::{AtomicPtr, Domain, Global, HazardPointer};

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
        // SAFETY: the caller's promise: a box of `make`, retired once, that no hazard pointer guards from now
        // on.
        unsafe { self.0.retire_ptr::<Block, Box<Block>>(block.cast()) };
    }
}

impl RetireNoted for Haphazard {
    #[inline(always)]
    fn retire(noted: Box<Noted>) {
        // SAFETY: from a box, not shared yet.
        unsafe { Domain::global().retire_ptr::<Noted, Box<Noted>>(Box::into_raw(noted)) };
    }
}

/// A hazard pointer guards one block, and no other: there is no section.
fn hold(control: &ReaderControl) {
    let pointer: AtomicPtr<Block> = AtomicPtr::from(Box::new(Block::new(0)));
    let mut hazard = HazardPointer::new();
    // SAFETY: the block is retired below, when nobody guards it.
    let guarded = unsafe { pointer.load(&mut hazard) };
    noted::stay(control);
    used(guarded.map_or(0, |block| block.value));
    // SAFETY: from a box; nobody else knows the pointer.
    unsafe { pointer.retire() };
}

fn settle() {
    Domain::global().eager_reclaim();
}

pub(super) fn subject() -> Deferring {
    Deferring {
        settle,
        verbs: const { &[noted::retire::<Haphazard>()] },
        hold: Some(hold),
        ..deferring::<Haphazard>("haphazard")
    }
}
