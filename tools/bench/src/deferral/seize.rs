//! seize: `Collector::retire` without a guard (the only updater needs none), on a collector of its own; and
//! as papaya's maps use it: every operation under a guard, `Guard::defer_retire`, a collector with the
//! default batch (papaya 0.2.5, `map.rs` and `raw/mod.rs`).

use super::Deferring;
use super::loops::{Block, Boxed, deferring, owning};
use super::noted;
use super::swap::{Library, Swap, Swaps, Value, shared};
use seize::{Collector, Guard as _, LocalGuard, reclaim};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, Ordering};

static COLLECTOR: LazyLock<Collector> = LazyLock::new(Collector::new);

fn boxed<T: Value>(value: u64) -> *mut T {
    Box::into_raw(Box::new(T::new(value)))
}

/// Retiring under a guard, or without.
struct Seize<const GUARD: bool>(&'static Collector);

impl<const GUARD: bool> Boxed for Seize<GUARD> {
    fn new() -> Self {
        Seize(&COLLECTOR)
    }

    #[inline(always)]
    unsafe fn retire<T>(&self, object: *mut T) {
        match GUARD {
            // SAFETY: the caller's promise.
            true => unsafe { self.0.enter().defer_retire(object, reclaim::boxed) },
            // SAFETY: the caller's promise.
            false => unsafe { self.0.retire(object, reclaim::boxed) },
        }
    }
}

/// A pointer at hand.
struct Pointer<T: 'static, const GUARD: bool>(Seize<GUARD>, &'static AtomicPtr<T>);

impl<T: Value, const GUARD: bool> Swap for Pointer<T, GUARD> {
    type Value = T;
    type Held = LocalGuard<'static>;

    fn new() -> Self {
        Pointer(Boxed::new(), shared(|| AtomicPtr::new(boxed(0))))
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        self.0.0.enter()
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        // SAFETY: never null, from a box, and the guard is held.
        unsafe { (*held.protect(self.1, Ordering::Acquire)).read() }
    }

    #[inline(always)]
    fn replace(&self, value: T) {
        let new = Box::into_raw(Box::new(value));
        let old = self.1.swap(new, Ordering::AcqRel);
        // SAFETY: no new reader finds it, and the swap gave it to this thread alone.
        unsafe { Boxed::retire(&self.0, old) };
    }

    /// By the guard: the collector may free at once what is retired without one, whatever guard there is.
    #[inline(always)]
    fn replace_inside(&self, value: T, held: &mut Self::Held) {
        let new = Box::into_raw(Box::new(value));
        let old = held.swap(self.1, new, Ordering::AcqRel);
        // SAFETY: no new reader finds it, and the swap gave it to this thread alone.
        unsafe { held.defer_retire(old, reclaim::boxed) };
    }
}

impl<const GUARD: bool> Library for Seize<GUARD> {
    type Cell<T: Value> = Pointer<T, GUARD>;
}

fn settle() {
    // SAFETY: called when all producers and readers have ended; this thread holds no guard.
    unsafe { COLLECTOR.reclaim_all() };
}

pub(super) fn subject() -> Deferring {
    Deferring {
        settle,
        owning: Some(owning::<Seize<false>>),
        swaps: Swaps::of::<Seize<false>>(),
        verbs: const { &[noted::retire::<Seize<false>>()] },
        hold: Some(noted::hold::<Pointer<Block, false>>),
        ..deferring::<Seize<false>>("seize")
    }
}

/// As papaya uses it.
pub(super) fn papaya() -> Deferring {
    Deferring {
        settle,
        owning: Some(owning::<Seize<true>>),
        swaps: Swaps::of::<Seize<true>>(),
        ..deferring::<Seize<true>>("papaya-seize")
    }
}
