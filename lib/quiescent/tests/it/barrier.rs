//! `barrier()`: what it covers, what it does not wait for, and where it is refused.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::common::deferral::{Gate, Ledger, WAYS, flag, queue_somehow, until_at_rest};
use crate::common::healed;
use crate::common::{
    Reader, in_both_modes, kernel_threads, on_thread, panic_text, sleepers, until,
};
use quiescent::{
    RcuCell, Retired, SyncError, barrier, defer, defer_hurry, read, read_lock, statistics,
    synchronize, try_barrier,
};

#[test]
fn it_covers_what_others_have_queued() {
    in_both_modes(|| {
        const THINGS: usize = 20;
        let (order, orders) = mpsc::channel::<(&'static Ledger, usize)>();
        let (done, is_done) = mpsc::channel();
        // A thread that stays, and new ones that go.
        let stays = thread::spawn(move || {
            for (ledger, way) in orders {
                (0..THINGS).for_each(|index| queue_somehow(ledger.thing(index), way));
                done.send(()).expect("the test waits");
            }
        });
        for round in 0..10 * WAYS {
            let (ours, theirs) = (Ledger::new(THINGS), Ledger::new(THINGS));
            let way = round % WAYS;
            order.send((theirs, way)).expect("it listens");
            on_thread("departed", move || {
                (0..THINGS).for_each(|index| queue_somehow(ours.thing(index), way));
            });
            is_done.recv().expect("it answers");
            barrier();
            ours.assert_all_once();
            theirs.assert_all_once();
        }
        drop(order);
        stays.join().expect("no panic");
        assert_eq!(statistics().queued, 0);
    });
}

#[test]
fn it_covers_both_lanes_of_every_thread() {
    in_both_modes(|| {
        // Plain ones leave no trace but the count.
        let plain = || NonNull::from(Box::leak(Box::new([1u64; 8])));
        for round in 0..20 {
            let ledger = Ledger::new(70 * 3);
            thread::scope(|scope| {
                for thread in 0..70 {
                    scope.spawn(move || {
                        for n in 0..round * 20 {
                            if n < 3 {
                                queue_somehow(ledger.thing(thread * 3 + n), n * 2);
                            }
                            // SAFETY: a box of ours, retired once.
                            unsafe { Retired::from_raw(plain()).retire() };
                        }
                    });
                }
            });
            barrier();
            assert_eq!(statistics().queued, 0, "round {round}");
            assert_eq!(ledger.count(), if round > 0 { 70 * 3 } else { 0 });
        }
    });
}

#[test]
fn it_refuses_where_it_would_wait_for_itself() {
    in_both_modes(|| {
        let guard = read_lock();
        assert_eq!(try_barrier(), Err(SyncError::InsideSection));
        let text = panic_text(barrier);
        assert!(text.starts_with("barrier: "), "{text}");
        assert!(text.contains("drop the guard first"), "{text}");
        drop(guard);
        let (sender, answers) = mpsc::channel();
        let ask = move || {
            let mut texts = vec![panic_text(barrier), panic_text(synchronize)];
            let errors = [try_barrier(), quiescent::try_synchronize()];
            texts.extend(errors.into_iter().map(|error| {
                assert_eq!(error, Err(SyncError::InsideCallback));
                error.expect_err("as compared").to_string()
            }));
            // A section comes first.
            let inside = read(|_| try_barrier());
            assert_eq!(inside, Err(SyncError::InsideSection));
            sender.send(texts).expect("the test listens");
        };
        // In a closure, in a destructor, in `drain`.
        struct Asks<F: FnMut()>(F);
        impl<F: FnMut()> Drop for Asks<F> {
            fn drop(&mut self) {
                (self.0)();
            }
        }
        defer_hurry(ask.clone());
        let mut places = 1;
        RcuCell::new(Some(Asks(ask.clone()))).store(None).retire();
        places += 1;
        barrier();
        let inside = Reader::inside("keeps it from the worker");
        RcuCell::new(Some(Asks(ask))).store(None).retire();
        places += 1;
        inside.end();
        quiescent::drain(crate::common::PATIENCE);
        let answers: Vec<Vec<String>> = answers.iter().collect();
        assert_eq!(answers.len(), places);
        for text in answers.iter().flatten() {
            assert!(text.contains("inside a callback"), "{text}");
            assert!(text.contains("another thread"), "{text}");
        }
        // The callback is over: here it is allowed.
        assert_eq!(try_barrier(), Ok(()));
        assert_eq!(statistics().callback_panics, 0);
    });
}

#[test]
fn many_at_once_each_cover_their_own() {
    in_both_modes(|| {
        const THREADS: usize = 8;
        const ROUNDS: usize = 40;
        let before = statistics().barriers;
        thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let ledger = Ledger::new(3);
                        for index in 0..3 {
                            queue_somehow(ledger.thing(index), thread + round + 3 * index);
                        }
                        barrier();
                        ledger.assert_all_once();
                    }
                });
            }
        });
        let made = statistics().barriers - before;
        assert!(made >= ROUNDS as u64, "{made}");
        assert!(made <= (THREADS * ROUNDS) as u64, "{made}");
        assert_eq!(statistics().queued, 0);
    });
}

