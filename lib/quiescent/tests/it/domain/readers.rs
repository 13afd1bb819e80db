//! Readers: nested, alternating between domains, in handlers, too many of them, without a slot; and an
//! oracle.

#[cfg(target_os = "linux")]
mod handlers;

use super::*;
use crate::common::{in_both_modes, isolated};

#[test]
fn guards_nest_and_may_be_dropped_in_any_order() {
    isolated(|| {
        let domain = leaked();
        let (out, inside) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
        let (here, there) = (Arc::clone(&out), Arc::clone(&inside));
        let reader = thread::spawn(move || {
            let first = domain.read_lock();
            let second = domain.read_lock();
            drop(first);
            there.wait();
            here.wait();
            drop(second);
        });
        inside.wait();
        assert!(domain.synchronize_timeout(SHORT).is_err(), "the second one");
        out.wait();
        assert_eq!(domain.synchronize_timeout(LONG), Ok(()));
        reader.join().expect("no panic");
    });
}

#[test]
fn nesting_has_no_limit() {
    isolated(|| {
        let domain = leaked();
        let many: Vec<_> = (0..40_000).map(|_| domain.read_lock()).collect();
        assert_eq!(domain.try_synchronize(), Err(SyncError::InsideSection));
        let (first, last) = many.split_at(39_999);
        assert_eq!((first.len(), last.len()), (39_999, 1));
        let mut many = many;
        let last = many.pop();
        many.reverse(); // the outermost ones last, too
        drop(many);
        let held = thread::spawn(|| domain.synchronize_timeout(SHORT)).join();
        assert!(held.expect("no panic").is_err(), "one is open still");
        drop(last);
        assert_eq!(domain.try_synchronize(), Ok(()));
    });
}

#[test]
fn a_thread_reads_in_many_by_turns() {
    // In a process of its own: no domain of another test has left readers' places behind.
    isolated(|| {
        let domains: Vec<Domain> = (0..100).map(|_| Domain::new()).collect();
        let cells: Vec<_> = domains.iter().map(|it| RcuCell::new_in(0u64, it)).collect();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 0..200u64 {
                        let guards: Vec<_> = domains.iter().map(Domain::read_lock).collect();
                        for (cell, guard) in cells.iter().zip(&guards) {
                            let seen = *cell.load(guard);
                            assert!(seen <= 200, "{seen}");
                        }
                        for cell in cells.iter().skip(round as usize % 7).step_by(7) {
                            cell.update(|seen| (seen + 1).min(200));
                        }
                    }
                });
            }
        });
        for domain in &domains {
            assert_eq!(domain.try_synchronize(), Ok(()));
            assert!((1..=3).contains(&domain.statistics().readers));
        }
    });
}

#[test]
fn a_guard_that_repins_lets_grace_periods_pass() {
    isolated(|| {
        let domain = leaked();
        let over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&over);
        let begun = Arc::new(Barrier::new(2));
        let other = Arc::clone(&begun);
        let reader = thread::spawn(move || {
            let mut guard = domain.read_lock();
            other.wait();
            while !stop.load(Ordering::Relaxed) {
                guard.repin();
            }
        });
        begun.wait();
        for _ in 0..20 {
            assert_eq!(domain.synchronize_timeout(LONG), Ok(()));
        }
        over.store(true, Ordering::Relaxed);
        reader.join().expect("no panic");
    });
}

#[test]
fn more_threads_than_a_leaf_has_room_for() {
    // In a process of its own: no domain of another test has left readers' places behind.
    isolated(|| {
        let domain = leaked();
        let (inside, out) = (Arc::new(Barrier::new(201)), Arc::new(Barrier::new(201)));
        let threads: Vec<_> = (0..200)
            .map(|_| {
                let (inside, out) = (Arc::clone(&inside), Arc::clone(&out));
                thread::spawn(move || {
                    let guard = domain.read_lock();
                    inside.wait();
                    out.wait();
                    drop(guard);
                })
            })
            .collect();
        inside.wait();
        let Err(SyncError::TimedOut { holdouts }) = domain.synchronize_timeout(SHORT) else {
            panic!("200 are inside");
        };
        assert!((1..=64).contains(&holdouts.len()), "{holdouts:?}");
        assert_eq!(domain.statistics().readers, 200);
        out.wait();
        assert_eq!(domain.synchronize_timeout(LONG), Ok(()));
        for thread in threads {
            thread.join().expect("no panic");
        }
        assert_eq!(domain.synchronize_timeout(LONG), Ok(()));
    });
}

#[test]
fn threads_without_a_slot_read_unregistered() {
    isolated(|| {
        let few = quiescent::Options::new().max_threads(1);
        few.apply().expect("no thread has read");
        let (domain, other) = (leaked(), leaked());
        let begun = Arc::new(Barrier::new(101));
        let out = Arc::new(Barrier::new(101));
        let threads: Vec<_> = (0..100)
            .map(|_| {
                let (begun, out) = (Arc::clone(&begun), Arc::clone(&out));
                thread::spawn(move || {
                    let guards = (domain.read_lock(), domain.read_lock());
                    drop(guards.0);
                    begun.wait();
                    out.wait();
                    drop(guards.1);
                    domain.synchronize();
                })
            })
            .collect();
        begun.wait();
        assert!(
            quiescent::statistics().unregistered_sections > 0,
            "more than have slots"
        );
        assert!(domain.synchronize_timeout(SHORT).is_err());
        assert_eq!(other.synchronize_timeout(LONG), Ok(()));
        out.wait();
        for thread in threads {
            thread.join().expect("no panic");
        }
        assert_eq!(domain.synchronize_timeout(LONG), Ok(()));
    });
}

#[test]
fn what_readers_see_is_never_freed() {
    in_both_modes(|| {
        const DOMAINS: usize = 3;
        /// Poisoned when it is dropped.
        struct Value(AtomicU64);
        impl Drop for Value {
            fn drop(&mut self) {
                self.0.store(0xdead, Ordering::Relaxed);
            }
        }
        let value = || Value(AtomicU64::new(7));
        let domains: Vec<Domain> = (0..DOMAINS).map(|_| Domain::new()).collect();
        for domain in &domains {
            domain.set_flush_times(FlushTimes {
                lazy: Duration::from_millis(1),
                prompt: Duration::from_millis(1),
            });
        }
        let cells: Vec<_> = domains
            .iter()
            .map(|it| RcuCell::new_in(value(), it))
            .collect();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            for me in 0..3usize {
                let (domains, cells, over) = (&domains, &cells, &over);
                scope.spawn(move || {
                    let mut round = me;
                    while !over.load(Ordering::Relaxed) {
                        round += 1;
                        let at = round % DOMAINS;
                        let guard = domains[at].read_lock();
                        let seen = cells[at].load(&guard);
                        if round.is_multiple_of(64) {
                            thread::yield_now();
                        }
                        assert_eq!(seen.0.load(Ordering::Relaxed), 7);
                    }
                });
            }
            for round in 0..2000 {
                let at = round % DOMAINS;
                let old = cells[at].store(value());
                match round % 5 {
                    0 => drop(old.wait()),
                    1 => old.retire_hurry(),
                    2 => {
                        let cookie = domains[at].start_grace_period();
                        until("it is over", || cookie.is_done());
                        assert_eq!(old.0.load(Ordering::Relaxed), 7);
                    }
                    _ => old.retire(),
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        for domain in &domains {
            domain.barrier();
            until_at_rest(domain);
        }
    });
}
