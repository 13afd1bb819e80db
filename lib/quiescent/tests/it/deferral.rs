//! Deferral: nothing is freed or run too early, everything once, nothing waits, and callbacks run on the
//! specified threads.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::deferral::{Ledger, WAYS, queue_somehow};
use crate::common::oracle::Canary;
use crate::common::{
    Numbers, PATIENCE, Reader, emulated, in_both_modes, isolated, on_thread, thread_id, until,
};
use quiescent::{
    Options, RcuCell, RcuOption, Runner, barrier, defer, defer_hurry, drain, read, read_lock,
    statistics, synchronize,
};

#[test]
fn nothing_goes_while_a_section_could_see_it() {
    in_both_modes(|| {
        const THINGS: usize = 3000;
        for round in 0..4 {
            let ledger = Ledger::new(THINGS);
            let inside = Reader::inside("inside");
            let queue = move || {
                for index in 0..THINGS {
                    queue_somehow(ledger.thing(index), index);
                }
            };
            match round % 2 {
                0 => queue(),
                _ => on_thread("departed", queue),
            }
            // The worker has been woken, and this thread tries, too.
            let drained = drain(Duration::from_millis(30));
            assert_eq!((drained.ran, ledger.count()), (0, 0), "round {round}");
            assert!(drained.left >= THINGS as u64, "{drained:?}");
            inside.end();
            barrier();
            ledger.assert_all_once();
            assert_eq!(statistics().queued, 0);
        }
    });
}

/// What a reader has found is poisoned by a callback; nothing is ever freed, so poison stays.
fn poison_after_grace_periods() {
    const UPDATES: u32 = 3000;
    let new = || Box::leak(Box::new(Canary::new()));
    let cell: RcuCell<&'static Canary> = RcuCell::new(new());
    let (stop, sections) = (AtomicBool::new(false), AtomicU64::new(0));
    let poisoned: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let guard = read_lock();
                    let canary = *cell.load(&guard);
                    canary.check();
                    thread::yield_now();
                    canary.check();
                    sections.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let updater = |hurried: bool| {
            let cell = &cell;
            move || {
                for update in 0..UPDATES {
                    let old: &'static Canary = *cell.store(new());
                    let poison = move || {
                        old.poison();
                        poisoned.fetch_add(1, Ordering::Relaxed);
                    };
                    match hurried {
                        true => defer_hurry(poison),
                        false => defer(poison),
                    }
                    if update % 64 == 0 {
                        thread::sleep(Duration::from_micros(200));
                    }
                }
            }
        };
        let updaters = [scope.spawn(updater(true)), scope.spawn(updater(false))];
        let ends = updaters.map(thread::ScopedJoinHandle::join);
        until("readers read", || sections.load(Ordering::Relaxed) > 1000);
        barrier();
        stop.store(true, Ordering::Relaxed);
        assert!(ends.iter().all(Result::is_ok));
    });
    assert_eq!(poisoned.load(Ordering::Relaxed), 2 * UPDATES);
}

#[test]
fn readers_never_see_what_a_callback_poisons() {
    in_both_modes(poison_after_grace_periods);
}

#[test]
fn everything_goes_exactly_once() {
    in_both_modes(|| {
        const LIVES: usize = 150;
        const THINGS: usize = 80; // a life
        const MAKERS: usize = 3;
        let ledger = Ledger::new(MAKERS * LIVES * THINGS);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            // Short lives: slots, and what is queued in them, are inherited all the time.
            let makers: Vec<_> = (0..MAKERS)
                .map(|maker| {
                    scope.spawn(move || {
                        for life in 0..LIVES {
                            let first = (maker * LIVES + life) * THINGS;
                            on_thread("short", move || {
                                let mut numbers = Numbers(first as u64);
                                for index in first..first + THINGS {
                                    // Mostly lazy ones.
                                    let hurry = numbers.below(16) == 0;
                                    let way = numbers.below(WAYS) & !1 | usize::from(hurry);
                                    queue_somehow(ledger.thing(index), way);
                                }
                            });
                        }
                    })
                })
                .collect();
            let stop = &stop;
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    barrier();
                    thread::sleep(Duration::from_millis(1));
                }
            });
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    drain(Duration::from_millis(2));
                    thread::sleep(Duration::from_millis(1));
                }
            });
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    read(|_| thread::yield_now());
                }
            });
            let ends: Vec<_> = makers.into_iter().map(|maker| maker.join()).collect();
            barrier();
            stop.store(true, Ordering::Relaxed);
            assert!(ends.iter().all(Result::is_ok));
        });
        ledger.assert_all_once();
        let after = statistics();
        assert_eq!((after.queued, after.leaked), (0, 0));
        assert_eq!((after.callback_panics, after.worker_errors), (0, 0));
    });
}

