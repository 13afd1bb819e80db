//! What a machine takes: memory for each CPU, and events for what happens, not for each CPU and tick.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use quiescent_sim::{Arrivals, Caller, Churn, Machine, Options};

const SECOND: u64 = 1_000_000_000;

/// Bytes that this process holds.
static HELD: AtomicIsize = AtomicIsize::new(0);

struct Counting;

// SAFETY: the system's allocator, and a count.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn held() -> isize {
    HELD.load(Ordering::Relaxed)
}

fn options(cpus: u32, offloaded: bool) -> Options {
    Options {
        nocbs: (0..cpus).filter(|_| offloaded).collect(),
        ..Options::kernel_6_12(cpus, 1000)
    }
}

/// Bytes that a machine holds, its engine included, after a few grace periods.
fn bytes(cpus: u32, offloaded: bool) -> isize {
    let options = options(cpus, offloaded);
    let before = held();
    let mut machine = Machine::new(options);
    machine.spawn("caller", 1, 0, Caller::new(3, 0));
    assert!(machine.run_tasks(SECOND));
    held() - before
}

/// Events a second on a machine of which one CPU queues a hundred callbacks a second.
fn events(cpus: u32, offloaded: bool) -> u64 {
    let mut machine = Machine::new(Options {
        first_fqs: Some(3),
        next_fqs: Some(3),
        ..options(cpus, offloaded)
    });
    let func = machine.func("callback");
    let arrivals = (1..200).map(|i| Arrivals {
        at: i * 10_012_345,
        calls: vec![(func, false, true)],
    });
    machine.spawn("churn", 1, 0, Churn::new(arrivals.collect()));
    machine.run(2 * SECOND);
    machine.events() / 2
}

/// One test, since the memory that others take meanwhile would count.
#[test]
fn an_idle_cpu_takes_little_memory_and_no_events() {
    for offloaded in [false, true] {
        let each = (bytes(8192, offloaded) - bytes(4096, offloaded)) / 4096;
        println!("offloaded: {offloaded}: {each} bytes for each CPU");
        assert!(each <= 4096, "{each} bytes, offloaded: {offloaded}");
        assert!(each > 500, "{each} bytes: what is a CPU then?");
        let (few, many) = (events(16, offloaded), events(4096, offloaded));
        println!("{few} events/s on 16 CPUs, {many} on 4096");
        // At most as many again, and that is 256 times as many CPUs.
        assert!(many < 2 * few, "{few} on 16 CPUs, {many} on 4096");
    }
    an_hour_of_idling();
}

/// A machine on which nothing happens.
fn an_hour_of_idling() {
    let mut machine = Machine::new(options(4096, true));
    machine.run(SECOND);
    let booted = machine.events();
    machine.run(3600 * SECOND);
    assert_eq!(machine.events(), booted, "an hour without an event");
}
