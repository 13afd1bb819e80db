//! One set of types for every domain: all kinds of domains offer the same operations, handles are counted,
//! and the objects of one domain cannot be read under another.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::common::{PATIENCE, isolated, panic_text, until};
use quiescent::intrusive::{self, Head};
use quiescent::{
    Domain, Exchanged, Global, Guard, Handle, RcuCell, RcuList, RcuOption, RcuPtr, Refusal,
    Retired, Runner, Sendable, Srcu, SyncError, drain,
};

quiescent::domain! {
    /// The only domain of its type.
    struct Only;
}

/// Counts when it is dropped.
struct Counted(Arc<AtomicU32>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls a future until it is ready.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        match future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

/// All that a cell, what it gives back, and a list can do, under this handle; `settle` has what is queued
/// freed.
fn everything<D: Handle>(domain: D, settle: impl Fn()) {
    let dropped = Arc::new(AtomicU32::new(0));
    let value = || Counted(Arc::clone(&dropped));
    let count = || dropped.load(Ordering::Relaxed);
    let cell = RcuCell::new_in(value(), domain.clone());
    let guard = Guard::new_in(domain.clone());
    let seen = cell.load(&guard);
    let old = cell.compare_exchange(seen, value(), &guard);
    let old = old.expect("the only writer");
    let late = cell.compare_exchange(seen, value(), &guard);
    let Err(Exchanged { new, current }) = late else {
        panic!("it has changed");
    };
    assert!(std::ptr::eq(current, cell.load(&guard)));
    drop(new);
    assert_eq!(count(), 1);
    drop(guard);
    drop(old.wait_timeout(PATIENCE).expect("no reader is left"));
    drop(block_on(cell.store(value()).wait_async()));
    drop(block_on(cell.update(|_| value()).try_wait_async()).expect("nothing is wrong"));
    drop(Retired::wait_all([
        cell.store(value()),
        cell.store(value()),
    ]));
    assert_eq!(count(), 6);
    cell.store(value()).try_retire().expect("there is room");
    cell.store(value())
        .retire_wait(PATIENCE)
        .expect("there is room");
    cell.store(value()).with_owned_bytes(100).retire();
    cell.store(value()).on_worker().retire();
    cell.store(value()).retire_hurry();
    settle();
    assert_eq!(count(), 11);
    drop(cell);
    assert_eq!(count(), 12);

    let slot = RcuOption::new_in(None, domain.clone());
    assert!(slot.store(Some(1)).is_none());
    drop(slot.update(|now| now.map(|n| n + 1)));
    assert_eq!(slot.into_inner(), Some(2));

    let list = RcuList::new_in(domain.clone());
    list.push_front(value());
    list.push_front(value());
    assert_eq!(list.iter(&Guard::new_in(domain.clone())).count(), 2);
    assert!(list.remove_first(|_| true).is_some());
    settle();
    assert_eq!(count(), 13);
    drop(list);
    assert_eq!(count(), 14);

    static HEADS: AtomicU32 = AtomicU32::new(0);
    let before = HEADS.load(Ordering::Relaxed);
    let head = std::ptr::NonNull::from(Box::leak(Box::new(Head::new())));
    // SAFETY: a head that is used for this only, and freed by it.
    unsafe {
        intrusive::defer_in(&domain, head, |head| {
            drop(Box::from_raw(head.as_ptr()));
            HEADS.fetch_add(1, Ordering::Relaxed);
        });
    }
    settle();
    assert_eq!(HEADS.load(Ordering::Relaxed), before + 1);
}

#[test]
fn what_one_kind_of_domain_can_do_all_can() {
    isolated(|| {
        static DOMAIN: Domain = Domain::new();
        static SRCU: Srcu = Srcu::new();
        everything(Global, quiescent::barrier);
        everything(&DOMAIN, || DOMAIN.barrier());
        everything(&SRCU, || SRCU.barrier());
        everything(Only, || Only.barrier());
        let (domain, srcu) = (Domain::new(), Srcu::new());
        everything(domain.clone(), || domain.barrier());
        everything(srcu.clone(), || srcu.barrier());
    });
}

#[test]
fn an_srcu_has_a_budget_times_and_callbacks_of_its_own_as_a_domain_has() {
    isolated(|| {
        let srcu = Srcu::new();
        srcu.set_budget(u64::MAX, 10);
        assert_eq!(srcu.statistics().budget_callbacks, 10);
        {
            let cell = RcuCell::new_in(0, &srcu);
            let guard = srcu.read_lock_send();
            let store = |n| cell.store(n).try_retire();
            let refused: Vec<_> = (1..100).map(store).filter_map(Result::err).collect();
            assert_eq!(refused.len(), 89);
            let one = refused.into_iter().next().expect("89 of them");
            assert!(matches!(one.reason, Refusal::Full(_)));
            let late = one.object.retire_wait(Duration::from_millis(20));
            let late = late.expect_err("the reader is still there");
            assert!(matches!(late.reason, Refusal::TimedOut { .. }), "{late}");
            drop(guard);
            assert_eq!(
                late.object.retire_wait(PATIENCE).map_err(|e| e.reason),
                Ok(())
            );
        }

        let lazy = Duration::from_secs(60);
        let times = quiescent::tuning::FlushTimes {
            lazy,
            ..srcu.flush_times()
        };
        srcu.set_flush_times(times);
        assert_eq!(srcu.flush_times().lazy, lazy);

        srcu.drain(PATIENCE);
        srcu.set_closures(Runner::Drained);
        static RAN: AtomicU32 = AtomicU32::new(0);
        srcu.defer_hurry(|| _ = RAN.fetch_add(1, Ordering::Relaxed));
        srcu.synchronize();
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(RAN.load(Ordering::Relaxed), 0, "the program runs it");
        until("it is ready", || srcu.drain_ready(1, PATIENCE).ran == 1);
        assert_eq!(RAN.load(Ordering::Relaxed), 1);

        // The next one in its place begins anew.
        drop(srcu);
        for _ in 0..10 {
            let next = Srcu::new();
            assert_ne!(next.flush_times().lazy, lazy);
            assert_ne!(next.statistics().budget_callbacks, 10);
        }
    });
}

#[test]
fn a_domain_lives_as_long_as_a_handle_to_it() {
    isolated(|| {
        let dropped = Arc::new(AtomicU32::new(0));
        let domain = Domain::new();
        let reader = domain.read_owned();
        let more = [domain.clone(), domain.clone()];
        let cell = RcuCell::new_in(Counted(Arc::clone(&dropped)), domain.clone());
        drop(cell.store(Counted(Arc::clone(&dropped))));
        drop(cell);
        drop(more);
        drop(domain);
        assert_eq!(drain(Duration::ZERO).left, 0, "a handle is left");
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        drop(reader); // the last one
        drain(PATIENCE);
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn a_guard_of_another_domain_is_refused() {
    isolated(|| {
        let refused =
            |text: String| assert!(text.starts_with("a guard of another domain"), "{text}");
        let (one, other) = (Domain::new(), Domain::new());
        let cell = RcuCell::new_in(1, &one);
        let list = RcuList::new_in(one.clone());
        list.push_front(1);
        one.read_owned().repin();
        assert_eq!(
            *cell.load(&one.read_owned()),
            1,
            "any handle to its own domain does"
        );
        refused(panic_text(|| _ = other.read(|guard| *cell.load(guard))));
        refused(panic_text(|| {
            _ = other.read(|guard| list.iter(guard).count())
        }));
        refused(panic_text(|| {
            let guard = other.read_lock();
            _ = cell.compare_exchange(&1, 2, &guard);
        }));
        let (one, other) = (Srcu::new(), Srcu::new());
        let cell = RcuCell::new_in(1, one.clone());
        assert_eq!(*cell.load(&one.read_lock()), 1);
        refused(panic_text(|| _ = other.read(|guard| *cell.load(guard))));
    });
}

#[test]
fn a_domain_that_is_the_only_one_of_its_type_needs_no_look_and_no_room() {
    isolated(|| {
        assert_eq!(size_of::<Guard<Only>>(), size_of::<Guard>());
        assert_eq!(size_of::<RcuCell<u8, Only>>(), size_of::<RcuCell<u8>>());
        let cell = RcuCell::new_in(1, Only);
        assert_eq!(
            *cell.load(&Only.read_lock()),
            1,
            "a reference to it is a handle, too"
        );
        let pointer: RcuPtr<u32, Only> = RcuPtr::null_in();
        pointer.store(Some(Box::new(7)));
        let guard = Guard::new_in(Only);
        let found = pointer.load_shared(&guard).expect("it holds one");
        pointer.store(None);
        // SAFETY: it was the only pointer to it.
        let retired = unsafe { found.into_retired_in(Only) };
        assert_eq!(
            retired.try_wait().map_err(|refused| refused.reason),
            Err(SyncError::InsideSection)
        );
        assert_eq!(*found, 7);
        drop(guard);
        Only.barrier();
    });
}

#[test]
fn guards_are_as_small_as_they_can_be() {
    const WORD: usize = size_of::<usize>();
    assert_eq!(size_of::<Guard>(), WORD);
    assert_eq!(size_of::<Guard<&Domain>>(), 2 * WORD);
    assert_eq!(size_of::<Guard<Sendable<&Srcu>>>(), 2 * WORD);
    assert_eq!(size_of::<Guard<&Srcu>>(), 2 * WORD); // its tally and its count share a word
    assert_eq!(size_of::<Guard<Domain>>(), 2 * WORD);
    assert_eq!(size_of::<RcuCell<u64>>(), 2 * WORD); // with the function that weighs
    fn everywhere<T: Send>() {}
    everywhere::<Guard<Sendable<&Srcu>>>();
    everywhere::<Guard<Sendable<Srcu>>>();
}

#[test]
fn futures_that_may_fail_say_why_and_panic_nowhere() {
    isolated(|| {
        fn refused<D: Handle>(
            domain: D,
            period: impl Future<Output = Result<(), SyncError>>,
            barrier: impl Future<Output = Result<(), SyncError>>,
        ) {
            let guard = Guard::new_in(domain);
            assert_eq!(block_on(period), Err(SyncError::InsideSection));
            assert_eq!(block_on(barrier), Err(SyncError::InsideSection));
            drop(guard);
        }
        let guard = quiescent::read_lock(); // before anything is queued: the futures wait for it
        quiescent::defer_hurry(|| ());
        let (period, barrier) = (
            quiescent::try_grace_period(),
            quiescent::try_barrier_async(),
        );
        refused(Global, period, barrier);
        drop(guard);
        static DOMAIN: Domain = Domain::new();
        let guard = DOMAIN.read_lock();
        DOMAIN.defer_hurry(|| ());
        let (period, barrier) = (DOMAIN.try_grace_period(), DOMAIN.try_barrier_async());
        refused(&DOMAIN, period, barrier);
        drop(guard);
        assert_eq!(block_on(quiescent::try_grace_period()), Ok(()));
        assert_eq!(block_on(quiescent::try_barrier_async()), Ok(()));
        assert_eq!(block_on(DOMAIN.try_grace_period()), Ok(()));
        let srcu = Srcu::new();
        assert_eq!(block_on(srcu.try_barrier_async()), Ok(()));
        block_on(srcu.start_grace_period().wait_async());
    });
}
