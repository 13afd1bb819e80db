//! `Srcu`: sections that sleep, end on other threads and block no other domain; callbacks, barriers, cookies,
//! futures.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use crate::common::{isolated, until};
use quiescent::report::Report;
use quiescent::{RcuCell, Srcu, SyncError};

/// Long enough for anything that does not hang.
const LONG: Duration = Duration::from_secs(60);
/// Short, where something has to take longer than this.
const SHORT: Duration = Duration::from_millis(20);

#[test]
fn a_section_holds_a_grace_period_up_until_it_ends_on_whatever_thread() {
    // Alone: threads are named by counts, which others may have left uneven by ending each other's sections.
    isolated(|| {
        static SRCU: Srcu = Srcu::new();
        let guard = SRCU.read_lock_send();
        let held = SRCU.synchronize_timeout(SHORT);
        let Err(SyncError::TimedOut { holdouts }) = held else {
            panic!("{held:?}");
        };
        let me = crate::common::thread_id();
        assert!(
            holdouts.iter().any(|holdout| holdout.thread_id == me),
            "the thread that began it is named: {holdouts:?}"
        );
        let ended = thread::spawn(move || {
            thread::sleep(SHORT);
            drop(guard);
        });
        assert_eq!(SRCU.synchronize_timeout(LONG), Ok(()));
        ended.join().expect("no panic");
        assert!(SRCU.holdouts().is_empty());
        assert!(SRCU.statistics().reader_wakeups <= 1);
    });
}

#[test]
fn sections_that_come_one_after_the_other_do_not_hold_it_up() {
    isolated(|| {
        let srcu = Srcu::new();
        let (stop, begun) = (AtomicU32::new(0), Barrier::new(3));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut guard = srcu.read_lock();
                    begun.wait();
                    while stop.load(Ordering::Relaxed) == 0 {
                        let next = srcu.read_lock(); // there is always one
                        drop(std::mem::replace(&mut guard, next));
                        thread::yield_now();
                    }
                });
            }
            begun.wait();
            for _ in 0..100 {
                assert_eq!(srcu.synchronize_timeout(LONG), Ok(()));
            }
            stop.store(1, Ordering::Relaxed);
        });
        assert!(
            srcu.statistics().turns > 0,
            "newcomers were sent to the other count"
        );
    });
}

#[test]
fn others_are_not_held_up() {
    isolated(|| {
        let (slow, quick) = (Srcu::new(), Srcu::new());
        let stalled = slow.read_lock();
        let ran = Arc::new(AtomicU32::new(0));
        let count = |ran: &Arc<AtomicU32>| {
            let ran = Arc::clone(ran);
            move || {
                ran.fetch_add(1, Ordering::Relaxed);
            }
        };
        slow.defer_hurry(count(&ran));
        for _ in 0..20 {
            quick.defer_hurry(|| ());
            quick.barrier();
            assert_eq!(quick.synchronize_timeout(LONG), Ok(()));
            assert_eq!(quiescent::synchronize_timeout(LONG), Ok(()));
        }
        assert_eq!(
            (ran.load(Ordering::Relaxed), quick.statistics().queued),
            (0, 0)
        );
        // A section of the process's domain, inside which no thread may wait, does not block them either.
        let (sender, receiver) = mpsc::channel();
        let (entered, wait) = (Barrier::new(2), Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                let _guard = quiescent::read_lock();
                entered.wait();
                wait.wait();
            });
            entered.wait();
            quick.defer_hurry(move || sender.send(()).expect("the test waits"));
            receiver.recv_timeout(LONG).expect("it ran");
            wait.wait();
        });
        drop(stalled);
        slow.barrier();
        assert_eq!(ran.load(Ordering::Relaxed), 1);
    });
}

