//! What a queue's telemetry is told where entries come and go one at a time, under the lock.

use std::ops::Range;
use std::ptr::NonNull;

use quiescent_engine::Pos;
use quiescent_engine::cpu::Lane as Which;
use quiescent_engine::credit::Urgency;

use super::Core;
use crate::inner::defer::enqueue::Parcel;
use crate::inner::queue::intrusive::{Head, RunHead};

impl Core {
    /// Appends an intrusive callback.
    ///
    /// # Safety
    /// As [`Heads::push`](crate::inner::queue::intrusive::Heads::push).
    pub(crate) unsafe fn push_head(&mut self, head: NonNull<Head>, run: RunHead) {
        // SAFETY: the caller's promise.
        unsafe { self.heads.push(head, run) };
        self.told.head_pushed(&self.cpu, run, self.heads.end());
    }

    /// Takes the oldest intrusive callback out, if it is done.
    pub(crate) fn extract_head(&mut self) -> Option<(NonNull<Head>, RunHead, Range<Pos>)> {
        let range = self.cpu.extract(Which::Head, 1);
        if range.is_empty() {
            return None;
        }
        let (head, run) = self.heads.pop()?;
        self.told.head_popped(&self.cpu, run, &range);
        Some((head, run, range))
    }

    /// A parcel is about to be queued. Does it end the laziness of others?
    pub(crate) fn breaks(&mut self, parcel: &Parcel, urgency: Urgency) -> bool {
        let breaks = match urgency {
            Urgency::Hurry => true,
            Urgency::Prompt => !self.cpu.is_prompt(),
            Urgency::Lazy => false,
        };
        if breaks {
            let (lane, what) = match *parcel {
                Parcel::Entry(lane, entry, _) => (lane, entry.what),
                Parcel::Head(_, run) => (Which::Head as usize, run as usize as u64),
            };
            self.told.broke(&self.cpu, lane, what, urgency);
        }
        breaks
    }
}
