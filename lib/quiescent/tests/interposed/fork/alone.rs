//! Forks of a process whose other threads are at rest.

use std::ptr::NonNull;

use quiescent::tuning::{FlushTimes, set_flush_times};
use quiescent::{
    Options, Retired, barrier, defer, drain, read, start_grace_period, statistics, synchronize,
};
use quiescent_core::needs;

use super::everything_works;
use crate::common::children::{fork, in_child, readers_stay_meanwhile};
use crate::common::deferral::{Gate, Ledger, queue_somehow};
use crate::common::{PATIENCE, in_both_modes, isolated, on_thread, thread_id};

#[test]
fn a_child_and_its_children_go_on() {
    needs!(fork);
    in_both_modes(|| {
        for warm in [false, true] {
            if warm {
                everything_works();
            }
            let child = fork(|| {
                let forks = statistics().forks;
                everything_works();
                let grandchild = fork(|| {
                    assert_eq!(statistics().forks, forks + 1);
                    everything_works();
                });
                everything_works();
                grandchild.join();
            });
            everything_works();
            child.join();
        }
    });
}

/// Retires `count` objects of plain memory.
fn retire_plain(count: u64) {
    for n in 0..count {
        // SAFETY: a box of ours, retired once.
        unsafe { Retired::from_raw(NonNull::from(Box::leak(Box::new([n; 4])))).retire() };
    }
}

#[test]
fn inherited_memory_is_freed_and_inherited_code_is_not_run() {
    needs!(fork);
    in_both_modes(|| {
        readers_stay_meanwhile();
        let ledger = Ledger::new(60);
        let gone = || {
            retire_plain(300);
            (0..30).for_each(|n| queue_somehow(ledger.thing(n), [0, 2, 4, 6, 8][n % 5]));
        };
        let stays = || {
            retire_plain(700);
            (30..60).for_each(|n| queue_somehow(ledger.thing(n), [0, 2, 4, 6, 8][n % 5]));
        };
        // A reader keeps all of it where it is.
        let reader = crate::common::Reader::inside("keeps it");
        on_thread("ends", gone);
        stays();
        let before = statistics();
        assert!(before.queued >= 1060 - 2, "{before:?}");
        in_child(|| {
            let now = statistics();
            assert_eq!(now.queued + now.not_inherited, before.queued, "{now:?}");
            assert_eq!(now.not_inherited, 60);
            assert_eq!(now.callbacks, 0);
            barrier();
            assert_eq!(statistics().queued, 0);
            everything_works();
            assert_eq!(ledger.count(), 0, "the child ran what the parent runs");
        });
        reader.end();
        barrier();
        ledger.assert_all_once();
        assert_eq!(statistics().not_inherited, 0);
    });
}

#[test]
fn inherited_code_is_run_where_it_was_asked_for() {
    needs!(fork);
    in_both_modes(|| {
        readers_stay_meanwhile();
        Options::new()
            .inherit_callbacks(true)
            .apply()
            .expect("these can change");
        let ledger = Ledger::new(40);
        let reader = crate::common::Reader::inside("keeps it");
        on_thread("ends", || {
            (0..20).for_each(|n| queue_somehow(ledger.thing(n), n));
        });
        (20..40).for_each(|n| queue_somehow(ledger.thing(n), n));
        in_child(|| {
            assert_eq!(statistics().not_inherited, 0);
            barrier();
            ledger.assert_all_once();
            everything_works();
        });
        reader.end();
        barrier();
        ledger.assert_all_once();
    });
}

