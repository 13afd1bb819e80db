//! Points in the sequence of a domain's grace periods and barriers: cookies, futures.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use quiescent_engine::Seq;

use crate::domain::error::SyncError;
use crate::domain::gate::Ticket;
use crate::domain::life::Domain;
use crate::domain::sweep::Until;
use crate::prim::full_fence;

/// A point in the sequence of a domain's grace periods: the number of the domain's owner, and the engine's
/// cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
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

/// Where there is [no worker](crate::domain::host::Host::can_hire), a barrier does its work; one poll of its
/// future, for so long. (Miri's clock counts 5 µs for each piece of code without a branch.)
const POLLED: Duration = Duration::from_millis(if cfg!(miri) { 10_000 } else { 1 });

/// What a task waits for in a domain. Its clone is another task's.
#[derive(Debug)]
pub struct Wait {
    /// None: there is nothing to wait for.
    domain: Option<&'static Domain>,
    /// The owner of the domain.
    id: u64,
    what: What,
    /// The place in the list of tasks; 0 for none.
    place: u64,
}

#[derive(Clone, Copy, Debug)]
enum What {
    #[cfg(not(quiescent_model))]
    GracePeriod(Seq),
    Barrier(Ticket),
}

impl Wait {
    #[cfg(not(quiescent_model))]
    pub fn for_grace_period(domain: Option<&'static Domain>, point: Point) -> Wait {
        Wait {
            domain,
            id: point.id,
            what: What::GracePeriod(point.cookie),
            place: 0,
        }
    }

    /// For everything queued before this call.
    pub fn for_barrier(domain: &'static Domain) -> Wait {
        Wait {
            domain: Some(domain),
            id: domain.id(),
            what: What::Barrier(domain.state().ticket()),
            place: 0,
        }
    }

    fn ask(&mut self, context: &Context<'_>) -> Poll<Result<(), SyncError>> {
        let id = self.id;
        let Some(domain) = self.domain.filter(|domain| !domain.is_gone(id)) else {
            return Poll::Ready(Ok(()));
        };
        let (state, waker) = (domain.state(), context.waker());
        match &mut self.what {
            #[cfg(not(quiescent_model))]
            What::GracePeriod(cookie) => match state.poll(*cookie) {
                Ok(false) if domain.caller_is_inside() => {
                    Poll::Ready(Err(SyncError::InsideSection))
                }
                Ok(false) => {
                    let host = domain.env().host;
                    // In this order: the worker may be about to end, and wakes the tasks that it finds then.
                    if state.tasks.put(&mut self.place, Some(*cookie), waker) && host.start_worker()
                    {
                        state.call();
                    } else {
                        waker.wake_by_ref(); // no room for it: busy, but right
                    }
                    Poll::Pending
                }
                ended => Poll::Ready(ended.map(drop)),
            },
            What::Barrier(ticket) => {
                if !domain.env().host.can_hire() && !domain.caller_is_inside() {
                    state.help_barrier(ticket, Until::after(POLLED)).ok();
                }
                let polled = state.poll_barrier(ticket, &mut self.place, waker);
                match polled.is_pending() && domain.caller_is_inside() {
                    true => Poll::Ready(Err(SyncError::InsideSection)),
                    false => polled,
                }
            }
        }
    }

    /// Removes the task from the list.
    fn forget(&mut self) {
        let place = std::mem::take(&mut self.place);
        if let Some(domain) = self.domain.filter(|_| place != 0) {
            domain.state().tasks.remove(place);
        }
    }
}

impl Future for Wait {
    type Output = Result<(), SyncError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = self.ask(context);
        if polled.is_ready() {
            self.forget();
        }
        polled
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.forget();
    }
}

impl Clone for Wait {
    fn clone(&self) -> Wait {
        Wait {
            domain: self.domain,
            id: self.id,
            what: self.what,
            place: 0,
        }
    }
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

    /// Waits until everything queued before this call is gone.
    pub fn barrier(&'static self) -> Result<(), SyncError> {
        self.state().barrier()
    }

    /// Whether the calling thread is inside a section here, as far as that is known.
    pub fn caller_is_inside(&'static self) -> bool {
        match self.readers.is_threads() {
            true => self.env().threads.in_section(&self.env().local()),
            false => self.state().is_inside(),
        }
    }
}