/// The driver goes on to the next grace period, and sleeps for a reader of that one.
#[test]
fn what_is_done_does_not_wait_for_the_next_grace_period() {
    isolated(|| {
        let srcu = Srcu::new();
        srcu.set_stall_after(Duration::ZERO); // so no thread checks for stalls
        for _ in 0..50 {
            let (sender, receiver) = mpsc::channel();
            until("no grace period is in progress", || !srcu.statistics().busy);
            let (first, before) = (srcu.read_lock(), srcu.statistics());
            srcu.defer_hurry(move || sender.send(()).expect("the test waits"));
            thread::scope(|scope| {
                let turns = before.turns;
                let before = before.grace_periods;
                let driver = scope.spawn(|| srcu.synchronize_timeout(LONG));
                // A section that began before this would be one that the first grace period waits for.
                until("newcomers join the other count", || {
                    srcu.statistics().turns > turns
                });
                let second = srcu.read_lock();
                drop(first);
                receiver.recv_timeout(LONG).expect("it ran");
                until("one is over", || srcu.statistics().grace_periods > before);
                drop(second);
                assert_eq!(driver.join().expect("no panic"), Ok(()));
            });
        }
    });
}

#[test]
fn what_is_replaced_is_dropped_once_and_not_while_it_is_read() {
    isolated(|| {
        static DROPPED: AtomicU64 = AtomicU64::new(0);
        struct Value(u64);
        impl Drop for Value {
            fn drop(&mut self) {
                DROPPED.fetch_add(self.0, Ordering::Relaxed);
            }
        }
        let srcu = Srcu::new();
        let cell = RcuCell::new_in(Value(1), &srcu);
        let guard = srcu.read_lock();
        let seen = cell.load(&guard);
        cell.store(Value(10)).retire_hurry();
        cell.store(Value(100));
        drop(cell.update(|now| Value(now.0 * 10)));
        thread::sleep(SHORT);
        assert_eq!((seen.0, DROPPED.load(Ordering::Relaxed)), (1, 0));
        drop(guard);
        srcu.barrier();
        assert_eq!(DROPPED.load(Ordering::Relaxed), 111);
        assert_eq!(cell.into_inner().0, 1000);
    });
}

#[test]
fn lazy_ones_wait_for_company_and_a_barrier_does_not() {
    isolated(|| {
        let srcu = Srcu::new();
        srcu.synchronize();
        let before = srcu.statistics();
        let ran = Arc::new(AtomicU32::new(0));
        for _ in 0..100 {
            let ran = Arc::clone(&ran);
            srcu.defer_lazy(move || {
                ran.fetch_add(1, Ordering::Relaxed);
            });
        }
        thread::sleep(SHORT);
        let lazy = srcu.statistics();
        assert_eq!(
            (lazy.queued, lazy.grace_periods),
            (100, before.grace_periods)
        );
        srcu.barrier();
        assert_eq!(ran.load(Ordering::Relaxed), 100);
        let after = srcu.statistics();
        assert_eq!((after.queued, after.queued_bytes), (0, 0));
        assert!(after.grace_periods <= before.grace_periods + 2);
    });
}

#[test]
fn drain_runs_what_is_queued_here_and_stops_at_a_reader() {
    isolated(|| {
        let srcu = Srcu::new();
        let guard = srcu.read_lock_send();
        srcu.defer_lazy(|| ());
        let drained = srcu.drain(SHORT);
        assert_eq!((drained.ran, drained.left), (0, 1));
        drop(guard);
        let mut ran = 0;
        while srcu.statistics().queued > 0 {
            ran += srcu.drain(LONG).ran; // the worker may be faster
        }
        assert!(ran <= 1);
    });
}

#[test]
fn cookies_are_done_after_a_whole_grace_period_and_not_before() {
    isolated(|| {
        let srcu = Srcu::new();
        let guard = srcu.read_lock_send();
        let cookie = srcu.start_grace_period();
        for _ in 0..100 {
            assert!(!cookie.is_done(), "its reader is still there");
        }
        drop(guard);
        while !cookie.is_done() {
            thread::yield_now();
        }
        cookie.wait();
        assert_eq!(cookie.wait_timeout(std::time::Duration::ZERO), Ok(()));
        assert_ne!(cookie, Srcu::new().start_grace_period(), "of another one");
    });
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park_timeout(LONG),
        }
    }
}

