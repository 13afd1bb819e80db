//! The switch that the mutants of a tree are chosen with, compiled into a copy of it as the crate `mutant`. Not a module
//! of this tool: `tree.rs` writes it there.
//!
//! `on(id)` is true in a process that was started with `MUTANT=id`. With `MUTANT_NOTES=FILE`, it is true for none, and
//! writes a one at byte `id` of the file instead, which is mapped: so children of a fork, processes that are killed,
//! and signal handlers note what they reach as well. It neither allocates nor locks: code that is mutated may be what the
//! allocator or a signal handler calls.
//!
//! Constant functions have mutants too. While the compiler evaluates them no mutant is on; that takes an
//! intrinsic, so this crate, and no other, is compiled with the compiler's unstable features.

#![feature(core_intrinsics, const_eval_select)]
#![allow(internal_features)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// Nobody has asked the environment yet.
const UNREAD: u32 = u32::MAX;
/// What is reached is noted.
const NOTES: u32 = u32::MAX - 1;
/// The bytes of the file of notes: more than there are mutants.
const BYTES: usize = 1 << 16;

static AWAKE: AtomicU32 = AtomicU32::new(UNREAD);
static MAP: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn mmap(at: *mut c_void, len: usize, prot: c_int, flags: c_int, file: c_int, from: i64) -> *mut c_void;
}

/// Whether mutant `id` is the one that is awake.
#[inline(always)]
pub const fn on(id: u32) -> bool {
    const fn never(_: u32) -> bool {
        false
    }
    std::intrinsics::const_eval_select((id,), never, is_awake)
}

/// For a function that returns `impl Iterator`, which has one type only: what is replaced and what replaces it.
pub enum Either<L, R> {
    Left(L),
    Right(R),
}

impl<L: Iterator, R: Iterator<Item = L::Item>> Iterator for Either<L, R> {
    type Item = L::Item;

    fn next(&mut self) -> Option<L::Item> {
        match self {
            Either::Left(left) => left.next(),
            Either::Right(right) => right.next(),
        }
    }
}

#[inline(always)]
fn is_awake(id: u32) -> bool {
    let awake = AWAKE.load(Ordering::Relaxed);
    awake == id || (awake >= NOTES && asked(id))
}

/// Asks the environment first, and notes what is reached. Threads that ask at the same time find the same.
#[cold]
#[inline(never)]
fn asked(id: u32) -> bool {
    if AWAKE.load(Ordering::Relaxed) == UNREAD {
        ask();
    }
    match AWAKE.load(Ordering::Relaxed) {
        NOTES => {
            // SAFETY: the file is mapped and has a byte for every mutant; all writers write the same.
            unsafe { AtomicPtr::load(&MAP, Ordering::Acquire).add(id as usize % BYTES).write_volatile(1) };
            false
        }
        awake => awake == id,
    }
}

fn ask() {
    // SAFETY: C strings; nobody changes the environment at the same time: the first question comes early.
    let (notes, number) = unsafe { (getenv(c"MUTANT_NOTES".as_ptr()), getenv(c"MUTANT".as_ptr())) };
    if !notes.is_null() {
        // SAFETY: a C string from the environment; reading and writing, close-on-exec.
        let file = unsafe { open(notes, 0o2_000_002) };
        // SAFETY: a new mapping, readable and writable, shared.
        let map = unsafe { mmap(std::ptr::null_mut(), BYTES, 3, 1, file, 0) };
        assert!(map as isize != -1, "the notes cannot be mapped");
        MAP.store(map.cast(), Ordering::Release);
        AWAKE.store(NOTES, Ordering::Release);
        return;
    }
    let mut id = 0;
    if !number.is_null() {
        // SAFETY: a C string from the environment.
        for digit in unsafe { CStr::from_ptr(number) }.to_bytes() {
            id = id * 10 + u32::from(digit - b'0');
        }
    }
    AWAKE.store(id, Ordering::Relaxed);
}
