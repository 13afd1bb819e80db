//! crossbeam-epoch: `defer_destroy` under a guard of its own, on the default collector.

use super::Deferring;
use super::loops::{Block, Boxed, deferring, owning};
use super::noted;
use super::swap::{Library, Swap, Swaps, Value, shared};
use crossbeam_epoch::{Atomic, Guard, Owned, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

struct Crossbeam;

impl Boxed for Crossbeam {
    fn new() -> Self {
        Crossbeam
    }

    #[inline(always)]
    unsafe fn retire<T: 'static>(&self, object: *mut T) {
        let guard = pin();
        // SAFETY: the caller's promise.
        unsafe { guard.defer_destroy(Owned::from_raw(object).into_shared(&guard)) };
    }
}

/// A pointer at hand.
struct Pointer<T: 'static>(&'static Atomic<T>);

impl<T: Value> Swap for Pointer<T> {
    type Value = T;
    type Held = Guard;

    fn new() -> Self {
        Pointer(shared(|| Atomic::new(T::new(0))))
    }

    #[inline(always)]
    fn enter(&self) -> Guard {
        pin()
    }

    #[inline(always)]
    fn read(&self, held: &mut Guard) -> u64 {
        // SAFETY: never null, and the guard is held.
        unsafe { self.0.load(Ordering::Acquire, held).deref().read() }
    }

    #[inline(always)]
    fn replace(&self, value: T) {
        self.replace_inside(value, &mut pin());
    }

    #[inline(always)]
    fn replace_inside(&self, value: T, guard: &mut Guard) {
        let old = self.0.swap(Owned::new(value), Ordering::AcqRel, guard);
        // SAFETY: no new reader finds it, and the swap gave it to this thread alone.
        unsafe { guard.defer_destroy(old) };
    }
}

impl Library for Crossbeam {
    type Cell<T: Value> = Pointer<T>;
}

/// The queue of full bags is first in, first out: what stands behind all of them runs last. A bounded number
/// of tries, since a thread that is not scheduled may stay pinned for long.
fn settle() {
    let done = Arc::new(AtomicBool::new(false));
    let last = done.clone();
    pin().defer(move || last.store(true, Ordering::Release));
    for _ in 0..10_000_000 {
        pin().flush();
        if done.load(Ordering::Acquire) {
            return;
        }
        std::thread::yield_now();
    }
}

pub(super) fn subject() -> Deferring {
    Deferring {
        settle,
        owning: Some(owning::<Crossbeam>),
        swaps: Swaps::of::<Crossbeam>(),
        verbs: const { &[noted::retire::<Crossbeam>()] },
        hold: Some(noted::hold::<Pointer<Block>>),
        ..deferring::<Crossbeam>("crossbeam-epoch")
    }
}
