//! The loops with no library in them: what is subtracted from every subject of the same language.
//!
//! `empty` is subtracted from `empty`, `nested` and `load`; `repin` has the same reads through an unprotected
//! pointer, so that what is left of the case `repin` is the protection alone.

use super::held::{Bare, awaited};
use super::loops::{Word, share_out, shift, turn, used};
use super::{Language, Loops, READS_PER_REPIN};
use std::sync::atomic::AtomicPtr;

/// The bare loops of a language; `None` when no C peer was built.
pub fn bare(language: Language) -> Option<Loops> {
    match language {
        Language::Rust => Some(Loops {
            empty: share_out!(empty),
            nested: share_out!(empty),
            load: share_out!(empty),
            repin: Some(share_out!(repin)),
            awaited: Some(share_out!(awaited::<Bare>)),
        }),
        Language::C => c(),
    }
}

#[inline(never)]
fn empty<const COPY: usize>(n: u64) {
    shift::<COPY>();
    let mut i = n;
    while i != 0 {
        turn(&mut i);
        i -= 1;
    }
}

static THE_VALUE: Word = Word(42);
static THE_POINTER: AtomicPtr<Word> = AtomicPtr::new((&raw const THE_VALUE).cast_mut());

#[inline(never)]
fn repin<const COPY: usize>(n: u64) {
    shift::<COPY>();
    let mut i = n / READS_PER_REPIN;
    while i != 0 {
        let mut j = READS_PER_REPIN;
        turn(&mut j);
        while j != 0 {
            // SAFETY: the pointer is only ever that of `THE_VALUE`, which is never written. The read is
            // volatile, so that the compiler does not conclude that and read nothing at all.
            used(unsafe {
                (*(&raw const THE_POINTER)
                    .cast::<*const Word>()
                    .read_volatile())
                .0
            });
            turn(&mut j);
            j -= 1;
        }
        turn(&mut i);
        i -= 1;
    }
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
