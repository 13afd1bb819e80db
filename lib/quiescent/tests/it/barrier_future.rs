//! `barrier_async()`: what it covers, which tasks are woken, and dropped futures. The same for the process's
//! domain and for an `Srcu`.

mod odd;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use crate::common::deferral::{Ledger, Thing, WAYS, queue_somehow};
use crate::common::tasks::{Bell, block_on};
use crate::common::{Reader, in_both_modes, kernel_threads, on_thread, panic_text, until};
use quiescent::{Guard, RcuCell, Sendable, Srcu, statistics};

/// Where barriers are.
#[derive(Clone, Copy)]
enum Place {
    Process,
    Under(&'static Srcu),
}

/// Keeps what is queued where it is.
enum Hold {
    Reader(Reader),
    Guard(Guard<Sendable<Srcu>>),
}

impl Hold {
    fn end(self) {
        match self {
            Hold::Reader(reader) => reader.end(),
            Hold::Guard(guard) => drop(guard),
        }
    }
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Place {
    fn queue(self, thing: Thing, way: usize) {
        let Place::Under(srcu) = self else {
            return queue_somehow(thing, way);
        };
        match way % 4 {
            0 => srcu.defer(move || drop(thing)),
            1 => srcu.defer_hurry(move || drop(thing)),
            2 => srcu.defer_lazy(move || drop(thing)),
            _ => drop(RcuCell::new_in(Some(thing), srcu).store(None)),
        }
    }

    fn defer_hurry(self, f: impl FnOnce() + Send + 'static) {
        match self {
            Place::Process => quiescent::defer_hurry(f),
            Place::Under(srcu) => srcu.defer_hurry(f),
        }
    }

    fn future(self) -> Task {
        match self {
            Place::Process => Box::pin(quiescent::barrier_async()),
            Place::Under(srcu) => Box::pin(srcu.barrier_async()),
        }
    }

    fn barrier(self) {
        match self {
            Place::Process => quiescent::barrier(),
            Place::Under(srcu) => srcu.barrier(),
        }
    }

    fn hold(self) -> Hold {
        match self {
            Place::Process => Hold::Reader(Reader::inside("holds it up")),
            Place::Under(srcu) => Hold::Guard(srcu.read_owned_send()),
        }
    }

    fn queued(self) -> u64 {
        match self {
            Place::Process => statistics().queued,
            Place::Under(srcu) => srcu.statistics().queued,
        }
    }
}

/// Runs `body` for both kinds of place, in processes of their own: with membarrier, and with fenced readers.
fn everywhere(body: fn(Place)) {
    let both = || {
        body(Place::Process);
        body(Place::Under(Box::leak(Box::default())));
    };
    in_both_modes(both);
}

#[test]
fn it_covers_what_any_thread_has_queued() {
    everywhere(|place| {
        for round in 0..10 * WAYS {
            let ledger = Ledger::new(20);
            on_thread("departed", move || {
                (0..10).for_each(|n| place.queue(ledger.thing(n), n + round));
            });
            (10..20).for_each(|n| place.queue(ledger.thing(n), n + round));
            block_on(place.future());
            ledger.assert_all_once();
        }
        assert_eq!(place.queued(), 0);
    });
}

#[test]
fn with_nothing_queued_the_first_poll_is_ready() {
    everywhere(|place| {
        let (hold, bell) = (place.hold(), Bell::new());
        let (threads, before) = (kernel_threads(), statistics());
        for _ in 0..100 {
            assert!(bell.poll(&mut place.future()).is_ready());
        }
        // The kernel may still count threads of before.
        assert!(kernel_threads() <= threads && bell.rung() == 0);
        let after = statistics();
        assert_eq!(after.grace_periods, before.grace_periods);
        assert_eq!(after.helper_threads, before.helper_threads);
        hold.end();
    });
}

#[test]
fn it_counts_from_its_making() {
    everywhere(|place| {
        let (ledger, bell) = (Ledger::new(2), Bell::new());
        place.queue(ledger.thing(0), 0);
        let mut early = place.future();
        place.barrier(); // covers what it waits for
        let hold = place.hold();
        place.queue(ledger.thing(1), 1);
        assert!(bell.poll(&mut early).is_ready());
        assert_eq!((ledger.count(), bell.rung()), (1, 0));
        let mut late = place.future();
        assert!(bell.poll(&mut late).is_pending());
        hold.end();
        block_on(late);
        ledger.assert_all_once();
    });
}

#[test]
fn it_may_move_to_another_thread_and_be_polled_with_another_waker() {
    everywhere(|place| {
        let ledger = Ledger::new(1);
        let (hold, bell) = (place.hold(), Bell::new());
        place.queue(ledger.thing(0), 1);
        let mut future = place.future();
        assert!((0..10).all(|_| bell.poll(&mut future).is_pending()));
        let executor = thread::spawn(move || block_on(future));
        hold.end();
        executor.join().expect("no panic");
        ledger.assert_all_once();
        assert!(bell.rung() <= 1, "its task is another one by now");
    });
}

#[test]
fn tasks_and_threads_share_barriers() {
    everywhere(|place| {
        let (ledger, hold) = (Ledger::new(1), place.hold());
        place.queue(ledger.thing(0), 1);
        let before = statistics().barriers;
        let bell = Bell::new();
        let mut futures: Vec<Task> = (0..200).map(|_| place.future()).collect();
        assert!(futures.iter_mut().all(|it| bell.poll(it).is_pending()));
        thread::scope(|scope| {
            let waits = || {
                place.barrier();
                ledger.assert_all_once();
            };
            let threads = crate::common::sleepers(scope, 4, waits);
            let tasks: Vec<_> = (0..4)
                .map(|_| futures.split_off(futures.len() - 50))
                .map(|part| scope.spawn(|| part.into_iter().for_each(block_on)))
                .collect();
            assert!(threads.iter().chain(&tasks).all(|it| !it.is_finished()));
            hold.end();
        });
        if let Place::Process = place {
            let made = statistics().barriers - before;
            assert!((1..=2).contains(&made), "{made} barriers for 204");
        }
    });
}

#[test]
fn many_at_once_each_cover_their_own() {
    everywhere(|place| {
        thread::scope(|scope| {
            for n in 0..8 {
                scope.spawn(move || {
                    for round in 0..40 {
                        let ledger = Ledger::new(3);
                        (0..3).for_each(|k| place.queue(ledger.thing(k), n + round + 3 * k));
                        match (n + round) % 4 {
                            0 => place.barrier(),
                            1 => drop(Bell::new().poll(&mut place.future())),
                            _ => block_on(place.future()),
                        }
                        if (n + round) % 4 != 1 {
                            ledger.assert_all_once();
                        }
                    }
                });
            }
        });
        block_on(place.future());
        assert_eq!(place.queued(), 0);
    });
}

#[test]
fn one_that_is_dropped_half_way_leaves_nothing_behind() {
    everywhere(|place| {
        let (ledger, hold) = (Ledger::new(1), place.hold());
        drop(place.future());
        place.queue(ledger.thing(0), 1);
        let bell = Bell::new();
        let mut stays = place.future();
        assert!(bell.poll(&mut stays).is_pending());
        for _ in 0..100 {
            let goes = Bell::new();
            let mut future = place.future();
            assert!(goes.poll(&mut future).is_pending());
            drop(future);
            assert_eq!(Arc::strong_count(&goes), 1, "its waker is kept");
        }
        // The one that began the barrier, too: others go on with it.
        drop(stays);
        let late = place.future();
        hold.end();
        block_on(late);
        ledger.assert_all_once();
        assert_eq!(bell.rung(), 0);
        // And one that no task awaits in the end blocks nothing.
        let (last, hold) = (Ledger::new(1), place.hold());
        place.queue(last.thing(0), 1);
        assert!(bell.poll(&mut place.future()).is_pending());
        hold.end();
        until("it is run", || last.count() == 1);
        place.barrier();
        assert_eq!(place.queued(), 0);
    });
}

#[test]
fn it_does_not_wait_for_what_callbacks_queue() {
    everywhere(|place| {
        static GO_ON: AtomicBool = AtomicBool::new(true);
        static TURNS: AtomicU32 = AtomicU32::new(0);
        fn again(place: Place) {
            TURNS.fetch_add(1, Ordering::Relaxed);
            if GO_ON.load(Ordering::Relaxed) {
                place.defer_hurry(move || again(place));
            }
        }
        GO_ON.store(true, Ordering::Relaxed);
        place.defer_hurry(move || again(place));
        for n in 0..20 {
            let ledger = Ledger::new(1);
            place.queue(ledger.thing(0), n);
            block_on(place.future());
            ledger.assert_all_once();
        }
        assert!(TURNS.load(Ordering::Relaxed) > 0);
        GO_ON.store(false, Ordering::Relaxed);
        block_on(place.future());
        block_on(place.future());
        assert_eq!(place.queued(), 0);
    });
}

#[test]
fn inside_a_section_it_refuses_to_wait() {
    everywhere(|place| {
        let ledger = Ledger::new(1);
        let bell = Bell::new();
        let mut future = quiescent::read(|_| {
            assert!(
                bell.poll(&mut place.future()).is_ready(),
                "nothing is queued"
            );
            place.queue(ledger.thing(0), 1);
            let mut future = place.future();
            match place {
                Place::Process => {
                    let text = panic_text(|| assert!(bell.poll(&mut future).is_ready()));
                    assert!(text.starts_with("BarrierFuture: "), "{text}");
                    assert!(text.contains("drop the guard first"), "{text}");
                }
                // It is another one's section: the worker runs it meanwhile.
                Place::Under(_) => block_on(place.future()),
            }
            future
        });
        block_on(&mut future);
        ledger.assert_all_once();
    });
}

#[test]
fn inside_a_callback_that_it_waits_for_it_is_pending() {
    everywhere(|place| {
        static RESULT: AtomicU32 = AtomicU32::new(0);
        RESULT.store(0, Ordering::Relaxed);
        let ledger = Ledger::new(1);
        let thing = ledger.thing(0);
        place.defer_hurry(move || {
            let _in_the_end = thing;
            let mut inner = place.future();
            let pending = Bell::new().poll(&mut inner).is_pending();
            RESULT.store(1 + u32::from(pending), Ordering::Release);
        });
        block_on(place.future());
        assert_eq!(RESULT.load(Ordering::Acquire), 2);
        ledger.assert_all_once();
    });
}
