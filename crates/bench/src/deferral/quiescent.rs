//! quiescent itself: `retire_ptr`, `RcuCell::store` and `Retired::retire`, `barrier()`.

use super::Deferring;
use super::loops::{Block, Defer, DeferBeside, DeferOwning, Owning, beside, deferring, owning};
use crate::subjects::OURS;
use quiescent::{Guard, RcuCell, read_lock, retire_ptr};
use std::ptr::NonNull;
use std::sync::LazyLock;

static CELL: LazyLock<RcuCell<Block>> = LazyLock::new(|| RcuCell::new(Block::new(0)));

struct Quiescent;

impl Defer for Quiescent {
    fn new() -> Self {
        Quiescent
    }

    #[inline(always)]
    fn make(value: u64) -> *mut () {
        Box::into_raw(Box::new(Block::new(value))).cast()
    }

    #[inline(always)]
    unsafe fn retire(&self, block: *mut ()) {
        // SAFETY: the caller's promise; a box of `make` is not null.
        unsafe { retire_ptr(NonNull::new_unchecked(block.cast::<Block>())) };
    }
}

impl DeferOwning for Quiescent {
    #[inline(always)]
    fn retire_owning(&self) {
        let object = NonNull::from(Box::leak(Box::new(Owning::new())));
        // SAFETY: from a box, and known to nobody.
        unsafe { retire_ptr(object) };
    }
}

/// As [`Quiescent`], with the cell at hand.
struct Cell(&'static RcuCell<Block>);

impl Defer for Cell {
    fn new() -> Self {
        Cell(&CELL)
    }

    fn make(value: u64) -> *mut () {
        Quiescent::make(value)
    }

    unsafe fn retire(&self, block: *mut ()) {
        // SAFETY: the caller's promise.
        unsafe { Quiescent.retire(block) };
    }
}

impl DeferBeside for Cell {
    type Held = Guard;

    #[inline(always)]
    fn enter(&self) -> Guard {
        read_lock()
    }

    #[inline(always)]
    fn read(&self, held: &mut Guard) -> u64 {
        self.0.load(held).value
    }

    #[inline(always)]
    fn replace(&self, value: u64) {
        self.0.store(Block::new(value)).retire();
    }
}

/// A thread registers at its first section.
fn attach() {
    drop(read_lock());
}

pub(super) fn subject() -> Deferring {
    Deferring {
        attach,
        settle: quiescent::barrier,
        owning: Some(owning::<Quiescent>),
        beside: beside::<Cell>(),
        ..deferring::<Quiescent>(OURS)
    }
}
