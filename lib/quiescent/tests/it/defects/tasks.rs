//! Wakers are the program's code: whatever one does, other tasks are woken. A dropped future keeps nothing.

use std::future::Future;
use std::panic::panic_any;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use quiescent::{Domain, Srcu, barrier_async, grace_period};

use crate::common::tasks::{Bell, block_on};
use crate::common::{Reader, healed, isolated, until};

/// Polls once with this waker.
fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// A panic that panics again when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the panic's own");
    }
}

/// Panics with a bomb.
struct Panics(AtomicU32);

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Release);
        panic_any(Bomb);
    }
}

#[test]
fn a_waker_panics_with_a_panic_that_panics() {
    isolated(|| {
        let panics = Arc::new(Panics(AtomicU32::new(0)));
        for round in 1..=3 {
            let inside = Reader::inside("inside");
            let bell = Bell::new();
            let mut futures = [grace_period(), grace_period(), grace_period()];
            for (n, future) in futures.iter_mut().enumerate() {
                let waker = match n {
                    1 => Waker::from(Arc::clone(&panics)),
                    _ => Waker::from(Arc::clone(&bell)),
                };
                assert!(poll(future, &waker).is_pending());
            }
            inside.end();
            until("the others are woken", || bell.rung() == 2);
            until("it has panicked", || {
                panics.0.load(Ordering::Acquire) == round
            });
        }
    });
}

/// Waits for a grace period of its own when it is woken, once there is a reader in its way.
#[derive(Default)]
struct Waits {
    has_begun: AtomicBool,
    may_go_on: AtomicBool,
    waits: AtomicBool,
    is_over: AtomicBool,
}

fn is(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Acquire)
}

fn set(flag: &AtomicBool) {
    flag.store(true, Ordering::Release);
}

impl Wake for Waits {
    fn wake(self: Arc<Self>) {
        set(&self.has_begun);
        until("a reader is in the way", || is(&self.may_go_on));
        let mut other = grace_period();
        assert!(poll(&mut other, Waker::noop()).is_pending());
        set(&self.waits);
        block_on(other);
        set(&self.is_over);
    }
}

#[test]
fn a_waker_waits_for_another_grace_period() {
    isolated(|| {
        healed::expected(); // the worker itself waits, in the waker, until the stand-by takes its role
        let inside = Reader::inside("inside");
        let waits = Arc::new(Waits::default());
        let (mut one, mut next) = (grace_period(), grace_period());
        let bell = Bell::new();
        assert!(poll(&mut one, &Waker::from(Arc::clone(&waits))).is_pending());
        assert!(bell.poll(&mut next).is_pending());
        inside.end();
        until("it is woken", || is(&waits.has_begun));
        let inside = Reader::inside("inside, too");
        set(&waits.may_go_on);
        until("it waits", || is(&waits.waits));
        inside.end();
        until("it is woken itself", || is(&waits.is_over));
        until("and so is the next task", || bell.rung() == 1);
        block_on(grace_period());
    });
}

#[test]
fn a_task_whose_grace_period_has_not_ended_is_not_woken() {
    isolated(|| {
        let [first, started, later] = [(); 3].map(|()| Bell::new());
        let inside = Reader::inside("inside");
        let (mut one, mut other) = (grace_period(), grace_period());
        assert!(started.poll(&mut other).is_pending());
        // The grace period waits for that reader. The next one will wait for this one.
        let inside_next = Reader::inside("inside, too");
        let mut next = grace_period();
        assert!(later.poll(&mut next).is_pending());
        assert!(first.poll(&mut one).is_pending()); // after it: tasks are woken in this order
        inside.end();
        until("it is woken", || first.rung() == 1);
        assert_eq!((started.rung(), later.rung()), (1, 0));
        inside_next.end();
        until("so is the next", || later.rung() == 1);
    });
}

