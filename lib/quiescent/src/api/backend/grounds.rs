//! A domain of the program: its [`Grounds`], and the yard that they have while something goes on.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::task::{Poll, Waker};
use std::time::Duration;

use quiescent_engine::FullCookie;

use super::{Backend, Settings, when_room};
use crate::api::error::SyncError;
use crate::api::refused::Refusal;
use crate::api::statistics::{DomainStatistics, Holdout};
use crate::api::tuning::{FlushTimes, in_ns};
use crate::inner::defer::barrier::{Awaited, Barriers as _};
use crate::inner::defer::enqueue::{Parcel, Terms};
use crate::inner::defer::sweep::Until;
use crate::inner::domain::grounds::{Grounds, Held};
use crate::inner::domain::yard::Yard;
#[cfg(not(quiescent_model))]
use crate::inner::domain::yard::care;
use crate::inner::gp::driven::Driven as _;
use crate::inner::gp::driver::How;
use crate::inner::prim::full_fence;
use crate::inner::queue::lane::Entry;
use crate::watch::telemetry;

/// A domain of the program. It lives for ever.
#[derive(Clone, Copy)]
pub struct OfGrounds(pub(crate) &'static Grounds);

/// Where a task waits, if it does, and its place there, which is nobody else's whoever has the yard.
#[cfg(not(quiescent_model))]
#[derive(Debug, Default)]
pub struct Task(Option<(&'static Yard, u64)>);

/// The grounds with their yard.
#[derive(Debug)]
pub struct Kept(#[expect(dead_code, reason = "it is dropped")] Held);

/// What a task keeps that waits for a barrier.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// The epoch in which it was made: in a later one there is nothing left of this.
    epoch: u64,
    /// What the domain had then.
    yard: &'static Yard,
    awaited: Awaited,
}

impl PartialEq for OfGrounds {
    fn eq(&self, other: &OfGrounds) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for OfGrounds {}

impl Hash for OfGrounds {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.0).hash(state);
    }
}

impl fmt::Debug for OfGrounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "domain {}", self.0.number())
    }
}

impl Backend for OfGrounds {
    /// The epoch of the grounds, and the cookie of the engine that they had then.
    type Point = (u64, FullCookie);
    #[cfg(not(quiescent_model))]
    type Task = Task;
    type Kept = Kept;
    type Ticket = Ticket;

    fn keep(self) -> Kept {
        Kept(self.0.hold())
    }

    fn is_inside(self) -> bool {
        self.0.is_inside()
    }

    fn wait(self, how: How) -> Result<(), SyncError> {
        self.0.wait_for_gp(how)
    }

    fn start(self) -> (u64, FullCookie) {
        self.0.start_poll()
    }

    fn poll(self, point: (u64, FullCookie)) -> Result<bool, SyncError> {
        self.0.poll(point)
    }

    fn is_done(self, point: (u64, FullCookie)) -> bool {
        self.0.poll(point).unwrap_or(false)
    }

    #[cfg(not(quiescent_model))]
    fn wake_then(self, point: (u64, FullCookie), task: &mut Task, waker: &Waker) {
        let held = self.0.hold();
        let (_, place) = task.0.get_or_insert((held.yard(), 0));
        if care::start() && held.tasks.put(place, point.1, waker) {
            held.call();
        } else {
            waker.wake_by_ref();
        }
    }

    #[cfg(not(quiescent_model))]
    fn forget_task(self, task: &mut Task) {
        if let Some((yard, place)) = task.0.take() {
            let _held = self.0.hold_with(yard); // it may rest now
            yard.tasks.remove(place);
        }
    }

    fn deliver(self, parcel: Parcel, terms: Terms) {
        self.0.deliver(parcel, terms.urgency, false);
    }

    fn try_deliver(self, lane: usize, entry: Entry, bytes: u64) -> Result<(), Refusal> {
        let parcel = Parcel::Entry(lane, entry, bytes);
        match self.0.deliver(parcel, Terms::LAZY.urgency, true) {
            true => Ok(()),
            false => Err(Refusal::Full(self.0.hold().fullness())),
        }
    }

    fn deliver_when_room(
        self,
        lane: usize,
        entry: Entry,
        bytes: u64,
        until: Until,
    ) -> Result<(), Refusal> {
        when_room(self, lane, entry, bytes, until, || {
            self.0.hold().yard().free_ready(until);
        })
    }

    fn barrier(self) -> Result<(), SyncError> {
        self.0.hold().yard().barrier()
    }

    fn ticket(self) -> Ticket {
        let held = self.0.hold();
        Ticket {
            epoch: self.0.epoch(),
            yard: held.yard(),
            awaited: held.awaited(),
        }
    }

    fn poll_barrier(self, ticket: &mut Ticket, waker: &Waker) -> Poll<Result<(), SyncError>> {
        let held = self.0.hold_with(ticket.yard);
        match held.filter(|_| self.0.epoch() == ticket.epoch) {
            Some(held) => held.yard().poll_barrier(&mut ticket.awaited, waker),
            None => {
                full_fence();
                Poll::Ready(Ok(()))
            }
        }
    }

    fn forget_ticket(self, ticket: &mut Ticket) {
        ticket.yard.forget(&mut ticket.awaited); // its place is nobody else's, whoever has the yard
    }

    fn drain(self, until: Until) -> u64 {
        self.0.hold().yard().drain(until)
    }

    fn drain_ready(self, most: u64, until: Until) -> u64 {
        self.0.hold().yard().run_at_most(most, until)
    }

    fn held(self) -> u64 {
        self.0.held().0
    }

    fn holdouts(self) -> Vec<Holdout> {
        self.0.hold().holdouts()
    }
}

impl Settings for OfGrounds {
    fn statistics(self) -> DomainStatistics {
        DomainStatistics::of_grounds(self.0)
    }

    fn set_name(self, name: &'static str) {
        let place = telemetry::place_of(name);
        self.0
            .set_policy(|policy| (policy.name, policy.place) = (name, place));
    }

    fn set_budget(self, bytes: u64, callbacks: u64) {
        self.0.set_policy(|policy| {
            (policy.budget_bytes, policy.budget_count) = (bytes, callbacks);
        });
    }

    fn flush_times(self) -> FlushTimes {
        let policy = self.0.policy();
        FlushTimes {
            lazy: Duration::from_nanos(policy.lazy_ns),
            prompt: Duration::from_nanos(policy.prompt_ns),
        }
    }

    fn set_flush_times(self, times: FlushTimes) {
        self.0.set_policy(|policy| {
            (policy.lazy_ns, policy.prompt_ns) = (in_ns(times.lazy), in_ns(times.prompt));
        });
    }

    fn set_drained(self, drained: bool) {
        self.0.set_policy(|policy| policy.drained = drained);
    }

    fn set_stall_after(self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0.set_policy(|policy| policy.stall_ns = ns);
    }
}
