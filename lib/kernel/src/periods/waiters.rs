//! `synchronize_rcu` callers that are woken directly from the grace period (`rcu_normal_wake_from_gp`).
//!
//! The engine never holds a waiter: the host keeps them in a FIFO, and a waiter is its position in it. The
//! engine keeps cut positions:
//!
//! ```text
//!    woken ≤ done ≤ closed ≤ end        (positions, all only grow)
//! ```
//!
//! * a caller takes position `end`;
//! * the start of a grace period **closes** a segment: everything below `closed` began before it;
//! * the end of that grace period moves `done` to the cut; a few waiters are woken at once, the rest
//!   by a work item, which moves `woken`.
//!
//! # Correctness
//! The segment is closed *before* `gp_seq` starts. A waiter that already saw the new number would otherwise
//! be put into the old segment and be woken one grace period early (kernels had this bug until 6.15). Every
//! closed segment occupies a marker until its last waiter is woken; with no marker free the segment stays
//! open and another grace period is requested.
//!
//! # The latch
//! Many waiters are many wake-ups by one thread. With [`wait_latch`](crate::Config::wait_latch) the caller
//! that brings the number of waiters here (`end - woken`) to the limit sets a latch. While it is set, new
//! callers wait for a callback of their own ([`Global::takes_waiters`](crate::Global::takes_waiters)). The
//! wake-up of the last waiter opens it. Callbacks' waiters are not counted, so nothing else could open it: a
//! caller has to set it while it is itself a waiter, before any of the waiters that it counted can be woken.
//! Otherwise the last wake-up may come first, and the latch is set for ever. Here one call counts the caller
//! and sets the latch, and one call notes the wake-up and opens it, under one lock.

use crate::periods::host::Pos;

/// Cut positions of the waiter FIFO.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Waiters {
    end: Pos,
    /// The cut of the grace period in flight, if it has waiters.
    current: Option<Pos>,
    closed: Pos,
    done: Pos,
    woken: Pos,
    /// Segments that are satisfied and not entirely woken.
    markers_used: u8,
    /// New callers wait for a callback.
    latched: bool,
}

/// The result of closing the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// No waiter.
    Empty,
    /// The grace period now starting serves all present waiters.
    Segment,
    /// No marker was free: the present waiters need another grace period.
    NoMarker,
}

/// Waiters satisfied by the grace period that just ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Satisfied {
    /// Wake these at once.
    pub direct_until: Pos,
    /// Leave those from `direct_until` up to here to a work item.
    pub deferred_until: Option<Pos>,
}

impl Waiters {
    pub(crate) const fn new() -> Waiters {
        Waiters {
            end: 0,
            current: None,
            closed: 0,
            done: 0,
            woken: 0,
            markers_used: 0,
            latched: false,
        }
    }

    /// Takes the next position; the waiter that makes `latch` of them sets the latch.
    pub(crate) fn push(&mut self, latch: Option<u32>) -> Pos {
        let ticket = self.end;
        self.end += 1;
        self.latched |= latch.is_some_and(|most| self.end - self.woken >= u64::from(most));
        ticket
    }

    /// Closes the segment of the grace period that is about to start.
    pub(crate) fn close(&mut self, markers: u8) -> Closed {
        assert!(self.current.is_none(), "two grace periods at once");
        if self.closed == self.end {
            return Closed::Empty;
        }
        if self.markers_used >= markers {
            return Closed::NoMarker;
        }
        self.markers_used += 1;
        self.closed = self.end;
        self.current = Some(self.end);
        Closed::Segment
    }

    /// The grace period of the closed segment ended.
    pub(crate) fn finish(&mut self, direct_max: u32) -> Option<Satisfied> {
        let cut = self.current.take()?;
        if self.woken == self.done {
            self.woken = cut.min(self.done.saturating_add(u64::from(direct_max)));
        } // else earlier waiters still await the work item, and positions are woken in order
        let direct = self.woken;
        self.done = cut;
        if direct == cut {
            self.waiters_woken(cut);
            return Some(Satisfied {
                direct_until: cut,
                deferred_until: None,
            });
        }
        Some(Satisfied {
            direct_until: direct,
            deferred_until: Some(cut),
        })
    }

    /// The work item has woken all waiters below `pos`.
    pub(crate) fn waiters_woken(&mut self, pos: Pos) {
        assert!(
            pos <= self.done,
            "woken {pos} before the grace period ended ({})",
            self.done
        );
        self.woken = self.woken.max(pos);
        if self.woken == self.done {
            self.markers_used = self.current.is_some() as u8;
        }
        self.latched &= self.woken != self.end;
    }

