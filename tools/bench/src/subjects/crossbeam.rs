//! crossbeam-epoch: `pin()` on the default collector; for `bench domain`, on collectors of its own, through a
//! handle that the caller has at hand (the cheapest way there is: nothing is looked up).

use super::Subject;
use super::loops::{self, Peer, Two, VALUE, Value, by_turns};
use crossbeam_epoch::{Atomic, Collector, Guard, LocalHandle, pin};
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

static POINTER: LazyLock<Atomic<Value>> = LazyLock::new(|| Atomic::new(VALUE));

struct Crossbeam(&'static Atomic<Value>);

impl Peer for Crossbeam {
    type Held = Guard;

    fn new() -> Self {
        Crossbeam(&POINTER)
    }

    #[inline(always)]
    fn enter(&self) -> Guard {
        pin()
    }

    #[inline(always)]
    fn read(&self, held: &mut Guard) -> u64 {
        // SAFETY: the pointer was initialised with a value, is never replaced, and the guard is held.
        unsafe { self.0.load(Ordering::Acquire, held).deref().0 }
    }

    #[inline(always)]
    fn repin(&self, mut held: Guard) -> Guard {
        held.repin();
        held
    }
}

pub(super) fn subject() -> Subject {
    loops::subject::<Crossbeam>("crossbeam-epoch")
}

static COLLECTORS: LazyLock<[Collector; 2]> = LazyLock::new(Default::default);

/// On the collector of this number.
struct Own<const NUMBER: usize>(LocalHandle, Crossbeam);

impl<const NUMBER: usize> Peer for Own<NUMBER> {
    type Held = Guard;

    fn new() -> Self {
        Own(COLLECTORS[NUMBER].register(), Crossbeam::new())
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

struct Both;

impl Two for Both {
    type One = Own<0>;
    type Other = Own<1>;
}

/// On a collector of its own.
pub(super) fn own() -> Subject {
    loops::subject::<Own<0>>("crossbeam-collector")
}

/// On two, by turns.
pub(super) fn turns() -> Subject {
    Subject {
        name: "crossbeam-collector-turns",
        loops: by_turns::<Both>(),
        ..subject()
    }
}
