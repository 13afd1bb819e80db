//! The segmented callback list, as cut positions.
//!
//! The engine never holds a callback: the host keeps them in a FIFO, and the engine keeps the positions at
//! which that FIFO is cut into segments, with a *stamp* for the segments that wait. A stamp is the number at
//! which a grace period that suffices for the whole segment has ended.
//!
//! ```text
//!        out       DONE        WAIT      NEXT_READY     NEXT
//!     ─────────┼──────────┼───────────┼────────────┼────────────┤
//!             head      cuts[0]     cuts[1]      cuts[2]      cuts[3]
//!                                  @stamps[1]   @stamps[2]   (not stamped)
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
//! * `head ≤ cuts[0] ≤ … ≤ cuts[3]`, as wrapping differences: a merge puts callbacks *before* the head, so
//!   positions may become negative.
//! * WAIT empty implies NEXT_READY empty.
//! * A callback's stamp may be replaced by an earlier one, never by a later one, and never by one that
//!   [`Seq::snap`] would not have given at some moment after it was queued.
//! * Fields without a meaning are zero (stamp and time of an empty segment): equal lists are equal values.
//!
//! # Correctness
//! Cuts move towards the end only over callbacks that are queued, so order is kept. `accelerate` writes a
//! stamp to everything behind some cut, all of which was queued before its caller took the number; `advance`
//! moves a cut only past stamps that have been reached. Nothing else sets a stamp or moves the cut of DONE.

mod forked;
mod queries;
mod running;

use core::ops::Range;

use crate::common::host::Pos;
use crate::common::seq::Seq;

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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CbList {
    head: Pos,
    /// The end of each segment.
    cuts: [Pos; SEGMENTS],
    stamps: [Seq; SEGMENTS],
    bytes: [u64; SEGMENTS],
    /// A lower bound of the time at which the oldest of each segment was queued, in nanoseconds.
    since: [u64; SEGMENTS],
    out: u64,
    out_bytes: u64,
    /// The mark of a caller that waits for everything owed at some moment.
    mark: Option<Mark>,
}

/// The callbacks for which a barrier waits: see [`CbList::mark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Mark {
    /// Every queued callback below this position.
    below: Pos,
    /// The number of extracted ones among them.
    out: u64,
}

impl CbList {
    /// An empty list whose first callback has position 0.
    pub const fn new() -> CbList {
        CbList {
            head: 0,
            cuts: [0; SEGMENTS],
            stamps: [Seq::ZERO; SEGMENTS],
            bytes: [0; SEGMENTS],
            since: [0; SEGMENTS],
            out: 0,
            out_bytes: 0,
            mark: None,
        }
    }

    // Queueing.

    /// All callbacks up to `end` are queued now. The new ones have `bytes` bytes together and go to NEXT; the
    /// oldest of them was queued at `since` nanoseconds or later. Without new ones nothing changes.
    ///
    /// # Panics
    /// If `end` is below the list's end: positions only grow there.
    pub fn enqueue_to(&mut self, end: Pos, bytes: u64, since: u64) {
        let new = end.wrapping_sub(self.end());
        assert!(new <= u64::MAX / 2, "the end of a callback list went back");
        if new == 0 {
            return;
        }
        self.since[NEXT] = self.earlier(NEXT, since);
        self.bytes[NEXT] = self.bytes[NEXT].saturating_add(bytes);
        self.cuts[NEXT] = end;
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
        while last > DONE && self.count(last) == 0 {
            last -= 1;
        }
        // DONE may be empty here. Its time is then that of the extracted ones: earlier than this callback.
        self.bytes[last] = self.bytes[last].saturating_add(bytes);
        for cut in &mut self.cuts[last..] {
            *cut = cut.wrapping_add(1);
        }
        true
    }

    // Grace periods.

