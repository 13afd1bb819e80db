//! Points in the sequence of a domain's grace periods and barriers: cookies, futures.

use std::task::{Poll, Waker};
use std::time::Duration;

use quiescent_engine::Seq;

use crate::domain::barrier::Awaited;
use crate::domain::error::SyncError;
use crate::domain::life::Domain;
use crate::domain::sweep::Until;
use crate::prim::{THREADS, full_fence};

/// A point in the sequence of a domain's grace periods: the number of the domain's owner, and the engine's
/// cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Point {
    id: u64,
    cookie: Seq,
}

impl Point {
    /// One of the process's domain that has passed.
    pub const PASSED: Point = Point {
        id: 0,
        cookie: Seq::COMPLETED,
    };
}

/// Where no thread can be the worker, a barrier does its work; one poll of its future, for so long.
const POLLED: Duration = Duration::from_millis(1);

/// The state of a task that waits for a barrier.
#[derive(Clone, Debug)]
pub struct Ticket {
    id: u64,
    awaited: Awaited,
}

impl Domain {
    pub fn point(&'static self) -> Point {
        Point {
            id: self.id(),
            cookie: self.state().start_poll(),
        }
    }

    /// Whether a grace period has passed since then. Drives it as far as possible without waiting.
    pub fn poll(&'static self, point: Point) -> Result<bool, SyncError> {
        if self.is_gone(point.id) {
            return Ok(true);
        }
        self.state().poll(point.cookie)
    }

    /// The same, without driving.
    pub fn is_done(&'static self, point: Point) -> bool {
        self.is_gone(point.id) || self.state().is_done(point.cookie)
    }

    /// Whether the owner with this number is gone. Then it has nothing left to wait for.
    fn is_gone(&self, id: u64) -> bool {
        let gone = self.id() != id;
        if gone {
            full_fence();
        }
        gone
    }

    /// Registers a task to be woken when the grace period may have passed.
    #[cfg(not(quiescent_model))]
    pub fn wake_then(&'static self, point: Point, place: &mut u64, waker: &Waker) {
        let state = self.state();
        if state.env().host.start_worker() && state.tasks.put(place, point.cookie, waker) {
            state.call();
        } else {
            waker.wake_by_ref(); // no room for it: busy, but right
        }
    }

    /// Waits until everything queued before this call is gone.
    pub fn barrier(&'static self) -> Result<(), SyncError> {
        match self.state().barrier() {
            Err(SyncError::NoWorker) if !THREADS => {
                self.state().drain(Until { deadline: None });
                self.state().barrier()
            }
            result => result,
        }
    }

    pub fn ticket(&'static self) -> Ticket {
        Ticket {
            id: self.id(),
            awaited: self.state().awaited(),
        }
    }

    /// As [`barrier`](Domain::barrier), but never waits: `waker` is woken when it is time to ask again.
    pub fn poll_barrier(
        &'static self,
        ticket: &mut Ticket,
        waker: &Waker,
    ) -> Poll<Result<(), SyncError>> {
        if self.is_gone(ticket.id) {
            return Poll::Ready(Ok(()));
        }
        if !THREADS && !self.caller_is_inside() {
            self.state().drain(Until::after(POLLED));
        }
        self.state().poll_barrier(&mut ticket.awaited, waker)
    }

    pub fn forget_ticket(&'static self, ticket: &mut Ticket) {
        self.state().forget(&mut ticket.awaited);
    }

    /// Whether the calling thread is inside a section here, as far as that is known.
    pub fn caller_is_inside(&'static self) -> bool {
        match self.readers.is_threads() {
            true => self.env().threads.in_section(&self.env().local()),
            false => self.state().is_inside(),
        }
    }
}
