//! All queues of a domain, in a chain: whoever looks at queues meets those that there are, and no slot of a
//! thread that has never queued anything.
//!
//! A queue is made once for its slot and lives for ever, so the chain only grows, at its front, and
//! a walk never meets a gap: a queue knows the one made before it before anybody can find it (release of the
//! front, acquire by the walker). The front is also where checkers for leaks find queues whose slots they do not
//! look at.

use crate::inner::prim::{AtomicPtr, Ordering, const_new};
use crate::inner::queue::per_thread::Queue;

/// The chain.
#[derive(Debug)]
pub(crate) struct Queues {
    newest: AtomicPtr<Queue>,
}

impl Queues {
    const_new! {
        pub(crate) fn new() -> Queues {
            Queues { newest: AtomicPtr::new(std::ptr::null_mut()) }
        }
    }

    /// Adds a queue that nobody else knows yet.
    pub(crate) fn add(&self, queue: &'static Queue) {
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

    /// Those there are, the newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static Queue> + use<> {
        // SAFETY: null, or a queue, and those live for ever.
        let at = |place: &AtomicPtr<Queue>| unsafe { place.load(Ordering::Acquire).as_ref() };
        std::iter::successors(at(&self.newest), move |queue: &&'static Queue| {
            at(&queue.made_before)
        })
    }

    /// In the child of a fork: forgets queues that `keep` does not name.
    #[cfg(not(quiescent_model))]
    pub(crate) fn retain(&self, keep: impl Fn(&Queue) -> bool) {
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
    fn newest_first_and_only_those_kept() {
        let queues = Queues::new();
        assert!(queues.iter().next().is_none());
        let some = |cpu| queues.add(Queue::leak(cpu).expect("memory for a test"));
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
