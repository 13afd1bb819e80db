//! Bundles of all CPUs, by time, in bounded memory.
//!
//! A CPU's bundles come in their order, so each CPU has a queue, and a heap has the next event of each queue.
//! Equal times keep the order of CPUs. A bundle is given up when its last event is out.

use super::bundle::{Bundle, Entry};
use crate::base::map::Map;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

/// Bytes that are held to bring events into order. A bundle more may come on top.
pub(super) const HELD_MOST: usize = 32 << 20;

/// Events that are handed out in a row: a block in the making may be full.
const RUN_MOST: usize = 64;

/// The bundles that are held.
#[derive(Debug, Default)]
pub(super) struct Merge {
    queues: Vec<VecDeque<Bundle>>,
    /// Which queue is a CPU's.
    by_cpu: Map<u32, usize>,
    /// The next event of each CPU with any: its time, the CPU, and its queue.
    heap: BinaryHeap<Reverse<(u64, u32, usize)>>,
    held: usize,
}

impl Merge {
    /// Takes a bundle; one without events is not needed.
    pub(super) fn add(&mut self, bundle: Bundle) {
        let Some(first) = bundle.entries.first() else {
            return;
        };
        let of_cpu = self.by_cpu.entry(bundle.cpu);
        let place = *of_cpu.or_insert_with(|| {
            self.queues.push(VecDeque::new());
            self.queues.len() - 1
        });
        let queue = &mut self.queues[place];
        if queue.is_empty() {
            self.heap.push(Reverse((first.time, bundle.cpu, place)));
        }
        self.held += bundle.size();
        queue.push_back(bundle);
    }

    /// Nothing more may be held.
    pub(super) fn is_full(&self) -> bool {
        self.held >= HELD_MOST
    }

    /// Hands out the earliest event, and those of the same CPU that follow before any other's; false if there
    /// is none.
    pub(super) fn next(&mut self, mut see: impl FnMut(&Bundle, Entry)) -> bool {
        // The next event of the other CPUs is the first of the two behind the top.
        let others = self.heap.as_slice().iter().skip(1).take(2);
        let other = others.map(|it| it.0).min();
        let Some(mut top) = self.heap.peek_mut() else {
            return false;
        };
        let (_, cpu, place) = top.0;
        let queue = &mut self.queues[place];
        let Some(bundle) = queue.front_mut() else {
            return false;
        };
        let rest = &bundle.entries[bundle.next..];
        let before = |it: &&Entry| other.is_none_or(|other| (it.time, cpu, place) < other);
        let run = rest.iter().take(RUN_MOST).take_while(before);
        let run = run.inspect(|entry| see(bundle, **entry)).count();
        bundle.next += run;
        if bundle.next == bundle.entries.len() {
            self.held -= bundle.size();
            queue.pop_front();
        }
        match queue.front() {
            Some(bundle) => top.0.0 = bundle.entries[bundle.next].time,
            None => drop(PeekMut::pop(top)),
        }
        true
    }
}
