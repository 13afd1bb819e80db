//! What an idle CPU of the model takes in memory, counted: no more than it says, and not much less.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use quiescent_sim::{Caller, Machine, Options, settings};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is handed to the system's allocator as it came; the counters are beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's promise is the one that `System` wants.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: it came from `System`, with this layout.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most that a machine takes while it is built and some grace periods pass.
fn taken(cpus: u32) -> usize {
    let before = LIVE.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let mut machine = Machine::new(Options::kernel_6_12(cpus, 1000));
    machine.spawn("caller", cpus - 1, 0, Caller::new(5, 0));
    assert!(machine.run_tasks(10_000_000_000));
    drop(machine);
    MOST.load(Ordering::Relaxed) - before
}

#[test]
fn an_idle_cpu_takes_what_is_said() {
    let said = settings::bytes_per_cpu();
    assert!(said <= 4096, "{said}");
    let (small, large) = (taken(1024), taken(17 * 1024));
    let counted = (large - small) / (16 * 1024);
    assert!(counted <= said, "{counted} bytes counted, {said} said");
    assert!(
        counted * 3 >= said * 2,
        "{counted} bytes counted, {said} said"
    );
}
