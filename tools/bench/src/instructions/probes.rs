//! One read-side pair each, and the call that retires, in a function of its own with a name that a
//! disassembler can find.
//!
//! `ci/instructions --disassembly` shows them: the instructions that a program gets where it reads, with the
//! slow-path test and the wake-flag test in them. The names are exported unmangled for `objdump` only;
//! calling the functions does what they say.

use quiescent::{Domain, Guard, RcuCell, Retired, Srcu, read_lock};
use std::ptr::NonNull;

/// An outermost section: enter and leave.
#[inline(never)]
#[unsafe(no_mangle)]
pub fn quiescent_probe_empty() {
    drop(read_lock());
}

/// A section inside a section: what the inner pair adds to [`quiescent_probe_empty`].
#[inline(never)]
#[unsafe(no_mangle)]
pub fn quiescent_probe_nested() {
    let outer = read_lock();
    drop(read_lock());
    drop(outer);
}

/// Enter, read through a cell, leave.
#[inline(never)]
#[unsafe(no_mangle)]
pub fn quiescent_probe_load(cell: &RcuCell<u64>) -> u64 {
    let guard = read_lock();
    *cell.load(&guard)
}

/// A quiescent state in the middle of a long section.
#[inline(never)]
#[unsafe(no_mangle)]
pub fn quiescent_probe_repin(guard: &mut Guard) {
    guard.repin();
}

/// A section that may sleep: enter and leave.
#[inline(never)]
#[unsafe(no_mangle)]
pub fn quiescent_probe_srcu(srcu: &Srcu) {
    drop(srcu.read_lock());
}

/// A section of a domain of the program's own: enter and leave.
#[inline(never)]
#[unsafe(no_mangle)]
pub fn quiescent_probe_domain(domain: &Domain) {
    drop(domain.read_lock());
}

/// Retires a plain block of 64 bytes.
///
/// # Safety
/// As [`retire_ptr`].
#[inline(never)]
#[unsafe(no_mangle)]
pub unsafe fn quiescent_probe_retire(block: NonNull<[u64; 8]>) {
    // SAFETY: the caller's promise.
    unsafe { Retired::from_raw(block).retire() };
}

/// Their names, in the order they are shown, and their addresses: taking these keeps the probes in a program.
pub fn all() -> [(&'static str, *const ()); 7] {
    [
        ("quiescent_probe_empty", quiescent_probe_empty as _),
        ("quiescent_probe_nested", quiescent_probe_nested as _),
        ("quiescent_probe_load", quiescent_probe_load as _),
        ("quiescent_probe_repin", quiescent_probe_repin as _),
        ("quiescent_probe_srcu", quiescent_probe_srcu as _),
        ("quiescent_probe_domain", quiescent_probe_domain as _),
        ("quiescent_probe_retire", quiescent_probe_retire as _),
    ]
}
