//! Forks while other threads are in the middle of an operation.

use std::ptr::NonNull;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use quiescent::{Retired, barrier, defer, defer_hurry, drain, read, statistics, synchronize};
use quiescent_core::needs;

use super::allocator::{self, TWICE, in_use, object, take_locks};
use super::everything_works;
use crate::common::children::{fork, in_child, readers_stay_meanwhile};
use crate::common::deferral::{Gate, Ledger, queue_somehow};
use crate::common::healed;
use crate::common::tasks::{Bell, block_on};
use crate::common::{Isolated, Reader, SHORT, in_both_modes, sleepers, until};

#[test]
fn during_a_grace_period() {
    needs!(fork);
    in_both_modes(|| {
        readers_stay_meanwhile();
        let reader = Reader::inside("in the way");
        thread::scope(|scope| {
            // One drives and sleeps, the others wait for it.
            let waiters = sleepers(scope, 3, synchronize);
            until("the driver sleeps", || statistics().sleeps > 0);
            assert!(statistics().busy);
            for n in 0..4 {
                in_child(|| {
                    assert!(statistics().busy, "it is in flight here, too");
                    if n % 2 == 0 {
                        synchronize();
                    } else {
                        read(|_| ());
                        defer(|| ());
                    }
                    everything_works();
                    in_child(everything_works);
                });
            }
            assert!(!waiters.iter().any(thread::ScopedJoinHandle::is_finished));
            reader.end();
        });
        everything_works();
    });
}

#[test]
fn during_a_callback() {
    needs!(fork);
    in_both_modes(|| {
        healed::runs_late(); // what is due while the callback waits for the children
        let ledger = Ledger::new(20);
        let gate = Gate::new();
        let thing = ledger.thing(0);
        defer_hurry(move || {
            gate.pass();
            drop(thing);
        });
        gate.until_reached(1);
        (1..20).for_each(|n| queue_somehow(ledger.thing(n), n));
        for _ in 0..3 {
            in_child(|| {
                assert_eq!(statistics().not_inherited, 20, "the one that runs as well");
                everything_works();
                assert_eq!(ledger.count(), 0, "the child ran what the parent runs");
                assert_eq!(gate.reached.load(Ordering::Relaxed), 1);
            });
        }
        gate.open();
        barrier();
        ledger.assert_all_once();
    });
}

#[test]
fn during_a_barrier_and_a_drain() {
    needs!(fork);
    in_both_modes(|| {
        let gate = Gate::new();
        defer_hurry(move || gate.pass());
        gate.until_reached(1);
        thread::scope(|scope| {
            // One waits for the callback, others for their turn.
            let waiting = sleepers(scope, 3, barrier);
            let draining = sleepers(scope, 2, || {
                let _ = drain(crate::common::PATIENCE);
            });
            for _ in 0..3 {
                in_child(|| {
                    barrier();
                    assert_eq!(drain(SHORT).left, 0);
                    everything_works();
                    in_child(everything_works);
                });
            }
            assert!(!waiting.iter().chain(&draining).any(|t| t.is_finished()));
            gate.open();
        });
        everything_works();
    });
}

/// Tells threads to stop, also if a check fails.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What the other threads do.
#[derive(Clone, Copy, PartialEq)]
enum Load {
    /// They push and pop.
    Owners,
    /// Their queues are taken over all the time, too.
    Flushes,
}

/// Objects that a child cannot free, a thread at most: one that was pushed and not published, two that
/// were popped, two that were taken out of the queue in passing; and a batch, where there are takers.
fn lost(load: Load, threads: usize) -> usize {
    threads * if load == Load::Owners { 5 } else { 300 }
}

/// Retires objects of the pool until `stop` is set.
fn retire_objects(thread: usize, load: Load, stop: &AtomicBool) {
    let mut next = thread * (allocator::POOL / 4);
    while !stop.load(Ordering::Relaxed) {
        next += 1;
        let Some(object) = object(next) else {
            // All are queued. Takers free them; without takers only a push pops entries.
            match load {
                Load::Flushes => thread::yield_now(),
                // SAFETY: a box of ours, retired once.
                Load::Owners => unsafe {
                    Retired::from_raw(NonNull::from(Box::leak(Box::new(next)))).retire();
                },
            }
            continue;
        };
        match (load, next % 1024) {
            // SAFETY: not in use until now, and retired once.
            (Load::Flushes, 0) => unsafe { Retired::from_raw(object).retire_hurry() },
            // SAFETY: as above.
            _ => unsafe { Retired::from_raw(object).retire() },
        }
    }
}