    /// Moves everything whose stamp `seq` has reached to DONE; returns the number moved. `seq` is a node's
    /// `gp_seq`, also while a grace period is in flight. A repeated call changes nothing.
    pub fn advance(&mut self, seq: Seq) -> u64 {
        let before = self.cuts[DONE];
        for segment in [WAIT, NEXT_READY] {
            if self.count(segment) != 0 && !seq.ge(self.stamps[segment]) {
                break;
            }
            self.join(segment, DONE);
        }
        let newly = self.cuts[DONE].wrapping_sub(before);
        if newly != 0 {
            // WAIT is empty now. NEXT_READY is the earliest segment that is left.
            self.cuts[WAIT] = self.cuts[DONE];
            self.stamps[WAIT] = self.stamps[NEXT_READY];
            self.join(NEXT_READY, WAIT);
            self.tidy();
        }
        newly
    }

    /// Stamps with `s` every callback that may use it; true if some callbacks wait for `s` now, so that the
    /// caller has to request that grace period.
    ///
    /// Let i be the youngest non-empty segment whose stamp is below `s`, DONE if there is none. Everything
    /// behind i may use `s`: it has no stamp, or `s`, or a later one. All of it goes to the slot behind i.
    /// With no slot left (both hold earlier stamps) NEXT stays unstamped until `advance` makes room.
    pub fn accelerate(&mut self, s: Seq) -> bool {
        if !self.pending() {
            return false;
        }
        let mut i = NEXT_READY;
        while i > DONE && (self.count(i) == 0 || !self.stamps[i].lt(s)) {
            i -= 1;
        }
        let nothing_behind = self.cuts[i] == self.end();
        if i == NEXT_READY || nothing_behind {
            return false;
        }
        let slot = i + 1;
        for segment in slot + 1..SEGMENTS {
            self.join(segment, slot);
        }
        let end = self.end();
        self.cuts[slot..].fill(end);
        self.stamps[slot] = s;
        self.tidy();
        true
    }

    // Invoking.

    /// Extracts the oldest `max` ready callbacks, or fewer, to be invoked. They count as queued until
    /// [`ran`](CbList::ran).
    pub fn extract_done(&mut self, max: u64) -> Range<Pos> {
        let n = self.ready().min(max);
        let start = self.head;
        if n == 0 {
            return start..start;
        }
        let share = share(self.bytes[DONE], n, self.ready());
        self.bytes[DONE] -= share;
        self.out_bytes = self.out_bytes.saturating_add(share);
        self.out += n;
        self.head = start.wrapping_add(n);
        let range = start..self.head;
        if let Some(mark) = &mut self.mark {
            mark.out += mark.covers(&range);
        }
        range
    }

    /// The last `n` callbacks of the latest extraction were not invoked; they go back to the front of DONE,
    /// in their order. No other callback was extracted since. (A merge may have put others there.)
    ///
    /// # Panics
    /// If fewer are out.
    pub fn put_back(&mut self, range: Range<Pos>) {
        // The head first: DONE's time is kept while DONE is not empty.
        self.head = self.head.wrapping_sub(length(&range));
        let bytes = self.take_out(range);
        self.bytes[DONE] = self.bytes[DONE].saturating_add(bytes);
    }

    /// Extracted callbacks have been invoked, and are no longer owed. Extractions that overlap may be
    /// reported in any order, and in parts.
    ///
    /// # Panics
    /// If fewer are out.
    pub fn ran(&mut self, range: Range<Pos>) {
        self.take_out(range);
    }

    /// Marks everything owed now for a waiter, in place of an earlier mark.
    pub fn mark(&mut self) {
        self.mark = Some(Mark {
            below: self.end(),
            out: self.out,
        });
    }

