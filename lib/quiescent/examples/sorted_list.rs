//! A linked structure by hand: a sorted list of numbers out of [`RcuPtr`] links. Any number of readers
//! walk it at any time; writers take a lock among themselves. The chapter "A linked list by hand" of the
//! guide says why each `unsafe` is right. (`RcuList` is such a list, ready to use.)
//!
//!     cargo run --example sorted_list

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use quiescent::{Guard, RcuPtr, barrier, read};

/// For how long the readers and the writer run.
const RUN: Duration = Duration::from_millis(200);
/// Numbers come from below this.
const NUMBERS: u64 = 64;

/// Nodes that were dropped.
static DROPPED: AtomicU64 = AtomicU64::new(0);

struct Node {
    value: u64,
    next: RcuPtr<Node>,
}

impl Drop for Node {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

struct SortedList {
    first: RcuPtr<Node>,
    writer: Mutex<()>,
}

impl SortedList {
    const fn new() -> SortedList {
        SortedList {
            first: RcuPtr::null(),
            writer: Mutex::new(()),
        }
    }

    /// The numbers, in order. Never waits.
    fn iter<'g>(&'g self, guard: &'g Guard) -> impl Iterator<Item = u64> + 'g {
        std::iter::successors(self.first.load(guard), |node| node.next.load(guard))
            .map(|node| node.value)
    }

    /// The link at which `value` is, or would be.
    fn place<'g>(&'g self, value: u64, guard: &'g Guard) -> &'g RcuPtr<Node> {
        let mut link = &self.first;
        while let Some(node) = link.load(guard) {
            if node.value >= value {
                break;
            }
            link = &node.next;
        }
        link
    }

    /// Puts a number in. False: it is there already.
    fn insert(&self, value: u64) -> bool {
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        read(|guard| {
            let link = self.place(value, guard);
            let behind = link.load_shared(guard);
            if behind.is_some_and(|node| node.value == value) {
                return false;
            }
            let next = RcuPtr::null();
            // SAFETY: `behind` is in the list, and only the holder of the lock takes nodes out: it has
            // not been retired. A thread that retires it later unlinks it from the new node first.
            unsafe { next.store_shared(behind) };
            link.store(Some(Box::new(Node { value, next })));
            true
        })
    }

    /// Takes a number out. False: it is not there.
    fn remove(&self, value: u64) -> bool {
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        read(|guard| {
            let link = self.place(value, guard);
            let Some(node) = link.load_shared(guard).filter(|node| node.value == value) else {
                return false;
            };
            // SAFETY: what is behind the node is in the list, as in `insert`.
            unsafe { link.store_shared(node.next.load_shared(guard)) };
            // SAFETY: `link` was the only way to it for new readers. We hold the lock: no other thread
            // retires it, or has linked it again.
            unsafe { node.retire() };
            true
        })
    }
}

impl Drop for SortedList {
    fn drop(&mut self) {
        // SAFETY: readers borrow the list, so there are none, and what is in it was not retired.
        let mut next = unsafe { self.first.take() };
        while let Some(mut node) = next {
            // SAFETY: as above.
            next = unsafe { node.next.take() };
        }
    }
}

fn main() {
    let list = SortedList::new();
    let (stop, walks) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut inserted, mut removed) = (0, 0);

    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    read(|guard| assert!(list.iter(guard).is_sorted(), "a walk saw disorder"));
                    walks.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let end = Instant::now() + RUN;
        let mut number = 1;
        while Instant::now() < end {
            number = (number * 29 + 17) % NUMBERS; // visits all of them, in disorder
            if list.insert(number) {
                inserted += 1;
            } else {
                assert!(list.remove(number));
                removed += 1;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });

    barrier(); // all that was retired is gone by now
    let freed = DROPPED.load(Ordering::Relaxed);
    let left = read(|guard| list.iter(guard).count() as u64);
    println!(
        "{} walks beside {inserted} insertions and {removed} removals",
        walks.into_inner()
    );
    println!("{freed} nodes freed, {left} in the list");
    assert_eq!((freed, left), (removed, inserted - removed));
    drop(list);
    assert_eq!(DROPPED.load(Ordering::Relaxed), inserted);
}
