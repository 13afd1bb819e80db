//! Dropping: domains with queued items, forgotten guards, and the end of threads and processes.

#[cfg(target_os = "linux")]
mod keys;

use super::*;
use crate::common::children::fork;
use crate::common::isolated;

#[test]
fn what_a_dropped_domain_leaves_to_the_worker_is_covered_by_a_barrier() {
    isolated(|| {
        let dropped = Arc::new(AtomicU32::new(0));
        for round in 1..=3 {
            let domain = Domain::new();
            let cell = RcuCell::new_in(Noisy(Arc::clone(&dropped)), &domain);
            for _ in 0..10 {
                cell.store(Noisy(Arc::clone(&dropped))).on_worker().retire();
            }
            drop(cell); // what it holds goes at once
            assert_eq!(domain.statistics().queued, 10);
            drop(domain); // never waits
            quiescent::barrier();
            assert_eq!(dropped.load(Ordering::Relaxed), 11 * round);
        }
    });
}

#[test]
fn a_cell_may_keep_its_domain_and_retire_there() {
    isolated(|| {
        let dropped = Arc::new(AtomicU32::new(0));
        let domain = Domain::new();
        let cell = RcuCell::new_in(Noisy(Arc::clone(&dropped)), domain.clone());
        drop(domain);
        cell.store(Noisy(Arc::clone(&dropped))).retire_hurry();
        until("it is dropped", || dropped.load(Ordering::Relaxed) == 1);
        drop(cell.store(Noisy(Arc::clone(&dropped))).wait());
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
        let retired = cell.store(Noisy(Arc::clone(&dropped)));
        drop(cell); // its value goes at once
        assert_eq!(dropped.load(Ordering::Relaxed), 3);
        drop(retired); // the last that kept the domain
        quiescent::barrier();
        assert_eq!(dropped.load(Ordering::Relaxed), 4);
    });
}

#[test]
fn what_a_dropped_drained_domain_leaves_is_run_without_a_drain() {
    isolated(|| {
        let dropped = Arc::new(AtomicU32::new(0));
        let domain = Domain::new();
        domain.set_closures(Runner::Drained);
        // It is run because no thread is left to drain it, not because of its flush time.
        let hour = Duration::from_secs(3600);
        let (lazy, prompt) = (hour, hour);
        domain.set_flush_times(FlushTimes { lazy, prompt });
        quiescent::tuning::set_flush_times(FlushTimes { lazy, prompt });
        let cell = RcuCell::new_in(Noisy(Arc::clone(&dropped)), domain.clone());
        drop(domain);
        cell.store(Noisy(Arc::clone(&dropped))).retire_hurry();
        drop(cell);
        until("both are dropped", || dropped.load(Ordering::Relaxed) == 2);
    });
}

#[test]
fn an_owned_guard_keeps_its_domain() {
    isolated(|| {
        let dropped = Arc::new(AtomicU32::new(0));
        let noisy = || Noisy(Arc::clone(&dropped));
        let domain = Domain::new();
        let cell = RcuCell::new_in(noisy(), domain.clone());
        let guard = domain.read_owned();
        let retired = cell.store(noisy());
        drop(cell);
        drop(domain);
        retired.retire_hurry(); // none but the guard keeps the domain now
        assert_eq!(
            quiescent::statistics().queued,
            0,
            "what is queued there is not handed over"
        );
        assert_eq!(
            dropped.load(Ordering::Relaxed),
            1,
            "what is queued there is not freed"
        );
        drop(guard);
        quiescent::barrier();
        until("it is dropped", || dropped.load(Ordering::Relaxed) == 2);
    });
}

#[test]
fn a_forgotten_guard_holds_its_domain_until_that_is_dropped() {
    isolated(|| {
        let dropped = Arc::new(AtomicU32::new(0));
        let other = Domain::new();
        {
            let domain = Domain::new();
            std::mem::forget(domain.read_lock());
            let cell = RcuCell::new_in(Noisy(Arc::clone(&dropped)), &domain);
            cell.store(Noisy(Arc::clone(&dropped))).retire_hurry();
            assert!(thread::scope(|scope| {
                let waits = scope.spawn(|| domain.synchronize_timeout(SHORT));
                waits.join().expect("no panic").is_err()
            }));
            assert_eq!(dropped.load(Ordering::Relaxed), 0, "it is held");
        }
        // No reader is left. (This thread counts as inside, so the worker runs it.)
        until("it is dropped", || dropped.load(Ordering::Relaxed) == 2);
        assert_eq!(other.synchronize_timeout(LONG), Ok(()));
        assert_eq!(quiescent::synchronize_timeout(LONG), Ok(()));
        quiescent::barrier();
        // Nor is the next one held up, wherever it is.
        for _ in 0..50 {
            let held = Domain::new();
            std::mem::forget(held.read_lock());
            drop(held);
            assert_eq!(Domain::new().try_synchronize(), Ok(()));
        }
    });
}

