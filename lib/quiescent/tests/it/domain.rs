//! `Domain`: sections that block only their own domain; callbacks, cookies, budgets, dropping.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use crate::common::{isolated, until};
use quiescent::report::Report;
use quiescent::tuning::FlushTimes;
use quiescent::{Domain, RcuCell, Runner, SyncError};

mod ends;
mod now;
mod readers;

/// Long enough for anything that does not hang.
const LONG: Duration = Duration::from_secs(60);
/// Short, where something has to take longer than this.
const SHORT: Duration = Duration::from_millis(20);

/// A guard of another thread, until it is dropped.
struct Stalled {
    end: mpsc::Sender<()>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Stalled {
    fn inside(domain: &'static Domain) -> Stalled {
        let (end, ended) = mpsc::channel::<()>();
        let begun = Arc::new(Barrier::new(2));
        let other = Arc::clone(&begun);
        let thread = thread::Builder::new().name("stalled".into());
        let thread = thread.spawn(move || {
            let guard = domain.read_lock();
            other.wait();
            let _ = ended.recv();
            drop(guard);
        });
        begun.wait();
        Stalled {
            end,
            thread: Some(thread.expect("a thread")),
        }
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        let _ = self.end.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn leaked() -> &'static Domain {
    Box::leak(Box::new(Domain::new()))
}

fn until_at_rest(domain: &Domain) {
    until("the domain rests", || domain.statistics().at_rest);
}

/// A box on the heap that counts its drops.
struct Noisy(Arc<AtomicU32>);

impl Drop for Noisy {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_section_delays_its_own_domain_and_no_other() {
    isolated(|| {
        let (slow, quick) = (leaked(), Domain::new());
        let stalled = Stalled::inside(slow);
        let held = slow.synchronize_timeout(SHORT);
        let Err(SyncError::TimedOut { holdouts }) = held else {
            panic!("{held:?}");
        };
        assert_eq!(holdouts.len(), 1);
        assert_eq!(holdouts[0].name.as_deref(), Some("stalled"));
        assert_eq!(slow.holdouts(), holdouts);

        // Readers of the other one come and go; neither it nor the process waits.
        let ran = Arc::new(AtomicU32::new(0));
        thread::scope(|scope| {
            scope
                .spawn(|| drop(quick.read_lock()))
                .join()
                .expect("no panic");
        });
        for _ in 0..100 {
            let ran = Arc::clone(&ran);
            quick.defer_hurry(move || {
                ran.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(quick.synchronize_timeout(LONG), Ok(()));
            assert_eq!(quiescent::synchronize_timeout(LONG), Ok(()));
        }
        quick.barrier();
        assert_eq!(ran.load(Ordering::Relaxed), 100);
        let looks = quick.statistics();
        assert_eq!((looks.sleeps, looks.reader_wakeups), (0, 0), "{looks:?}");

        drop(stalled);
        assert_eq!(slow.synchronize_timeout(LONG), Ok(()));
        assert!(slow.holdouts().is_empty());
    });
}

#[test]
fn what_is_queued_while_a_section_is_open_runs_when_it_has_ended() {
    isolated(|| {
        let domain = leaked();
        let cell = RcuCell::new_in(Noisy(Arc::new(AtomicU32::new(0))), domain);
        let dropped = domain.read(|guard| Arc::clone(&cell.load(guard).0));
        let (early, late) = (Stalled::inside(domain), leaked());
        cell.store(Noisy(Arc::clone(&dropped))).retire_hurry();
        let (sender, receiver) = mpsc::channel();
        domain.defer_hurry(move || sender.send(()).expect("the test listens"));
        late.defer_hurry(|| ());
        late.barrier(); // the worker goes on elsewhere
        assert!(receiver.try_recv().is_err());
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        drop(early);
        receiver.recv_timeout(LONG).expect("it runs");
        domain.barrier();
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        until_at_rest(domain);
        drop(cell);
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn a_domain_at_rest_has_given_its_engine_back_and_its_numbers_stay() {
    isolated(|| {
        let domain = Domain::new();
        for round in 1..=5 {
            thread::scope(|scope| {
                let other = scope.spawn(|| drop(domain.read_lock()));
                other.join().expect("no panic");
            });
            drop(domain.read_lock());
            domain.synchronize();
            domain.defer(|| ());
            domain.barrier();
            until_at_rest(&domain);
            let looks = domain.statistics();
            assert!(looks.grace_periods >= 2 * round, "{looks:?}");
            assert_eq!((looks.callbacks, looks.barriers), (round, round));
            assert_eq!(
                (looks.queued, looks.queued_bytes, looks.busy),
                (0, 0, false)
            );
        }
    });
}

#[test]
fn cookies_stay_true_while_domains_rest() {
    isolated(|| {
        let (one, other) = (leaked(), leaked());
        let stalled = Stalled::inside(one);
        let cookie = one.start_grace_period();
        for _ in 0..50 {
            other.synchronize(); // not ours
            assert!(!cookie.is_done());
        }
        assert!(one.statistics().busy, "a grace period is wanted");
        drop(stalled);
        until("the grace period ends", || cookie.is_done());
        until_at_rest(one);
        let stalled = Stalled::inside(one);
        let next = one.start_grace_period();
        assert!(cookie.is_done(), "an earlier one");
        assert!(!next.is_done());
        drop(stalled);
        next.wait();
        assert!(next.is_done());
    });
}

#[test]
fn a_cookie_knows_its_domain() {
    isolated(|| {
        let (one, other) = (leaked(), leaked());
        let stalled = Stalled::inside(one);
        let cookie = one.start_grace_period();
        other.synchronize();
        quiescent::synchronize();
        assert!(
            !cookie.is_done(),
            "its own domain's readers are still there"
        );
        assert_ne!(cookie, other.start_grace_period());
        drop(stalled);
        assert_eq!(cookie.wait_timeout(crate::common::PATIENCE), Ok(()));
        assert!(cookie.is_done());
    });
}

#[test]
fn waiting_in_a_section_is_refused_where_it_would_wait_for_itself() {
    isolated(|| {
        let (one, other) = (Domain::new(), Domain::new());
        let guard = one.read_lock();
        assert!(one.in_section() && !other.in_section());
        assert_eq!(one.try_synchronize(), Err(SyncError::InsideSection));
        assert_eq!(one.try_barrier(), Err(SyncError::InsideSection));
        assert_eq!(other.try_synchronize(), Ok(()), "its readers are others");
        drop(guard);
        let process = quiescent::read_lock();
        assert_eq!(one.try_synchronize(), Err(SyncError::InsideSection));
        drop(process);
        assert_eq!(one.try_synchronize(), Ok(()));
        let (sender, receiver) = mpsc::channel();
        let domain = leaked();
        domain.defer_hurry(move || {
            let _ = sender.send((domain.try_synchronize(), domain.try_barrier()));
        });
        let inside = Err(SyncError::InsideCallback);
        assert_eq!(receiver.recv_timeout(LONG), Ok((inside.clone(), inside)));
    });
}

#[test]
fn each_has_a_budget_of_its_own() {
    isolated(|| {
        static REPORTED: AtomicU32 = AtomicU32::new(0);
        quiescent::report::on_report(|report| {
            if let Report::OverBudget {
                full,
                holdouts,
                domain,
            } = report
            {
                assert_eq!((full.budget_callbacks, *holdouts <= 1), (10, true));
                assert_eq!(*domain, Some("small"));
                REPORTED.fetch_add(1, Ordering::Relaxed);
            }
        });
        let (small, large) = (leaked(), Domain::new());
        small.set_name("small");
        small.set_budget(u64::MAX, 10);
        let stalled = Stalled::inside(small);
        let (here, there) = (RcuCell::new_in(0, small), RcuCell::new_in(0, &large));
        let fit = (0..30).filter(|&n| here.store(n).try_retire().is_ok());
        assert_eq!(fit.count(), 10);
        assert_eq!(small.statistics().refused, 20);
        assert!((0..30).all(|n| there.store(n).try_retire().is_ok()));
        let refused = here
            .store(99)
            .retire_wait(SHORT)
            .expect_err("the reader stays");
        assert!(matches!(
            refused.reason,
            quiescent::Refusal::TimedOut { ref holdouts, .. } if holdouts.len() == 1
        ));
        until("it is reported", || REPORTED.load(Ordering::Relaxed) > 0);
        assert!(small.statistics().over_budget > 0);
        drop(stalled);
        assert!(refused.object.retire_wait(LONG).is_ok());
        small.barrier();
        assert!(here.store(100).try_retire().is_ok());
    });
}

#[test]
fn each_flushes_in_its_own_time() {
    isolated(|| {
        let (lazy, quick) = (Domain::new(), Domain::new());
        lazy.set_flush_times(FlushTimes {
            lazy: Duration::from_secs(3600),
            prompt: Duration::from_secs(3600),
        });
        quick.set_flush_times(FlushTimes {
            lazy: Duration::from_millis(1),
            prompt: Duration::from_millis(1),
        });
        let ran = Arc::new(AtomicU32::new(0));
        for domain in [&lazy, &quick] {
            let ran = Arc::clone(&ran);
            domain.defer_lazy(move || {
                ran.fetch_add(1, Ordering::Relaxed);
            });
        }
        until("it is run", || ran.load(Ordering::Relaxed) == 1);
        until_at_rest(&quick);
        assert_eq!(
            quick.flush_times().lazy,
            Duration::from_millis(1),
            "kept while it rests"
        );
        assert_eq!(lazy.statistics().queued, 1);
        lazy.set_flush_times(FlushTimes {
            lazy: Duration::ZERO,
            ..lazy.flush_times()
        });
        until("what was queued follows", || {
            ran.load(Ordering::Relaxed) == 2
        });
    });
}

#[test]
fn a_drained_domain_runs_code_only_where_the_program_drains_it() {
    isolated(|| {
        static READY: AtomicU32 = AtomicU32::new(0);
        quiescent::tuning::on_ready(|| {
            READY.fetch_add(1, Ordering::Relaxed);
        });
        let domain = Domain::new();
        domain.set_closures(Runner::Drained);
        let (sender, receiver) = mpsc::channel();
        for _ in 0..5 {
            let sender = sender.clone();
            domain.defer_hurry(move || sender.send(thread::current().id()).expect("listened to"));
        }
        until("`on_ready` is called", || READY.load(Ordering::Relaxed) > 0);
        assert!(receiver.try_recv().is_err());
        assert_eq!(domain.drain_ready(2, LONG).ran, 2);
        assert_eq!(receiver.try_iter().count(), 2);
        let drained = domain.drain(LONG);
        assert_eq!((drained.ran, drained.left), (3, 0));
        assert!(receiver.try_iter().all(|id| id == thread::current().id()));
        domain.set_closures(Runner::Worker);
        domain.defer_hurry(move || sender.send(thread::current().id()).expect("listened to"));
        let other = receiver.recv_timeout(LONG).expect("the worker goes on");
        assert_ne!(other, thread::current().id());
    });
}

/// Wakes by a channel.
struct Bell(mpsc::SyncSender<()>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let _ = self.0.try_send(());
    }
}

#[test]
fn a_grace_period_is_a_future_and_so_is_a_barrier() {
    isolated(|| {
        let domain = leaked();
        let (sender, bell) = mpsc::sync_channel(1);
        let waker = Waker::from(Arc::new(Bell(sender)));
        let mut context = Context::from_waker(&waker);
        let stalled = Stalled::inside(domain);
        let mut future = pin!(domain.grace_period());
        let dropped = domain.grace_period();
        assert_eq!(future.as_mut().poll(&mut context), Poll::Pending);
        {
            let mut dropped = pin!(dropped);
            assert_eq!(dropped.as_mut().poll(&mut context), Poll::Pending);
        }
        assert!(bell.recv_timeout(SHORT).is_err());
        drop(stalled);
        bell.recv_timeout(LONG).expect("woken");
        while future.as_mut().poll(&mut context) == Poll::Pending {
            bell.recv_timeout(LONG).expect("woken again");
        }
        until_at_rest(domain);
        // And a barrier: one that is left pending, one that is dropped, one whose domain has come to rest
        // meanwhile.
        let ran = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&ran);
        let stalled = Stalled::inside(domain);
        domain.defer(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let mut future = pin!(domain.barrier_async());
        let mut late = pin!(domain.barrier_async());
        assert_eq!(future.as_mut().poll(&mut context), Poll::Pending);
        {
            let mut dropped = pin!(domain.barrier_async());
            assert_eq!(dropped.as_mut().poll(&mut context), Poll::Pending);
        }
        while bell.try_recv().is_ok() {}
        drop(stalled);
        while future.as_mut().poll(&mut context) == Poll::Pending {
            bell.recv_timeout(LONG).expect("woken");
        }
        assert_eq!(ran.load(Ordering::Relaxed), 1);
        until_at_rest(domain);
        assert_eq!(late.as_mut().poll(&mut context), Poll::Ready(()));
        assert_eq!(
            pin!(domain.grace_period()).poll(&mut context),
            Poll::Ready(())
        );
    });
}

#[test]
fn stalls_are_reported_after_the_domains_own_time() {
    isolated(|| {
        static STALLS: AtomicU32 = AtomicU32::new(0);
        quiescent::report::on_report(|report| {
            if let Report::Stalled(stall) = report {
                assert_eq!(stall.readers.len(), 1);
                assert_eq!(stall.readers[0].holdout.name.as_deref(), Some("stalled"));
                STALLS.fetch_add(1, Ordering::Relaxed);
            }
        });
        let (watched, other) = (leaked(), leaked());
        watched.set_stall_after(Duration::from_millis(10));
        other.set_stall_after(Duration::ZERO);
        let both = (Stalled::inside(watched), Stalled::inside(other));
        assert!(other.synchronize_timeout(4 * SHORT).is_err());
        assert_eq!(STALLS.load(Ordering::Relaxed), 0);
        watched.defer_hurry(|| ()); // the worker waits for it, and so it reports
        until("the stall is reported", || {
            STALLS.load(Ordering::Relaxed) > 0
        });
        drop(both);
        watched.barrier();
        assert!(watched.statistics().stalls > 0);
    });
}

#[test]
fn when_memory_is_low_what_is_lazy_goes_everywhere() {
    isolated(|| {
        let (domain, srcu) = (Domain::new(), quiescent::Srcu::new());
        let hour = Duration::from_secs(3600);
        domain.set_flush_times(FlushTimes {
            lazy: hour,
            prompt: hour,
        });
        let ran = Arc::new(AtomicU32::new(0));
        let count = || {
            let ran = Arc::clone(&ran);
            move || {
                ran.fetch_add(1, Ordering::Relaxed);
            }
        };
        domain.defer_lazy(count());
        srcu.defer_lazy(count());
        assert_eq!(domain.statistics().queued + srcu.statistics().queued, 2);
        quiescent::tuning::memory_is_low();
        until("both are run", || ran.load(Ordering::Relaxed) == 2);
    });
}
