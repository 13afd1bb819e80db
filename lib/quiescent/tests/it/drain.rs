//! `drain()`: runs everything in its caller within its limit, and does not wait where it would wait for
//! itself.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::common::deferral::{Gate, Ledger, WAYS, flag, library_sleeps, queue_somehow};
use crate::common::{PATIENCE, Reader, healed, in_both_modes, on_thread, sleeps, thread_id, until};
use quiescent::{
    Domain, RcuCell, barrier, defer, defer_hurry, drain, in_section, read, read_lock, statistics,
};

/// Says where it is dropped.
struct SaysWhere(mpsc::Sender<u32>);

impl Drop for SaysWhere {
    fn drop(&mut self) {
        self.0.send(thread_id()).expect("the test listens");
    }
}

fn retire(value: SaysWhere) {
    RcuCell::new(Some(value)).store(None).retire();
}

#[test]
fn it_runs_everything_in_its_caller() {
    in_both_modes(|| {
        let (sender, places) = mpsc::channel();
        for round in 0..20 {
            // Lazy ones, which the worker would not process for seconds: from here, and from a thread
            // that is gone.
            let ours = sender.clone();
            on_thread("departed", move || {
                (0..50).for_each(|_| retire(SaysWhere(ours.clone())));
            });
            (0..50).for_each(|_| retire(SaysWhere(sender.clone())));
            (0..50).for_each(|_| drop(RcuCell::new([0u64; 4]).store([1; 4])));
            // The worker may have been started just now; it makes one pass over all queues.
            until("the worker has looked, and sleeps", || {
                statistics().worker_passes > 0 && library_sleeps()
            });
            let before = statistics();
            let (ran, drainer) = match round % 2 {
                0 => (drain(PATIENCE), thread_id()),
                _ => on_thread("drains", || (drain(PATIENCE), thread_id())),
            };
            assert_eq!((ran.ran, ran.left), (150, 0), "round {round}");
            let places: Vec<u32> = places.try_iter().collect();
            assert_eq!(places, [drainer; 100]);
            let after = statistics();
            assert_eq!(after.callbacks - before.callbacks, 100);
            assert_eq!((after.queued, after.queued_bytes), (0, 0));
        }
        // Nothing queued: nothing done.
        let before = statistics();
        let again = drain(PATIENCE);
        assert_eq!((again.ran, again.left), (0, 0));
        assert_eq!(statistics().grace_periods, before.grace_periods);
    });
}

#[test]
fn it_gives_up_at_its_limit() {
    in_both_modes(|| {
        for round in 0..WAYS {
            let ledger = Ledger::new(100);
            let inside = Reader::inside("stalls");
            (0..100).for_each(|index| queue_somehow(ledger.thing(index), round));
            for limit in [
                Duration::ZERO,
                crate::common::SHORT,
                4 * crate::common::SHORT,
            ] {
                let drained = drain(limit);
                assert_eq!((drained.ran, drained.left), (0, 100), "{limit:?}");
            }
            assert_eq!(ledger.count(), 0);
            inside.end();
            // The worker takes over at once what it left; no further call is needed.
            until("the rest goes of itself", || ledger.count() == 100);
            ledger.assert_all_once();
            barrier();
            assert_eq!(statistics().queued, 0);
        }
    });
}

#[test]
fn later_use_works() {
    in_both_modes(|| {
        let things = 2000;
        for round in 0..30 {
            let ledger = Ledger::new(things);
            (0..things).for_each(|index| queue_somehow(ledger.thing(index), index & !1));
            let drained = match round % 3 {
                0 => drain(Duration::ZERO),
                1 => drain(PATIENCE),
                _ => drain(Duration::from_micros(100)),
            };
            assert!(drained.ran <= things as u64, "{drained:?}");
            if round % 3 == 1 {
                assert_eq!(drained.left, 0);
                ledger.assert_all_once();
            }
            barrier();
            ledger.assert_all_once();
        }
    });
}

#[test]
fn inside_a_section_it_runs_what_is_ready() {
    in_both_modes(|| {
        let (sender, places) = mpsc::channel();
        let guard = read_lock();
        (0..10).for_each(|_| retire(SaysWhere(sender.clone())));
        for limit in [Duration::ZERO, PATIENCE, Duration::MAX] {
            let drained = drain(limit);
            assert_eq!((drained.ran, drained.left), (0, 10));
            assert!(in_section());
        }
        assert!(places.try_recv().is_err());
        drop(guard);
        assert_eq!(drain(PATIENCE).left, 0);
        assert_eq!(places.try_iter().count(), 10);
        // It does not wait there for a callback that another thread is running.
        let gate = Gate::new();
        defer_hurry(|| gate.pass());
        gate.until_reached(1);
        let drained = read(|_| drain(Duration::MAX));
        assert_eq!((drained.ran, drained.left), (0, 1));
        gate.open();
        barrier();
    });
}

