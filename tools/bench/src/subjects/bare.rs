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
    let [empty, .., repin, awaited] = match language {
        Language::Rust => subject::<Nothing>("bare-rust").awaited::<Bare>().loops.0,
        #[cfg(have_c)]
        Language::C => c(),
        #[cfg(not(have_c))]
        Language::C => return None,
    };
    Some(Loops([empty, empty, empty, repin, awaited]))
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
fn c() -> [Option<fn(u64)>; 5] {
    // SAFETY: these are the functions of `shims/bare.c`, with the same parameters; they may be called at any
    // time.
    unsafe extern "C" {
        safe fn qb_bare_empty(n: u64);
        safe fn qb_bare_repin(n: u64);
    }
    [
        Some(|n| qb_bare_empty(n)),
        None,
        None,
        Some(|n| qb_bare_repin(n)),
        None,
    ]
}
