//! crossbeam-epoch: `pin()` and `defer_destroy` under a guard of its own, on the default collector; reading
//! also on collectors of its own, through a handle that the caller has at hand (the cheapest way there is:
//! nothing is looked up).

use super::{Last, Peers, until_last};
use crate::deferral::Deferring;
use crate::deferral::loops::{Block, Defer, Owning, all_in, deferring};
use crate::deferral::noted;
use crate::deferral::swap::{Library, Swap, Swaps, Value, shared};
use crate::subjects::loops::{self, Peer, Word};
use crossbeam_epoch::{Atomic, Collector, Guard, LocalHandle, Owned, pin};
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

struct Crossbeam;

impl<T: Value> Defer<T> for Crossbeam {
    fn new() -> Self {
        Crossbeam
    }

    #[inline(always)]
    unsafe fn retire(&self, object: *mut T) {
        let guard = pin();
        // SAFETY: the caller's promise.
        unsafe { guard.defer_destroy(Owned::from_raw(object).into_shared(&guard)) };
    }
}

/// A pointer at hand.
struct Pointer<T: 'static>(&'static Atomic<T>);

impl<T: Value> Peer for Pointer<T> {
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
    fn repin(&self, mut held: Guard) -> Guard {
        held.repin();
        held
    }
}

impl<T: Value> Swap for Pointer<T> {
    type Value = T;

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

/// The queue of full bags is first in, first out: what stands behind all of them runs last.
fn settle() {
    let last = |last: Last| pin().defer(move || last.store(true, Ordering::Release));
    until_last(last, || pin().flush());
}

static COLLECTORS: LazyLock<[Collector; 2]> = LazyLock::new(Default::default);

/// On the collector of this number. Its value is never replaced.
struct Own<const NUMBER: usize>(LocalHandle, Pointer<Word>);

impl<const NUMBER: usize> Peer for Own<NUMBER> {
    type Held = Guard;

    fn new() -> Self {
        Own(COLLECTORS[NUMBER].register(), Peer::new())
    }

    #[inline(always)]
    fn enter(&self) -> Guard {
        self.0.pin()
    }

    #[inline(always)]
    fn read(&self, held: &mut Guard) -> u64 {
        self.1.read(held)
    }

    #[inline(always)]
    fn repin(&self, held: Guard) -> Guard {
        self.1.repin(held)
    }
}

pub(super) fn peers() -> Peers {
    let turns = loops::by_turns::<Own<0>, Own<1>>("crossbeam-collector-turns");
    Peers {
        reading: vec![
            loops::subject::<Pointer<Word>>("crossbeam-epoch"),
            loops::subject::<Own<0>>("crossbeam-collector"),
            turns,
        ],
        deferring: vec![Deferring {
            settle,
            owning: Some(all_in::<Crossbeam, Owning>),
            swaps: Swaps::of::<Crossbeam>(),
            verbs: const { &[noted::retire::<Crossbeam>()] },
            hold: Some(noted::hold::<Pointer<Block>>),
            ..deferring::<Crossbeam, Block>("crossbeam-epoch")
        }],
    }
}