#[test]
fn a_future_waits_for_the_sections_of_its_beginning_and_wakes_its_task() {
    isolated(|| {
        let srcu = Arc::new(Srcu::new());
        block_on(srcu.grace_period());
        let guard = srcu.read_owned_send();
        let future = srcu.grace_period();
        let dropped = thread::spawn(move || {
            thread::sleep(SHORT);
            drop(guard);
        });
        block_on(future);
        dropped.join().expect("no panic");
        // A future that is dropped early blocks nothing.
        let guard = srcu.read_owned_send();
        let mut given_up = Box::pin(srcu.grace_period());
        let poll = given_up
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        assert!(poll.is_pending());
        drop((given_up, guard));
        assert_eq!(srcu.synchronize_timeout(LONG), Ok(()));
    });
}

#[test]
fn an_owned_guard_keeps_it_and_what_is_queued_is_run_after_it_is_gone() {
    isolated(|| {
        let (sender, receiver) = mpsc::channel();
        let srcu = Arc::new(Srcu::new());
        let guard = srcu.read_owned();
        srcu.defer_hurry(move || sender.send(7).expect("the test waits"));
        drop(srcu);
        assert!(receiver.recv_timeout(SHORT).is_err(), "its reader is there");
        drop(guard);
        assert_eq!(receiver.recv_timeout(LONG), Ok(7));
    });
}

#[test]
fn a_callback_that_always_queues_itself_holds_up_no_other_srcu() {
    isolated(|| {
        static SRCU: Srcu = Srcu::new();
        static GO_ON: AtomicBool = AtomicBool::new(true);
        fn again() {
            if GO_ON.load(Ordering::Relaxed) {
                SRCU.defer_hurry(again);
            }
        }
        again();
        let (other, (sender, receiver)) = (Srcu::new(), mpsc::channel());
        for n in 0..20 {
            let sender = sender.clone();
            other.defer_hurry(move || sender.send(n).expect("the test waits"));
            assert_eq!(receiver.recv_timeout(LONG), Ok(n));
        }
        GO_ON.store(false, Ordering::Relaxed);
        SRCU.barrier();
        SRCU.barrier();
        assert_eq!(SRCU.statistics().queued, 0);
    });
}

#[test]
fn a_forgotten_guard_costs_its_own_srcu_only() {
    isolated(|| {
        let srcu = Srcu::new();
        std::mem::forget(srcu.read_lock_send());
        assert!(srcu.synchronize_timeout(SHORT).is_err());
        drop(srcu);
        // Its memory is not reused.
        for _ in 0..10 {
            let next = Srcu::new();
            drop(next.read_lock());
            assert_eq!(next.synchronize_timeout(LONG), Ok(()));
        }
    });
}

#[test]
fn guards_outlive_the_thread_that_created_them() {
    isolated(|| {
        let srcu = Arc::new(Srcu::new());
        let begun = Arc::clone(&srcu);
        let guard = thread::spawn(move || begun.read_owned_send())
            .join()
            .expect("no panic");
        assert!(srcu.synchronize_timeout(SHORT).is_err());
        drop(guard);
        assert_eq!(srcu.synchronize_timeout(LONG), Ok(()));
    });
}

