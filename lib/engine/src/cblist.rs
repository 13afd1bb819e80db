//! The segmented callback list, as positions.
//!
//! The engine never holds a callback: the host keeps them in a FIFO, and the engine keeps the position of its
//! oldest one and the number of callbacks in each segment, with a *stamp* for the segments that wait. A stamp
//! is the number at which a grace period that suffices for the whole segment has ended.
//!
//! ```text
//!        out       DONE        WAIT      NEXT_READY     NEXT
//!     ─────────┼──────────┼───────────┼────────────┼────────────┤
//!             head     done_end                                end
//!                       @stamps[0]  @stamps[1]   (not stamped)
//! ```
//!
//! * **DONE**: the grace period has ended; these callbacks may run.
//! * **WAIT**: wait for the earliest grace period.
//! * **NEXT_READY**: wait for the one after it. Two stamped segments suffice: a callback queued now may use
//!   the end of the current grace period or of the next one, never a later one.
//! * **NEXT**: queued, not stamped; no grace period has been requested for them.
//! * **out**: extracted to be invoked, and not yet known to have run. They count ([`CbList::len`]), because a
//!   caller that waits for everything this CPU owes also waits for them.
//!
//! # Invariants
//! * The positions of a segment follow those of the segment before it, the first one's begin at the head. A
//!   merge puts callbacks *before* the head, so positions may become negative: differences wrap.
//! * A list owes at most 2³² − 1 callbacks.
//! * WAIT empty implies NEXT_READY empty.
//! * A callback's stamp may be replaced by an earlier one, never by a later one, and never by one that
//!   [`Seq::snap`] would not have given at some moment after it was queued.
//! * Fields without a meaning are zero (stamp and time of an empty segment): equal lists are equal values.
//!
//! # Correctness
//! Whole segments join an earlier one, with nothing in between, so order is kept. `accelerate` writes a stamp
//! to everything behind some segment, all of which was queued before its caller took the number; `advance`
//! joins with DONE only segments whose stamps have been reached. Nothing else sets a stamp or enlarges DONE,
//! except `finish`, on the host's word that no reader is left.

use core::ops::Range;

use crate::host::Pos;
use crate::seq::Seq;

/// A number of callbacks, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Held {
    /// The number.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Held {
    pub(crate) const NOTHING: Held = Held { count: 0, bytes: 0 };

    /// Is this at least a batch?
    pub(crate) fn fills(self, batch: Held) -> bool {
        self.count >= batch.count || self.bytes >= batch.bytes
    }
}

const SEGMENTS: usize = 4;
const DONE: usize = Segment::Done as usize;
const WAIT: usize = Segment::Wait as usize;
const NEXT_READY: usize = Segment::NextReady as usize;
const NEXT: usize = Segment::Next as usize;

/// The segments, in the order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// The grace period has ended.
    Done,
    /// Waits for the earliest grace period.
    Wait,
    /// Waits for the grace period after that.
    NextReady,
    /// Not stamped.
    Next,
}

/// The result of a merge. The host moves the callbacks themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the callbacks have to be moved as well"]
pub struct Merged {
    /// The number of the source's oldest callbacks that go to the front of the destination, in their order.
    pub done: u64,
    /// The number of its other callbacks, which go to the end, in their order.
    pub pending: u64,
}

/// A callback list. See the [module](self).
///
/// Each thread has four in each of its queues, so they are small.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CbList {
    head: Pos,
    /// The number in each segment.
    counts: [u32; SEGMENTS],
    out: u32,
    /// The number of extracted ones below the mark.
    out_below: u32,
    /// The [`mark`](CbList::mark): a caller waits for every callback below this position.
    below: Pos,
    /// Of WAIT and NEXT_READY.
    stamps: [Seq; 2],
    /// The bytes in each segment; those that are out count in DONE.
    bytes: [u64; SEGMENTS],
    /// A lower bound of the time at which the oldest of each segment was queued, in nanoseconds.
    since: [u64; SEGMENTS],
}