#[test]
fn a_thread_that_ends_in_a_section_stays_a_holdout() {
    isolated(|| {
        let domain = leaked();
        let ended = thread::spawn(|| std::mem::forget(domain.read_lock()));
        ended.join().expect("no panic");
        assert!(domain.synchronize_timeout(SHORT).is_err());
        // No other thread gets its slot.
        let others = (0..200).map(|_| thread::spawn(|| drop(domain.read_lock())));
        for other in others.collect::<Vec<_>>() {
            other.join().expect("no panic");
        }
        assert!(domain.synchronize_timeout(SHORT).is_err());
    });
}

#[test]
fn destructors_of_thread_locals_may_read() {
    isolated(|| {
        static DOMAIN: Domain = Domain::new();
        struct Last;
        impl Drop for Last {
            fn drop(&mut self) {
                drop(DOMAIN.read_lock());
            }
        }
        thread_local!(static LAST: Last = const { Last });
        for _ in 0..20 {
            let thread = thread::spawn(|| {
                LAST.with(|_| ());
                drop(DOMAIN.read_lock());
            });
            thread.join().expect("no panic");
        }
        assert_eq!(DOMAIN.synchronize_timeout(LONG), Ok(()));
    });
}

#[test]
fn in_the_child_of_a_fork_sections_of_others_are_over() {
    needs!(fork);
    isolated(|| {
        let (domain, idle) = (leaked(), leaked());
        idle.synchronize();
        let dropped = Arc::new(AtomicU32::new(0));
        let cell = RcuCell::new_in(Noisy(Arc::clone(&dropped)), domain);
        let stalled = Stalled::inside(domain);
        cell.store(Noisy(Arc::clone(&dropped))).retire_hurry();
        let child = fork(move || {
            assert_eq!(
                domain.synchronize_timeout(LONG),
                Ok(()),
                "no reader is inside here"
            );
            assert_eq!(idle.synchronize_timeout(LONG), Ok(()));
            domain.defer_hurry(|| ());
            domain.barrier();
            let guard = domain.read_lock();
            assert!(domain.in_section());
            drop(guard);
            let fresh = Domain::new();
            fresh.defer(|| ());
            fresh.barrier();
        });
        assert!(
            domain.synchronize_timeout(SHORT).is_err(),
            "the parent's is open"
        );
        child.join();
        drop(stalled);
        domain.barrier();
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn the_worker_may_fork_in_a_callback() {
    needs!(fork);
    isolated(|| {
        let domain = leaked();
        domain.defer_hurry(|| ());
        domain.barrier();
        assert_eq!(domain.statistics().callbacks, 1);
        let (sender, receiver) = mpsc::channel();
        domain.defer_hurry(move || {
            let child = fork(move || {
                // Here it is not the worker, and counters start again.
                assert_eq!(domain.statistics().callbacks, 0);
                domain.defer_hurry(|| ());
                let one = || domain.statistics().callbacks == 1;
                until("another worker runs it", one);
            });
            child.join();
            let _ = sender.send(());
        });
        receiver.recv_timeout(LONG).expect("it runs");
        domain.barrier();
        until_at_rest(domain);
    });
}

#[test]
fn domains_come_and_go() {
    isolated(|| {
        let dropped = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let dropped = Arc::clone(&dropped);
                thread::spawn(move || {
                    for _ in 0..300 {
                        let domain = Domain::new();
                        let cell = RcuCell::new_in(Noisy(Arc::clone(&dropped)), &domain);
                        domain.read(|guard| {
                            assert!(cell.load(guard).0.load(Ordering::Relaxed) < 3000)
                        });
                        cell.store(Noisy(Arc::clone(&dropped)));
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("no panic");
        }
        quiescent::barrier();
        until("all are dropped", || {
            dropped.load(Ordering::Relaxed) == 2 * 900
        });
    });
}

/// The number of the inner state that a domain uses, from the text of its guard.
fn state_number_of(domain: &Domain) -> u32 {
    let text = format!("{:?}", domain.read_lock());
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

#[test]
fn values_of_a_dropped_drained_domain_are_dropped_without_a_drain() {
    isolated(|| {
        let dropped = Arc::new(AtomicU32::new(0));
        let domain = Domain::new();
        domain.set_closures(Runner::Drained);
        domain.set_flush_times(FlushTimes {
            lazy: Duration::from_millis(1),
            ..domain.flush_times()
        });
        let noisy = || Noisy(Arc::clone(&dropped));
        let cell = RcuCell::new_in(noisy(), domain.clone());
        cell.store(noisy()).retire();
        drop(domain);
        cell.store(noisy()).retire();
        drop(cell);
        until("all are dropped", || dropped.load(Ordering::Relaxed) == 3);
    });
}

#[test]
fn dropped_domains_leave_nothing_behind() {
    isolated(|| {
        let first = state_number_of(&Domain::new());
        for round in 0..100 {
            let domain = Arc::new(Domain::new());
            if round % 2 == 0 {
                // A grace period is requested, and no thread waits for it any more.
                let begun = Barrier::new(2);
                let waited = Barrier::new(2);
                thread::scope(|scope| {
                    scope.spawn(|| {
                        let guard = domain.read_lock();
                        begun.wait();
                        waited.wait();
                        drop(guard);
                    });
                    begun.wait();
                    assert!(
                        domain
                            .synchronize_timeout(Duration::from_millis(1))
                            .is_err()
                    );
                    waited.wait();
                });
            } else {
                let _ = domain.start_grace_period();
            }
            drop(domain);
            quiescent::barrier();
        }
        let last = state_number_of(&Domain::new());
        assert!(last <= first + 5, "from {first} to {last}");
    });
}

#[test]
fn a_domain_with_many_readers_rests_too_and_its_engine_serves_others() {
    isolated(|| {
        let (many, few) = (leaked(), leaked());
        let inside = Arc::new(Barrier::new(150));
        let threads: Vec<_> = (0..150)
            .map(|_| {
                let inside = Arc::clone(&inside);
                thread::spawn(move || {
                    let guard = many.read_lock();
                    inside.wait();
                    drop(guard);
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("no panic");
        }
        for _ in 0..3 {
            assert_eq!(many.synchronize_timeout(LONG), Ok(()));
            until_at_rest(many);
            // Its engine is in the pool again, and serves a domain with two readers.
            let stalled = Stalled::inside(few);
            assert!(few.synchronize_timeout(SHORT).is_err());
            drop(stalled);
            assert_eq!(few.synchronize_timeout(LONG), Ok(()));
            until_at_rest(few);
        }
        assert_eq!(many.statistics().readers, 150);
    });
}

#[test]
fn what_the_next_owner_has_queued_is_not_taken_for_what_was_left() {
    isolated(|| {
        let (end, ended) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel();
        let reader = thread::spawn(move || {
            let guard = quiescent::read_lock(); // the process's callbacks wait for it
            begin.send(()).expect("listened to");
            let _ = ended.recv();
            drop(guard);
        });
        begun.recv().expect("it reads");
        let first = Domain::new();
        let number = state_number_of(&first);
        let (sender, receiver) = mpsc::channel();
        first.defer_hurry(move || sender.send(()).expect("listened to"));
        drop(first);
        receiver.recv_timeout(LONG).expect("the worker was faster");
        let mut others = Vec::new();
        let next = loop {
            let next = Domain::new();
            if state_number_of(&next) == number {
                break next;
            }
            others.push(next);
            assert!(others.len() < 10_000, "its state is not reused");
            thread::sleep(Duration::from_millis(1));
        };
        next.set_closures(Runner::Drained);
        let ran = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&ran);
        next.defer(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        drop(end);
        reader.join().expect("no panic");
        quiescent::barrier(); // the first one's hand-over is over
        assert_eq!(
            ran.load(Ordering::Relaxed),
            0,
            "run before the program has drained"
        );
        assert_eq!(next.drain(LONG).ran, 1);
    });
}