#[test]
fn inside_a_callback_it_does_not_wait_for_that_callback() {
    in_both_modes(|| {
        let (sender, answers) = mpsc::channel();
        for limit in [Duration::ZERO, Duration::MAX] {
            let sender = sender.clone();
            defer(move || sender.send(drain(limit)).expect("the test listens"));
            barrier();
            let drained = answers.recv_timeout(PATIENCE).expect("it returns");
            assert_eq!(drained.ran, 0);
            assert!(drained.left >= 1, "{drained:?}");
        }
    });
}

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

#[test]
fn callbacks_that_drain_do_not_nest_for_ever() {
    in_both_modes(|| {
        static DEEPEST: AtomicU32 = AtomicU32::new(0);
        const CALLS: u64 = 20_000;
        let inside = Reader::inside("until all are queued");
        for _ in 0..CALLS {
            defer(|| {
                DEPTH.set(DEPTH.get() + 1);
                DEEPEST.fetch_max(DEPTH.get(), Ordering::Relaxed);
                drain(Duration::ZERO);
                DEPTH.set(DEPTH.get() - 1);
            });
        }
        inside.end();
        barrier();
        assert_eq!(statistics().callbacks, CALLS);
        let deepest = DEEPEST.load(Ordering::Relaxed);
        assert!(deepest <= 2, "{deepest} callbacks one inside the other");
    });
}

#[test]
fn it_does_not_spin_while_others_run_a_callback() {
    in_both_modes(|| {
        let gate = Gate::new();
        let idle = Reader::idle("owns a slot");
        defer_hurry(|| gate.pass());
        gate.until_reached(1);
        let before = statistics();
        let drained = drain(Duration::from_millis(400));
        let after = statistics();
        assert_eq!((drained.ran, drained.left), (0, 1));
        // It may try at intervals, but must not issue process-wide fences in a loop.
        let fences = after.fences_take - before.fences_take;
        assert!(fences <= 100, "{fences} fences in one drain");
        gate.open();
        let drained = drain(PATIENCE);
        assert_eq!(drained.left, 0, "{drained:?}");
        idle.end();
    });
}

#[test]
fn it_ends_though_callbacks_queue_more() {
    in_both_modes(|| {
        static GO_ON: AtomicBool = AtomicBool::new(true);
        fn again() {
            if GO_ON.load(Ordering::Relaxed) {
                defer_hurry(again);
            }
        }
        defer_hurry(again);
        for _ in 0..3 {
            drain(Duration::from_millis(20));
        }
        GO_ON.store(false, Ordering::Relaxed);
        barrier();
        barrier();
        assert_eq!(statistics().queued, 0);
    });
}

#[test]
fn many_at_once_share_the_work() {
    in_both_modes(|| {
        const THINGS: usize = 5000;
        for _ in 0..5 {
            let ledger = Ledger::new(THINGS);
            let plain = statistics().callbacks;
            for index in 0..THINGS {
                let way = [0, 4, 8][index % 3];
                queue_somehow(ledger.thing(index), way);
            }
            let done = flag();
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let drained = drain(PATIENCE);
                        assert_eq!(drained.left, 0, "{drained:?}");
                        // When a thread returns, everything is done.
                        ledger.assert_all_once();
                        done.store(true, Ordering::Release);
                    });
                }
            });
            assert!(done.load(Ordering::Acquire));
            assert_eq!(statistics().callbacks - plain, THINGS as u64);
        }
    });
}

#[test]
fn a_drain_waits_for_what_the_worker_runs_of_a_dropped_domain() {
    in_both_modes(|| {
        healed::expected(); // the callback at the gate may be found stuck
        for _ in 0..3 {
            let (gate, returned) = (Gate::new(), flag());
            let domain = Domain::new();
            domain.defer_hurry(move || {
                gate.pass();
                returned.store(true, Ordering::Release);
            });
            gate.until_reached(1);
            drop(domain);
            let (sender, thread) = mpsc::channel();
            let drainer = thread::spawn(move || {
                sender.send(thread_id()).expect("the test waits");
                drain(PATIENCE);
                assert!(returned.load(Ordering::Acquire), "it still runs");
            });
            let thread = thread.recv().expect("it drains");
            until("it waits", || sleeps(thread) || drainer.is_finished());
            gate.open();
            drainer.join().expect("no panic");
        }
    });
}
