//! A stack (Treiber) and a queue (Michael and Scott) as they are written for crossbeam-epoch.

use crossbeam_epoch::{self as epoch, Atomic, Owned, Shared};
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread;

struct Node<T> {
    value: MaybeUninit<T>,
    next: Atomic<Node<T>>,
}

struct Stack<T> {
    head: Atomic<Node<T>>,
}

impl<T> Stack<T> {
    fn push(&self, value: T) {
        let mut node = Owned::new(Node {
            value: MaybeUninit::new(value),
            next: Atomic::null(),
        });
        let guard = epoch::pin();
        loop {
            let head = self.head.load(Relaxed, &guard);
            node.next.store(head, Relaxed);
            match self
                .head
                .compare_exchange(head, node, Release, Relaxed, &guard)
            {
                Ok(_) => return,
                Err(error) => node = error.new,
            }
        }
    }

    fn pop(&self) -> Option<T> {
        let guard = epoch::pin();
        loop {
            let head = self.head.load(Acquire, &guard);
            let next = unsafe { head.as_ref() }?.next.load(Relaxed, &guard);
            if self
                .head
                .compare_exchange(head, next, Relaxed, Relaxed, &guard)
                .is_ok()
            {
                unsafe {
                    guard.defer_destroy(head);
                    return Some(head.deref().value.assume_init_read());
                }
            }
        }
    }
}

struct Queue<T> {
    head: Atomic<Node<T>>,
    tail: Atomic<Node<T>>,
}

impl<T> Queue<T> {
    fn new() -> Queue<T> {
        let guard = unsafe { epoch::unprotected() };
        let first = Owned::new(Node {
            value: MaybeUninit::uninit(),
            next: Atomic::null(),
        });
        let first = first.into_shared(guard);
        Queue {
            head: first.into(),
            tail: Atomic::from(first),
        }
    }

    fn push(&self, value: T) {
        let guard = &epoch::pin();
        let new = Node {
            value: MaybeUninit::new(value),
            next: Atomic::null(),
        };
        let new = Owned::new(new).into_shared(guard);
        loop {
            let tail = self.tail.load(Acquire, guard);
            let link = unsafe { &tail.deref().next };
            let next = link.load(Acquire, guard);
            if !next.is_null() {
                let _ = self
                    .tail
                    .compare_exchange(tail, next, Release, Relaxed, guard);
            } else if link
                .compare_exchange(Shared::null(), new, Release, Relaxed, guard)
                .is_ok()
            {
                let _ = self
                    .tail
                    .compare_exchange(tail, new, Release, Relaxed, guard);
                return;
            }
        }
    }

    fn pop(&self) -> Option<T> {
        let guard = &epoch::pin();
        loop {
            let head = self.head.load(Acquire, guard);
            let next = unsafe { head.deref() }.next.load(Acquire, guard);
            let node = unsafe { next.as_ref() }?;
            if self
                .head
                .compare_exchange(head, next, Release, Relaxed, guard)
                .is_ok()
            {
                let tail = self.tail.load(Relaxed, guard);
                if tail == head {
                    let _ = self
                        .tail
                        .compare_exchange(tail, next, Release, Relaxed, guard);
                }
                unsafe {
                    guard.defer_destroy(head);
                    return Some(node.value.assume_init_read());
                }
            }
        }
    }
}

impl<T> Drop for Queue<T> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
        let guard = unsafe { epoch::unprotected() };
        drop(unsafe { self.head.load(Relaxed, guard).into_owned() });
    }
}

const EACH: usize = 20_000;

/// Two threads push numbers in order and two pop them: each number comes out once.
fn exchange(
    push: impl Fn(Box<usize>) + Sync,
    pop: impl Fn() -> Option<Box<usize>> + Sync,
    in_order: bool,
) {
    let (sum, left) = (AtomicUsize::new(0), AtomicUsize::new(2 * EACH));
    thread::scope(|scope| {
        for thread in 0..2 {
            let (push, pop, sum, left) = (&push, &pop, &sum, &left);
            scope.spawn(move || (0..EACH).for_each(|number| push(Box::new(2 * number + thread))));
            scope.spawn(move || {
                let mut last = [None; 2];
                while left.load(Relaxed) > 0 {
                    let Some(number) = pop() else {
                        thread::yield_now();
                        continue;
                    };
                    assert!(!in_order || last[*number % 2] < Some(*number));
                    last[*number % 2] = Some(*number);
                    sum.fetch_add(*number, Relaxed);
                    left.fetch_sub(1, Relaxed);
                }
            });
        }
    });
    assert_eq!(sum.into_inner(), EACH * (2 * EACH - 1));
    assert!(pop().is_none());
}

#[test]
fn a_stack_gives_back_each_value_once() {
    let stack = Stack {
        head: Atomic::null(),
    };
    exchange(|value| stack.push(value), || stack.pop(), false);
}

#[test]
fn a_queue_gives_back_each_value_once_and_in_order() {
    let queue = Queue::new();
    exchange(|value| queue.push(value), || queue.pop(), true);
    queue.push(Box::new(1)); // freed with the queue
}