#[test]
fn a_stalled_reader_holds_memory_and_delays_no_thread() {
    needs!(native);
    in_both_modes(|| {
        let many = match statistics().fence_mode {
            quiescent::FenceMode::Membarrier => 1_000_000,
            _ => 100_000, // each takes locks there
        };
        let dropped: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
        struct Counts(&'static AtomicU32);
        impl Drop for Counts {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let cell = RcuCell::new([0u64; 2]);
        let option = RcuOption::new(None);
        let inside = Reader::inside("stalls");
        let before = statistics();
        let mut with_drop = 0;
        for n in 0..many {
            // Half of them inside a section of our own.
            let guard = (n / 1000 % 2 == 0).then(read_lock);
            cell.store([n; 2]);
            if n % 64 == 0 {
                option.store(Some(Counts(dropped)));
                with_drop += 1;
            }
            drop(guard);
        }
        option.store(None);
        let stalled = statistics();
        assert_eq!(stalled.queued - before.queued, many + with_drop);
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        assert_eq!(stalled.grace_periods, before.grace_periods);
        inside.end();
        barrier();
        assert_eq!(u64::from(dropped.load(Ordering::Relaxed)), with_drop);
        assert_eq!((statistics().queued, statistics().queued_bytes), (0, 0));
    });
}

/// Where it is dropped.
struct SaysWhere(mpsc::Sender<u32>);

impl Drop for SaysWhere {
    fn drop(&mut self) {
        self.0.send(thread_id()).expect("the test listens");
    }
}

#[test]
fn code_never_runs_on_the_thread_that_queued_it() {
    in_both_modes(|| {
        let (sender, places) = mpsc::channel();
        let cell = RcuCell::new(SaysWhere(sender.clone()));
        let mut inside = Some(Reader::inside("inside"));
        for n in 0..3000 {
            let guard = (n % 3 == 0).then(read_lock);
            let retired = cell.store(SaysWhere(sender.clone()));
            match n % 50 {
                0 => retired.retire_hurry(),
                _ => retired.retire(),
            }
            let closure = SaysWhere(sender.clone());
            match n % 50 {
                25 => defer_hurry(move || drop(closure)),
                _ => defer(move || drop(closure)),
            }
            drop(guard);
            if n == 1500 {
                assert!(places.try_recv().is_err(), "something went too early");
                inside.take().into_iter().for_each(Reader::end);
            }
            if n > 1500 && n % 500 == 0 {
                synchronize(); // some are done, and this thread goes on
            }
        }
        barrier();
        drop((cell, sender));
        let places: Vec<u32> = places.iter().collect();
        assert_eq!(places.len(), 2 * 3000 + 1);
        let here = places.iter().filter(|&&place| place == thread_id());
        assert_eq!(
            here.count(),
            1,
            "the last value of the cell is dropped here"
        );
    });
}

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

#[test]
fn closures_of_owners_run_here_one_at_a_time() {
    needs!(fence);
    isolated(|| {
        static HERE: AtomicU32 = AtomicU32::new(0);
        static RAN: AtomicU32 = AtomicU32::new(0);
        static DEEPEST: AtomicU32 = AtomicU32::new(0);
        static OWNER: AtomicU32 = AtomicU32::new(0);
        fn deep(then: impl FnOnce()) {
            let depth = DEPTH.get() + 1;
            DEPTH.set(depth);
            DEEPEST.fetch_max(depth, Ordering::Relaxed);
            RAN.fetch_add(1, Ordering::Relaxed);
            let here = thread_id() == OWNER.load(Ordering::Relaxed);
            HERE.fetch_add(u32::from(here), Ordering::Relaxed);
            then();
            DEPTH.set(depth - 1);
        }
        Options::new()
            .closures(Runner::Owner)
            .apply()
            .expect("possible");
        OWNER.store(thread_id(), Ordering::Relaxed);
        let (mut queued, start) = (0, Instant::now());
        // The worker may be in time for all of them.
        let none = || HERE.load(Ordering::Relaxed) == 0 && start.elapsed() < emulated(PATIENCE);
        for round in (0..).take_while(|&round| round < 200 || none()) {
            for n in 0..100 {
                if n == 50 && round % 4 == 0 {
                    // One that queues more than a block of others.
                    defer(|| deep(|| (0..400).for_each(|_| defer(|| deep(|| ())))));
                    queued += 401;
                } else {
                    defer(|| deep(|| ()));
                    queued += 1;
                }
            }
            synchronize();
        }
        // What is queued by the last ones may take another round.
        (0..2).for_each(|_| barrier());
        assert_eq!(RAN.load(Ordering::Relaxed), queued);
        assert!(HERE.load(Ordering::Relaxed) > 0, "none ran here");
        assert_eq!(DEEPEST.load(Ordering::Relaxed), 1);
        assert_eq!(statistics().queued, 0);
    });
}

#[test]
fn without_the_option_nothing_runs_inline() {
    isolated(|| {
        let here = thread_id();
        let seen: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
        for _ in 0..50 {
            for _ in 0..100 {
                defer(move || {
                    seen.fetch_add(u32::from(thread_id() == here), Ordering::Relaxed);
                });
            }
            synchronize();
        }
        barrier();
        assert_eq!(seen.load(Ordering::Relaxed), 0);
        assert_eq!(statistics().callbacks, 5000);
    });
}

/// Calls itself again until `left` is 0, and retires something each time.
fn again(left: u32, ran: &'static AtomicU32) {
    ran.fetch_add(1, Ordering::Relaxed);
    drop(RcuCell::new([left; 20]).store([0; 20]));
    drop(RcuCell::new(vec![left; 20]).store(Vec::new()));
    if left > 0 {
        match left % 2 {
            0 => defer(move || again(left - 1, ran)),
            _ => defer_hurry(move || again(left - 1, ran)),
        }
    }
}

#[test]
fn callbacks_may_queue_more() {
    in_both_modes(|| {
        let ran: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
        (0..30).for_each(|_| defer_hurry(move || again(10, ran)));
        // No barrier: the prompt ones get there of themselves.
        until("all of them ran", || ran.load(Ordering::Relaxed) == 30 * 11);
        barrier();
        assert_eq!(statistics().queued, 0);
        assert_eq!(statistics().callbacks, 30 * 11 * 2);
    });
}
