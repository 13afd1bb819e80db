//! Queries of a callback list. Nothing here changes it; all answers are O(1).

use super::{CbList, DONE, NEXT, SEGMENTS, Segment, WAIT, behind};
use crate::common::host::Pos;
use crate::common::seq::Seq;

impl CbList {
    /// Everything owed: queued in any segment, or out.
    pub fn len(&self) -> u64 {
        self.end().wrapping_sub(self.head) + self.out
    }

    /// Is nothing owed?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many are out.
    pub fn out(&self) -> u64 {
        self.out
    }

    /// The oldest that is queued, and not out.
    pub fn head(&self) -> Pos {
        self.head
    }

    /// The position the next one gets.
    pub fn end(&self) -> Pos {
        self.cuts[NEXT]
    }

    /// All below are done.
    pub fn done_end(&self) -> Pos {
        self.cuts[DONE]
    }

    /// Has all been invoked that was owed at the [`mark`](CbList::mark)? True without one.
    pub fn is_past_mark(&self) -> bool {
        self.mark
            .is_none_or(|mark| mark.out == 0 && !behind(self.head, mark.below))
    }

    /// How many are in DONE.
    pub fn ready(&self) -> u64 {
        self.count(DONE)
    }

    /// The same, and their weight.
    pub fn done(&self) -> (u64, u64) {
        (self.ready(), self.bytes[DONE])
    }

    /// Does something wait for a grace period, or to be stamped?
    pub fn pending(&self) -> bool {
        self.cuts[DONE] != self.cuts[NEXT]
    }

    /// How many are in NEXT.
    pub fn unstamped(&self) -> u64 {
        self.count(NEXT)
    }

    /// Their weight.
    pub fn unstamped_bytes(&self) -> u64 {
        self.bytes[NEXT]
    }

    /// The number and weight of entries without a requested grace period: those without a stamp, and those
    /// whose stamp is of a grace period that `coming` does not know.
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

    /// The latest stamp: of the youngest stamped segment that is not empty.
    pub fn last_gp(&self) -> Option<Seq> {
        self.segment(Segment::NextReady).1.or(self.next_gp())
    }

    /// A lower bound of when the oldest one queued (not out) was queued. After a merge it may sit in
    /// any segment.
    pub fn since(&self) -> Option<u64> {
        (DONE..SEGMENTS)
            .filter(|&segment| self.count(segment) != 0)
            .map(|segment| self.since[segment])
            .min()
    }

    /// The same for those that are not done.
    pub fn waiting_since(&self) -> Option<u64> {
        (WAIT..SEGMENTS)
            .filter(|&segment| self.count(segment) != 0)
            .map(|segment| self.since[segment])
            .min()
    }

    /// The weight of everything in [`len`](CbList::len). One segment's bytes are known only together, so a
    /// part of it counts proportionally.
    pub fn bytes(&self) -> u64 {
        let queued = self.bytes.iter().fold(0, |a: u64, &b| a.saturating_add(b));
        queued.saturating_add(self.out_bytes)
    }

    /// How many are in a segment, and its stamp if it has a meaning.
    pub fn segment(&self, s: Segment) -> (u64, Option<Seq>) {
        let count = self.count(s as usize);
        let stamped = matches!(s, Segment::Wait | Segment::NextReady) && count != 0;
        (count, stamped.then(|| self.stamps[s as usize]))
    }
}
