//! A sorted linked list (Harris and Michael) as it is written for seize: a mark in the low bit of a link says
//! that the node is removed.

use seize::{Collector, Guard, reclaim};
use std::ptr::{self, null_mut};
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::thread;

struct Node {
    key: u64,
    value: Box<u64>,
    next: AtomicPtr<Node>,
}

struct List {
    head: AtomicPtr<Node>,
    collector: Collector,
}

fn marked(link: *mut Node) -> bool {
    link.addr() & 1 == 1
}

fn with_mark(link: *mut Node) -> *mut Node {
    link.map_addr(|address| address | 1)
}

impl List {
    /// The link at which a node of the key is, or would be, and what it points to. Unlinks what is marked.
    fn find<'g>(&'g self, key: u64, guard: &'g impl Guard) -> (&'g AtomicPtr<Node>, *mut Node) {
        assert_eq!(guard.collector(), &self.collector);
        'again: loop {
            let mut link = &self.head;
            let mut at = guard.protect(link, Acquire);
            loop {
                let Some(node) = (unsafe { at.as_ref() }) else {
                    return (link, at);
                };
                let next = guard.protect(&node.next, Acquire);
                if marked(next) {
                    let next = next.map_addr(|address| address & !1);
                    if guard
                        .compare_exchange(link, at, next, AcqRel, Acquire)
                        .is_err()
                    {
                        continue 'again;
                    }
                    unsafe { guard.defer_retire(at, reclaim::boxed) };
                    at = next;
                } else if node.key >= key {
                    return (link, at);
                } else {
                    (link, at) = (&node.next, next);
                }
            }
        }
    }

    fn get<'g>(&'g self, key: u64, guard: &'g impl Guard) -> Option<&'g u64> {
        let node = unsafe { self.find(key, guard).1.as_ref() }?;
        (node.key == key).then_some(&*node.value)
    }

    fn insert(&self, key: u64, value: u64, guard: &impl Guard) -> bool {
        let new = Box::into_raw(Box::new(Node {
            key,
            value: Box::new(value),
            next: AtomicPtr::default(),
        }));
        loop {
            let (link, at) = self.find(key, guard);
            if unsafe { at.as_ref() }.is_some_and(|node| node.key == key) {
                drop(unsafe { Box::from_raw(new) });
                return false;
            }
            unsafe { &*new }.next.store(at, Relaxed);
            if guard
                .compare_exchange(link, at, new, AcqRel, Acquire)
                .is_ok()
            {
                return true;
            }
        }
    }

    fn remove(&self, key: u64, guard: &impl Guard) -> bool {
        loop {
            let at = self.find(key, guard).1;
            let Some(node) = (unsafe { at.as_ref() }).filter(|node| node.key == key) else {
                return false;
            };
            let next = guard.protect(&node.next, Acquire);
            if !marked(next)
                && guard
                    .compare_exchange(&node.next, next, with_mark(next), AcqRel, Acquire)
                    .is_ok()
            {
                self.find(key, guard); // unlinks it
                return true;
            }
        }
    }
}

impl Drop for List {
    fn drop(&mut self) {
        let mut at = *self.head.get_mut();
        while !at.is_null() {
            let node = unsafe { Box::from_raw(at.map_addr(|address| address & !1)) };
            at = node.next.into_inner();
        }
    }
}

/// Each thread inserts, reads and removes keys of its own and of the others, with guards of both kinds.
#[test]
fn a_list_that_threads_change_keeps_its_promises() {
    const THREADS: u64 = 3;
    let list = List {
        head: AtomicPtr::new(null_mut()),
        collector: Collector::new(),
    };
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let list = &list;
            scope.spawn(move || {
                for round in 0..2000 {
                    let key = round % 8 * THREADS + thread;
                    let mut guard = list.collector.enter();
                    assert!(
                        list.insert(key, round, &guard),
                        "no other thread inserts it"
                    );
                    let owned = (round % 50 == 49).then(|| list.collector.enter_owned());
                    let found = list.get(key, &guard).expect("no other thread removes it");
                    let sent = owned.as_ref().map(|owned| list.get(key, owned).unwrap());
                    for other in 0..8 * THREADS {
                        assert!(list.get(other, &guard).is_none_or(|value| *value < 2000));
                    }
                    assert!(list.remove(key, &guard) && !list.remove(key, &guard));
                    assert!(*found == round && sent.is_none_or(|value| ptr::eq(value, found)));
                    guard.refresh();
                }
            });
        }
    });
    assert!(list.head.load(Acquire).is_null());
    assert!(list.insert(1, 1, &list.collector.enter())); // freed with the list
}