/// What a child under load checks.
fn check_child(load: Load, threads: usize) {
    barrier();
    assert_eq!(TWICE.load(Ordering::Relaxed), 0, "objects were freed twice");
    let left = in_use();
    assert!(left <= lost(load, threads), "{left} objects were lost");
    assert_eq!(statistics().queued, 0);
}

/// Forks so many times from each of `forkers` threads, under load.
fn under_load(load: Load, forkers: usize, times: usize) {
    const OWNERS: usize = 2;
    let stop = AtomicBool::new(false);
    // A thread of the standard library that starts or ends has a lock of that library, and a child forked
    // meanwhile could start no such thread: all exist before the first fork, and until after the last.
    let together = Barrier::new(OWNERS + usize::from(load == Load::Flushes) + forkers);
    let done = Barrier::new(forkers);
    let (stop, together, done) = (&stop, &together, &done);
    thread::scope(|scope| {
        let _stop = StopAtEnd(stop);
        for n in 0..OWNERS {
            scope.spawn(move || {
                together.wait();
                retire_objects(n, load, stop);
            });
        }
        if load == Load::Flushes {
            scope.spawn(|| {
                together.wait();
                while !stop.load(Ordering::Relaxed) {
                    barrier();
                    drain(SHORT);
                }
            });
        }
        let forkers: Vec<_> = (0..forkers)
            .map(|_| {
                scope.spawn(move || {
                    together.wait();
                    let fine = (0..times).all(|n| {
                        let child = fork(|| {
                            check_child(load, OWNERS + 1);
                            if n % 8 == 0 {
                                everything_works();
                                in_child(everything_works);
                            }
                        });
                        read(|_| ());
                        child.ends_well()
                    });
                    done.wait();
                    assert!(fine, "a child failed, or hangs");
                })
            })
            .collect();
        for forker in forkers {
            forker.join().expect("its children are well");
        }
    });
    barrier();
    assert_eq!((TWICE.load(Ordering::Relaxed), in_use()), (0, 0));
}

#[test]
fn during_pushes_and_pops() {
    needs!(fork);
    in_both_modes(|| under_load(Load::Owners, 1, 30));
}

#[test]
fn during_flushes_and_sweeps() {
    needs!(fork);
    in_both_modes(|| {
        under_load(Load::Flushes, 1, 30);
    });
}

#[test]
fn from_several_threads_at_once() {
    needs!(fork);
    in_both_modes(|| {
        under_load(Load::Flushes, 3, 20);
    });
}

#[test]
fn beside_an_allocator_that_locks_after_us() {
    needs!(fork);
    Isolated::new()
        .env(allocator::EARLY, "1") // *prepare* runs in reverse order
        .run(|| {
            under_load(Load::Flushes, 2, 20);
            futures_and_thread_ends_while_forking();
        });
}

#[test]
fn beside_an_allocator_that_locks_before_us() {
    needs!(fork);
    Isolated::new().run(|| {
        take_locks();
        under_load(Load::Flushes, 2, 20);
        futures_and_thread_ends_while_forking();
    });
}

/// Other users of the library's locks: tasks that wait, threads that start and end, inspections.
fn futures_and_thread_ends_while_forking() {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        let tasks = scope.spawn(|| {
            // Once at least.
            loop {
                let reader = Reader::inside("in the way");
                let (bell, mut future) = (Bell::new(), quiescent::grace_period());
                assert!(bell.poll(&mut future).is_pending(), "a reader is inside");
                assert_eq!(bell.rung(), 0, "woken at once, by its own poll");
                reader.end();
                // A poll would drive: no thread polls before the worker has woken the task.
                until("the task is woken", || bell.rung() > 0);
                assert!(bell.poll(&mut future).is_ready(), "woken too early");
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                crate::common::on_thread("short", || drop(quiescent::RcuCell::new(1).store(2)));
                let _ = (statistics(), quiescent::stats::holdouts());
            }
        });
        for _ in 0..30 {
            in_child(|| {
                block_on(quiescent::grace_period());
                barrier();
            });
        }
        stop.store(true, Ordering::Relaxed);
        tasks.join().expect("no panic");
    });
}
