//! All queues of a domain, in a list. Slots of threads that have never queued anything have no queue in it.
//!
//! A queue is created once for its slot and lives forever, so the list only grows, at its front, and a
//! traversal never meets a gap: the link of a queue is set before the queue is published (release of the
//! front, acquire by the traversal). Leak checkers also find queues through this list, since they do not scan
//! all slots.

use crate::prim::{AtomicPtr, Ordering};
use crate::queue::per_thread::Queue;

/// The list.
#[derive(Debug)]
pub struct Queues {
    newest: AtomicPtr<Queue>,
}

/// Queues, from one on to the oldest. One function for all loops: none is on a hot path.
#[derive(Clone, Debug)]
pub struct QueuesFrom {
    first: Option<&'static Queue>,
    next: Option<&'static Queue>,
}

impl Iterator for QueuesFrom {
    type Item = &'static Queue;

    #[inline(never)]
    fn next(&mut self) -> Option<&'static Queue> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let queue = self.next?;
        // SAFETY: null, or a queue; queues live forever.
        self.next = unsafe { queue.made_before.load(Ordering::Acquire).as_ref() };
        Some(queue)
    }
}

impl Queues {
    const_new! {
        pub fn new() -> Queues {
            Queues { newest: AtomicPtr::new(std::ptr::null_mut()) }
        }
    }

    /// Adds a queue that is not published yet.
    pub fn add(&self, queue: &'static Queue) {
        let new = std::ptr::from_ref(queue).cast_mut();
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            queue.made_before.store(newest, Ordering::Relaxed);
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            match self.newest.compare_exchange(newest, new, order.0, order.1) {
                Ok(_) => return,
                Err(newer) => newest = newer,
            }
        }
    }

    /// All queues, the newest first.
    pub fn iter(&self) -> QueuesFrom {
        QueuesFrom {
            first: None,
            // SAFETY: null, or a queue; queues live forever.
            next: unsafe { self.newest.load(Ordering::Acquire).as_ref() },
        }
    }

    /// One that is in no list, then all queues.
    pub fn after(&self, first: &'static Queue) -> QueuesFrom {
        QueuesFrom {
            first: Some(first),
            ..self.iter()
        }
    }

    /// In the child of a fork: forgets queues that `keep` rejects.
    pub fn retain(&self, keep: impl Fn(&Queue) -> bool) {
        let mut place = &self.newest;
        for queue in self.iter() {
            if keep(queue) {
                place.store(std::ptr::from_ref(queue).cast_mut(), Ordering::Relaxed);
                place = &queue.made_before;
            }
        }
        place.store(std::ptr::null_mut(), Ordering::Release);
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    fn cpus(queues: &Queues) -> Vec<u32> {
        queues.iter().map(|queue| queue.lock().cpu.id()).collect()
    }

    #[test]
    fn queues_are_listed_newest_first_and_retained() {
        let queues = Queues::new();
        assert!(queues.iter().next().is_none());
        let some = |cpu| queues.add(crate::testing::queue(cpu));
        (1..=5).for_each(some);
        assert_eq!(cpus(&queues), [5, 4, 3, 2, 1]);
        queues.retain(|queue| !matches!(queue.lock().cpu.id(), 5 | 2));
        assert_eq!(cpus(&queues), [4, 3, 1]);
        queues.retain(|_| false);
        assert!(queues.iter().next().is_none());
        some(7);
        assert_eq!(cpus(&queues), [7]);
    }
}
