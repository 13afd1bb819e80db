//! seize: `Collector::retire` without a guard (the only updater needs none), on a collector of its own.

use super::Deferring;
use super::loops::{Block, Defer, DeferBeside, DeferOwning, Owning, beside, deferring, owning};
use super::noted::{self, Noted, RetireNoted};
use seize::{Collector, Guard as _, LocalGuard, reclaim};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, Ordering};

static COLLECTOR: LazyLock<Collector> = LazyLock::new(Collector::new);
static POINTER: LazyLock<AtomicPtr<Block>> = LazyLock::new(|| AtomicPtr::new(boxed(0)));

fn boxed(value: u64) -> *mut Block {
    Box::into_raw(Box::new(Block::new(value)))
}

struct Seize(&'static Collector);

impl Defer for Seize {
    fn new() -> Self {
        Seize(&COLLECTOR)
    }

    #[inline(always)]
    fn make(value: u64) -> *mut () {
        boxed(value).cast()
    }

    #[inline(always)]
    unsafe fn retire(&self, block: *mut ()) {
        // SAFETY: the caller's promise: a box of `make`, retired once.
        unsafe { self.0.retire(block.cast::<Block>(), reclaim::boxed) };
    }
}

impl DeferOwning for Seize {
    #[inline(always)]
    fn retire_owning(&self) {
        let object = Box::into_raw(Box::new(Owning::new()));
        // SAFETY: from a box, not shared yet.
        unsafe { self.0.retire(object, reclaim::boxed) };
    }
}

impl RetireNoted for Seize {
    #[inline(always)]
    fn retire(noted: Box<Noted>) {
        // SAFETY: from a box, not shared yet.
        unsafe { COLLECTOR.retire(Box::into_raw(noted), reclaim::boxed) };
    }
}

/// As [`Seize`], with the pointer at hand.
struct Pointer(&'static Collector, &'static AtomicPtr<Block>);

impl Defer for Pointer {
    fn new() -> Self {
        Pointer(&COLLECTOR, &POINTER)
    }

    fn make(value: u64) -> *mut () {
        Seize::make(value)
    }

    unsafe fn retire(&self, block: *mut ()) {
        // SAFETY: the caller's promise.
        unsafe { Seize(self.0).retire(block) };
    }
}

impl DeferBeside for Pointer {
    type Held = LocalGuard<'static>;

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        self.0.enter()
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        // SAFETY: never null, from a box, and the guard is held.
        unsafe { (*held.protect(self.1, Ordering::Acquire)).value }
    }

    #[inline(always)]
    fn replace(&self, value: u64) {
        let old = self.1.swap(boxed(value), Ordering::AcqRel);
        // SAFETY: no reader finds it any more, and only this thread replaces.
        unsafe { self.0.retire(old, reclaim::boxed) };
    }
}

fn settle() {
    // SAFETY: called when all producers and readers have ended; this thread holds no guard.
    unsafe { COLLECTOR.reclaim_all() };
}

pub(super) fn subject() -> Deferring {
    Deferring {
        settle,
        owning: Some(owning::<Seize>),
        beside: beside::<Pointer>(),
        verbs: const { &[noted::retire::<Seize>()] },
        hold: Some(noted::hold::<Pointer>),
        ..deferring::<Seize>("seize")
    }
}
