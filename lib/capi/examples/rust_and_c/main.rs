//! A Rust program with a part in C (`part.c`): both are threads of one runtime, whose grace periods wait for
//! the sections of either. `ci/c-api` compiles the part and links it.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, Ordering};
use std::time::Duration;

// Its functions are what the part calls.
use quiescent_capi as _;

unsafe extern "C" {
    /// Reads the number at `place` in a section of C, calls `inside` there, and reads it again.
    fn part_reads(place: *const AtomicPtr<c_int>, inside: extern "C" fn()) -> c_int;
    /// Frees a block of `malloc` after a grace period, and counts it in `freed`.
    fn part_frees(block: *mut c_void, freed: *const AtomicI32);
}

static IS_INSIDE: AtomicBool = AtomicBool::new(false);
static FREED: AtomicI32 = AtomicI32::new(0);

/// Called inside a section of C.
extern "C" fn inside() {
    assert!(quiescent::in_section(), "a section of C is one of Rust");
    assert!(quiescent::try_synchronize().is_err());
    quiescent::read(|_| IS_INSIDE.store(true, Ordering::Release));
    std::thread::sleep(Duration::from_millis(30));
}

fn main() {
    let current = AtomicPtr::new(Box::into_raw(Box::new(1)));
    std::thread::scope(|scope| {
        // SAFETY: the part reads the number under a section, as below.
        let reader = scope.spawn(|| unsafe { part_reads(&current, inside) });
        while !IS_INSIDE.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        let old = current.swap(Box::into_raw(Box::new(2)), Ordering::AcqRel);
        quiescent::synchronize(); // waits for the section of C
        // SAFETY: unlinked, and a grace period has passed.
        let old = unsafe { Box::from_raw(old) };
        assert_eq!((*old, reader.join().expect("no panic")), (1, 1));
    });
    // A section of Rust holds up what C has queued.
    let guard = quiescent::read_lock();
    // SAFETY: a block of its own; a static.
    unsafe { part_frees(libc::malloc(64), &raw const FREED) };
    assert!(!quiescent::start_grace_period().is_done());
    assert_eq!(FREED.load(Ordering::Acquire), 0);
    drop(guard);
    quiescent::barrier();
    assert_eq!(FREED.load(Ordering::Acquire), 1);
    // SAFETY: no thread reads any more.
    drop(unsafe { Box::from_raw(current.into_inner()) });
    println!("rust_and_c: ok");
}