/// The worker of the parent has taken them, and the child has none yet.
#[test]
fn what_the_worker_had_taken_over_is_freed_by_the_child() {
    needs!(fork);
    isolated(|| {
        readers_stay_meanwhile();
        let soon = 4 * crate::common::SHORT;
        set_flush_times(FlushTimes {
            lazy: soon,
            prompt: soon,
        });
        let reader = crate::common::Reader::inside("keeps it");
        retire_plain(100);
        // SAFETY: a box of ours, retired once.
        unsafe {
            quiescent::Retired::from_raw(NonNull::from(Box::leak(Box::new(1u64)))).retire_hurry()
        };
        super::until(
            "the worker has taken it over, and the reader is in the way",
            || {
                let now = statistics();
                now.fences_take > 0 && now.scans > 0
            },
        );
        // It has taken over all of it, at one time: nothing is left to be flushed but what the child queues.
        assert_eq!((statistics().flushes.lazy, statistics().stalls), (1, 0));
        in_child(|| {
            assert!(statistics().queued > 100);
            defer(|| ()); // the first need: it brings a worker, and the worker looks at everything
            super::until("all is gone", || statistics().queued == 0);
        });
        reader.end();
        barrier();
    });
}

#[test]
fn a_callback_may_fork_on_the_worker_and_in_drain() {
    needs!(fork);
    in_both_modes(|| {
        let ledger = Ledger::new(6);
        let gate = Gate::new();
        for (n, on_worker) in [(0, true), (1, false)] {
            let thing = ledger.thing(n);
            defer(move || {
                let _thing = thing;
                in_child(everything_works_in_a_callback);
                gate.pass();
            });
            gate.open();
            if on_worker {
                barrier();
            } else {
                assert_eq!(drain(PATIENCE).left, 0);
            }
        }
        // A child that comes back from the callback: the only thread there is the worker's, which
        // ends, and with it the process.
        for (n, on_worker) in [(2, true), (3, false)] {
            let thing = ledger.thing(n);
            let (sender, receiver) = std::sync::mpsc::channel();
            defer(move || {
                let _thing = thing;
                // SAFETY: the child goes on as the parent does.
                match unsafe { libc::fork() } {
                    0 => crate::common::children::limit(),
                    pid => sender.send((pid, thread_id())).expect("the test waits"),
                }
            });
            let parent = std::process::id();
            if on_worker {
                barrier();
            } else {
                drain(PATIENCE);
                if std::process::id() != parent {
                    assert_eq!(statistics().queued, 0);
                    everything_works();
                    // SAFETY: takes a number.
                    unsafe { libc::_exit(0) };
                }
            }
            let (pid, _) = receiver.recv().expect("it ran");
            let mut status = 0;
            // SAFETY: `status` is writable.
            assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
            assert_eq!(
                status, 0,
                "the child of a callback, on the worker: {on_worker}"
            );
        }
        assert_eq!(ledger.count(), 4);
    });
}

/// Inside a callback nothing waits; what it queues is run by a worker of the child's own.
fn everything_works_in_a_callback() {
    let flag = crate::common::deferral::flag();
    defer(|| flag.store(true, std::sync::atomic::Ordering::Release));
    std::thread::spawn(|| {
        synchronize();
        barrier();
        read(|_| ());
    })
    .join()
    .expect("a thread of the child waits");
    assert!(flag.load(std::sync::atomic::Ordering::Acquire));
}

#[test]
fn a_cookie_from_before_the_fork_is_good_in_the_child() {
    needs!(fork);
    in_both_modes(|| {
        readers_stay_meanwhile();
        let reader = crate::common::Reader::inside("in the way");
        let cookie = start_grace_period();
        assert!(!cookie.is_done() && statistics().busy);
        in_child(|| {
            super::until("its grace period ends", || cookie.is_done());
            everything_works();
        });
        assert!(!cookie.is_done());
        reader.end();
        super::until("its grace period ends", || cookie.is_done());
    });
}

#[test]
fn forks_can_be_left_alone() {
    needs!(fork);
    isolated(|| {
        Options::new()
            .ignore_forks(true)
            .apply()
            .expect("these can change");
        retire_plain(10);
        let before = statistics().queued;
        in_child(|| assert_eq!(statistics().forks, 0));
        Options::new().apply().expect("these can change");
        in_child(|| {
            assert_eq!(statistics().forks, 1);
            assert_eq!(statistics().queued, before);
            everything_works();
        });
        everything_works();
    });
}
