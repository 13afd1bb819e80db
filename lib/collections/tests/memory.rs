//! The memory that a map takes. A program of its own, whose allocator counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use quiescent::tuning::{FlushTimes, flush_times, set_flush_times};
use quiescent_collections::RcuHashMap;

struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes for each entry above its own 16, since there were so many bytes.
fn above(before: usize, entries: usize) -> f64 {
    let bytes = BYTES.load(Ordering::Relaxed).saturating_sub(before);
    bytes as f64 / entries as f64 - 16.0
}

/// One test, because all share the allocator.
#[test]
fn a_map_takes_little_and_gives_back_what_it_does_not_need() {
    let lazy = Duration::from_millis(300);
    set_flush_times(FlushTimes {
        lazy,
        ..flush_times()
    });
    quiescent::defer(|| ());
    quiescent::barrier(); // the library has its worker
    // The worker, or the program that runs the tests, may allocate meanwhile, but not each time.
    let allocates = |_| {
        let before = BYTES.load(Ordering::Relaxed);
        let _map: RcuHashMap<u64, u64> = RcuHashMap::new();
        BYTES.load(Ordering::Relaxed) != before
    };
    assert!(!(0..1000).all(allocates), "an empty map allocates");

    let before = BYTES.load(Ordering::Relaxed);
    let map: RcuHashMap<u64, u64> = RcuHashMap::new();
    for (from, to) in [(0, 82_000), (82_000, 100_000), (100_000, 1_000_000)] {
        (from..to).for_each(|n| assert!(map.pin().insert(n, n).is_none()));
        quiescent::barrier(); // the tables that were replaced are freed
        let above = above(before, to as usize);
        println!("{to} entries: {above:.1} bytes each above their own");
        assert!(above <= 14.0, "{to} entries: {above}");
    }

    (0..900_000).for_each(|n| assert!(map.pin().remove(&n).is_some()));
    // Without a call of the library from here on.
    let begin = Instant::now();
    while above(before, 100_000) > 40.0 {
        let above = above(before, 100_000);
        assert!(
            begin.elapsed() < Duration::from_secs(100),
            "{above} bytes each stay"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    println!("{:.1} bytes for each entry left", above(before, 100_000));

    drop(map);
    quiescent::barrier(); // the worker may have replaced a table just before
    let left = BYTES.load(Ordering::Relaxed).saturating_sub(before);
    assert!(left < 100_000, "{left} bytes stay after the drop");
    behind_a_guard();
}

/// While a guard is held, what a map removes and replaces stays: the domain reports it as queued, and
/// compares it with its budget.
fn behind_a_guard() {
    let domain = quiescent::Domain::new();
    domain.set_budget(1 << 20, 1 << 20);
    let map: RcuHashMap<u64, u64, _, _> = RcuHashMap::new_in(domain.clone());
    let guard = domain.read_lock();
    let before = BYTES.load(Ordering::Relaxed);
    for round in 0..5 {
        (0..100_000).for_each(|n| assert!(map.insert(n, n, &guard).is_none()));
        (0..100_000).for_each(|n| assert!(map.remove(&n, &guard).is_some()));
        map.shrink_to_fit(&guard);
        let held = BYTES.load(Ordering::Relaxed).saturating_sub(before) as u64;
        let statistics = domain.statistics();
        // Entries count for more than they are; lists that are not full, two tables, and spare chunks do not
        // count.
        let reported = statistics.queued_bytes + (512 << 10);
        println!("round {round}: {held} bytes are held, {reported} reported");
        assert!(
            held <= reported,
            "{held} bytes are held, {reported} reported"
        );
        assert!(statistics.over_budget > 0, "the budget does not see it");
    }
    let held = BYTES.load(Ordering::Relaxed).saturating_sub(before);
    drop(guard);
    let begin = Instant::now();
    while BYTES.load(Ordering::Relaxed).saturating_sub(before) > held / 10 {
        assert!(begin.elapsed() < Duration::from_secs(100), "it stays");
        domain.barrier();
    }
}