impl CbList {
    /// An empty list whose first callback has position 0.
    pub const fn new() -> CbList {
        CbList {
            head: 0,
            counts: [0; SEGMENTS],
            out: 0,
            out_below: 0,
            below: 0,
            stamps: [Seq::ZERO; 2],
            bytes: [0; SEGMENTS],
            since: [0; SEGMENTS],
        }
    }

    // Queueing.

    /// All callbacks up to `end` are queued now. The new ones have `bytes` bytes together and go to NEXT; the
    /// oldest of them was queued at `since` nanoseconds or later. Without new ones nothing changes.
    ///
    /// # Panics
    /// If `end` is below the list's end, because positions only grow there, or the list is full.
    pub fn enqueue_to(&mut self, end: Pos, bytes: u64, since: u64) {
        self.add(NEXT, end.wrapping_sub(self.end()), bytes, since);
    }

    /// One more callback, behind the last segment that is not empty: it waits for all that are queued, not
    /// for a grace period of its own. If every callback is out, it goes to DONE. False, without a change, if
    /// there is nothing to wait for.
    ///
    /// Its position is the list's old end.
    pub fn entrain(&mut self, bytes: u64) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut last = NEXT;
        while last > DONE && self.counts[last] == 0 {
            last -= 1;
        }
        self.add(last, 1, bytes, u64::MAX); // it is not the oldest, since something is owed
        true
    }

    // Grace periods.

    /// Moves everything whose stamp `seq` has reached to DONE; returns the number moved. `seq` is a node's
    /// `gp_seq`, also while a grace period is in flight. A repeated call changes nothing.
    pub fn advance(&mut self, seq: Seq) -> u64 {
        let before = self.counts[DONE];
        for segment in [WAIT, NEXT_READY] {
            if self.counts[segment] != 0 && !seq.ge(self.stamps[segment - WAIT]) {
                break;
            }
            self.join(segment, DONE);
        }
        let newly = self.counts[DONE] - before;
        if newly != 0 {
            // WAIT is empty now. NEXT_READY is the earliest segment that is left.
            self.stamps[0] = self.stamps[1];
            self.join(NEXT_READY, WAIT);
            self.tidy();
        }
        newly.into()
    }

    /// Stamps with `s` every callback that may use it; true if some callbacks wait for `s` now, so that the
    /// caller has to request that grace period.
    ///
    /// Let i be the youngest non-empty segment whose stamp is below `s`, DONE if there is none. Everything
    /// behind i may use `s`: it has no stamp, or `s`, or a later one. All of it goes to the slot behind i.
    /// With no slot left (both hold earlier stamps) NEXT stays unstamped until `advance` makes room.
    #[inline(never)]
    pub fn accelerate(&mut self, s: Seq) -> bool {
        let is_earlier =
            |segment: usize| self.counts[segment] != 0 && self.stamps[segment - WAIT].lt(s);
        let slot = match is_earlier(WAIT) {
            _ if is_earlier(NEXT_READY) => return false,
            true => NEXT_READY,
            false => WAIT,
        };
        if self.counts[slot..].iter().all(|&count| count == 0) {
            return false;
        }
        for segment in slot + 1..SEGMENTS {
            self.join(segment, slot);
        }
        self.stamps[slot - WAIT] = s;
        self.tidy();
        true
    }

    /// No reader is left, and none comes: everything queued moves to DONE, whatever it waits for.
    pub fn finish(&mut self) {
        for segment in [WAIT, NEXT_READY, NEXT] {
            self.join(segment, DONE);
        }
        self.tidy();
    }

    // Invoking.

    /// Extracts the oldest `max` ready callbacks, or fewer, to be invoked. They count as queued until
    /// [`ran`](CbList::ran).
    pub fn extract_done(&mut self, max: u64) -> Range<Pos> {
        let n = self.ready().min(max) as u32;
        self.counts[DONE] -= n;
        let start = self.head;
        self.head = start.wrapping_add(n.into());
        self.take(start..self.head);
        start..self.head
    }

    /// The last `n` callbacks of the latest extraction were not invoked; they go back to the front of DONE,
    /// in their order. No other callback was extracted since. (A merge may have put others there.)
    ///
    /// # Panics
    /// If fewer are out.
    pub fn put_back(&mut self, range: Range<Pos>) {
        let n = self.untake(&range);
        self.head = self.head.wrapping_sub(n.into());
        self.counts[DONE] += n;
    }

    /// Extracted callbacks have been invoked, and are no longer owed. Extractions that overlap may be
    /// reported in any order, and in parts.
    ///
    /// # Panics
    /// If fewer are out.
    pub fn ran(&mut self, range: Range<Pos>) {
        let (of, n) = (self.done_or_out(), self.untake(&range));
        self.bytes[DONE] -= share(self.bytes[DONE], n.into(), of);
        if self.out == 0 {
            self.tidy();
        }
    }

    /// Marks everything owed now for a waiter, in place of an earlier mark.
    pub fn mark(&mut self) {
        (self.below, self.out_below) = (self.end(), self.out);
    }

    /// Removes the mark.
    pub fn unmark(&mut self) {
        // So far before the head that no callback comes back there.
        (self.below, self.out_below) = (self.head.wrapping_sub(1 << 32), 0);
    }

    /// The owner itself has consumed the ready callbacks below `head`: extracted and run in one step.
    ///
    /// # Panics
    /// If `head` is not within DONE: a callback ran before its grace period ended.
    pub fn freed_to(&mut self, head: Pos) {
        let n = head.wrapping_sub(self.head);
        assert!(
            n <= self.ready(),
            "{n} callbacks were consumed, but only {} are done",
            self.ready()
        );
        if n != 0 {
            self.bytes[DONE] -= share(self.bytes[DONE], n, self.done_or_out());
            self.counts[DONE] -= n as u32;
            self.head = head;
            self.tidy();
        }
    }

    /// The last `n` that the owner has consumed are still being run: they are out until
    /// [`ran`](CbList::ran), and a waiter whose mark covers them waits for that. `now` is the time.
    pub(crate) fn reopen(&mut self, n: u64, now: u64) {
        if n != 0 {
            self.since[DONE] = self.earlier(DONE, now);
            self.take(self.head.wrapping_sub(n)..self.head);
        }
    }

    // Another CPU's list.

    /// Takes over the entries queued in `src` (extracted entries stay owed there). Its ready ones go to the
    /// front, all others to NEXT without their stamps. Both lists have been advanced and stamped just before;
    /// otherwise they would wait again for a grace period that has ended.
    ///
    /// `src` is empty afterwards, and continues at its old end.
    ///
    /// # Panics
    /// If a waiter has marked either list: a merge changes the meaning of positions. Hosts that move
    /// callbacks wait with [`entrain`](CbList::entrain).
    pub fn merge(&mut self, src: &mut CbList) -> Merged {
        assert!(
            self.is_past_mark() && src.is_past_mark(),
            "a list was merged while a waiter has marked it"
        );
        let Held { count: done, bytes } = src.done();
        let pending = src.end().wrapping_sub(src.done_end());
        self.add(DONE, done, bytes, src.since[DONE]);
        self.head = self.head.wrapping_sub(done);
        self.unmark();
        for segment in [WAIT, NEXT_READY, NEXT] {
            let count = src.counts[segment].into();
            self.add(NEXT, count, src.bytes[segment], src.since[segment]);
        }
        src.abandon();
        Merged { done, pending }
    }

    /// Drops the queued entries: the list continues at its end. Returns their number.
    pub(crate) fn abandon(&mut self) -> u64 {
        let end = self.end();
        let queued = end.wrapping_sub(self.head);
        self.bytes = [self.bytes[DONE] - self.done().bytes, 0, 0, 0];
        self.counts = [0; SEGMENTS];
        self.head = end;
        self.tidy();
        queued
    }

    /// In the child of a fork: extracted entries belong to another process, and have no waiter here. Returns
    /// their number. What is queued is kept.
    #[inline(never)]
    pub(crate) fn forked(&mut self) -> u64 {
        self.bytes[DONE] = self.done().bytes;
        self.unmark();
        let out = core::mem::take(&mut self.out);
        self.tidy();
        out.into()
    }

    // Queries. They change nothing; each is O(1).

    /// The number owed: queued in any segment, or out.
    pub fn len(&self) -> u64 {
        self.queued() + u64::from(self.out)
    }

    /// Is nothing owed?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number extracted and not known to have run.
    pub fn out(&self) -> u64 {
        self.out.into()
    }

    /// The position of the oldest queued callback.
    pub fn head(&self) -> Pos {
        self.head
    }

    /// The position of the next callback.
    pub fn end(&self) -> Pos {
        self.head.wrapping_add(self.queued())
    }

    /// All callbacks below this position are ready.
    pub fn done_end(&self) -> Pos {
        self.head.wrapping_add(self.ready())
    }

    /// Has everything been invoked that was owed at the [`mark`](CbList::mark)? True without a mark.
    pub fn is_past_mark(&self) -> bool {
        self.out_below == 0 && !behind(self.head, self.below)
    }

    /// The number in DONE.
    pub fn ready(&self) -> u64 {
        self.counts[DONE].into()
    }

    /// The same, and their weight.
    pub fn done(&self) -> Held {
        let count = self.ready();
        let bytes = share(self.bytes[DONE], count, self.done_or_out());
        Held { count, bytes }
    }

    /// Does a callback wait for a grace period, or for its stamp?
    pub fn pending(&self) -> bool {
        self.counts[WAIT..].iter().any(|&count| count != 0)
    }

    /// The number in NEXT.
    pub fn unstamped(&self) -> u64 {
        self.counts[NEXT].into()
    }

    /// The bytes in NEXT.
    pub fn unstamped_bytes(&self) -> u64 {
        self.bytes[NEXT]
    }

    /// The number and bytes of callbacks without a requested grace period: those without a stamp, and those
    /// whose stamp is of a grace period that `coming` does not know.
    #[inline(never)]
    pub fn idle(&self, coming: impl Fn(Seq) -> bool) -> Held {
        let (count, bytes) = (self.unstamped(), self.bytes[NEXT]);
        let mut idle = Held { count, bytes };
        for segment in [WAIT, NEXT_READY] {
            if self.counts[segment] != 0 && !coming(self.stamps[segment - WAIT]) {
                idle.count += u64::from(self.counts[segment]);
                idle.bytes = idle.bytes.saturating_add(self.bytes[segment]);
            }
        }
        idle
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
        self.since_from(DONE)
    }

    /// The same for callbacks that are not ready.
    pub fn waiting_since(&self) -> Option<u64> {
        self.since_from(WAIT)
    }

    /// The bytes of everything in [`len`](CbList::len). Only the total of a segment is known, so a part of it
    /// counts proportionally.
    pub fn bytes(&self) -> u64 {
        self.bytes.iter().fold(0, |a: u64, &b| a.saturating_add(b))
    }

    /// The number in a segment, and its stamp if it has a meaning.
    pub fn segment(&self, s: Segment) -> (u64, Option<Seq>) {
        let count = self.counts[s as usize];
        let stamp = match s {
            Segment::Wait => Some(self.stamps[0]),
            Segment::NextReady => Some(self.stamps[1]),
            Segment::Done | Segment::Next => None,
        };
        (count.into(), stamp.filter(|_| count != 0))
    }

    // Helpers.

    /// The number queued.
    #[inline]
    fn queued(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }

    /// The number whose bytes are in DONE's.
    fn done_or_out(&self) -> u64 {
        self.ready() + self.out()
    }

    #[inline(never)]
    fn since_from(&self, first: usize) -> Option<u64> {
        let mut since = None;
        for segment in first..SEGMENTS {
            if self.counts[segment] != 0 {
                let this = self.since[segment];
                since = Some(since.map_or(this, |since: u64| since.min(this)));
            }
        }
        since
    }

    /// Does a segment's time have a meaning? Extracted callbacks may return to DONE.
    fn has_time(&self, segment: usize) -> bool {
        self.counts[segment] != 0 || (segment == DONE && self.out != 0)
    }

    /// The time of a segment when a callback queued at `since` joins it.
    fn earlier(&self, segment: usize, since: u64) -> u64 {
        match self.has_time(segment) {
            true => self.since[segment].min(since),
            false => since,
        }
    }

    /// New callbacks, at the end of a segment or before DONE.
    fn add(&mut self, segment: usize, n: u64, bytes: u64, since: u64) {
        assert!(
            self.len().saturating_add(n) <= u32::MAX.into(),
            "the end of a callback list went back, or the list is full"
        );
        if n != 0 {
            self.since[segment] = self.earlier(segment, since);
            self.bytes[segment] = self.bytes[segment].saturating_add(bytes);
            self.counts[segment] += n as u32;
        }
    }

    /// Moves all of `from` to `to`; the segments in between have been moved before.
    fn join(&mut self, from: usize, to: usize) {
        if self.counts[from] != 0 {
            self.since[to] = self.earlier(to, self.since[from]);
            self.bytes[to] = self.bytes[to].saturating_add(self.bytes[from]);
            self.counts[to] += self.counts[from];
            (self.bytes[from], self.counts[from]) = (0, 0);
        }
    }

    /// These are out.
    fn take(&mut self, range: Range<Pos>) {
        self.out += length(&range);
        self.out_below += self.marked(&range);
    }

    /// These are not out any more; returns their number.
    fn untake(&mut self, range: &Range<Pos>) -> u32 {
        let n = length(range);
        assert!(
            n <= self.out,
            "{n} callbacks are said to be back, but only {} are out",
            self.out
        );
        self.out -= n;
        self.out_below -= self.marked(range);
        n
    }

    /// The number of these callbacks below the mark.
    fn marked(&self, range: &Range<Pos>) -> u32 {
        match behind(range.start, self.below) {
            true => self
                .below
                .wrapping_sub(range.start)
                .min(length(range).into()) as u32,
            false => 0,
        }
    }

    /// Clears fields without a meaning.
    #[inline(never)]
    fn tidy(&mut self) {
        for segment in DONE..SEGMENTS {
            if !self.has_time(segment) {
                self.since[segment] = 0;
            }
        }
        for segment in [WAIT, NEXT_READY] {
            if self.counts[segment] == 0 {
                self.stamps[segment - WAIT] = Seq::ZERO;
            }
        }
    }
}

impl Default for CbList {
    fn default() -> CbList {
        CbList::new()
    }
}

/// Is `a` before `b`?
fn behind(a: Pos, b: Pos) -> bool {
    a.wrapping_sub(b) > u64::MAX / 2
}

/// A list has no more; neither has a part of it.
fn length(range: &Range<Pos>) -> u32 {
    range.end.wrapping_sub(range.start) as u32
}

/// The bytes of `n` callbacks out of `of` that have `bytes` together; all of them for all.
fn share(bytes: u64, n: u64, of: u64) -> u64 {
    if n == of {
        return bytes;
    }
    match bytes.checked_mul(n) {
        Some(product) => product / of,
        None => (u128::from(bytes) * u128::from(n) / u128::from(of)) as u64, // ten times as slow
    }
}

#[cfg(test)]
mod tests;