    /// Removes the mark.
    pub fn unmark(&mut self) {
        self.mark = None;
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
            self.bytes[DONE] -= share(self.bytes[DONE], n, self.ready());
            self.head = head;
            self.tidy();
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
    /// If either list is marked: a merge changes the meaning of positions. Hosts that move callbacks wait
    /// with [`entrain`](CbList::entrain).
    pub fn merge(&mut self, src: &mut CbList) -> Merged {
        assert!(
            self.mark.is_none() && src.mark.is_none(),
            "a list was merged while a waiter has marked it"
        );
        let merged = Merged {
            done: src.ready(),
            pending: src.end().wrapping_sub(src.done_end()),
        };
        if merged.done != 0 {
            self.since[DONE] = self.earlier(DONE, src.since[DONE]);
            self.bytes[DONE] = self.bytes[DONE].saturating_add(src.bytes[DONE]);
            self.head = self.head.wrapping_sub(merged.done);
        }
        for segment in [WAIT, NEXT_READY, NEXT] {
            let end = self.end().wrapping_add(src.count(segment));
            self.enqueue_to(end, src.bytes[segment], src.since[segment]);
        }
        src.head = src.end();
        src.cuts = [src.end(); SEGMENTS];
        src.bytes = [0; SEGMENTS];
        src.tidy();
        merged
    }

    // Helpers.

    fn count(&self, segment: usize) -> u64 {
        let start = match segment {
            DONE => self.head,
            _ => self.cuts[segment - 1],
        };
        self.cuts[segment].wrapping_sub(start)
    }

    /// Does a segment's time have a meaning? Extracted callbacks may return to DONE.
    fn has_time(&self, segment: usize) -> bool {
        self.count(segment) != 0 || (segment == DONE && self.out != 0)
    }

    /// The time of a segment when a callback queued at `since` joins it.
    fn earlier(&self, segment: usize, since: u64) -> u64 {
        if self.has_time(segment) {
            self.since[segment].min(since)
        } else {
            since
        }
    }

    /// Moves all of `from` to `to`; the segments in between have been moved before.
    fn join(&mut self, from: usize, to: usize) {
        if self.count(from) != 0 {
            self.since[to] = self.earlier(to, self.since[from]);
            self.bytes[to] = self.bytes[to].saturating_add(self.bytes[from]);
            self.bytes[from] = 0;
        }
        self.cuts[to] = self.cuts[from];
    }

    /// Subtracts `n` from the extracted callbacks; returns their bytes.
    fn take_out(&mut self, range: Range<Pos>) -> u64 {
        let n = length(&range);
        assert!(
            n <= self.out,
            "{n} callbacks are said to be back, but only {} are out",
            self.out
        );
        if n == 0 {
            return 0;
        }
        let bytes = share(self.out_bytes, n, self.out);
        self.out_bytes -= bytes;
        self.out -= n;
        if let Some(mark) = &mut self.mark {
            mark.out -= mark.covers(&range);
        }
        if self.out == 0 {
            self.tidy();
        }
        bytes
    }

    /// Clears fields without a meaning.
    #[inline(never)]
    fn tidy(&mut self) {
        for segment in DONE..SEGMENTS {
            if self.count(segment) == 0 {
                self.stamps[segment] = Seq::ZERO;
            }
            if !self.has_time(segment) {
                self.since[segment] = 0;
            }
        }
        self.stamps[DONE] = Seq::ZERO;
        self.stamps[NEXT] = Seq::ZERO;
    }
}

impl Default for CbList {
    fn default() -> CbList {
        CbList::new()
    }
}

impl Mark {
    /// The number of these callbacks below the mark.
    fn covers(self, range: &Range<Pos>) -> u64 {
        if behind(range.start, self.below) {
            self.below.wrapping_sub(range.start).min(length(range))
        } else {
            0
        }
    }
}

/// Is `a` before `b`?
fn behind(a: Pos, b: Pos) -> bool {
    a.wrapping_sub(b) > u64::MAX / 2
}

fn length(range: &Range<Pos>) -> u64 {
    range.end.wrapping_sub(range.start)
}

/// The bytes of `n` callbacks out of `of` that have `bytes` together; all of them for all.
fn share(bytes: u64, n: u64, of: u64) -> u64 {
    match bytes.checked_mul(n) {
        Some(product) => product / of,
        None => (u128::from(bytes) * u128::from(n) / u128::from(of)) as u64, // ten times as slow
    }
}

#[cfg(test)]
mod tests;
