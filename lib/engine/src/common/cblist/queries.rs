//! Queries of a callback list. They change nothing; each is O(1).

use super::{CbList, DONE, NEXT, SEGMENTS, Segment, WAIT, behind};
use crate::common::host::Pos;
use crate::common::seq::Seq;

impl CbList {
    /// The number owed: queued in any segment, or out.
    pub fn len(&self) -> u64 {
        self.end().wrapping_sub(self.head) + self.out
    }

    /// Is nothing owed?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number extracted and not known to have run.
    pub fn out(&self) -> u64 {
        self.out
    }

    /// The position of the oldest queued callback.
    pub fn head(&self) -> Pos {
        self.head
    }

    /// The position of the next callback.
    pub fn end(&self) -> Pos {
        self.cuts[NEXT]
    }

    /// All callbacks below this position are ready.
    pub fn done_end(&self) -> Pos {
        self.cuts[DONE]
    }

    /// Has everything been invoked that was owed at the [`mark`](CbList::mark)? True without a mark.
    pub fn is_past_mark(&self) -> bool {
        self.mark
            .is_none_or(|mark| mark.out == 0 && !behind(self.head, mark.below))
    }

    /// The number in DONE.
    pub fn ready(&self) -> u64 {
        self.count(DONE)
    }

    /// The same, and their weight.
    pub fn done(&self) -> (u64, u64) {
        (self.ready(), self.bytes[DONE])
    }

    /// Does a callback wait for a grace period, or for its stamp?
    pub fn pending(&self) -> bool {
        self.cuts[DONE] != self.cuts[NEXT]
    }

    /// The number in NEXT.
    pub fn unstamped(&self) -> u64 {
        self.count(NEXT)
    }

    /// The bytes in NEXT.
    pub fn unstamped_bytes(&self) -> u64 {
        self.bytes[NEXT]
    }

    /// The number and bytes of callbacks without a requested grace period: those without a stamp, and those
    /// whose stamp is of a grace period that `coming` does not know.
    #[inline(never)]
    pub fn idle(&self, coming: impl Fn(Seq) -> bool) -> (u64, u64) {
        let idle = |&segment: &usize| match segment {
            NEXT => true,
            _ => self.count(segment) != 0 && !coming(self.stamps[segment]),
        };
        let idle = (WAIT..SEGMENTS).filter(idle);
        idle.fold((0, 0), |(count, bytes): (u64, u64), segment| {
            let weight = bytes.saturating_add(self.bytes[segment]);
            (count + self.count(segment), weight)
        })
    }

    /// The earliest stamp.
    pub fn next_gp(&self) -> Option<Seq> {
        self.segment(Segment::Wait).1
    }

    /// The latest stamp: that of the youngest stamped segment that is not empty.
    pub fn last_gp(&self) -> Option<Seq> {
        self.segment(Segment::NextReady).1.or(self.next_gp())
    }

    /// A lower bound of the time at which the oldest queued callback was queued. After a merge it may be in
    /// any segment.
    pub fn since(&self) -> Option<u64> {
        (DONE..SEGMENTS)
            .filter(|&segment| self.count(segment) != 0)
            .map(|segment| self.since[segment])
            .min()
    }

    /// The same for callbacks that are not ready.
    pub fn waiting_since(&self) -> Option<u64> {
        (WAIT..SEGMENTS)
            .filter(|&segment| self.count(segment) != 0)
            .map(|segment| self.since[segment])
            .min()
    }

    /// The bytes of everything in [`len`](CbList::len). Only the total of a segment is known, so a part of it
    /// counts proportionally.
    pub fn bytes(&self) -> u64 {
        let queued = self.bytes.iter().fold(0, |a: u64, &b| a.saturating_add(b));
        queued.saturating_add(self.out_bytes)
    }

    /// The number in a segment, and its stamp if it has a meaning.
    pub fn segment(&self, s: Segment) -> (u64, Option<Seq>) {
        let count = self.count(s as usize);
        let stamped = matches!(s, Segment::Wait | Segment::NextReady) && count != 0;
        (count, stamped.then(|| self.stamps[s as usize]))
    }
}
