//! No memory for more slots: no crash, no hang, and `read_lock` does not fail.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Barrier, Condvar, Mutex};
use std::thread;

use crate::common::{PATIENCE, in_both_modes, isolated, sandbox, until};
use quiescent::{
    RcuCell, SyncError, read, read_lock, statistics, synchronize, synchronize_timeout,
    try_synchronize,
};

/// Threads that one leaf of slots serves.
const SLOTS: u32 = 62;
/// Threads in these tests.
const THREADS: u32 = 100;

/// Threads that exist and have not read yet; each call of what `test` gets makes one of them call `f`.
/// Nothing here allocates once they exist.
fn with_threads(f: impl Fn() + Sync, test: impl FnOnce(&dyn Fn())) {
    let (permits, changed) = (Mutex::new(0), Condvar::new());
    let start = Barrier::new(THREADS as usize + 1);
    let end = Barrier::new(THREADS as usize + 1);
    let run = || {
        start.wait();
        let mut left = permits.lock().expect("no panic");
        while *left == 0 {
            left = changed.wait(left).expect("no panic");
        }
        *left -= 1;
        drop(left);
        f();
        end.wait();
    };
    thread::scope(|scope| {
        for _ in 0..THREADS {
            let builder = thread::Builder::new().stack_size(64 << 10);
            builder.spawn_scoped(scope, run).expect("a thread");
        }
        start.wait();
        test(&|| {
            *permits.lock().expect("no panic") += 1;
            changed.notify_one();
        });
        end.wait();
    });
}

#[test]
fn refused_memory_makes_readers_unregistered() {
    needs!(pages);
    needs!(sandbox::limits(), "a limit of memory");
    let body = || {
        let cell = RcuCell::new(11u64);
        let (sum, calls) = (AtomicU32::new(0), AtomicU32::new(0));
        let reads = || {
            for _ in 0..50 {
                let outer = read_lock();
                sum.fetch_add(read(|guard| *cell.load(guard)) as u32, Ordering::Relaxed);
                drop(outer);
            }
            calls.fetch_add(1, Ordering::Relaxed);
        };
        with_threads(reads, |call| {
            let unlimited = sandbox::limit_address_space(0);
            for n in 1..=THREADS {
                call();
                while calls.load(Ordering::Relaxed) != n {
                    thread::yield_now();
                }
            }
            let refused = statistics();
            // This thread has not read: it does now, and waits; errors are values.
            read(|_| assert_eq!(try_synchronize(), Err(SyncError::InsideSection)));
            let result = synchronize_timeout(PATIENCE);
            sandbox::limit_address_space(unlimited);
            // The tree's memory comes from the allocator, which may or may not have had some.
            let oom = matches!(result, Err(SyncError::OutOfMemory { .. }));
            assert!(result == Ok(()) || oom, "{result:?}");
            assert_eq!(refused.registered, SLOTS);
            assert_eq!(
                refused.unregistered_sections,
                u64::from(THREADS - SLOTS) * 100
            );
            // Memory is there again: so are slots, and grace periods.
            synchronize();
            let one_more = crate::common::on_thread("one more", || {
                read(|_| ());
                statistics().registered
            });
            assert_eq!(one_more, SLOTS + 1);
            synchronize();
        });
        assert_eq!(sum.into_inner(), THREADS * 50 * 11);
        until("all threads are gone", || statistics().registered == 0);
        assert_eq!(
            cell.store(12).wait_timeout(PATIENCE).map(|old| *old).ok(),
            Some(11)
        );
    };
    in_both_modes(body);
}

#[test]
fn refused_memory_leaves_errno_alone() {
    needs!(pages);
    needs!(sandbox::limits(), "a limit of memory");
    isolated(|| {
        // `read_lock` may be called in signal handlers, which must not change what a failed call left
        // in `errno`.
        let failures = AtomicU32::new(0);
        let calls = AtomicU32::new(0);
        let reads = || {
            // SAFETY: the place of this thread's errno.
            let errno = unsafe { &mut *libc::__errno_location() };
            *errno = libc::EXDEV;
            drop(read_lock());
            failures.fetch_add(u32::from(*errno != libc::EXDEV), Ordering::Relaxed);
            calls.fetch_add(1, Ordering::Relaxed);
        };
        with_threads(reads, |call| {
            let unlimited = sandbox::limit_address_space(0);
            (0..THREADS).for_each(|_| call());
            while calls.load(Ordering::Relaxed) != THREADS {
                thread::yield_now();
            }
            sandbox::limit_address_space(unlimited);
        });
        assert!(statistics().unregistered_sections > 0);
        assert_eq!(failures.into_inner(), 0);
    });
}
