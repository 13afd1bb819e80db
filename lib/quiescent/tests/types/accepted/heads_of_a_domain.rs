//! Heads of a domain: promptly, lazily, hurriedly.
use quiescent::intrusive::{self, Head};
use quiescent::*;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
static RUN: AtomicU32 = AtomicU32::new(0);
unsafe fn call(d: &Domain, head: NonNull<Head>, run: unsafe fn(NonNull<Head>), which: u32) {
    unsafe {
        match which {
            0 => intrusive::defer_in(&d, head, run),
            1 => intrusive::defer_lazy_in(&d, head, run),
            _ => intrusive::defer_hurry_in(&d, head, run),
        }
    }
}
fn main() {
    let domain = Domain::new();
    for which in 0..3 {
        let head = NonNull::from(Box::leak(Box::new(Head::new())));
        let run = |head: NonNull<Head>| {
            RUN.fetch_add(1, Relaxed);
            drop(unsafe { Box::from_raw(head.as_ptr()) });
        };
        unsafe { call(&domain, head, run, which) };
    }
    domain.barrier();
    assert_eq!(RUN.load(Relaxed), 3);
    assert_eq!(domain.statistics().callbacks, 3);
}
