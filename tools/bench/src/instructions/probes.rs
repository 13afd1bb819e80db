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

/// The probes, in the order they are shown: name and address. Taking the addresses is what keeps them in a
/// program.
pub fn all() -> [(&'static str, usize); 7] {
    [
        (
            "quiescent_probe_empty",
            quiescent_probe_empty as fn() as usize,
        ),
        (
            "quiescent_probe_nested",
            quiescent_probe_nested as fn() as usize,
        ),
        (
            "quiescent_probe_load",
            quiescent_probe_load as fn(&RcuCell<u64>) -> u64 as usize,
        ),
        (
            "quiescent_probe_repin",
            quiescent_probe_repin as fn(&mut Guard) as usize,
        ),
        (
            "quiescent_probe_srcu",
            quiescent_probe_srcu as fn(&Srcu) as usize,
        ),
        (
            "quiescent_probe_domain",
            quiescent_probe_domain as fn(&Domain) as usize,
        ),
        (
            "quiescent_probe_retire",
            quiescent_probe_retire as unsafe fn(NonNull<[u64; 8]>) as usize,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_do_what_they_say() {
        quiescent_probe_empty();
        quiescent_probe_nested();
        assert_eq!(quiescent_probe_load(&RcuCell::new(42)), 42);
        assert!(
            !quiescent::in_section(),
            "each probe leaves what it entered"
        );
        let mut guard = read_lock();
        quiescent_probe_repin(&mut guard);
        assert!(quiescent::in_section());
        drop(guard);
        let srcu = Srcu::new();
        quiescent_probe_srcu(&srcu);
        assert!(srcu.holdouts().is_empty() && srcu.try_synchronize().is_ok());
        let domain = Domain::new();
        quiescent_probe_domain(&domain);
        assert!(!domain.in_section() && domain.statistics().readers == 1);
        let block = NonNull::from(Box::leak(Box::new([0; 8])));
        // SAFETY: from a box, not shared yet.
        unsafe { quiescent_probe_retire(block) };
        assert_eq!(
            all().map(|(name, _)| name.starts_with("quiescent_probe_")),
            [true; 7]
        );
    }
}
