//! The event queue.
//!
//! One queue for a whole machine, ordered by time and, at the same time, by the order of insertion. With it
//! runs are deterministic: nothing in a model depends on addresses, hashing or the host's clock. An event
//! cannot be taken out; it carries a number, and its receiver ignores it if that number is no longer current.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The queue of a machine whose events are of this type.
#[derive(Debug)]
pub struct Queue<E> {
    heap: BinaryHeap<Reverse<(u64, u64, E)>>,
    next: u64,
}

impl<E: Ord> Default for Queue<E> {
    fn default() -> Queue<E> {
        Queue {
            heap: BinaryHeap::new(),
            next: 0,
        }
    }
}

impl<E: Ord> Queue<E> {
    /// At `at` nanoseconds `event` happens.
    pub fn put(&mut self, at: u64, event: E) {
        self.heap.push(Reverse((at, self.next, event)));
        self.next += 1;
    }

    /// The time of the earliest event.
    pub fn next(&self) -> Option<u64> {
        self.heap.peek().map(|first| first.0.0)
    }

    /// The earliest event, if it is not later than `until`.
    pub fn take(&mut self, until: u64) -> Option<(u64, E)> {
        if self.next()? > until {
            return None;
        }
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_time_and_then_in_order() {
        let mut queue = Queue::default();
        queue.put(5, 'b');
        queue.put(5, 'a');
        queue.put(3, 'c');
        let mut taken = Vec::new();
        while let Some((at, event)) = queue.take(5) {
            taken.push((at, event));
        }
        assert_eq!(taken, [(3, 'c'), (5, 'b'), (5, 'a')]);
        queue.put(7, 'd');
        assert_eq!(queue.take(6), None);
    }
}
