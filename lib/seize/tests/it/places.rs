//! Where what is retired is reclaimed: in calls of the collector, and in no other place. Structures rely on
//! that whose values may not be sent, or borrow something.

use seize::{Collector, Guard, reclaim};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Gives the library's worker, and a `shutdown` of another thread, time for what they must not do.
fn let_others_run() {
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(5));
        let stop = || quiescent::shutdown(Duration::from_millis(2)).map(drop);
        thread::spawn(stop).join().unwrap().unwrap();
    }
}

/// Counts where it is dropped. (As an `Rc` would, but not undefined where the test fails.)
struct Stays {
    made_by: ThreadId,
    here: Arc<AtomicUsize>,
    elsewhere: Arc<AtomicUsize>,
}

impl Drop for Stays {
    fn drop(&mut self) {
        let here = thread::current().id() == self.made_by;
        let count = if here { &self.here } else { &self.elsewhere };
        count.fetch_add(1, SeqCst);
    }
}

unsafe fn with_collector(ptr: *mut Stays, _: &Collector) {
    drop(unsafe { Box::from_raw(ptr) });
}

#[test]
fn destructors_run_in_calls_of_the_collector_only() {
    for owned in [false, true] {
        let (here, elsewhere) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let collector = Collector::new();
        if owned {
            drop(collector.enter_owned());
        }
        for reclaim in [reclaim::boxed, with_collector] {
            for _ in 0..100 {
                let value = Stays {
                    made_by: thread::current().id(),
                    here: here.clone(),
                    elsewhere: elsewhere.clone(),
                };
                let guard = collector.enter();
                unsafe { guard.defer_retire(Box::into_raw(Box::new(value)), reclaim) };
                guard.flush();
            }
            let before = here.load(SeqCst);
            let_others_run();
            assert_eq!(here.load(SeqCst), before, "without a call");
        }
        while here.load(SeqCst) < 100 {
            collector.enter().flush();
            thread::sleep(Duration::from_millis(1));
        }
        drop(collector);
        assert_eq!(
            (here.load(SeqCst), elsewhere.load(SeqCst)),
            (200, 0),
            "{owned}"
        );
    }
}

/// For Miri and sanitizers: a thread that is alone with a structure may keep what cannot be sent there.
#[test]
fn values_that_cannot_be_sent_may_be_retired() {
    let (rc, collector) = (Rc::new(Cell::new(0)), Collector::new());
    for _ in 0..1000 {
        let value = Box::into_raw(Box::new(rc.clone()));
        let guard = collector.enter();
        unsafe { guard.defer_retire(value, reclaim::boxed) };
        rc.set(rc.get() + 1);
    }
    drop(collector);
    assert_eq!((rc.get(), Rc::strong_count(&rc)), (1000, 1));
}

#[test]
fn a_forgotten_collector_leaks() {
    let (here, elsewhere) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    let collector = Collector::new();
    let value = Stays {
        made_by: thread::current().id(),
        here: here.clone(),
        elsewhere: elsewhere.clone(),
    };
    let guard = collector.enter();
    unsafe { guard.defer_retire(Box::into_raw(Box::new(value)), reclaim::boxed) };
    guard.flush();
    drop(guard);
    std::mem::forget(collector);
    let_others_run();
    assert_eq!((here.load(SeqCst), elsewhere.load(SeqCst)), (0, 0));
}

/// Takes long to drop.
struct Slow<'a>(&'a AtomicUsize);

impl Drop for Slow<'_> {
    fn drop(&mut self) {
        thread::sleep(Duration::from_millis(100));
        self.0.fetch_sub(1, SeqCst);
    }
}

#[test]
fn a_collector_that_goes_inside_a_guard_of_another_leaves_nothing() {
    let count = AtomicUsize::new(1);
    let (other, collector) = (Collector::new(), Collector::new());
    let guard = other.enter();
    let ends = collector.enter();
    unsafe { ends.defer_retire(Box::into_raw(Box::new(Slow(&count))), reclaim::boxed) };
    ends.flush();
    drop(ends);
    thread::sleep(Duration::from_millis(10));
    drop(collector);
    assert_eq!(count.load(SeqCst), 0);
    drop(guard);
}

/// A value that holds a structure.
struct Inner(Collector, Arc<AtomicUsize>);

impl Drop for Inner {
    fn drop(&mut self) {
        self.1.fetch_sub(1, SeqCst);
    }
}

#[test]
fn a_collector_that_goes_in_a_destructor_leaves_nothing() {
    let count = Arc::new(AtomicUsize::new(0));
    let outer = Collector::new();
    for _ in 0..100 {
        let new = || {
            count.fetch_add(1, SeqCst);
            Box::into_raw(Box::new(Inner(Collector::new(), count.clone())))
        };
        let (inner, kept) = (new(), new());
        unsafe { (*kept).0.retire(inner, reclaim::boxed) };
        unsafe { outer.retire(kept, reclaim::boxed) };
    }
    drop(outer);
    assert_eq!(count.load(SeqCst), 0);
}

#[test]
fn what_is_retired_is_bounded() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_sub(1, SeqCst);
        }
    }
    let count = Arc::new(AtomicUsize::new(0));
    let collectors = [Collector::new(), Collector::new()];
    drop(collectors[1].enter_owned());
    let mut most = 0;
    for _ in 0..100_000 {
        for collector in &collectors {
            count.fetch_add(1, SeqCst);
            let value = Counted(count.clone());
            let guard = collector.enter();
            unsafe { guard.defer_retire(Box::into_raw(Box::new(value)), reclaim::boxed) };
            drop(guard);
            most = most.max(count.load(SeqCst));
        }
    }
    assert!(most < 50_000, "{most}");
}
