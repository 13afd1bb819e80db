//! Guards of both kinds, what they protect, and when what is retired is reclaimed.

use seize::{Collector, Guard, LocalGuard, OwnedGuard, reclaim};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicPtr, AtomicUsize};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

/// Counts how many of them there are.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn boxed(count: &Arc<AtomicUsize>) -> *mut Counted {
        count.fetch_add(1, SeqCst);
        Box::into_raw(Box::new(Counted(count.clone())))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// A `reclaim` function that retires another object in the collector, and opens guards of it.
unsafe fn retires_another(ptr: *mut Counted, collector: &Collector) {
    let counted = unsafe { Box::from_raw(ptr) };
    let guard = collector.enter();
    unsafe { guard.defer_retire(Counted::boxed(&counted.0), reclaim::boxed) };
    guard.flush();
    drop((guard, collector.enter_owned()));
}

#[test]
fn guards_know_their_collectors() {
    let (one, other) = (Collector::new(), Collector::default().batch_size(7));
    assert!(one == one && one != other);
    assert_eq!(one.enter().collector(), &one);
    assert_eq!(one.enter_owned().collector(), &one);
    assert_ne!(one.enter().collector(), other.enter().collector());
    assert_eq!(
        format!("{one:?} {:?}", one.enter()),
        "Collector { .. } LocalGuard"
    );
}

/// Implemented for `Send` types, and for others with another parameter: ambiguous for those that are `Send`.
trait Ambiguous<A> {
    fn check() {}
}
impl<T: ?Sized> Ambiguous<()> for T {}
impl<T: ?Sized + Send> Ambiguous<u8> for T {}

#[test]
fn threads_share_what_seize_lets_them_share() {
    fn both<T: Send + Sync>() {}
    both::<Collector>();
    both::<OwnedGuard<'static>>();
    <LocalGuard<'static> as Ambiguous<_>>::check();
}

#[test]
fn threads_have_different_numbers_and_those_of_ended_ones_are_used_again() {
    let collector = &Collector::new();
    let all_here = &Barrier::new(4);
    let mut ids: Vec<usize> = thread::scope(|scope| {
        let id = || {
            let id = collector.enter().thread_id();
            assert_eq!(id, collector.enter_owned().thread_id());
            all_here.wait();
            id
        };
        let threads = [(); 4].map(|()| scope.spawn(id));
        threads.map(|thread| thread.join().unwrap()).into()
    });
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4);
    // Other tests have threads at the same time, but not hundreds.
    for _ in 0..500 {
        let thread = thread::scope(|scope| scope.spawn(|| collector.enter().thread_id()).join());
        assert!(thread.unwrap() < 400);
    }
}

#[test]
fn a_collector_that_goes_reclaims_everything() {
    let count = Arc::new(AtomicUsize::new(0));
    for owned in [false, true] {
        let collector = Collector::new();
        if owned {
            drop(collector.enter_owned());
        }
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        let guard = collector.enter();
                        unsafe {
                            guard.defer_retire(Counted::boxed(&count), reclaim::boxed);
                            collector.retire(Counted::boxed(&count), retires_another);
                        }
                    }
                });
            }
        });
        drop(collector);
        assert_eq!(count.load(SeqCst), 0, "with owned guards: {owned}");
    }
}

#[test]
fn all_is_reclaimed_on_request() {
    let count = Arc::new(AtomicUsize::new(0));
    let collector = Collector::new();
    let mut value = std::mem::ManuallyDrop::new(Counted(count.clone()));
    count.store(1, SeqCst);
    unsafe {
        collector.retire(&raw mut *value, reclaim::in_place);
        collector.retire(Counted::boxed(&count), retires_another);
        collector.reclaim_all();
    }
    assert_eq!(count.load(SeqCst), 0);
}

#[test]
fn a_flush_is_enough_to_have_an_object_reclaimed() {
    for owned in [false, true] {
        let collector = Collector::new();
        let guard = owned.then(|| collector.enter_owned());
        let count = Arc::new(AtomicUsize::new(0));
        let old = Counted::boxed(&count);
        unsafe { collector.enter().defer_retire(old, reclaim::boxed) };
        drop(guard);
        while count.load(SeqCst) > 0 {
            collector.enter().flush();
            thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn every_ordering_is_accepted_and_means_seqcst() {
    let collector = Collector::new();
    let guard = collector.enter();
    let (one, two) = (
        &raw mut *Box::leak(Box::new(1)),
        &raw mut *Box::leak(Box::new(2)),
    );
    let link = AtomicPtr::new(one);
    assert_eq!(guard.protect(&link, Release), one);
    assert_eq!(guard.swap(&link, two, Relaxed), one);
    assert_eq!(
        guard.compare_exchange(&link, two, one, Relaxed, AcqRel),
        Ok(two)
    );
    assert_eq!(
        guard.compare_exchange_weak(&link, two, one, Release, Release),
        Err(one)
    );
}

/// Retires an object while a guard is open, flushes often, and says whether the object was still there at the
/// end of the guard.
fn protects(collector: &Collector, guard: impl Guard + Send) {
    let count = Arc::new(AtomicUsize::new(0));
    let link = AtomicPtr::new(Counted::boxed(&count));
    let seen = guard.protect(&link, Acquire).addr();
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let old = link.swap(std::ptr::null_mut(), AcqRel);
            assert_eq!(old.addr(), seen);
            unsafe { collector.retire(old, reclaim::boxed) };
            for _ in 0..20 {
                collector.enter().flush();
                thread::sleep(Duration::from_millis(1));
            }
            sender.send(()).unwrap();
        });
        receiver.recv().unwrap();
        assert_eq!(count.load(SeqCst), 1);
        scope.spawn(|| drop(guard));
    });
    while count.load(SeqCst) > 0 {
        collector.enter().flush();
        thread::sleep(Duration::from_millis(1));
    }
}

/// What a guard protects is not reclaimed; it may end on another thread.
#[test]
fn an_owned_guard_protects() {
    let collector = Collector::new();
    protects(&collector, collector.enter_owned());
}

/// The first owned guard of a collector comes beside a thread that retires: one of them sees the other.
#[test]
fn the_first_owned_guard_protects() {
    for _ in 0..2000 {
        let collector = Collector::new();
        let link = AtomicPtr::new(Box::into_raw(Box::new(AtomicUsize::new(1))));
        thread::scope(|scope| {
            scope.spawn(|| {
                let old = link.swap(std::ptr::null_mut(), AcqRel);
                unsafe fn spoil(ptr: *mut AtomicUsize, _: &Collector) {
                    let old = unsafe { Box::from_raw(ptr) };
                    old.store(0, SeqCst);
                }
                unsafe { collector.retire(old, spoil) };
                collector.enter().flush();
            });
            let guard = collector.enter_owned();
            let found = guard.protect(&link, Acquire);
            if !found.is_null() {
                (0..20).for_each(|_| thread::yield_now());
                assert_eq!(unsafe { &*found }.load(SeqCst), 1);
            }
        });
    }
}