#[test]
fn waiting_where_it_would_hold_up_others_is_refused() {
    isolated(|| {
        let srcu = Srcu::new();
        let guard = quiescent::read_lock();
        assert_eq!(srcu.try_synchronize(), Err(SyncError::InsideSection));
        assert_eq!(srcu.try_barrier(), Err(SyncError::InsideSection));
        drop(guard);
        // Nor would a section end that this thread has to end itself, in either count.
        let first = srcu.read_lock();
        assert!(srcu.in_section());
        let refused = Err(SyncError::InsideSection);
        assert_eq!(
            (srcu.try_synchronize(), srcu.try_barrier()),
            (refused.clone(), refused.clone())
        );
        assert_eq!(srcu.synchronize_timeout(LONG), refused);
        assert_eq!(block_on(srcu.try_grace_period()), refused);
        assert_eq!(Srcu::new().try_synchronize(), Ok(()));
        thread::scope(|scope| {
            let waits = scope.spawn(|| srcu.synchronize());
            until("newcomers join the other count", || {
                srcu.statistics().turns > 0
            });
            let second = srcu.read_lock();
            drop(first);
            assert!(srcu.in_section() && srcu.try_synchronize() == refused);
            drop(second);
            waits.join().expect("no panic");
        });
        assert!(!srcu.in_section() && srcu.try_synchronize() == Ok(()));
        let sent = srcu.read_lock_send();
        assert!(!srcu.in_section() && srcu.synchronize_timeout(SHORT) != refused);
        drop(sent);
        let (sender, receiver) = mpsc::channel();
        let srcu = Arc::new(srcu);
        let inside = Arc::clone(&srcu);
        srcu.defer_hurry(move || {
            sender
                .send((inside.try_synchronize(), inside.try_barrier()))
                .expect("the test waits");
        });
        let refused = Err(SyncError::InsideCallback);
        assert_eq!(receiver.recv_timeout(LONG), Ok((refused.clone(), refused)));
    });
}

/// The reports so far that name this process's thread.
static NAMED: AtomicU32 = AtomicU32::new(0);

fn count_named(report: &Report) {
    if let Report::Stalled(stall) = report {
        assert_eq!(stall.queued, 1);
        let named = stall
            .readers
            .iter()
            .filter(|reader| reader.holdout.thread_id != 0);
        NAMED.fetch_add(named.count() as u32, Ordering::Relaxed);
    }
}

#[test]
fn a_stall_report_names_the_thread_and_then_all_is_quiet() {
    isolated(|| {
        quiescent::report::on_report(count_named);
        let srcu = Srcu::new();
        srcu.set_stall_after(Duration::from_millis(10));
        let guard = srcu.read_lock();
        srcu.defer_hurry(|| ());
        until("a report", || NAMED.load(Ordering::Relaxed) > 0);
        drop(guard);
        // This call may end the grace period that the callback waits for.
        assert_eq!(srcu.synchronize_timeout(LONG), Ok(()));
        until("it ran", || srcu.statistics().queued == 0);
        until("no thread inspects it any more", || {
            let looks = srcu.statistics().looks;
            thread::sleep(4 * SHORT);
            srcu.statistics().looks == looks
        });
    });
}

#[test]
fn a_panic_in_a_callback_is_contained() {
    isolated(|| {
        let srcu = Srcu::new();
        srcu.defer(|| panic!("on purpose"));
        srcu.defer(|| ());
        srcu.barrier();
        let statistics = srcu.statistics();
        assert_eq!((statistics.callbacks, statistics.callback_panics), (2, 1));
    });
}

#[test]
fn a_sole_thread_needs_no_fence() {
    // In a process of its own: here it may get the place of another one, which many have read.
    isolated(alone);
}

fn alone() {
    let srcu = Srcu::new();
    drop(srcu.read_lock());
    let before = srcu.statistics();
    srcu.synchronize();
    let alone = srcu.statistics();
    assert_eq!(alone.fences, before.fences);
    assert_eq!(alone.grace_periods_sole, before.grace_periods_sole + 1);
    thread::scope(|scope| scope.spawn(|| drop(srcu.read_lock())).join()).expect("no panic");
    srcu.synchronize();
    assert_eq!(srcu.statistics().fences, before.fences + 1);
}

#[test]
fn a_place_with_a_section_open_is_not_reused() {
    isolated(|| {
        let srcu = Srcu::new();
        std::mem::forget(srcu.read_lock());
        drop(srcu);
        for _ in 0..10 {
            let next = Srcu::new(); // in the old one's place it would wait for the section
            assert_eq!(next.synchronize_timeout(crate::common::PATIENCE), Ok(()));
        }
    });
}
