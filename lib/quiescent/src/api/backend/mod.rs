//! What the public types need of a domain, whichever kind it is: the one seam between them and the layers below.
//!
//! A [`Backend`] leads to a [`Domain`], and to the queue to which the calling thread pushes without a lock. These are
//! the only things in which the kinds differ here; how a section is opened and closed is in
//! [`kind`](super::kind) and [`handle`](super::handle).

use std::fmt::Debug;
use std::hash::Hash;
use std::mem::needs_drop;
use std::ptr::NonNull;
use std::task::{Poll, Waker};
use std::time::Duration;

use quiescent_engine::FullCookie;
use quiescent_engine::credit::Urgency;

use crate::api::error::SyncError;
use crate::api::refused::Refusal;
use crate::api::statistics::{DomainStatistics, Holdout};
use crate::api::tuning::{FlushTimes, in_ns};
use crate::inner::defer::barrier::Awaited;
pub(crate) use crate::inner::defer::enqueue::{self, Parcel, Terms};
use crate::inner::defer::run;
pub(crate) use crate::inner::defer::sweep::Until;
use crate::inner::domain::Domain;
use crate::inner::domain::counters::count;
use crate::inner::domain::state::State;
pub(crate) use crate::inner::gp::driver::How;
use crate::inner::prim::full_fence;
use crate::inner::queue::kind;
use crate::inner::queue::lane::Entry;
use crate::inner::queue::per_thread::{CODE, PLAIN, Queue};
use crate::inner::queue::weight;
use crate::inner::reader::word;
use crate::watch::telemetry;

mod kinds;
mod pack;

pub use kinds::{OfCounts, OfProcess, OfThreads};
pub(crate) use pack::{Way, pack};

/// Objects from this size on are counted against the batch's bytes one by one; of smaller ones the batch
/// takes so few bytes that their number limits it.
const LARGE: usize = 512;

/// A point in the sequence of a domain's grace periods: whose the domain was, and its engine's cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Point {
    id: u64,
    cookie: FullCookie,
}

impl Point {
    /// One of the process's domain that has passed.
    pub(crate) const PASSED: Point = Point {
        id: 0,
        cookie: FullCookie::COMPLETED,
    };
}

/// What a task keeps that waits for a barrier.
#[derive(Clone, Debug)]
pub struct Ticket {
    id: u64,
    awaited: Awaited,
}

