//! Forgotten guards, and nesting without limit.

use std::mem;
use std::sync::mpsc;
use std::thread;

use crate::common::{Numbers, SHORT, in_both_modes, until};
use quiescent::stats::holdouts;
use quiescent::{
    FenceMode, Guard, SyncError, in_section, read, read_lock, start_grace_period, statistics,
    synchronize, synchronize_timeout, try_synchronize,
};

/// Nesting from which guards take the slower path.
fn limit() -> usize {
    match statistics().fence_mode {
        FenceMode::Membarrier => 1 << 15,
        _ => 1 << 13,
    }
}

/// The result of another thread that waits for a grace period.
fn others_get() -> Result<(), SyncError> {
    let asked = thread::scope(|scope| scope.spawn(|| synchronize_timeout(SHORT)).join());
    asked.expect("no panic")
}

#[track_caller]
fn assert_waits(guards_left: usize) {
    let result = others_get();
    assert!(
        matches!(result, Err(SyncError::TimedOut { .. })),
        "{result:?} with {guards_left} left"
    );
}

fn assert_outside() {
    assert!(!in_section());
    let asked = thread::scope(|s| {
        s.spawn(|| synchronize_timeout(crate::common::PATIENCE))
            .join()
    });
    assert_eq!(asked.expect("no panic"), Ok(()));
    synchronize();
}

#[test]
fn a_million_forgotten_guards() {
    in_both_modes(|| {
        let (end, ended) = mpsc::channel::<()>();
        let (ready, is_ready) = mpsc::channel();
        let forgetful = thread::Builder::new()
            .name("forgetful".into())
            .spawn(move || {
                for _ in 0..1_000_000 {
                    mem::forget(read_lock());
                }
                assert!(in_section());
                assert_eq!(try_synchronize(), Err(SyncError::InsideSection));
                // The thread may still read, and drop what it did not forget.
                let guards: Vec<Guard> = (0..1000).map(|_| read_lock()).collect();
                drop(guards);
                assert_eq!(read(|_| 1), 1);
                assert!(in_section());
                ready
                    .send(crate::common::thread_id())
                    .expect("the test waits");
                let _ = ended.recv();
            });
        let forgetful = forgetful.expect("a thread");
        let thread_id = is_ready.recv().expect("a million guards are forgotten");
        for name in [Some("forgetful".to_owned()), None] {
            let Err(SyncError::TimedOut { holdouts }) = synchronize_timeout(SHORT) else {
                panic!("a grace period ended beside a million open sections");
            };
            assert_eq!(holdouts.len(), 1, "{holdouts:?}");
            assert_eq!(holdouts[0].thread_id, thread_id);
            assert!(holdouts[0].nesting as usize >= limit(), "{holdouts:?}");
            assert_eq!(holdouts[0].name, name);
            assert!(!start_grace_period().is_done());
            assert_eq!(read(|_| 2), 2);
            if name.is_some() {
                end.send(()).expect("the thread waits");
                until("the forgetful thread ends", || forgetful.is_finished());
                until("the kernel forgets it", || {
                    !crate::common::thread_lives(thread_id)
                });
            }
        }
        forgetful.join().expect("no panic");
        assert_eq!(quiescent::stats::holdouts().len(), 1, "for ever");
    });
}

/// Takes `count` guards and drops them in the order that `order` makes.
fn take_and_drop(count: usize, order: impl FnOnce(&mut Vec<Guard>)) {
    let mut guards: Vec<Guard> = (0..count).map(|_| read_lock()).collect();
    order(&mut guards);
    let checks = [
        count,
        count - 1,
        limit() + 1,
        limit(),
        limit() - 1,
        count / 2,
        2,
        1,
    ];
    while !guards.is_empty() {
        if checks.contains(&guards.len()) {
            assert!(in_section());
            assert_waits(guards.len());
        }
        guards.pop();
    }
    assert_outside();
    assert!(holdouts().is_empty());
}

#[test]
fn nesting_has_no_limit() {
    in_both_modes(|| {
        for count in [limit() - 1, limit(), limit() + 1, 40_000] {
            take_and_drop(count, |_backward| {});
            take_and_drop(count, |guards| guards.reverse());
            let mut numbers = Numbers(count as u64);
            take_and_drop(count, |guards| {
                for i in (1..guards.len()).rev() {
                    guards.swap(i, numbers.below(i + 1));
                }
            });
        }
    });
}

#[test]
fn guards_come_and_go_around_the_limit() {
    in_both_modes(|| {
        let mut numbers = Numbers(7);
        let mut guards: Vec<Guard> = (0..limit()).map(|_| read_lock()).collect();
        for _ in 0..20_000 {
            if numbers.below(2) == 0 {
                guards.push(read_lock());
            } else {
                drop(guards.swap_remove(numbers.below(guards.len())));
            }
        }
        assert_waits(guards.len());
        while guards.len() > 1 {
            drop(guards.swap_remove(numbers.below(guards.len())));
        }
        assert!(in_section());
        assert_waits(1);
        guards.clear();
        assert_outside();
    });
}

#[test]
fn guards_beyond_the_limit_keep_the_section_alone() {
    in_both_modes(|| {
        let below: Vec<Guard> = (0..limit()).map(|_| read_lock()).collect();
        let mut beyond: Vec<Guard> = (0..3).map(|_| read_lock()).collect();
        drop(below);
        assert_waits(beyond.len());
        // New sections are ordinary again, and nested in what is left.
        drop(read_lock());
        assert_waits(beyond.len());
        beyond.truncate(1);
        assert_waits(1);
        // The last one of the section lets waiters pass, as any other would.
        thread::scope(|scope| {
            let waiter = scope.spawn(synchronize);
            until("a grace period passes", || {
                beyond[0].repin();
                waiter.is_finished()
            });
        });
        drop(beyond);
        assert_outside();
    });
}

#[test]
fn the_last_guard_beyond_the_limit_wakes_the_driver() {
    in_both_modes(|| {
        let below: Vec<Guard> = (0..limit()).map(|_| read_lock()).collect();
        let beyond = read_lock();
        drop(below);
        thread::scope(|scope| {
            let waiter = scope.spawn(synchronize);
            until("the driver sleeps", || quiescent::statistics().sleeps > 0);
            drop(beyond);
            waiter.join().expect("no panic");
        });
        // Had the wake-up been lost, the driver would have slept until it counts a stall.
        assert_eq!(quiescent::statistics().stalls, 0);
        assert_outside();
    });
}
