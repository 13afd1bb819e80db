//! The event queue: what happens next.
//!
//! One queue for the whole machine, ordered by time and, at one time, by the order in which things were put in. That
//! is all the determinism there is to get right: nothing else in the model depends on addresses, hashing or the host's
//! clock. An event cannot be taken out; whoever put it in notices that it is stale (a number that has moved on).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use quiescent_engine::CpuId;

/// Something that happens at a time of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A jiffy begins: whoever has a tick now takes it.
    Jiffy,
    /// The CPU has done what it was doing, if this is still the same piece of work.
    Done { cpu: CpuId, work: u64 },
    /// An interrupt from another CPU arrives.
    Ipi { cpu: CpuId },
    /// A CPU is to go, or comes back.
    Plug { cpu: CpuId, online: bool },
    /// A wake-up that was late arrives.
    Late { task: usize, waker: CpuId },
    /// A task's sleep ends: a high-resolution timer on the CPU.
    Alarm { cpu: CpuId, task: usize, round: u64 },
}

/// The queue: of a kernel's machine, or of another one with events of its own.
#[derive(Debug)]
pub(crate) struct Queue<E = Event> {
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

    /// The earliest event, if it is not later than `until`.
    pub fn take(&mut self, until: u64) -> Option<(u64, E)> {
        if self.heap.peek()?.0.0 > until {
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
        queue.put(5, Event::Ipi { cpu: 1 });
        queue.put(5, Event::Ipi { cpu: 0 });
        queue.put(3, Event::Jiffy);
        let mut taken = Vec::new();
        while let Some((at, event)) = queue.take(5) {
            taken.push((at, event));
        }
        let ipi = |cpu| (5, Event::Ipi { cpu });
        assert_eq!(taken, [(3, Event::Jiffy), ipi(1), ipi(0)]);
        queue.put(7, Event::Jiffy);
        assert_eq!(queue.take(6), None);
    }
}
