//! Telemetry of entries that are queued or taken out one at a time, under the lock.

use std::ops::Range;
use std::ptr::NonNull;

use quiescent_engine::Pos;
use quiescent_engine::cpu::Lane;
use quiescent_engine::credit::Urgency;

use super::QueueCore;
use crate::queue::intrusive::{Head, RunHead};
use crate::queue::meter::Meter;
use crate::queue::parcel::{self, Parcel};

impl QueueCore {
    /// Appends an intrusive callback.
    ///
    /// # Safety
    /// As [`Heads::push`](crate::queue::intrusive::Heads::push).
    pub unsafe fn push_head(&mut self, meter: &Meter, head: NonNull<Head>, run: RunHead) {
        // SAFETY: the caller's promise.
        unsafe { self.heads.push(head, run) };
        self.cursor
            .head_pushed(meter, &self.cpu, run, self.heads.end());
    }

    /// Takes the oldest intrusive callback out, if it is done.
    pub fn extract_head(&mut self, meter: &Meter) -> Option<(NonNull<Head>, RunHead, Range<Pos>)> {
        let range = self.cpu.extract(Lane::Head, 1);
        if range.is_empty() {
            return None;
        }
        let (head, run) = self.heads.pop()?;
        self.cursor.head_popped(meter, &self.cpu, run, &range);
        Some((head, run, range))
    }

    /// Called before a parcel is queued: counts it if it wakes the worker and so ends the laziness of other
    /// callbacks.
    pub fn note_urgency(&mut self, meter: &Meter, parcel: &Parcel, urgency: Urgency) {
        let breaks = match urgency {
            Urgency::Hurry => true,
            Urgency::Prompt => !self.cpu.is_prompt(),
            Urgency::Lazy => false,
        };
        if breaks {
            let (lane, what) = match *parcel {
                Parcel::Entry(lane, entry, _) => (lane, entry.what),
                Parcel::Head(parcel::Callback { run, .. }) => {
                    (Lane::Head as usize, run as usize as u64)
                }
            };
            self.cursor.broke(meter, &self.cpu, lane, what, urgency);
        }
    }
}
