//! Inspection of a state: its queues, what they hold, the readers that block a grace period, whether it is at
//! rest.

use std::time::Duration;

use quiescent_engine::CbList;

use crate::domain::state::{Core, State};
use crate::prim::{self, MutexGuard, Ordering, linked};
use crate::queue::per_thread::Queue;
use crate::reader::holdout::Holdout;

/// The largest number of readers that are named.
const MOST_NAMED: usize = 64;

impl State {
    /// The readers that the grace period in flight waits for, at most 64 of them.
    pub fn holdouts(&self) -> Vec<Holdout> {
        let mut seen = [(0, 0); MOST_NAMED];
        let mut found = 0;
        let readers = self.readers();
        let core = self.lock();
        for (place, cpu) in seen.iter_mut().zip(core.engine.holdouts()) {
            *place = (cpu, readers.stamp(cpu));
            found += 1;
        }
        drop(core);
        let named = seen[..found].iter();
        let named = named.flat_map(|&(cpu, stamp)| readers.named(cpu, stamp));
        named.take(MOST_NAMED).collect()
    }

    /// All queues: the shared one and those of threads. Threads that only read have none.
    pub fn queues(&'static self) -> linked::Iter<Queue> {
        linked::Iter::from(&self.shared)
    }

    /// Sets the domain's number in telemetry.
    pub fn set_place(&'static self, place: u32) {
        self.place.store(place, Ordering::Relaxed);
        self.queues()
            .for_each(|queue| queue.lock().cursor.set_place(place));
    }

    /// Adds the queue of a thread.
    pub fn add_queue(&self, queue: &'static Queue) {
        if !self.is_home() {
            queue
                .lock()
                .cursor
                .set_place(self.place.load(Ordering::Relaxed));
        }
        self.shared.others.add(queue);
    }

    /// The domain's name.
    pub fn name(&self) -> Option<&'static str> {
        let name = self.domain().settings().name;
        (!name.is_empty()).then_some(name)
    }

    /// True if nothing is queued and no thread waits. Waits for no lock. (A grace period that was requested
    /// and never waited for may still be pending; the next waiter's grace period includes it.)
    pub fn is_at_rest(&'static self) -> bool {
        let busy = |core: MutexGuard<'_, Core>| core.engine.is_driven() || core.barrier.in_flight();
        let empty = |queue: &Queue| {
            queue
                .try_lock()
                .is_some_and(|core| core.cpu.is_empty() && queue.unreported(&core).count == 0)
        };
        self.tasks.is_known_empty()
            && self.queues().all(empty)
            && self.unreported.load(Ordering::Relaxed) == 0
            && self.try_lock().is_some_and(|core| !busy(core))
    }

    /// Callbacks and objects that are queued or running, and their bytes, as the budget counts them; also
    /// those not yet reported to the engine.
    pub fn held(&'static self) -> (u64, u64) {
        let mut held = (0, 0);
        for queue in self.queues() {
            let core = queue.lock();
            for list in core.cpu.lists() {
                held.0 += list.len();
                held.1 += list.bytes();
            }
            let unreported = queue.unreported(&core);
            held.0 += unreported.count;
            held.1 += unreported.bytes;
        }
        held
    }

    /// An upper bound for the time that the oldest item has been queued, as far as it was reported to the
    /// engine.
    pub fn oldest(&'static self) -> Duration {
        let since = |queue: &Queue| {
            let core = queue.lock();
            let lists = core.cpu.lists().iter();
            lists.filter_map(CbList::since).min()
        };
        let oldest = self.queues().filter_map(since).min();
        let age = |since| prim::coarse_ns().saturating_sub(since);
        Duration::from_nanos(oldest.map_or(0, age))
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
