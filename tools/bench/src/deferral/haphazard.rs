//! haphazard: `retire_ptr` on the global domain.

use super::Deferring;
use super::loops::{Block, Boxed, deferring, owning};
use super::noted;
use super::swap::{Library, Swap, Swaps, Value, shared};
use crate::subjects::ReaderControl;
use crate::subjects::loops::used;
use haphazard::{AtomicPtr, Domain, Global, HazardPointer};

struct Haphazard(&'static Domain<Global>);

impl Boxed for Haphazard {
    fn new() -> Self {
        Haphazard(Domain::global())
    }

    #[inline(always)]
    unsafe fn retire<T: Send + 'static>(&self, object: *mut T) {
        // SAFETY: the caller's promise; no hazard pointer guards it from now on.
        unsafe { self.0.retire_ptr::<T, Box<T>>(object) };
    }
}

/// A pointer at hand. A hazard pointer, taken fresh for each read, guards one value and no other: there is no
/// section.
struct Pointer<T: 'static>(&'static AtomicPtr<T>);

impl<T: Value> Swap for Pointer<T> {
    type Value = T;
    type Held = HazardPointer<'static>;

    fn new() -> Self {
        Pointer(shared(|| AtomicPtr::from(Box::new(T::new(0)))))
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        HazardPointer::new()
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        self.0.safe_load(held).map_or(0, T::read)
    }

    #[inline(always)]
    fn replace(&self, value: T) {
        if let Some(old) = self.0.swap(Box::new(value)) {
            // SAFETY: no new reader finds it, and the swap gave it to this thread alone.
            unsafe { old.retire() };
        }
    }
}

impl Library for Haphazard {
    type Cell<T: Value> = Pointer<T>;
}

/// Guards a block that is retired only after that: a pointer of its own, which no updater replaces.
fn hold(control: &ReaderControl) {
    let pointer: AtomicPtr<Block> = AtomicPtr::from(Box::new(Block::new(0)));
    let mut hazard = HazardPointer::new();
    // SAFETY: the block is retired below, when no hazard pointer guards it.
    let guarded = unsafe { pointer.load(&mut hazard) };
    noted::stay(control);
    used(guarded.map_or(0, |block| block.value));
    // SAFETY: from a box; the pointer is not used elsewhere.
    unsafe { pointer.retire() };
}

fn settle() {
    Domain::global().eager_reclaim();
}

pub(super) fn subject() -> Deferring {
    Deferring {
        settle,
        owning: Some(owning::<Haphazard>),
        swaps: Swaps::of::<Haphazard>(),
        verbs: const { &[noted::retire::<Haphazard>()] },
        hold: Some(hold),
        ..deferring::<Haphazard>("haphazard")
    }
}
