//! Non-owning pointers: loads and stores, which calls return an object, and when it is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::isolated;
use quiescent::{Exchanged, RcuPtr, Shared, barrier, in_section, read, read_lock};

/// Counts its own end.
#[derive(Debug)]
struct Counted(u32, Arc<AtomicU32>);

impl Drop for Counted {
    fn drop(&mut self) {
        assert!(!in_section(), "dropped inside a section of the dropper");
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

fn counted(number: u32) -> (Box<Counted>, Arc<AtomicU32>) {
    let drops = Arc::new(AtomicU32::new(0));
    (Box::new(Counted(number, drops.clone())), drops)
}

fn drops(counter: &AtomicU32) -> u32 {
    counter.load(Ordering::Relaxed)
}

#[test]
fn points_to_what_was_stored_last() {
    isolated(|| {
        let pointer = RcuPtr::null();
        let guard = read_lock();
        assert!(pointer.is_null() && pointer.load(&guard).is_none());
        pointer.store(Some(Box::new(1)));
        assert_eq!((pointer.is_null(), pointer.load(&guard)), (false, Some(&1)));
        let one = pointer.swap(Some(Box::new(2)), &guard).expect("it held 1");
        assert_eq!((*one, pointer.load(&guard)), (1, Some(&2)));
        let two = pointer.swap(None, &guard).expect("it held 2");
        assert!(*two == 2 && pointer.is_null() && pointer.swap(None, &guard).is_none());
        drop(guard);
        let again = read_lock();
        pointer.store(Some(Box::new(3)));
        let three = pointer.load_shared(&again).expect("it holds 3");
        // SAFETY: `three` is not retired before the end.
        unsafe { RcuPtr::null().store_shared(Some(three)) };
        // SAFETY: no other code knows it.
        unsafe { three.into_retired() }.retire_hurry();
    });
}

#[test]
fn compares_objects_and_not_values() {
    isolated(|| {
        let pointer = RcuPtr::new(Box::new(7));
        let equal = RcuPtr::new(Box::new(7));
        let guard = read_lock();
        let (here, there) = (pointer.load_shared(&guard), equal.load_shared(&guard));
        assert_ne!(here.map(Shared::as_ptr), there.map(Shared::as_ptr));

        let refused = pointer.compare_exchange(there, Some(Box::new(8)), &guard);
        let Err(Exchanged { new, current }) = refused else {
            panic!("equal, but another object");
        };
        assert_eq!(new, Some(Box::new(8)), "the box comes back");
        assert_eq!(current.map(Shared::as_ptr), here.map(Shared::as_ptr));
        assert!(pointer.compare_exchange(None, None, &guard).is_err());
        assert_eq!(pointer.load(&guard), Some(&7));

        assert!(pointer.compare_exchange(here, new, &guard).is_ok());
        assert_eq!(pointer.load(&guard), Some(&8));
        // SAFETY: nothing is retired in this test.
        unsafe {
            let current = pointer.compare_exchange_shared(here, there, &guard);
            assert_eq!(current.expect_err("it holds 8").as_deref(), Some(&8));
            let eight = pointer.load_shared(&guard);
            assert!(
                pointer
                    .compare_exchange_shared(eight, there, &guard)
                    .is_ok()
            );
        }
        let both = (pointer.load_shared(&guard), equal.load_shared(&guard));
        assert_eq!(both.0.map(Shared::as_ptr), both.1.map(Shared::as_ptr));
    });
}

#[test]
fn owns_nothing() {
    isolated(|| {
        let (object, counter) = counted(1);
        let mut pointer = RcuPtr::null();
        {
            let other = RcuPtr::new(object);
            // SAFETY: it is taken back below, once, and from nowhere else.
            read(|guard| unsafe { pointer.store_shared(other.load_shared(guard)) });
            other.store(None);
            assert!(other.is_null());
        }
        assert_eq!(drops(&counter), 0);
        assert_eq!(
            read(|guard| pointer.load(guard).map(|object| object.0)),
            Some(1)
        );
        // SAFETY: the other pointer is gone, and there are no readers.
        let object = unsafe { pointer.take() };
        assert_eq!(object.map(|object| object.0), Some(1));
        assert_eq!(drops(&counter), 1);
        // SAFETY: it is null.
        assert!(unsafe { pointer.take() }.is_none());
    });
}

#[test]
fn a_retired_object_lives_as_long_as_the_section() {
    isolated(|| {
        let (object, counter) = counted(5);
        let pointer = RcuPtr::new(object);
        std::thread::scope(|s| {
            let guard = read_lock();
            let found = pointer.swap(None, &guard).expect("it held one");
            // SAFETY: this was the only pointer to it.
            unsafe { found.retire() };
            let barrier = s.spawn(barrier);
            std::thread::sleep(crate::common::SHORT);
            assert_eq!((found.0, drops(&counter)), (5, 0), "freed under a reader");
            drop(guard);
            barrier.join().expect("the grace period ends");
        });
        assert_eq!(drops(&counter), 1);
    });
}

#[test]
fn an_unlinked_object_can_be_had_back() {
    isolated(|| {
        let (object, counter) = counted(6);
        let pointer = RcuPtr::new(object);
        let retired = read(|guard| {
            let found = pointer.swap(None, guard).expect("it held one");
            // SAFETY: this was the only pointer to it.
            unsafe { found.into_retired() }
        });
        let object = retired.wait();
        assert_eq!((object.0, drops(&counter)), (6, 0));
        drop(object);
        assert_eq!(drops(&counter), 1);
    });
}

/// Every thread pushes its numbers on a stack without a lock: none is lost, each thread's are in order.
#[test]
fn a_stack_that_many_push_on() {
    isolated(|| {
        const THREADS: u32 = 4;
        const EACH: u32 = 2000;
        struct Node {
            number: u32,
            next: RcuPtr<Node>,
        }
        let mut top: RcuPtr<Node> = RcuPtr::null();
        let push = |number| {
            let next = RcuPtr::null();
            let mut node = Box::new(Node { number, next });
            let guard = read_lock();
            let mut seen = top.load_shared(&guard);
            loop {
                // SAFETY: nothing is retired in this test.
                unsafe { node.next.store_shared(seen) };
                match top.compare_exchange(seen, Some(node), &guard) {
                    Ok(()) => return,
                    Err(Exchanged { new, current }) => {
                        (node, seen) = (new.expect("the node"), current);
                    }
                }
            }
        };
        std::thread::scope(|s| {
            for thread in 0..THREADS {
                s.spawn(move || (0..EACH).for_each(|n| push(thread * EACH + n)));
            }
        });
        let mut expected: Vec<u32> = (1..=THREADS).map(|thread| thread * EACH).collect();
        // SAFETY: all threads are gone.
        let mut rest = unsafe { top.take() };
        while let Some(mut node) = rest {
            let next = &mut expected[(node.number / EACH) as usize];
            *next -= 1;
            assert_eq!(node.number, *next);
            // SAFETY: as above.
            rest = unsafe { node.next.take() };
        }
        assert!((0..THREADS).map(|thread| thread * EACH).eq(expected));
    });
}

#[test]
fn debug_shows_addresses_of_links_and_values_of_objects() {
    isolated(|| {
        let pointer = RcuPtr::new(Box::new(4));
        let guard = read_lock();
        let found = pointer.load_shared(&guard).expect("it holds one");
        assert_eq!(format!("{found:?}"), "Shared(4)");
        let address = found.as_ptr();
        assert_eq!(format!("{pointer:?}"), format!("RcuPtr({address:?})"));
    });
}
