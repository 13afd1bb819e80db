//! Counted readers: a [`Yard`] of their own.

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
use crate::inner::domain::yard::Yard;
#[cfg(not(quiescent_model))]
use crate::inner::domain::yard::care;
use crate::inner::gp::driven::Driven as _;
use crate::inner::gp::driver::{Drives as _, How};
use crate::inner::queue::lane::Entry;
use crate::watch::telemetry;

/// Counted readers. They live for ever.
#[derive(Clone, Copy)]
pub struct OfYard(pub(crate) &'static Yard);

impl PartialEq for OfYard {
    fn eq(&self, other: &OfYard) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for OfYard {}

impl Hash for OfYard {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.0).hash(state);
    }
}

impl fmt::Debug for OfYard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "counted readers at {:p}", self.0)
    }
}

impl Backend for OfYard {
    type Point = FullCookie;
    #[cfg(not(quiescent_model))]
    type Task = u64;
    type Kept = ();
    type Ticket = Awaited;

    fn keep(self) {}

    fn is_inside(self) -> bool {
        false // a section belongs to no thread
    }

    fn wait(self, how: How) -> Result<(), SyncError> {
        self.0.wait_for_gp(how)
    }

    fn start(self) -> FullCookie {
        self.0.start_poll()
    }

    fn poll(self, point: FullCookie) -> Result<bool, SyncError> {
        self.0.poll_gp(point)
    }

    fn is_done(self, point: FullCookie) -> bool {
        self.0.is_done(point)
    }

    #[cfg(not(quiescent_model))]
    fn wake_then(self, point: FullCookie, task: &mut u64, waker: &Waker) {
        if care::start() && self.0.tasks.put(task, point, waker) {
            self.0.call();
        } else {
            waker.wake_by_ref();
        }
    }

    #[cfg(not(quiescent_model))]
    fn forget_task(self, task: &mut u64) {
        self.0.tasks.remove(std::mem::take(task));
    }

    fn deliver(self, parcel: Parcel, terms: Terms) {
        self.0.deliver(parcel, terms.urgency);
    }

    fn try_deliver(self, lane: usize, entry: Entry, bytes: u64) -> Result<(), Refusal> {
        let parcel = Parcel::Entry(lane, entry, bytes);
        match self.0.deliver_if(parcel, Terms::LAZY.urgency, true) {
            true => Ok(()),
            false => Err(Refusal::Full(self.0.fullness())),
        }
    }

    fn deliver_when_room(
        self,
        lane: usize,
        entry: Entry,
        bytes: u64,
        until: Until,
    ) -> Result<(), Refusal> {
        when_room(self, lane, entry, bytes, until, || self.0.free_ready(until))
    }

    fn barrier(self) -> Result<(), SyncError> {
        self.0.barrier()
    }

    fn ticket(self) -> Awaited {
        self.0.awaited()
    }

    fn poll_barrier(self, ticket: &mut Awaited, waker: &Waker) -> Poll<Result<(), SyncError>> {
        self.0.poll_barrier(ticket, waker)
    }

    fn forget_ticket(self, ticket: &mut Awaited) {
        self.0.forget(ticket);
    }

    fn drain(self, until: Until) -> u64 {
        self.0.drain(until)
    }

    fn drain_ready(self, most: u64, until: Until) -> u64 {
        self.0.run_at_most(most, until)
    }

    fn held(self) -> u64 {
        self.0.held().0
    }

    fn holdouts(self) -> Vec<Holdout> {
        self.0.holdouts()
    }
}

impl Settings for OfYard {
    fn statistics(self) -> DomainStatistics {
        DomainStatistics::of_yard(self.0)
    }

    fn set_name(self, name: &'static str) {
        self.0
            .queue
            .lock()
            .told
            .set_place(telemetry::place_of(name));
    }

    fn set_budget(self, bytes: u64, callbacks: u64) {
        self.0.change_policy(|policy| {
            (policy.budget_bytes, policy.budget_count) = (bytes, callbacks);
        });
    }

    fn flush_times(self) -> FlushTimes {
        FlushTimes::of(&self.0.lock())
    }

    fn set_flush_times(self, times: FlushTimes) {
        self.0.change_policy(|policy| {
            (policy.lazy_ns, policy.prompt_ns) = (in_ns(times.lazy), in_ns(times.prompt));
        });
    }

    fn set_drained(self, drained: bool) {
        self.0.change_policy(|policy| policy.drained = drained);
    }

    fn set_stall_after(self, time: Duration) {
        self.0.set_stall_time(time);
    }
}
