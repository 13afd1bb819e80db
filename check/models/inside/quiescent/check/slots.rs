//! What a slot tells about its owner, for scenarios in which slots change hands.

use std::time::Duration;

use quiescent_core::prim::Ordering::Relaxed;
use quiescent_core::queue::kind::OWN;
use quiescent_core::queue::per_thread::Queue;
use quiescent_core::reader::counted::Origin;
use quiescent_core::reader::set::DomainReaders;
use quiescent_core::reader::threads::Slot;
use quiescent_core::reader::word::generation;

use super::Model;

/// What the calling thread's slot tells about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotView {
    /// Its number.
    pub number: u32,
    /// The slot's bit in its leaf.
    pub present: bool,
    /// The thread's id in reports.
    pub thread: u32,
    /// Open sections of the process's domain.
    pub sections: u64,
    /// The generation of that reader word.
    pub generation: u64,
    /// The slot's records in the program's domains.
    pub records: Vec<RecordView>,
    /// The slot's queues, in all domains.
    pub queues: Vec<QueueView>,
}

/// What a record tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordView {
    /// The number of its slot, by which reports find the thread.
    pub slot: u32,
    /// Open sections.
    pub sections: u64,
    /// The generation of that reader word.
    pub generation: u64,
}

/// What a queue tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueView {
    /// It is the queue of the process's domain.
    pub home: bool,
    /// An owner pushes without the lock …
    pub attached: bool,
    /// … and finds the queue where it looks for it.
    pub found: bool,
    /// The owner's setting ([`set_thread_on_worker`](crate::tuning::set_thread_on_worker)).
    pub offload: Option<bool>,
    /// The owner is inside of callbacks that it has popped.
    pub running: bool,
}

impl Model {
    /// Stalls are reported after this time; after a nanosecond: at the second scan that finds a reader.
    pub fn reporting(self, after: Duration) -> Model {
        let ns = crate::api::tuning::in_ns(after);
        self.0.env.home.set(|it| it.stall_ns = ns);
        self
    }

    /// What the calling thread's slot tells about it.
    pub fn own_slot(self) -> Option<SlotView> {
        let slot = self.0.env.own_slot()?;
        let number = slot.cpu();
        let mut claimed = self.0.env.threads.slots.claimed();
        let records = slot.records.all.iter().map(|record| RecordView {
            slot: record.slot(),
            sections: record.words.nesting(),
            generation: generation(record.words.reader.word.load(Relaxed)),
        });
        Some(SlotView {
            number,
            present: claimed.any(|claimed| std::ptr::eq(claimed, slot)),
            thread: slot.thread(),
            sections: slot.words.nesting(),
            generation: generation(slot.words.reader.word.load(Relaxed)),
            records: records.collect(),
            queues: slot
                .queues
                .iter()
                .map(|queue| self.queue(slot, queue))
                .collect(),
        })
    }

    fn queue(self, slot: &Slot, queue: &Queue) -> QueueView {
        let local = self.0.env.local();
        let found = match queue.found_at() {
            Some(place) => place.load(Relaxed).cast_const(),
            None => std::ptr::from_ref(local.queue()),
        };
        let core = queue.lock();
        QueueView {
            home: (slot.queue.queue()).is_some_and(|home| std::ptr::eq(home, queue)),
            attached: core.owned,
            found: std::ptr::eq(found, queue),
            offload: core.offload,
            running: !queue.lanes[OWN].running().is_empty(),
        }
    }

    /// The open sections of an `Srcu`, by the numbers of the slots that count them.
    pub fn begun(self, srcu: &crate::Srcu) -> Vec<(Option<u32>, u64)> {
        match &srcu.core().readers {
            DomainReaders::Counted(counted) => {
                let begun = counted.begun_on(0).chain(counted.begun_on(1));
                let by_slot = begun.map(|(origin, open)| match origin {
                    Origin::Slot(number) => (Some(number), open),
                    Origin::Unregistered | Origin::Parent => (None, open),
                });
                by_slot.collect()
            }
            _ => Vec::new(),
        }
    }
}
