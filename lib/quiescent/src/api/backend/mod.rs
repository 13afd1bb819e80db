//! The operations that the public types need of a domain of any kind: the one seam between them and the
//! layers below.
//!
//! A [`Backend`] leads to a [`Domain`], and to the queue to which the calling thread pushes without a lock.
//! The kinds differ here in nothing else; [`kind`](super::kind) and [`handle`](super::handle) open and close
//! sections.

use std::fmt::Debug;
use std::hash::Hash;
use std::ptr::NonNull;
use std::task::{Poll, Waker};
use std::time::Duration;

use quiescent_engine::FullCookie;
use quiescent_engine::credit::Urgency;

use crate::api::refused::Refusal;
use crate::api::statistics::{DomainStatistics, Holdout};
use crate::api::tuning::{FlushTimes, in_ns};
use crate::global::with_local;
use crate::watch::telemetry;
use quiescent_core::defer::barrier::Awaited;
pub(crate) use quiescent_core::defer::enqueue::{self, Terms};
use quiescent_core::defer::in_place;
pub(crate) use quiescent_core::defer::sweep::Until;
pub(crate) use quiescent_core::gp::driver::How;
use quiescent_core::parts::domain::Domain;
use quiescent_core::parts::error::SyncError;
use quiescent_core::parts::state::State;
use quiescent_core::prim::counters::count;
use quiescent_core::prim::{THREADS, full_fence};
use quiescent_core::queue::kind;
use quiescent_core::queue::lane::Entry;
pub(crate) use quiescent_core::queue::parcel::Parcel;
use quiescent_core::queue::per_thread::{CODE, OWN, PLAIN, Queue};
use quiescent_core::queue::weight;

mod kinds;
mod pack;

pub use kinds::{OfCounts, OfProcess, OfThreads};
pub(crate) use pack::{Given, Way, pack};

/// The batch counts the bytes of each object of at least this size; smaller ones take so few bytes that their
/// number limits the batch.
const LARGE: usize = 512;

/// A point in the sequence of a domain's grace periods: the number of the domain's owner, and the engine's
/// cookie.
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

/// Where no thread can be the worker, a barrier does its work; one poll of its future, for so long.
const POLLED: Duration = Duration::from_millis(1);

/// The state of a task that waits for a barrier.
#[derive(Clone, Debug)]
pub struct Ticket {
    id: u64,
    awaited: Awaited,
}

