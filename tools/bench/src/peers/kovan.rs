//! kovan: `pin()` and `Atomic::load` (`Atom::load` is both); `retire` under a guard, and `Atom`. Its head of
//! 40 bytes is the first part of an object; there is one collector, the process's.
//!
//! Built as any program gets it: without the target feature `cmpxchg16b`, which it then looks for at run
//! time.

use super::Peers;
use crate::deferral::Deferring;
use crate::deferral::loops::{Block, Defer, Owning, all_in, deferring};
use crate::deferral::noted;
use crate::deferral::swap::{Library, Swap, Swaps, Value, shared};
use crate::subjects::loops::{self, Peer, Word};
use ::kovan::{Atom, AtomGuard, Atomic, Guard, RetiredNode, flush, pin, retire};
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

/// An object with the head that kovan wants.
#[repr(C)]
struct Node<T> {
    head: RetiredNode,
    object: T,
}

const _: () = assert!(size_of::<Node<Block<2>>>() == 64 && size_of::<Node<Owning<0>>>() == 64);

struct Kovan;

impl<T: Value> Defer<T> for Kovan {
    fn new() -> Self {
        Kovan
    }

    #[inline(always)]
    fn make(object: T) -> *mut T {
        let head = RetiredNode::new();
        Box::into_raw(Box::new(Node { head, object })).cast()
    }

    #[inline(always)]
    unsafe fn retire(&self, object: *mut T) {
        let _guard = pin();
        // SAFETY: the caller's promise: of `make`, retired once; the head comes first.
        unsafe { retire(object.cast::<Node<T>>()) };
    }
}

/// A cell at hand.
struct Cell<T: Value>(&'static Atom<T>);

impl<T: Value> Peer for Cell<T> {
    type Held = AtomGuard<'static, T>;

    fn new() -> Self {
        Cell(shared(|| Atom::new(T::new(0))))
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        self.0.load()
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        held.read()
    }
}

impl<T: Value> Swap for Cell<T> {
    type Value = T;

    #[inline(always)]
    fn replace(&self, value: T) {
        self.0.store(value);
    }
}

impl Library for Kovan {
    type Cell<T: Value> = Cell<T>;
}

/// A pointer at hand, read under a guard, never replaced.
struct Pointer(&'static Atomic<Word>);

static POINTER: LazyLock<Atomic<Word>> =
    LazyLock::new(|| Atomic::new(Box::into_raw(Box::new(Word(42)))));

impl Peer for Pointer {
    type Held = Guard;

    fn new() -> Self {
        Pointer(&POINTER)
    }

    #[inline(always)]
    fn enter(&self) -> Guard {
        pin()
    }

    #[inline(always)]
    fn read(&self, held: &mut Guard) -> u64 {
        // SAFETY: the pointer came from a `Box` that is never freed, and the guard is held.
        unsafe { self.0.load(Ordering::Acquire, held).deref().0 }
    }
}

pub(super) fn peers() -> Peers {
    Peers {
        reading: vec![loops::subject::<Pointer>("kovan")],
        deferring: vec![Deferring {
            finish: flush,
            settle: flush,
            owning: Some(all_in::<Kovan, Owning<0>>),
            swaps: Swaps::of::<Kovan>(),
            verbs: const { &[noted::retire::<Kovan>()] },
            hold: Some(noted::hold::<Cell<Block>>),
            ..deferring::<Kovan, Block<2>>("kovan")
        }],
    }
}
