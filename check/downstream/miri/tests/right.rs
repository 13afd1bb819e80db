//! Right uses, with no report of any tool: everything is freed, also what is queued when the process ends.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::thread;

use downstream_miri::Table;
use quiescent::{Domain, RcuCell, RcuList, RcuOption, Srcu, barrier, defer, read, read_lock};
use quiescent_collections::{RcuHashMap, RcuOwner};

/// Counts the values that are there.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Counted {
        count.fetch_add(1, Relaxed);
        Counted(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// A future whose end needs no other thread.
fn complete<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            return done;
        }
        thread::yield_now();
    }
}

#[test]
fn readers_see_one_table_or_the_other() {
    let table = Arc::new(Table::new(&["one"]));
    let readers = [(); 2].map(|()| {
        let table = table.clone();
        thread::spawn(move || {
            for _ in 0..20 {
                assert!(["one", "two", "three"].contains(&table.find(0, &read_lock())));
            }
        })
    });
    assert_eq!(table.replace(&["two"]).0, ["one"]);
    table.replace_later(&["three"]);
    for reader in readers {
        reader.join().expect("no panic");
    }
}

#[test]
fn after_a_barrier_all_is_freed_that_was_replaced_before() {
    let count = Arc::default();
    let cell = RcuCell::new(Counted::new(&count));
    let option = RcuOption::new(Some(Counted::new(&count)));
    let list = RcuList::new();
    for _ in 0..100 {
        cell.store(Counted::new(&count));
        list.push_front(Counted::new(&count));
        drop(list.pop_front());
    }
    option.take();
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..10 {
        let ran = ran.clone();
        defer(move || _ = ran.fetch_add(1, Relaxed));
    }
    barrier();
    assert_eq!((count.load(Relaxed), ran.load(Relaxed)), (1, 10));
}

#[test]
fn domains_and_srcus_free_what_is_queued_when_they_are_dropped() {
    let count = Arc::default();
    for _ in 0..3 {
        let domain = Domain::new();
        let cell = Arc::new(RcuCell::new_in(Counted::new(&count), domain.clone()));
        let (other, values) = (cell.clone(), count.clone());
        let thread = thread::spawn(move || {
            (0..10).for_each(|_| drop(other.store(Counted::new(&values))));
        });
        domain.read(|guard| assert!(cell.load(guard).0.load(Relaxed) > 0));
        thread.join().expect("no panic");
        domain.synchronize();
        drop((cell, domain));

        let srcu = Srcu::new();
        let cell = RcuCell::new_in(Counted::new(&count), srcu.clone());
        let guard = srcu.read_owned_send();
        thread::spawn(move || drop(guard)).join().expect("no panic");
        cell.store(Counted::new(&count));
        srcu.barrier();
        drop((cell, srcu));
    }
    assert_eq!(count.load(Relaxed), 0);
}

#[test]
fn a_map_grows_and_shrinks_while_threads_read_it() {
    let count = Arc::default();
    let map = Arc::new(RcuHashMap::new());
    let reader = {
        let map = map.clone();
        thread::spawn(move || {
            for key in 0..50_u32 {
                if let Some(value) = map.pin().get(&key) {
                    let value: &Counted = value;
                    assert!(value.0.load(Relaxed) > 0);
                }
            }
        })
    };
    for key in 0..100 {
        map.pin().insert(key, Counted::new(&count));
    }
    for key in 0..90 {
        assert!(map.pin().remove(&key).is_some());
    }
    map.pin().shrink_to_fit();
    reader.join().expect("no panic");
    assert_eq!(map.len(), 10);
    drop(map);
    barrier();
    assert_eq!(count.load(Relaxed), 0);
}

#[test]
fn a_count_is_killed_while_others_hold_it() {
    let count = Arc::default();
    let owner = RcuOwner::new(Counted::new(&count));
    let other = owner.try_get().expect("it lives");
    let user = thread::spawn(move || assert_eq!(other.0.load(Relaxed), 1));
    drop(owner);
    user.join().expect("no panic");
    barrier();
    assert_eq!(count.load(Relaxed), 0);
}

#[test]
fn tasks_wait_for_grace_periods_and_barriers() {
    let count = Arc::default();
    let cell = RcuCell::new(Counted::new(&count));
    cell.store(Counted::new(&count));
    complete(quiescent::grace_period());
    complete(quiescent::barrier_async());
    assert_eq!(count.load(Relaxed), 1);
}

/// Without a barrier: what is queued when `main` ends is no leak, nor is what a thread that has ended left.
#[test]
fn what_is_queued_at_the_end_is_no_leak() {
    let cell = RcuCell::new(vec![0; 10]);
    thread::scope(|scope| {
        scope.spawn(|| (0..10).for_each(|n| drop(cell.store(vec![n; 10]))));
    });
    read(|guard| assert_eq!(cell.load(guard)[0], 9));
    cell.store(vec![1]);
}