/// A domain, for calls outside of the readers' fast path.
pub trait Backend: Copy + Debug + Eq + Hash + Send + Sync + Unpin + 'static {
    fn domain(self) -> &'static Domain;

    /// The queue to which the calling thread pushes without a lock, if there is one.
    fn queue(self) -> Option<&'static Queue>;

    #[inline]
    fn state(self) -> &'static State {
        self.domain().state()
    }

    /// Whether the calling thread is inside a section here, as far as that is known.
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

    /// Whether a grace period has passed since then. Drives it as far as possible without waiting.
    fn poll(self, point: Point) -> Result<bool, SyncError> {
        if self.is_gone(point.id) {
            return Ok(true);
        }
        self.state().poll(point.cookie)
    }

    /// The same, without driving.
    fn is_done(self, point: Point) -> bool {
        self.is_gone(point.id) || self.state().is_done(point.cookie)
    }

    /// Whether the owner with this number is gone. Then it has nothing left to wait for.
    fn is_gone(self, id: u64) -> bool {
        let gone = self.domain().id() != id;
        if gone {
            full_fence();
        }
        gone
    }

    /// Registers a task to be woken when the grace period may have passed.
    #[cfg(not(quiescent_model))]
    fn wake_then(self, point: Point, place: &mut u64, waker: &Waker) {
        let state = self.state();
        if state.env().shell.start_worker() && state.tasks.put(place, point.cookie, waker) {
            state.call();
        } else {
            waker.wake_by_ref(); // no room for it: busy, but right
        }
    }

    /// Removes the task.
    #[cfg(not(quiescent_model))]
    fn forget_task(self, place: &mut u64) {
        let place = std::mem::take(place);
        if place != 0 {
            self.state().tasks.remove(place);
        }
    }

    // Queueing.

    fn deliver(self, parcel: Parcel, terms: Terms) {
        self.state().deliver(parcel, terms);
    }

    /// Frees a box after a grace period.
    ///
    /// # Safety
    /// `pointer` comes from `Box::into_raw`; no section that opens later can find the object; it is retired
    /// once, and no other code frees or changes it.
    #[inline(always)]
    unsafe fn retire<T: Send + 'static>(self, pointer: NonNull<T>, terms: Given, way: Way) {
        // Without a declaration everything but the pointer is a constant of the type.
        match terms.bytes {
            // SAFETY: the caller's promise.
            weight::UNKNOWN => unsafe { self.retire_as(pointer, terms.undeclared(), way) },
            // SAFETY: the caller's promise.
            _ => unsafe { self.retire_declared(pointer, terms, way) },
        }
    }

    /// The same for a value whose owned bytes were declared.
    ///
    /// # Safety
    /// As [`retire`](Backend::retire).
    #[inline(never)]
    unsafe fn retire_declared<T: Send + 'static>(
        self,
        pointer: NonNull<T>,
        terms: Given,
        way: Way,
    ) {
        // SAFETY: the caller's promise.
        unsafe { self.retire_as(pointer, terms, way) };
    }

    /// # Safety
    /// As [`retire`](Backend::retire).
    #[inline(always)]
    unsafe fn retire_as<T: Send + 'static>(self, pointer: NonNull<T>, terms: Given, way: Way) {
        // SAFETY: the caller's promise.
        let Some((lane, entry, bytes)) = (unsafe { pack(pointer, terms) }) else {
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
        match (way, lane) {
            // SAFETY: the caller's promise.
            (Way::NoReclaim, PLAIN) => unsafe { enqueue::plain_only(queue, entry, bytes) },
            (Way::NoReclaim, _) => enqueue::code_only(queue, lane, entry, bytes),
            (_, PLAIN) => {
                let large = size_of::<T>() >= LARGE || !matches!(terms.bytes, 0 | weight::UNKNOWN);
                // SAFETY: the caller's promise.
                unsafe { enqueue::plain(queue, entry, bytes, large) };
            }
            (_, OWN) => with_local(|local| in_place::own(local, queue, entry, bytes)),
            _ => enqueue::code(queue, entry, bytes, Urgency::Lazy),
        }
    }

    /// The same, if the budget has room for it.
    ///
    /// # Safety
    /// As [`retire`](Backend::retire).
    unsafe fn try_retire<T: Send + 'static>(
        self,
        pointer: NonNull<T>,
        terms: Given,
    ) -> Result<(), Refusal> {
        // SAFETY: the caller's promise.
        let result = unsafe { self.attempt(pointer, terms) };
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
        terms: Given,
    ) -> Result<(), Refusal> {
        let state = self.state();
        // A thread without a queue of its own has no credit, and takes the lock anyway.
        if state.level.is_easy() && self.queue().is_some_and(|queue| !queue.is_dummy()) {
            // SAFETY: the caller's promise.
            unsafe { self.retire(pointer, terms, Way::Lazy) };
            return Ok(());
        }
        // SAFETY: the caller's promise.
        match unsafe { pack(pointer, terms) } {
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
        terms: Given,
        limit: Duration,
    ) -> Result<(), Refusal> {
        let state = self.state();
        if state.in_section() {
            return Err(Refusal::CannotWait(SyncError::InsideSection));
        }
        if state.in_callback() {
            return Err(Refusal::CannotWait(SyncError::InsideCallback));
        }
        // SAFETY: the caller's promise.
        match unsafe { self.attempt(pointer, terms) } {
            Err(Refusal::Full(_)) => {}
            result => return result,
        }
        // SAFETY: the caller's promise.
        match unsafe { pack(pointer, terms) } {
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
        // SAFETY: from `called`, and queued once.
        let entry = unsafe { Entry::new(object, what) };
        let bytes = weight::closure::<F>();
        let queue = match urgency {
            Urgency::Hurry => None,
            Urgency::Lazy | Urgency::Prompt => self.queue(),
        };
        let inline = self.state().runs_inline();
        let lane = if inline { OWN } else { CODE };
        match queue {
            None => self.deliver(Parcel::Entry(lane, entry, bytes), Terms::of(urgency)),
            Some(queue) if inline => {
                with_local(|local| in_place::own_call(local, queue, entry, bytes, urgency));
            }
            Some(queue) => enqueue::code(queue, entry, bytes, urgency),
        }
    }

    /// Waits until everything queued before this call is gone.
    fn barrier(self) -> Result<(), SyncError> {
        match self.state().barrier() {
            Err(SyncError::NoWorker) if !THREADS => {
                self.drain(Until { deadline: None });
                self.state().barrier()
            }
            result => result,
        }
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
        if !THREADS && !self.is_inside() {
            self.drain(Until::after(POLLED));
        }
        self.state().poll_barrier(&mut ticket.awaited, waker)
    }

    fn forget_ticket(self, ticket: &mut Ticket) {
        self.state().forget(&mut ticket.awaited);
    }

    /// Frees and runs what is queued, until the deadline. Returns how much.
    fn drain(self, until: Until) -> u64 {
        self.state().drain(until)
    }

    /// Runs and frees at most `most` of what is ready.
    fn drain_ready(self, most: u64, until: Until) -> u64 {
        self.state().run_some(most, until)
    }

    /// Callbacks and objects that are queued or being run.
    fn held(self) -> u64 {
        self.domain().held().0
    }

    // Statistics and settings.

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

    fn set_workers_run(self, workers_run: bool) {
        self.domain()
            .set(|settings| settings.workers_run = workers_run);
    }

    fn set_stall_after(self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.domain().set(|settings| settings.stall_ns = ns);
    }
}
