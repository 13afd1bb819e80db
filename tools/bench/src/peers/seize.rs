//! seize: a collector of its own, `enter()`, `protect()` and `Collector::retire` without a guard (the only
//! updater needs none); reading also in two collectors by turns; and as papaya's maps use it: every operation
//! under a guard, `Guard::defer_retire`, a collector with the default batch (papaya 0.2.5, `map.rs` and
//! `raw/mod.rs`).

use super::Peers;
use crate::deferral::Deferring;
use crate::deferral::loops::{Block, Defer, Owning, all_in, deferring};
use crate::deferral::noted;
use crate::deferral::swap::{Library, Swap, Swaps, Value, shared};
use crate::subjects::loops::{self, Peer, Word};
use seize::{Collector, Guard as _, LocalGuard, reclaim};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, Ordering};

static COLLECTORS: [LazyLock<Collector>; 2] = [const { LazyLock::new(Collector::new) }; 2];

/// Retiring under a guard, or without, on the collector of this number.
struct Seize<const GUARD: bool, const NUMBER: usize>(&'static Collector);

impl<T: Value, const GUARD: bool, const NUMBER: usize> Defer<T> for Seize<GUARD, NUMBER> {
    fn new() -> Self {
        Seize(&COLLECTORS[NUMBER])
    }

    #[inline(always)]
    unsafe fn retire(&self, object: *mut T) {
        match GUARD {
            // SAFETY: the caller's promise.
            true => unsafe { self.0.enter().defer_retire(object, reclaim::boxed) },
            // SAFETY: the caller's promise.
            false => unsafe { self.0.retire(object, reclaim::boxed) },
        }
    }
}

/// A pointer at hand. What [`Word`] is in it is never replaced, so two collectors may read it.
struct Pointer<T: 'static, const GUARD: bool, const NUMBER: usize>(
    Seize<GUARD, NUMBER>,
    &'static AtomicPtr<T>,
);

impl<T: Value, const GUARD: bool, const NUMBER: usize> Peer for Pointer<T, GUARD, NUMBER> {
    type Held = LocalGuard<'static>;

    fn new() -> Self {
        Pointer(
            <_ as Defer<T>>::new(),
            shared(|| AtomicPtr::new(Box::into_raw(Box::new(T::new(0))))),
        )
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
    fn repin(&self, mut held: Self::Held) -> Self::Held {
        held.refresh();
        held
    }
}

impl<T: Value, const GUARD: bool, const NUMBER: usize> Swap for Pointer<T, GUARD, NUMBER> {
    type Value = T;

    #[inline(always)]
    fn replace(&self, value: T) {
        let new = Box::into_raw(Box::new(value));
        let old = self.1.swap(new, Ordering::AcqRel);
        // SAFETY: no new reader finds it, and the swap gave it to this thread alone.
        unsafe { Defer::retire(&self.0, old) };
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

impl<const GUARD: bool> Library for Seize<GUARD, 0> {
    type Cell<T: Value> = Pointer<T, GUARD, 0>;
}

fn settle() {
    // SAFETY: called when all producers and readers have ended; this thread holds no guard.
    unsafe { COLLECTORS[0].reclaim_all() };
}

pub(super) fn peers() -> Peers {
    type Plain = Seize<false, 0>;
    type Papaya = Seize<true, 0>;
    type Read<const NUMBER: usize> = Pointer<Word, false, NUMBER>;
    let subject = Deferring {
        settle,
        owning: Some(all_in::<Plain, Owning>),
        swaps: Swaps::of::<Plain>(),
        verbs: const { &[noted::retire::<Plain>()] },
        hold: Some(noted::hold::<Pointer<Block, false, 0>>),
        ..deferring::<Plain, Block>("seize")
    };
    let papaya = Deferring {
        settle,
        owning: Some(all_in::<Papaya, Owning>),
        swaps: Swaps::of::<Papaya>(),
        ..deferring::<Papaya, Block>("papaya-seize")
    };
    let turns = loops::by_turns::<Read<0>, Read<1>>("seize-turns");
    Peers {
        reading: vec![loops::subject::<Read<0>>("seize"), turns],
        deferring: vec![subject, papaya],
    }
}
