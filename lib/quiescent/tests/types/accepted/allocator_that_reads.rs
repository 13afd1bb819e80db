//! A global allocator that opens sections, also while the library allocates.
use quiescent::*;
use std::alloc::{GlobalAlloc, Layout, System};
struct Reading;
// SAFETY: as the system's.
unsafe impl GlobalAlloc for Reading {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let guard = read_lock();
        // SAFETY: as the caller's.
        let memory = unsafe { System.alloc(layout) };
        drop(guard);
        memory
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller's.
        read(|_| unsafe { System.dealloc(memory, layout) });
    }
}
#[global_allocator]
static ALLOCATOR: Reading = Reading;
fn main() {
    let cell = RcuCell::new(vec![0; 10]);
    let domain = Domain::new();
    for n in 0..1000 {
        cell.store(vec![n; 10]);
        domain.defer(move || drop(vec![n]));
    }
    assert_eq!(read(|guard| cell.load(guard)[0]), 999);
    domain.barrier();
    barrier();
}
