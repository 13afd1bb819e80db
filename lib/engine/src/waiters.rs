//! Callers that wait for a grace period.
//!
//! The engine never holds a waiter: the host keeps them in a FIFO, and a waiter is its position in it:
//!
//! ```text
//!    done ≤ closed ≤ end        (positions, all only grow)
//! ```
//!
//! * a caller takes position `end`;
//! * the start of a grace period **closes** a segment: everything below `closed` began before it;
//! * the end of that grace period moves `done` there.
//!
//! The segment is closed *before* `gp_seq` starts. A waiter that already saw the new number would otherwise
//! be put into the old segment and be woken one grace period early.

use crate::host::Pos;

/// Cut positions of the waiter FIFO.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Waiters {
    end: Pos,
    closed: Pos,
    done: Pos,
    expedited_until: Pos,
}

impl Waiters {
    pub(crate) const fn new() -> Waiters {
        Waiters {
            end: 0,
            closed: 0,
            done: 0,
            expedited_until: 0,
        }
    }

    /// Takes the next position.
    pub(crate) fn push(&mut self, expedited: bool) -> Pos {
        let ticket = self.end;
        self.end += 1;
        if expedited {
            self.expedited_until = self.end;
        }
        ticket
    }

    /// Closes the segment of the grace period that is about to start.
    pub(crate) fn close(&mut self) {
        assert!(self.closed == self.done, "two grace periods at once");
        self.closed = self.end;
    }

    /// The grace period of the closed segment ended: its waiters are satisfied.
    pub(crate) fn finish(&mut self) {
        self.done = self.closed;
    }

    /// Removes all waiters: they belong to another process.
    pub(crate) fn forked(&mut self) {
        let end = self.end;
        *self = Waiters {
            end,
            closed: end,
            done: end,
            expedited_until: 0,
        };
    }

    /// Waiters below this position have been satisfied.
    pub fn done(&self) -> Pos {
        self.done
    }

    /// The position of the next waiter.
    pub fn end(&self) -> Pos {
        self.end
    }

    /// Does a waiter wait for a grace period?
    pub fn any_waiting(&self) -> bool {
        self.done < self.end
    }

    /// Is a waiter that has not been served in a hurry?
    pub(crate) fn expedited(&self) -> bool {
        self.expedited_until > self.done
    }
}
