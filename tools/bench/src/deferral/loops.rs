//! The measured loops for Rust libraries: `shims/retire.h` over again, turn for turn.
//!
//! Every turn ends in `turn`, which makes memory opaque to the compiler and emits nothing, as in `bench
//! read`.

use super::Deferring;
use super::swap::{self, Swaps, Value};
use crate::measure::clock;
use crate::subjects::Language;
use crate::subjects::loops::{turn, used};
use std::mem::MaybeUninit;

/// What is retired: 64 bytes, one word of them written, nothing to drop. (Fewer words of `REST` where a head
/// is part of the 64 bytes.)
#[derive(Debug)]
pub(crate) struct Block<const REST: usize = 7> {
    value: u64,
    _rest: MaybeUninit<[u64; REST]>,
}

impl<const REST: usize> Value for Block<REST> {
    #[inline(always)]
    fn new(turn: u64) -> Self {
        Block {
            value: turn,
            _rest: MaybeUninit::uninit(),
        }
    }

    #[inline(always)]
    fn read(&self) -> u64 {
        self.value
    }
}

/// What an owning object owns: 32 bytes, as `QB_TEXT` in `shims/retire.h`.
const TEXT: &str = "an object with something to drop";

/// 64 bytes that own 32 more; `REST` as in [`Block`].
#[derive(Debug)]
pub(crate) struct Owning<const REST: usize = 5> {
    text: String,
    _rest: MaybeUninit<[u64; REST]>,
}

impl<const REST: usize> Value for Owning<REST> {
    #[inline(always)]
    fn new(_: u64) -> Self {
        Owning {
            text: String::from(TEXT),
            _rest: MaybeUninit::uninit(),
        }
    }

    #[inline(always)]
    fn read(&self) -> u64 {
        self.text.len() as u64
    }
}

/// How a library retires an object of this type.
pub(crate) trait Defer<T: Value> {
    /// The calling thread's way in; made once before a loop.
    fn new() -> Self;
    /// Where the library wants it: in a box. Only [`Defer::retire`] looks at what is there.
    #[inline(always)]
    fn make(object: T) -> *mut T {
        Box::into_raw(Box::new(object))
    }
    /// Retires it.
    ///
    /// # Safety
    /// It comes from `make` and is retired once; it is used only by readers whose sections began before.
    unsafe fn retire(&self, object: *mut T);
}

/// The table for a library, without `owning`, swaps and verbs.
pub(crate) const fn deferring<P: Defer<T>, T: Value>(name: &'static str) -> Deferring {
    fn nothing() {}
    Deferring {
        name,
        language: Language::Rust,
        attach: nothing,
        detach: nothing,
        finish: nothing,
        settle: nothing,
        make: make::<P, T>,
        retire: retire::<P, T>,
        stamped: stamped::<P, T>,
        all_in: all_in::<P, T>,
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
fn make<P: Defer<T>, T: Value>(slots: &mut [*mut ()]) {
    for slot in slots {
        *slot = P::make(T::new(1)).cast();
    }
}

/// # Safety
/// As [`Defer::retire`] for each block.
#[inline(never)]
unsafe fn retire<P: Defer<T>, T: Value>(blocks: &[*mut ()]) {
    let peer = P::new();
    let mut i = 0;
    for &block in blocks {
        // SAFETY: the caller's promise.
        unsafe { peer.retire(block.cast()) };
        turn(&mut i);
    }
}

/// # Safety
/// As [`Defer::retire`] for each block.
#[inline(never)]
unsafe fn stamped<P: Defer<T>, T: Value>(blocks: &[*mut ()], took: &mut [u64]) {
    let peer = P::new();
    for (&block, took) in blocks.iter().zip(took) {
        let begin = clock::stamp();
        // SAFETY: the caller's promise.
        unsafe { peer.retire(block.cast()) };
        *took = clock::stamp().saturating_sub(begin);
    }
}

/// Makes and retires so many.
#[inline(never)]
pub(crate) fn all_in<P: Defer<T>, T: Value>(n: u64) {
    let peer = P::new();
    let mut i = n;
    while i != 0 {
        let object = P::make(T::new(i));
        // SAFETY: just made, not shared yet.
        unsafe { peer.retire(object) };
        turn(&mut i);
        i -= 1;
    }
}

/// The loops with no library in them: what is subtracted from instruction counts. Nothing is ever freed.
struct Bare;

impl<T: Value> Defer<T> for Bare {
    fn new() -> Self {
        Bare
    }

    #[inline(always)]
    unsafe fn retire(&self, object: *mut T) {
        used(object as u64);
    }
}

/// The loops with malloc and free alone: what is beside the totals of `bench retire`.
struct Free;

impl<T: Value> Defer<T> for Free {
    fn new() -> Self {
        Free
    }

    #[inline(always)]
    unsafe fn retire(&self, object: *mut T) {
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
        owning: Some(all_in::<Free, Owning>),
        swaps: Swaps::of::<swap::Bare>(),
        ..deferring::<Free, Block>(swap::BARE)
    }
}

/// The bare loops of a language; `None` when no C peer was built.
pub fn bare(language: Language) -> Option<Deferring> {
    match language {
        Language::Rust => Some(deferring::<Bare, Block>("bare-rust")),
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
        assert_eq!(<Owning>::new(0).read(), 32);
    }
}