/// Polls a future with one waker, then with another, then drops it: it keeps the last one, and then none.
/// `kind` makes the future while a reader is in its way.
fn keeps_one_waker<F: Future + Unpin + Clone>(mut future: F) {
    let [first, second, third] = [(); 3].map(|()| Bell::new());
    let kept = |bell: &Arc<Bell>| Arc::strong_count(bell) - 1;
    for _ in 0..2 {
        assert!(first.poll(&mut future).is_pending());
    }
    assert_eq!(kept(&first), 1);
    let mut copy = future.clone();
    assert!(third.poll(&mut copy).is_pending());
    assert!(second.poll(&mut future).is_pending());
    assert_eq!([&first, &second, &third].map(kept), [0, 1, 1]);
    drop(future);
    assert_eq!([&first, &second, &third].map(kept), [0, 0, 1]);
    drop(copy);
    assert_eq!(kept(&third), 0);
    assert_eq!([first, second, third].map(|bell| bell.rung()), [0; 3]);
}

#[test]
fn a_dropped_future_keeps_no_waker() {
    isolated(|| {
        let inside = Reader::inside("inside");
        keeps_one_waker(grace_period());
        inside.end();
    });
}

#[test]
fn a_dropped_future_of_an_srcu_keeps_no_waker() {
    isolated(|| {
        let srcu = Srcu::new();
        let guard = srcu.read_lock_send();
        keeps_one_waker(srcu.grace_period());
        drop(guard);
        srcu.synchronize();
    });
}

#[test]
fn a_dropped_future_of_a_domain_keeps_no_waker() {
    isolated(|| {
        let domain = Domain::new();
        let (opened, is_open) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let domain = &domain;
            scope.spawn(move || {
                let _guard = domain.read_lock();
                opened.send(()).expect("the test waits");
                ended.recv().ok();
            });
            is_open.recv().expect("it reads");
            keeps_one_waker(domain.grace_period());
            drop(end);
        });
        domain.synchronize();
    });
}

/// Polls a future of its own when it is woken, then and there, as an executor may.
struct Polls<F: FnMut(&Waker) + Send>(Mutex<F>, AtomicU32);

impl<F: FnMut(&Waker) + Send + 'static> Wake for Polls<F> {
    fn wake(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        (self.0.lock().expect("no panic"))(&waker);
        self.1.fetch_add(1, Ordering::AcqRel);
    }
}

/// Polls `first` with a waker that makes another one and polls that, again and again until there were three.
fn polls_when_woken<F: Future + Unpin + Send + 'static>(mut first: F, another: fn() -> F) {
    let next = Mutex::new(Vec::new());
    let poll_another = move |waker: &Waker| {
        let mut future = another();
        let mut futures = next.lock().expect("no panic");
        if futures.len() < 3 {
            let _ = poll(&mut future, waker);
            futures.push(future);
        }
    };
    let polls = Arc::new(Polls(Mutex::new(poll_another), AtomicU32::new(0)));
    let waker = Waker::from(Arc::clone(&polls));
    assert!(poll(&mut first, &waker).is_pending());
    GO_ON.store(true, Ordering::Release);
    until("it is woken", || polls.1.load(Ordering::Acquire) > 0);
    quiescent::barrier();
}

/// What keeps the first future waiting may end.
static GO_ON: AtomicBool = AtomicBool::new(false);

#[test]
fn a_waker_polls_another_barrier() {
    isolated(|| {
        quiescent::defer_hurry(|| until("the barrier waits", || is(&GO_ON)));
        polls_when_woken(barrier_async(), || {
            quiescent::defer_hurry(|| ());
            barrier_async()
        });
    });
}

#[test]
fn a_waker_polls_another_barrier_of_an_srcu() {
    isolated(|| {
        static SRCU: Srcu = Srcu::new();
        SRCU.defer_hurry(|| until("the barrier waits", || is(&GO_ON)));
        polls_when_woken(SRCU.barrier_async(), || {
            SRCU.defer_hurry(|| ());
            SRCU.barrier_async()
        });
        SRCU.barrier();
    });
}
