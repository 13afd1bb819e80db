//! The measured loops for Rust libraries: `shims/retire.h` over again, turn for turn.
//!
//! Every turn ends in `turn`, which makes memory opaque to the compiler and emits nothing, as in `bench
//! read`.

use super::Deferring;
use super::swap::{self, Swaps};
use crate::measure::clock;
use crate::subjects::Language;
use crate::subjects::loops::{turn, used};
use std::mem::MaybeUninit;

/// What is retired: 64 bytes, one word of them written, nothing to drop.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) value: u64,
    _rest: MaybeUninit<[u64; 7]>,
}

impl Block {
    pub(crate) fn new(value: u64) -> Self {
        Block {
            value,
            _rest: MaybeUninit::uninit(),
        }
    }
}

/// What an owning object owns: 32 bytes, as `QB_TEXT` in `shims/retire.h`.
pub(crate) const TEXT: &str = "an object with something to drop";

/// 64 bytes that own 32 more.
#[derive(Debug)]
pub(crate) struct Owning {
    _text: String,
    _rest: MaybeUninit<[u64; 5]>,
}

impl Owning {
    pub(crate) fn new() -> Self {
        Owning {
            _text: String::from(TEXT),
            _rest: MaybeUninit::uninit(),
        }
    }
}

/// How a library retires.
pub(crate) trait Defer {
    /// The calling thread's way in; made once before a loop.
    fn new() -> Self;
    /// A new block.
    fn make(value: u64) -> *mut ();
    /// Retires a block.
    ///
    /// # Safety
    /// It comes from `make` and is retired once; it is used only by readers whose sections began before.
    unsafe fn retire(&self, block: *mut ());
}

/// A library that is measured with owning objects too.
pub(crate) trait DeferOwning: Defer {
    /// Makes and retires one.
    fn retire_owning(&self);
}

/// A library that retires boxes: all of the above.
pub(crate) trait Boxed {
    /// [`Defer::new`].
    fn new() -> Self;
    /// Retires it.
    ///
    /// # Safety
    /// From a box, and retired once; it is used only by readers whose sections began before.
    unsafe fn retire<T: Send + Sync + 'static>(&self, object: *mut T);
}

impl<B: Boxed> Defer for B {
    fn new() -> Self {
        B::new()
    }

    #[inline(always)]
    fn make(value: u64) -> *mut () {
        Box::into_raw(Box::new(Block::new(value))).cast()
    }

    #[inline(always)]
    unsafe fn retire(&self, block: *mut ()) {
        // SAFETY: the caller's promise: a box of `make`.
        unsafe { Boxed::retire(self, block.cast::<Block>()) };
    }
}

impl<B: Boxed> DeferOwning for B {
    #[inline(always)]
    fn retire_owning(&self) {
        // SAFETY: from a box, not shared yet.
        unsafe { Boxed::retire(self, Box::into_raw(Box::new(Owning::new()))) };
    }
}

/// The table for a library, without `owning`, swaps and verbs.
pub(crate) const fn deferring<P: Defer>(name: &'static str) -> Deferring {
    fn nothing() {}
    Deferring {
        name,
        language: Language::Rust,
        attach: nothing,
        detach: nothing,
        finish: nothing,
        settle: nothing,
        make: make::<P>,
        retire: retire::<P>,
        stamped: stamped::<P>,
        all_in: all_in::<P>,
        owning: None,
        swaps: Swaps::NONE,
        call: None,
        verbs: &[],
        hold: None,
        names: None,
        barrier: None,
    }
}

#[inline(never)]
fn make<P: Defer>(slots: &mut [*mut ()]) {
    for slot in slots {
        *slot = P::make(1);
    }
}

/// # Safety
/// As [`Defer::retire`] for each block.
#[inline(never)]
unsafe fn retire<P: Defer>(blocks: &[*mut ()]) {
    let peer = P::new();
    let mut i = 0;
    for &block in blocks {
        // SAFETY: the caller's promise.
        unsafe { peer.retire(block) };
        turn(&mut i);
    }
}

/// # Safety
/// As [`Defer::retire`] for each block.
#[inline(never)]
unsafe fn stamped<P: Defer>(blocks: &[*mut ()], took: &mut [u64]) {
    let peer = P::new();
    for (&block, took) in blocks.iter().zip(took) {
        let begin = clock::stamp();
        // SAFETY: the caller's promise.
        unsafe { peer.retire(block) };
        *took = clock::stamp().saturating_sub(begin);
    }
}

#[inline(never)]
fn all_in<P: Defer>(n: u64) {
    let peer = P::new();
    let mut i = n;
    while i != 0 {
        let block = P::make(i);
        // SAFETY: just made, not shared yet.
        unsafe { peer.retire(block) };
        turn(&mut i);
        i -= 1;
    }
}

/// Makes and retires owning objects.
#[inline(never)]
pub(crate) fn owning<P: DeferOwning>(n: u64) {
    let peer = P::new();
    let mut i = n;
    while i != 0 {
        peer.retire_owning();
        turn(&mut i);
        i -= 1;
    }
}

/// The loops with no library in them: what is subtracted from instruction counts. Nothing is ever freed.
struct Bare;

impl Boxed for Bare {
    fn new() -> Self {
        Bare
    }

    #[inline(always)]
    unsafe fn retire<T>(&self, object: *mut T) {
        used(object as u64);
    }
}

/// The loops with malloc and free alone: what is beside the totals of `bench retire`.
struct Free;

impl Boxed for Free {
    fn new() -> Self {
        Free
    }

    #[inline(always)]
    unsafe fn retire<T>(&self, object: *mut T) {
        seen(object);
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(object) });
    }
}

/// What is there may have been read by anyone: without this the compiler makes nothing that is only dropped.
#[inline(always)]
pub(crate) fn seen<T>(object: *const T) {
    let mut address = object as u64;
    turn(&mut address);
}

/// malloc and free in the same loops, with nothing in between.
pub fn malloc_free() -> Deferring {
    Deferring {
        owning: Some(owning::<Free>),
        swaps: Swaps::of::<swap::Bare>(),
        ..deferring::<Free>(swap::BARE)
    }
}

/// The bare loops of a language; `None` when no C peer was built.
pub fn bare(language: Language) -> Option<Deferring> {
    match language {
        Language::Rust => Some(deferring::<Bare>("bare-rust")),
        #[cfg(have_c)]
        Language::C => Some(super::c_peer!("qb_retire_bare", "bare-c")),
        #[cfg(not(have_c))]
        Language::C => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_said() {
        assert_eq!(size_of::<Block>(), 64);
        assert!(!std::mem::needs_drop::<Block>());
        assert_eq!(size_of::<Owning>(), 64);
        assert!(std::mem::needs_drop::<Owning>());
        assert_eq!(TEXT.len(), 32);
        assert_eq!(Owning::new()._text.len(), 32);
    }
}
