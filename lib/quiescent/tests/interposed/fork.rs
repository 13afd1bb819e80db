//! Forks, whatever the other threads are doing: the child can use everything, frees the memory it inherited,
//! and leaves callbacks to the parent.

pub mod allocator;
mod alone;
mod descriptors;
mod domains;
mod meanwhile;
mod sections;
mod steps;

use std::time::Duration;

use crate::common::deferral::{Ledger, WAYS, queue_somehow};
use crate::common::until;
use quiescent::{
    RcuCell, Retired, barrier, defer, drain, read, statistics, synchronize, try_synchronize,
};

/// Everything works: for the child of a fork, and for its threads.
fn everything_works() {
    let ledger = Ledger::new(3 * WAYS);
    (0..WAYS).for_each(|n| queue_somehow(ledger.thing(n), n));
    let cell = RcuCell::new(1);
    std::thread::scope(|scope| {
        let reads = scope.spawn(|| read(|guard| assert!(*cell.load(guard) > 0)));
        let queues =
            scope.spawn(|| (WAYS..2 * WAYS).for_each(|n| queue_somehow(ledger.thing(n), n)));
        drop(cell.store(2));
        synchronize();
        // As in `children`: the child may fork again.
        for thread in [reads, queues] {
            thread.join().expect("no panic");
        }
    });
    assert_eq!(try_synchronize(), Ok(()));
    barrier();
    assert_eq!(ledger.count(), 2 * WAYS);
    (2 * WAYS..3 * WAYS).for_each(|n| queue_somehow(ledger.thing(n), n));
    let drained = drain(Duration::from_secs(20));
    assert_eq!(drained.left, 0, "{drained:?}");
    ledger.assert_all_once();
    // And by itself, on the worker.
    let flag = crate::common::deferral::flag();
    defer(|| flag.store(true, std::sync::atomic::Ordering::Release));
    until("the worker runs it", || {
        flag.load(std::sync::atomic::Ordering::Acquire)
    });
    // SAFETY: a box of ours, retired once.
    unsafe {
        Retired::from_raw(std::ptr::NonNull::from(Box::leak(Box::new([0u8; 64])))).retire_hurry()
    };
    until("the worker frees it", || statistics().queued == 0);
}