/// A domain, for calls that are not on the way of a reader.
pub trait Backend: Copy + Debug + Eq + Hash + Send + Sync + Unpin + 'static {
    fn domain(self) -> &'static Domain;

    /// The queue to which the calling thread pushes without a lock, if there is one.
    fn queue(self) -> Option<&'static Queue>;

    #[inline]
    fn state(self) -> &'static State {
        self.domain().state()
    }

    /// Is the calling thread inside a section here, as far as that is known?
    fn is_inside(self) -> bool {
        self.state().is_inside()
    }

    // Grace periods.

    fn wait(self, how: How) -> Result<(), SyncError> {
        self.state().synchronize(how)
    }

    fn start(self) -> Point {
        Point {
            id: self.domain().id(),
            cookie: self.state().start_poll(),
        }
    }

    /// Has a grace period passed since then? Helps it along as far as that needs no waiting.
    fn poll(self, point: Point) -> Result<bool, SyncError> {
        if self.is_gone(point.id) {
            return Ok(true);
        }
        self.state().poll(point.cookie)
    }

    /// The same, without helping.
    fn is_done(self, point: Point) -> bool {
        self.is_gone(point.id) || self.state().is_done(point.cookie)
    }

    /// Has the owner gone that had this number? Then nothing is left that it could have waited for.
    fn is_gone(self, id: u64) -> bool {
        let gone = self.domain().id() != id;
        if gone {
            full_fence();
        }
        gone
    }

    /// A grace period has not passed yet: `waker` is woken when it may have.
    #[cfg(not(quiescent_model))]
    fn wake_then(self, point: Point, place: &mut u64, waker: &Waker) {
        let state = self.state();
        if state.env().start_worker() && state.tasks.put(place, point.cookie, waker) {
            state.call();
        } else {
            waker.wake_by_ref(); // no room for it: busy, but right
        }
    }

    /// The task does not wait any more.
    #[cfg(not(quiescent_model))]
    fn forget_task(self, place: &mut u64) {
        let place = std::mem::take(place);
        if place != 0 {
            self.state().tasks.remove(place);
        }
    }

    // What is queued.

    fn deliver(self, parcel: Parcel, terms: Terms) {
        self.state().deliver(parcel, terms);
    }

    /// Frees a box after a grace period.
    ///
    /// # Safety
    /// `pointer` comes from `Box::into_raw`; no section that opens from now on can find the object; it is retired once, and not freed
    /// or changed by anybody else.
    #[inline(always)]
    unsafe fn retire<T: Send + 'static>(self, pointer: NonNull<T>, owned: usize, way: Way) {
        let Some((lane, entry, bytes)) = pack(pointer, owned) else {
            return;
        };
        let queue = match way {
            Way::Hurry => None,
            Way::Lazy | Way::NoReclaim => self.queue(),
        };
        let Some(queue) = queue else {
            if way == Way::Hurry && lane == PLAIN {
                let breakers = &self.state().env().breakers;
                breakers.hurried(std::any::type_name::<T>); // the entry does not know its name
            }
            return self.deliver(Parcel::Entry(lane, entry, bytes), way.terms());
        };
        match (way, needs_drop::<T>()) {
            (Way::NoReclaim, true) => enqueue::code_only(queue, entry, bytes),
            // SAFETY: the caller's promise.
            (Way::NoReclaim, false) => unsafe { enqueue::plain_only(queue, entry, bytes) },
            (_, true) => enqueue::code(queue, entry, bytes, Urgency::Lazy),
            (_, false) => {
                let large = size_of::<T>() >= LARGE || owned != 0;
                // SAFETY: the caller's promise.
                unsafe { enqueue::plain(queue, entry, bytes, large) };
            }
        }
    }

    /// The same, if the budget has room for it.
    ///
    /// # Safety
    /// As [`retire`](Backend::retire).
    unsafe fn try_retire<T: Send + 'static>(
        self,
        pointer: NonNull<T>,
        owned: usize,
    ) -> Result<(), Refusal> {
        // SAFETY: the caller's promise.
        let result = unsafe { self.attempt(pointer, owned) };
        if result.is_err() {
            count(&self.state().counters.refused);
        }
        result
    }

    /// # Safety
    /// As [`retire`](Backend::retire).
    unsafe fn attempt<T: Send + 'static>(
        self,
        pointer: NonNull<T>,
        owned: usize,
    ) -> Result<(), Refusal> {
        let state = self.state();
        // Without a queue of its own a thread has no credit, and goes to the lock anyway.
        if state.level.is_easy() && self.queue().is_some_and(|queue| !queue.is_dummy()) {
            // SAFETY: the caller's promise.
            unsafe { self.retire(pointer, owned, Way::Lazy) };
            return Ok(());
        }
        match pack(pointer, owned) {
            Some((lane, entry, bytes)) => state.try_deliver(lane, entry, bytes),
            None => Ok(()),
        }
    }

    /// The same, waiting for room.
    ///
    /// # Safety
    /// As [`retire`](Backend::retire).
    unsafe fn retire_wait<T: Send + 'static>(
        self,
        pointer: NonNull<T>,
        owned: usize,
        limit: Duration,
    ) -> Result<(), Refusal> {
        let state = self.state();
        if word::in_section() || state.is_inside() {
            return Err(Refusal::CannotWait(SyncError::InsideSection));
        }
        if run::in_callback() {
            return Err(Refusal::CannotWait(SyncError::InsideCallback));
        }
        // SAFETY: the caller's promise.
        match unsafe { self.attempt(pointer, owned) } {
            Err(Refusal::Full(_)) => {}
            result => return result,
        }
        match pack(pointer, owned) {
            Some((lane, entry, bytes)) => {
                state.deliver_when_room(lane, entry, bytes, Until::after(limit))
            }
            None => Ok(()),
        }
    }

    /// Runs a closure after a grace period.
    #[inline]
    fn defer<F: FnOnce() + Send + 'static>(self, f: F, urgency: Urgency) {
        let (object, what) = kind::called(f, urgency);
        let (entry, bytes) = (Entry { object, what }, weight::closure::<F>());
        let queue = match urgency {
            Urgency::Hurry => None,
            Urgency::Lazy | Urgency::Prompt => self.queue(),
        };
        match queue {
            None => self.deliver(Parcel::Entry(CODE, entry, bytes), Terms::of(urgency)),
            Some(queue) => enqueue::code(queue, entry, bytes, urgency),
        }
    }

    /// Waits until everything queued before this call is gone.
    fn barrier(self) -> Result<(), SyncError> {
        self.state().barrier()
    }

    fn ticket(self) -> Ticket {
        Ticket {
            id: self.domain().id(),
            awaited: self.state().awaited(),
        }
    }

    /// As [`barrier`](Backend::barrier), but never waits: `waker` is woken when it is time to ask again.
    fn poll_barrier(self, ticket: &mut Ticket, waker: &Waker) -> Poll<Result<(), SyncError>> {
        if self.is_gone(ticket.id) {
            return Poll::Ready(Ok(()));
        }
        self.state().poll_barrier(&mut ticket.awaited, waker)
    }

    fn forget_ticket(self, ticket: &mut Ticket) {
        self.state().forget(&mut ticket.awaited);
    }

    /// Frees and runs what is queued, as far as that goes before the deadline. Returns how much.
    fn drain(self, until: Until) -> u64 {
        self.state().drain(until)
    }

    /// Runs and frees at most so much of what is done.
    fn drain_ready(self, most: u64, until: Until) -> u64 {
        self.state().run_some(most, until)
    }

    /// Callbacks and objects that are queued or being run.
    fn held(self) -> u64 {
        self.domain().held().0
    }

    // What is shown, and what can be changed.

    fn holdouts(self) -> Vec<Holdout> {
        let state = self.domain().state_if_any();
        state.map_or(Vec::new(), State::holdouts)
    }

    fn statistics(self) -> DomainStatistics {
        DomainStatistics::of(self.domain())
    }

    fn set_name(self, name: &'static str) {
        let place = telemetry::place_of(name);
        let domain = self.domain();
        domain.set(|settings| (settings.name, settings.place) = (name, place));
    }

    fn set_budget(self, bytes: u64, callbacks: u64) {
        self.domain().set(|settings| {
            (settings.budget_bytes, settings.budget_count) = (bytes, callbacks);
        });
    }

    fn flush_times(self) -> FlushTimes {
        let settings = self.domain().settings();
        FlushTimes {
            lazy: Duration::from_nanos(settings.lazy_ns),
            prompt: Duration::from_nanos(settings.prompt_ns),
        }
    }

    fn set_flush_times(self, times: FlushTimes) {
        self.domain().set(|settings| {
            (settings.lazy_ns, settings.prompt_ns) = (in_ns(times.lazy), in_ns(times.prompt));
        });
    }

    fn set_drained(self, drained: bool) {
        self.domain().set(|settings| settings.drained = drained);
    }

    fn set_stall_after(self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.domain().set(|settings| settings.stall_ns = ns);
    }
}
