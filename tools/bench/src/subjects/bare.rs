//! The loops with no library in them: what is subtracted from every subject of the same language.
//!
//! `empty` is subtracted from `empty`, `nested` and `load`; `repin` has the same reads through an unprotected
//! pointer, so that what is left of the case `repin` is the protection alone.

use super::held::Bare;
use super::loops::{Peer, Word, subject};
use super::{Language, Loops};
use std::sync::atomic::AtomicPtr;

/// The bare loops of a language; `None` when no C peer was built.
pub fn bare(language: Language) -> Option<Loops> {
    match language {
        Language::Rust => {
            let loops = subject::<Nothing>("bare-rust").awaited::<Bare>().loops;
            Some(Loops {
                nested: loops.empty,
                load: loops.empty,
                ..loops
            })
        }
        Language::C => c(),
    }
}

/// No library: a section is nothing, and the pointer is not protected.
struct Nothing;

static THE_VALUE: Word = Word(42);
static THE_POINTER: AtomicPtr<Word> = AtomicPtr::new((&raw const THE_VALUE).cast_mut());

impl Peer for Nothing {
    type Held = ();

    fn new() -> Self {
        Nothing
    }

    #[inline(always)]
    fn enter(&self) {}

    #[inline(always)]
    fn read(&self, (): &mut ()) -> u64 {
        let pointer = (&raw const THE_POINTER).cast::<*const Word>();
        // SAFETY: the pointer is only ever that of `THE_VALUE`, which is never written. The read is volatile,
        // so that the compiler does not conclude that and read nothing at all.
        unsafe { (*pointer.read_volatile()).0 }
    }

    #[inline(always)]
    fn repin(&self, (): ()) {}
}

#[cfg(have_c)]
fn c() -> Option<Loops> {
    // SAFETY: these are the functions of `shims/bare.c`, with the same parameters; they may be called at any
    // time.
    unsafe extern "C" {
        safe fn qb_bare_empty(n: u64);
        safe fn qb_bare_repin(n: u64);
    }
    fn empty(n: u64) {
        qb_bare_empty(n);
    }
    fn repin(n: u64) {
        qb_bare_repin(n);
    }
    Some(Loops {
        empty,
        nested: empty,
        load: empty,
        repin: Some(repin),
        awaited: None,
    })
}

#[cfg(not(have_c))]
fn c() -> Option<Loops> {
    None
}
