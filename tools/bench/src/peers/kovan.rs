//! kovan: `pin()` and `Atomic::load` (`Atom::load` is both); `retire` under a guard, and `Atom`. Its head of
//! 40 bytes is the first part of an object; there is one collector, the process's.
//!
//! Built as any program gets it: without the target feature `cmpxchg16b`, which it then looks for at run
//! time.

use super::Peers;
use crate::deferral::loops::{Block, Defer, DeferOwning, TEXT, deferring, owning};
use crate::deferral::noted::{self, HandOver, Noted};
use crate::deferral::swap::{Library, Swap, Swaps, Value, shared};
use crate::deferral::{Deferring, RETIRE};
use crate::subjects::loops::{self, Peer, Word};
use ::kovan::{Atom, AtomGuard, Atomic, Guard, RetiredNode, flush, pin, retire};
use std::mem::MaybeUninit;
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

/// An object with the head that kovan wants.
#[repr(C)]
struct Node<T> {
    head: RetiredNode,
    object: T,
}

impl<T: 'static> Node<T> {
    #[inline(always)]
    fn boxed(object: T) -> *mut Self {
        let head = RetiredNode::new();
        Box::into_raw(Box::new(Node { head, object }))
    }

    /// # Safety
    /// Of [`Node::boxed`], retired once; no reader finds it.
    #[inline(always)]
    unsafe fn retire(node: *mut Self) {
        let _guard = pin();
        // SAFETY: the caller's promise; the head comes first.
        unsafe { retire(node) };
    }
}

/// What is left of 64 bytes, one word of it written.
type Rest = (u64, MaybeUninit<[u64; 2]>);

const _: () = assert!(size_of::<Node<Rest>>() == 64 && size_of::<Node<String>>() == 64);

struct Kovan;

impl Defer for Kovan {
    fn new() -> Self {
        Kovan
    }

    #[inline(always)]
    fn make(value: u64) -> *mut () {
        Node::<Rest>::boxed((value, MaybeUninit::uninit())).cast()
    }

    #[inline(always)]
    unsafe fn retire(&self, block: *mut ()) {
        // SAFETY: the caller's promise: of `make`, retired once.
        unsafe { Node::retire(block.cast::<Node<Rest>>()) };
    }
}

impl DeferOwning for Kovan {
    #[inline(always)]
    fn retire_owning(&self) {
        // SAFETY: just made, not shared yet.
        unsafe { Node::retire(Node::boxed(String::from(TEXT))) };
    }
}

impl HandOver for Kovan {
    type Object = *mut Node<Noted>;

    #[inline(always)]
    fn make(handed_over: u64) -> Self::Object {
        Node::boxed(Noted::new(handed_over))
    }

    #[inline(always)]
    fn hand_over(object: Self::Object) {
        // SAFETY: of `make`, not shared yet.
        unsafe { Node::retire(object) };
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
            owning: Some(owning::<Kovan>),
            swaps: Swaps::of::<Kovan>(),
            verbs: const { &[noted::verb::<Kovan>(RETIRE)] },
            hold: Some(noted::hold::<Cell<Block>>),
            ..deferring::<Kovan>("kovan")
        }],
    }
}
