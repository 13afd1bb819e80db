//! Runtimes that end, wakers that panic, workers that wait, forks, refused fences, workers that cannot be
//! started.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use quiescent::{RcuCell, Runner, statistics, synchronize};

use super::{Place, everywhere};
use crate::common::children::{in_child, readers_stay_meanwhile};
use crate::common::deferral::{Gate, Ledger};
use crate::common::tasks::{Bell, block_on};
use crate::common::{Isolated, PATIENCE, Reader, isolated, panic_text, until};

#[test]
fn a_runtime_that_is_shut_down_with_pending_ones() {
    everywhere(|place| {
        let (ledger, hold) = (Ledger::new(1), place.hold());
        place.queue(ledger.thing(0), 1);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .expect("threads");
        let polled = Arc::new(AtomicU32::new(0));
        for _ in 0..50 {
            let polled = Arc::clone(&polled);
            runtime.spawn(async move {
                polled.fetch_add(1, Ordering::Relaxed);
                place.future().await;
                polled.fetch_add(1000, Ordering::Relaxed);
            });
        }
        until("they wait", || polled.load(Ordering::Relaxed) == 50);
        runtime.shutdown_timeout(Duration::from_secs(20));
        assert_eq!((polled.load(Ordering::Relaxed), ledger.count()), (50, 0));
        let late = place.future();
        hold.end();
        block_on(late);
        ledger.assert_all_once();
        // Another one goes on as if nothing had been.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .expect("threads");
        let ledger = Ledger::new(100);
        let tasks: Vec<_> = (0..100)
            .map(|n| {
                runtime.spawn(async move {
                    place.queue(ledger.thing(n), n);
                    place.future().await;
                })
            })
            .collect();
        runtime.block_on(async {
            for task in tasks {
                task.await.expect("no panic");
            }
        });
        ledger.assert_all_once();
    });
}

/// Panics, with something that panics again.
struct Panics;

impl Drop for Panics {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("what it carried");
        }
    }
}

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        std::mem::forget(self);
        std::panic::panic_any(Panics);
    }
}

