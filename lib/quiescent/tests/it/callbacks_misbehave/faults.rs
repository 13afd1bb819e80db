//! The program's own fault handlers run on the worker.

use super::*;

/// Some pages of memory, as large as pages can be.
#[repr(align(65536))]
struct Pages([AtomicU64; 8192]);

static PAGES: Pages = Pages([const { AtomicU64::new(0) }; 8192]);
/// How often a handler of the program has run.
static FAULTS: AtomicU32 = AtomicU32::new(0);

fn protect(protection: libc::c_int) {
    let pages = (&raw const PAGES).cast_mut().cast();
    // SAFETY: a static of ours, in pages of its own; it is used where it may be, or a handler opens it.
    let failed = unsafe { libc::mprotect(pages, size_of::<Pages>(), protection) };
    assert_eq!(failed, 0);
}

/// Opens the pages, as programs do that map memory when it is first used.
extern "C" fn note_and_open(_: libc::c_int) {
    FAULTS.fetch_add(1, Ordering::AcqRel);
    protect(libc::PROT_READ | libc::PROT_WRITE);
}

fn handle(signal: libc::c_int) {
    // SAFETY: plain data, zero is no flag and no signal; the handler does only what it may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note_and_open as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_ONSTACK;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

/// Faults when it is dropped, in two ways, and goes on where the handler has seen to it.
struct Faults(u64);

impl Drop for Faults {
    fn drop(&mut self) {
        protect(libc::PROT_NONE);
        PAGES.0[7].store(self.0, Ordering::Relaxed);
        assert_eq!(PAGES.0[7].load(Ordering::Relaxed), self.0);
        // SAFETY: takes a number.
        assert_eq!(unsafe { libc::raise(libc::SIGTRAP) }, 0);
    }
}

#[test]
fn the_programs_fault_handlers_run_on_the_worker() {
    in_both_modes(|| {
        handle(libc::SIGSEGV);
        handle(libc::SIGTRAP);
        let cell = RcuCell::new(Some(Faults(0)));
        for round in 1..4 {
            let next = (round < 3).then(|| Faults(round));
            cell.store(next).retire_hurry();
            barrier();
            assert_eq!(u64::from(FAULTS.load(Ordering::Acquire)), 2 * round);
        }
        assert_eq!(statistics().callback_panics, 0);
    });
}