    /// All waiters below this position have had a full grace period.
    pub fn done(&self) -> Pos {
        self.done
    }

    /// The position the next caller gets.
    pub fn end(&self) -> Pos {
        self.end
    }

    /// Is there a waiter for a grace period that has not ended?
    pub fn any_waiting(&self) -> bool {
        self.done < self.end
    }

    /// Is the latch set?
    pub fn is_latched(&self) -> bool {
        self.latched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_during_a_grace_period_waits_for_the_next() {
        let mut w = Waiters::new();
        let first = w.push(None);
        assert_eq!(w.close(5), Closed::Segment);
        let second = w.push(None);
        let sat = w.finish(5).expect("a segment was closed");
        assert!(first < sat.direct_until && sat.direct_until <= second);
        assert!(w.any_waiting());
        assert_eq!(w.close(5), Closed::Segment);
        assert_eq!(w.finish(5).map(|s| s.direct_until), Some(second + 1));
        assert!(!w.any_waiting());
    }

    #[test]
    fn at_most_five_are_woken_directly_and_markers_run_out() {
        let mut w = Waiters::new();
        for _ in 0..7 {
            w.push(None);
        }
        assert_eq!(w.close(2), Closed::Segment);
        assert_eq!(
            w.finish(5),
            Some(Satisfied {
                direct_until: 5,
                deferred_until: Some(7)
            })
        );
        w.push(None);
        assert_eq!(w.close(2), Closed::Segment);
        let sat = w.finish(5).expect("closed");
        assert_eq!(
            sat.deferred_until,
            Some(8),
            "order is kept behind the work item"
        );
        w.push(None);
        assert_eq!(w.close(2), Closed::NoMarker);
        w.waiters_woken(8);
        assert_eq!(w.close(2), Closed::Segment);
        assert_eq!(
            w.finish(5),
            Some(Satisfied {
                direct_until: 9,
                deferred_until: None
            })
        );
    }

    #[test]
    fn without_a_waiter_nothing_is_closed() {
        let mut w = Waiters::new();
        assert_eq!(w.close(5), Closed::Empty);
        assert_eq!(w.finish(5), None);
    }

    #[test]
    fn the_marker_of_a_grace_period_in_flight_is_not_free() {
        let mut w = Waiters::new();
        for _ in 0..2 {
            w.push(None);
            assert_eq!(w.close(2), Closed::Segment);
            let _ = w.finish(0);
        }
        w.waiters_woken(1);
        w.push(None);
        assert_eq!(
            w.close(2),
            Closed::NoMarker,
            "one waiter is still to be woken"
        );
        w.waiters_woken(2);
        assert_eq!(w.close(1), Closed::Segment);
        w.waiters_woken(2);
        assert!(w.finish(0).is_some());
        w.push(None);
        assert_eq!(w.close(1), Closed::NoMarker, "the work item has not run");
    }

    #[test]
    fn the_latch_is_open_once_the_last_waiter_has_been_woken() {
        let mut w = Waiters::new();
        for n in 1..=6 {
            w.push(Some(6));
            assert_eq!(w.is_latched(), n == 6, "{n} waiters");
        }
        assert_eq!(w.close(5), Closed::Segment);
        w.push(Some(6));
        let sat = w.finish(5).expect("closed");
        assert_eq!((sat.direct_until, sat.deferred_until), (5, Some(6)));
        assert!(w.is_latched(), "two are left");
        w.waiters_woken(6);
        assert!(w.is_latched(), "one is left, which waits for the next");
        assert_eq!(w.close(5), Closed::Segment);
        assert!(w.finish(5).is_some_and(|it| it.deferred_until.is_none()));
        assert!(!w.is_latched(), "none is left");
        w.push(Some(6));
        assert!(!w.is_latched(), "a new flood begins at one");
    }

    #[test]
    fn the_work_item_opens_the_latch_too() {
        let mut w = Waiters::new();
        for _ in 0..8 {
            w.push(Some(8));
        }
        assert_eq!(w.close(5), Closed::Segment);
        assert!(w.finish(5).is_some());
        assert!(w.is_latched(), "three are left to the work item");
        w.waiters_woken(6);
        assert!(w.is_latched(), "two are left to it");
        w.waiters_woken(8);
        assert!(!w.is_latched());
    }
}
