//! The budget while threads start and end, queues change owners, and processes fork.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use quiescent::tuning::set_budget;
use quiescent::{Retired, barrier, defer, drain, read_lock, statistics};

use super::{BUDGET, nothing_is_held, object, replaced, try_one};
use crate::common::children::{fork, readers_stay_meanwhile};
use crate::common::deferral::{Gate, Ledger, queue_somehow, until_at_rest};
use crate::common::{Numbers, PATIENCE, Reader, in_both_modes, isolated, on_thread, until};

#[test]
fn what_is_taken_over_before_its_owner_helps_is_not_freed_again() {
    needs!(fence);
    isolated(|| {
        set_budget(100_000, u64::MAX);
        static OVER: AtomicBool = AtomicBool::new(false);
        let others: Vec<_> = (0..2)
            .map(|_| {
                thread::spawn(|| {
                    while !OVER.load(Ordering::Relaxed) {
                        drain(Duration::ZERO);
                    }
                })
            })
            .collect();
        // As often as that takes for some of the take-overs to come in between.
        while statistics().fences_take < 20_000 {
            for _ in 0..20 {
                // SAFETY: no other thread has seen the object.
                unsafe { Retired::from_raw(object()).retire() };
            }
            quiescent::synchronize(); // they are done, and this thread is to free them
            drop(replaced(1, 2).with_owned_bytes(200_000)); // over the budget: it helps, on its way out
        }
        OVER.store(true, Ordering::Relaxed);
        others
            .into_iter()
            .for_each(|other| other.join().expect("it ends"));
        assert!(statistics().over_budget > 0);
        nothing_is_held();
    });
}

#[test]
fn threads_that_have_gone_quiet_do_not_keep_the_budget() {
    isolated(|| {
        set_budget(100_000, u64::MAX);
        let quiet = || {
            for _ in 0..300 {
                // Over the budget by itself: nothing else makes room.
                drop(replaced([0u8; 400], [1; 400]));
            }
        };
        let reader = Reader::inside("stalled");
        on_thread("departed", quiet);
        let gate = Gate::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                drop(replaced([0u8; 400], [1; 400]));
                quiet();
                gate.pass();
            });
            gate.until_reached(1);
            // Lazy ones would stay for seconds.
            reader.end();
            // By taking over; behind a fence, or at the owner's last push, if that came in between.
            until("there is room", try_one);
            gate.open();
        });
        nothing_is_held();
    });
}

#[test]
fn the_child_of_a_fork_has_the_total_of_what_it_inherits() {
    needs!(fork);
    in_both_modes(|| {
        readers_stay_meanwhile();
        set_budget(BUDGET, 50);
        let guard = read_lock();
        let reader = Reader::inside("stalled");
        for _ in 0..60 {
            // SAFETY: no other thread has seen the object.
            unsafe { Retired::from_raw(object()).retire() };
            defer(|| ());
        }
        on_thread("departed", || (0..9).for_each(|_| drop(replaced(1, 2))));
        assert!(!try_one());
        let child = fork(move || {
            assert!(!try_one(), "as full as before: its own section is open");
            assert_eq!(statistics().refused, 1);
            drop(guard);
            until("its readers are gone", try_one);
            nothing_is_held();
        });
        child.join();
        assert!(!try_one());
        reader.end();
        nothing_is_held();
    });
}

/// Everything at once, with threads that come and go; whatever the order, nothing is left of the total.
#[test]
fn whatever_happens_the_total_is_nothing_in_the_end() {
    in_both_modes(|| {
        const LIVES: usize = 60;
        const THINGS: usize = 100;
        let ledger = Ledger::new(4 * LIVES * THINGS);
        set_budget(40_000, 500);
        thread::scope(|scope| {
            for maker in 0..4 {
                scope.spawn(move || {
                    for life in 0..LIVES {
                        let first = (maker * LIVES + life) * THINGS;
                        on_thread("short", move || {
                            let mut numbers = Numbers(first as u64);
                            for index in first..first + THINGS {
                                let thing = ledger.thing(index);
                                match numbers.below(4) {
                                    0 => queue_somehow(thing, numbers.below(10)),
                                    1 => drop(replaced(Some(thing), None)),
                                    2 => drop(
                                        replaced(Some(thing), None)
                                            .with_owned_bytes(numbers.below(3000))
                                            .try_retire(), // dropped if refused: retired
                                    ),
                                    _ => replaced(Some(thing), None)
                                        .retire_wait(PATIENCE)
                                        .expect("there will be room"),
                                }
                            }
                        });
                        if life % 7 == 0 {
                            drain(Duration::from_millis(1));
                        }
                        if life % 11 == 0 {
                            set_budget(20_000 + life as u64 * 1000, 300 + life as u64);
                        }
                    }
                });
            }
        });
        barrier();
        ledger.assert_all_once();
        nothing_is_held();
        // No thread drives a grace period whose requester no longer needs it. The next waiter drives it, too.
        quiescent::synchronize();
        until_at_rest();
    });
}