#[test]
fn with_nothing_queued_it_starts_nothing() {
    in_both_modes(|| {
        let idle: Vec<_> = (0..3).map(|_| Reader::idle("idle")).collect();
        let inside = Reader::inside("inside");
        let (threads, before) = (kernel_threads(), statistics());
        (0..100).for_each(|_| barrier());
        let after = statistics();
        assert_eq!(after.barriers - before.barriers, 100);
        assert_eq!(after.grace_periods, before.grace_periods);
        assert_eq!((after.helper_threads, after.fences_gp), (0, 0));
        assert_eq!((after.fences_take, after.timer_armed), (0, false));
        assert!(!after.busy);
        assert!(kernel_threads() <= threads, "one more");
        inside.end();
        // And when everything has been run before: no grace period, no wake-up.
        idle.iter().for_each(|_| defer(|| ()));
        barrier();
        until_at_rest();
        let before = statistics();
        let switches = crate::common::deferral::library_switches();
        (0..100).for_each(|_| barrier());
        let after = statistics();
        assert_eq!(after.grace_periods, before.grace_periods);
        assert_eq!(after.worker_passes, before.worker_passes);
        assert_eq!(crate::common::deferral::library_switches(), switches);
        idle.into_iter().for_each(Reader::end);
    });
}

#[test]
fn it_waits_for_readers_only_where_something_is_queued() {
    in_both_modes(|| {
        let inside = Reader::inside("inside");
        let ledger = Ledger::new(1);
        queue_somehow(ledger.thing(0), 0);
        thread::scope(|scope| {
            let waiters = sleepers(scope, 3, || {
                barrier();
                assert_eq!(ledger.count(), 1);
            });
            assert_eq!(ledger.count(), 0);
            assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
            inside.end();
        });
        ledger.assert_all_once();
    });
}

#[test]
fn it_does_not_wait_for_what_comes_later() {
    in_both_modes(|| {
        // A callback that queues itself again, for ever.
        static GO_ON: AtomicBool = AtomicBool::new(true);
        static TURNS: AtomicU32 = AtomicU32::new(0);
        fn again() {
            TURNS.fetch_add(1, Ordering::Relaxed);
            if GO_ON.load(Ordering::Relaxed) {
                defer_hurry(again);
            }
        }
        defer_hurry(again);
        until("it turns", || TURNS.load(Ordering::Relaxed) > 3);
        for n in 0..20 {
            let ledger = Ledger::new(1);
            queue_somehow(ledger.thing(0), n);
            barrier();
            ledger.assert_all_once();
        }
        GO_ON.store(false, Ordering::Relaxed);
        let turns = TURNS.load(Ordering::Relaxed);
        barrier();
        barrier();
        assert!(TURNS.load(Ordering::Relaxed) >= turns);
        assert_eq!(statistics().queued, 0);
    });
}

#[test]
fn it_does_not_wait_for_a_later_callback_that_is_stuck() {
    in_both_modes(|| {
        healed::expected();
        let (first, second) = (Gate::new(), Gate::new());
        let last = flag();
        defer_hurry(|| first.pass());
        first.until_reached(1);
        let (started, covered) = (statistics().barriers, flag());
        thread::scope(|scope| {
            let _waiter = sleepers(scope, 1, || {
                barrier();
                covered.store(true, Ordering::Release);
            });
            thread::sleep(20 * crate::common::SHORT); // it sleeps for good, not at a lock on its way
            // Queued after it, in the same queue, and stuck on another worker.
            defer_hurry(|| second.pass());
            defer_hurry(|| last.store(true, Ordering::Release));
            second.until_reached(1);
            until("others go on", || last.load(Ordering::Acquire));
            assert!(!covered.load(Ordering::Acquire), "its own is stuck still");
            first.open();
            let done = until_or_not(|| covered.load(Ordering::Acquire));
            second.open();
            assert!(done, "it waits for what was queued after it");
        });
        barrier();
        assert!(statistics().barriers > started);
        assert_eq!(statistics().queued, 0);
    });
}

/// Waits for `condition`, for some seconds; returns whether it became true.
fn until_or_not(condition: impl Fn() -> bool) -> bool {
    let waits = std::iter::repeat_n(crate::common::SHORT, 1000);
    waits
        .take_while(|&wait| {
            thread::sleep(wait);
            !condition()
        })
        .for_each(drop);
    condition()
}