#[test]
fn a_waker_that_panics_leaves_no_waiter_asleep() {
    everywhere(|place| {
        let (ledger, hold) = (Ledger::new(1), place.hold());
        place.queue(ledger.thing(0), 1);
        let waker = Waker::from(Arc::new(Panics));
        let mut bad = place.future();
        assert!(
            bad.as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        let good = thread::spawn(move || block_on(place.future()));
        hold.end();
        good.join().expect("no panic");
        drop(bad);
        std::mem::forget(waker);
        ledger.assert_all_once();
        block_on(place.future());
    });
}

/// What ends the barrier is run by a `drain`, while the worker waits for a reader of something else.
#[test]
fn it_is_woken_while_the_worker_waits_for_readers() {
    isolated(|| {
        let (ledger, gate) = (Ledger::new(1), Gate::new());
        quiescent::report::set_stall_after(Duration::ZERO); // or the driver would look then
        quiescent::tuning::set_closures(Runner::Drained);
        quiescent::defer(|| gate.pass());
        thread::scope(|scope| {
            scope.spawn(|| quiescent::drain(PATIENCE));
            gate.until_reached(1);
            let bell = Bell::new();
            let mut future = quiescent::barrier_async();
            assert!(bell.poll(&mut future).is_pending());
            let reader = Reader::inside("in the way");
            let scans = statistics().scans;
            Place::Process.queue(ledger.thing(0), 3);
            until("the worker has driven as far as the reader", || {
                statistics().scans > scans
            });
            gate.open();
            until("the task is woken", || bell.rung() == 1);
            assert!(bell.poll(&mut future).is_ready());
            assert_eq!(ledger.count(), 0, "its reader is inside");
            reader.end();
        });
        quiescent::drain(PATIENCE);
        ledger.assert_all_once();
    });
}

#[test]
fn in_the_child_of_a_fork_it_is_polled_again() {
    needs!(fork);
    everywhere(|place| {
        readers_stay_meanwhile();
        // One callback is being run, and others wait for that, or for a reader.
        let (ledger, gate) = (Ledger::new(1), Gate::new());
        place.defer_hurry(|| gate.pass());
        gate.until_reached(1);
        let mut hold = Some(place.hold());
        place.queue(ledger.thing(0), 1);
        let bell = Bell::new();
        let mut future = place.future();
        assert!(bell.poll(&mut future).is_pending());
        let unpolled = place.future();
        let mut unpolled = Some(unpolled);
        let mut pending = Some(future);
        for _ in 0..3 {
            in_child(|| {
                if let Place::Under(_) = place {
                    drop(hold.take()); // sections of other threads are over only in the process's domain
                }
                // Any thread here may free memory of the parent.
                let memory = RcuCell::new([1u64; 8]);
                drop(memory.store([2; 8]));
                assert!(statistics().queued > 0);
                let own = Ledger::new(1);
                place.queue(own.thing(0), 1);
                let fresh = place.future();
                for task in pending.take().into_iter().chain(unpolled.take()) {
                    block_on(task);
                }
                block_on(fresh);
                own.assert_all_once();
                quiescent::barrier();
                assert_eq!((place.queued(), ledger.count()), (0, 0));
            });
        }
        gate.open();
        hold.into_iter().for_each(super::Hold::end);
        pending.into_iter().chain(unpolled).for_each(block_on);
        ledger.assert_all_once();
    });
}

/// A barrier that was in flight at the fork covers nothing in the child.
#[test]
fn in_the_child_it_covers_what_the_child_inherited() {
    needs!(fork);
    isolated(|| {
        readers_stay_meanwhile();
        let hold = Reader::inside("held");
        let memory = RcuCell::new([1u64; 8]);
        drop(memory.store([2; 8]));
        let mut future = Some(Place::Process.future());
        let bell = Bell::new();
        assert!(bell.poll(future.as_mut().expect("made above")).is_pending());
        in_child(|| {
            assert_eq!(statistics().queued, 1);
            block_on(future.take().expect("made by the parent"));
            assert_eq!(statistics().queued, 0);
        });
        hold.end();
        future.into_iter().for_each(block_on);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_fence_that_is_refused_later_is_said() {
    needs!(fence);
    needs!(crate::common::sandbox::filters(), "seccomp filters");
    for under_srcu in [false, true] {
        Isolated::new().tag(&under_srcu.to_string()).run(|| {
            let place = match under_srcu {
                false => Place::Process,
                true => Place::Under(Box::leak(Box::default())),
            };
            let (ledger, idle) = (Ledger::new(1), Reader::idle("idle"));
            place.hold().end();
            if let Place::Under(srcu) = place {
                // Another thread has read there, so that its grace periods need a fence.
                thread::scope(|scope| scope.spawn(|| drop(srcu.read_lock())).join())
                    .expect("no panic");
            }
            synchronize();
            crate::common::sandbox::refuse(libc::SYS_membarrier, libc::EPERM).expect("a filter");
            place.queue(ledger.thing(0), 1);
            let text = panic_text(|| block_on(place.future()));
            assert!(
                text.contains("membarrier(2) was refused (errno 1)"),
                "{text}"
            );
            assert!(text.contains("BarrierFuture: "), "{text}");
            assert_eq!((ledger.count(), place.queued()), (0, 1));
            // `barrier` reports the same error, now and later.
            let text = panic_text(|| place.barrier());
            assert!(
                text.contains("membarrier(2) was refused (errno 1)"),
                "{text}"
            );
            idle.end();
        });
    }
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_worker_it_polls_again_until_there_is_one() {
    needs!(crate::common::sandbox::limits(), "a limit of memory");
    everywhere(|place| {
        if statistics().helper_threads != 0 {
            return; // there is one already, for all domains
        }
        let ledger = Ledger::new(1);
        let bell = Bell::new();
        // This thread's queue is there before memory is short.
        synchronize();
        let before = crate::common::sandbox::limit_address_space(0);
        place.queue(ledger.thing(0), 2);
        let mut future = place.future();
        for round in 0..10 {
            assert!(bell.poll(&mut future).is_pending());
            assert_eq!(bell.rung(), round + 1, "it is to poll again");
        }
        assert_eq!(ledger.count(), 0);
        crate::common::sandbox::limit_address_space(before);
        block_on(future);
        ledger.assert_all_once();
    });
}
