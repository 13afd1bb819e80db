//! A lock-free structure out of [`RcuPtr`] links: a stack, from which any thread takes values out. (The
//! chapter "Lock-free structures" of the guide says why each `unsafe` is right, and has a sorted set.)
//!
//! No thread waits for another one, and no version counter is needed: the memory of a node is not used again
//! while a section is open that may have seen it.
//!
//!     cargo run --example lock_free

use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use quiescent::{Exchanged, RcuPtr, barrier, read};

/// Threads, each of which pushes and pops.
const THREADS: u64 = 3;
/// Values that each of them pushes.
const VALUES: u64 = 20_000;

static NODES_FREED: AtomicU64 = AtomicU64::new(0);

struct Node<T: Send + Sync + 'static> {
    /// Only the thread that has unlinked the node touches it. Dropping the node does not drop it.
    value: ManuallyDrop<T>,
    next: RcuPtr<Node<T>>,
}

/// So that this program can count; a node needs no destructor.
impl<T: Send + Sync> Drop for Node<T> {
    fn drop(&mut self) {
        NODES_FREED.fetch_add(1, Ordering::Relaxed);
    }
}

struct Stack<T: Send + Sync + 'static> {
    head: RcuPtr<Node<T>>,
}

impl<T: Send + Sync> Stack<T> {
    const fn new() -> Stack<T> {
        let head = RcuPtr::null();
        Stack { head }
    }

    fn push(&self, value: T) {
        let value = ManuallyDrop::new(value);
        let next = RcuPtr::null();
        let mut node = Box::new(Node { value, next });
        read(|guard| {
            loop {
                let first = self.head.load_shared(guard);
                // SAFETY: readers find `first` here only if the exchange succeeds; then it is still in the
                // stack.
                unsafe { node.next.store_shared(first) };
                match self.head.compare_exchange(first, Some(node), guard) {
                    Ok(()) => return,
                    Err(Exchanged { new, .. }) => node = new.expect("the node comes back"),
                }
            }
        });
    }

    fn pop(&self) -> Option<T> {
        read(|guard| {
            loop {
                let first = self.head.load_shared(guard)?;
                let second = first.next.load_shared(guard);
                // SAFETY: if the head still is `first`, then `second` is in the stack, since nodes are taken
                // from the head only.
                let taken = unsafe {
                    self.head
                        .compare_exchange_shared(Some(first), second, guard)
                };
                if taken.is_ok() {
                    // SAFETY: this thread has unlinked the node, and no other thread touches the value.
                    let value = unsafe { ptr::read(&*first.value) };
                    // SAFETY: unlinked, once, by this thread. The node does not drop the value.
                    unsafe { first.retire() };
                    return Some(value);
                }
            }
        })
    }
}

impl<T: Send + Sync> Drop for Stack<T> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

/// Pushes and pops in turn, and leaves the last values. Returns the sum of what it popped.
fn work(stack: &Stack<Box<u64>>, first: u64) -> u64 {
    let mut sum = 0;
    for value in first..first + VALUES {
        stack.push(Box::new(value));
        if value % 2 == 0 {
            sum += *stack
                .pop()
                .expect("at least this thread's value, or one in its place");
        }
    }
    sum
}

fn main() {
    let stack = Stack::new();
    let popped: u64 = thread::scope(|scope| {
        let stack = &stack;
        let starts = (0..THREADS).map(|it| it * VALUES);
        let threads: Vec<_> = starts
            .map(|first| scope.spawn(move || work(stack, first)))
            .collect();
        threads
            .into_iter()
            .map(|it| it.join().expect("it does not panic"))
            .sum()
    });
    let (mut left, mut sum) = (0, 0);
    while let Some(value) = stack.pop() {
        (left, sum) = (left + 1, sum + *value);
    }
    drop(stack);

    barrier(); // only so that the number below is final
    let (values, freed) = (THREADS * VALUES, NODES_FREED.load(Ordering::Relaxed));
    println!("{values} values pushed, {left} of them left at the end; {freed} nodes freed");
    // Each value came out once.
    assert_eq!(popped + sum, values * (values - 1) / 2);
    assert_eq!((left, freed), (values / 2, values));
}
