//! sdd: `Guard::new()` and an `AtomicShared`; an `Owned` dropped under a guard. Its header makes the block 80
//! bytes.

use super::{Last, Peers, until_last};
use crate::deferral::loops::{Block, Defer, deferring};
use crate::deferral::{Deferring, noted, swap::Value};
use crate::subjects::ReaderControl;
use crate::subjects::loops::{self, Peer, Word};
use sdd::{AtomicShared, Guard, Owned};
use std::mem::{self, ManuallyDrop};
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

struct Sdd;

/// An `Owned` is a pointer; here it is carried as one.
const _: () = assert!(size_of::<Owned<Block>>() == size_of::<*mut Block>());

impl<T: Value> Defer<T> for Sdd {
    fn new() -> Self {
        Sdd
    }

    #[inline(always)]
    fn make(object: T) -> *mut T {
        let owned = ManuallyDrop::new(Owned::new(object));
        // SAFETY: of the same size (above); any bytes make a raw pointer, and only `retire` looks at it.
        unsafe { mem::transmute_copy(&owned) }
    }

    #[inline(always)]
    unsafe fn retire(&self, object: *mut T) {
        let _guard = Guard::new();
        // SAFETY: the bytes of an `Owned` that `make` did not drop; the caller gives each once.
        drop(unsafe { mem::transmute_copy::<*mut T, Owned<T>>(&object) });
    }
}

fn hold(control: &ReaderControl) {
    let _guard = Guard::new();
    noted::stay(control);
}

/// What a thread has dropped is reclaimed as its guards move the epoch on; what it deferred last comes last.
fn finish() {
    let last = |last: Last| Guard::new().defer_execute(move || last.store(true, Ordering::Release));
    until_last(last, || Guard::new().accelerate());
}

/// A pointer at hand, never replaced.
struct Pointer(&'static AtomicShared<Word>);

static POINTER: LazyLock<AtomicShared<Word>> = LazyLock::new(|| AtomicShared::new(Word(42)));

impl Peer for Pointer {
    type Held = Guard;

    fn new() -> Self {
        Pointer(&POINTER)
    }

    #[inline(always)]
    fn enter(&self) -> Guard {
        Guard::new()
    }

    #[inline(always)]
    fn read(&self, held: &mut Guard) -> u64 {
        let value = self.0.load(Ordering::Acquire, held);
        value.as_ref().map_or(0, |value| value.0)
    }
}

pub(super) fn peers() -> Peers {
    Peers {
        reading: vec![loops::subject::<Pointer>("sdd")],
        deferring: vec![Deferring {
            finish,
            verbs: const { &[noted::retire::<Sdd>()] },
            hold: Some(hold),
            ..deferring::<Sdd, Block>("sdd")
        }],
    }
}
