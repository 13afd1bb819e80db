//! The process's domain: the only one with a way to queue without a lock.

use std::mem::needs_drop;
use std::ptr::NonNull;
use std::task::{Poll, Waker};
use std::time::Duration;

use quiescent_engine::FullCookie;
use quiescent_engine::credit::Urgency;

use super::{Backend, Way, pack};
use crate::api::error::SyncError;
use crate::api::refused::Refusal;
use crate::api::statistics::Holdout;
use crate::inner::defer::barrier::{Awaited, Barriers as _};
use crate::inner::defer::enqueue::{self as deliver, Parcel, Terms};
use crate::inner::defer::run;
use crate::inner::defer::sweep::Until;
use crate::inner::domain::counters::count;
use crate::inner::gp::driver::{Drives as _, How};
use crate::inner::gp::waiting::Waits as _;
use crate::inner::prim as sync;
use crate::inner::queue::kind;
use crate::inner::queue::lane::Entry;
use crate::inner::queue::per_thread::{CODE, PLAIN};
use crate::inner::queue::weight;
use crate::inner::reader::word as reader;
#[cfg(not(quiescent_model))]
use crate::workers::helper;

/// Objects from this size on are counted against the batch's bytes one by one; of smaller ones the batch
/// takes so few bytes that their number limits it.
const LARGE: usize = 512;

/// The process's domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OfProcess;

impl OfProcess {
    /// # Safety
    /// As [`Backend::retire`].
    unsafe fn attempt<T: Send + 'static>(
        self,
        pointer: NonNull<T>,
        owned: usize,
    ) -> Result<(), Refusal> {
        let domain = sync::domain();
        // Without a queue of its own a thread has no credit, and goes to the lock anyway.
        if domain.level.is_easy() && !std::ptr::eq(sync::queue(), sync::dummy_queue()) {
            // SAFETY: the caller's promise.
            unsafe { self.retire(pointer, owned, Way::Lazy) };
            return Ok(());
        }
        match pack(pointer, owned) {
            Some((lane, entry, bytes)) => domain.try_deliver(lane, entry, bytes),
            None => Ok(()),
        }
    }
}

impl Backend for OfProcess {
    type Point = FullCookie;
    #[cfg(not(quiescent_model))]
    type Task = u64;
    type Kept = ();
    type Ticket = Awaited;

    fn keep(self) {}

    fn is_inside(self) -> bool {
        reader::in_section()
    }

    fn wait(self, how: How) -> Result<(), SyncError> {
        sync::domain().synchronize(how)
    }

    fn start(self) -> FullCookie {
        sync::domain().start_poll()
    }

    fn poll(self, point: FullCookie) -> Result<bool, SyncError> {
        sync::domain().poll(point)
    }

    fn is_done(self, point: FullCookie) -> bool {
        sync::domain().is_done(point)
    }

    #[cfg(not(quiescent_model))]
    fn wake_then(self, point: FullCookie, task: &mut u64, waker: &Waker) {
        helper::wake_then(point, task, waker);
    }

    #[cfg(not(quiescent_model))]
    fn forget_task(self, task: &mut u64) {
        helper::TASKS.remove(*task);
    }

    #[inline]
    fn deliver(self, parcel: Parcel, terms: Terms) {
        sync::domain().deliver(parcel, terms);
    }

    fn try_deliver(self, lane: usize, entry: Entry, bytes: u64) -> Result<(), Refusal> {
        sync::domain().try_deliver(lane, entry, bytes)
    }

    fn deliver_when_room(
        self,
        lane: usize,
        entry: Entry,
        bytes: u64,
        until: Until,
    ) -> Result<(), Refusal> {
        sync::domain().deliver_when_room(lane, entry, bytes, until)
    }

    #[inline(always)]
    unsafe fn retire<T: Send + 'static>(self, pointer: NonNull<T>, owned: usize, way: Way) {
        let Some((lane, entry, bytes)) = pack(pointer, owned) else {
            return;
        };
        match (way, needs_drop::<T>()) {
            (Way::Hurry, _) => {
                let domain = sync::domain();
                if lane == PLAIN {
                    domain.breakers.hurried(std::any::type_name::<T>); // the entry does not know its name
                }
                domain.deliver(Parcel::Entry(lane, entry, bytes), way.terms());
            }
            (Way::Lazy, true) => deliver::code(entry, bytes, Urgency::Lazy),
            (Way::NoReclaim, true) => deliver::code_only(entry, bytes),
            (Way::Lazy, false) => {
                let large = size_of::<T>() >= LARGE || owned != 0;
                // SAFETY: the caller's promise.
                unsafe { deliver::plain(entry, bytes, large) };
            }
            // SAFETY: the caller's promise.
            (Way::NoReclaim, false) => unsafe { deliver::plain_only(entry, bytes) },
        }
    }

    unsafe fn try_retire<T: Send + 'static>(
        self,
        pointer: NonNull<T>,
        owned: usize,
    ) -> Result<(), Refusal> {
        // SAFETY: the caller's promise.
        let result = unsafe { self.attempt(pointer, owned) };
        if result.is_err() {
            count(&sync::domain().counters.refused);
        }
        result
    }

    unsafe fn retire_wait<T: Send + 'static>(
        self,
        pointer: NonNull<T>,
        owned: usize,
        limit: Duration,
    ) -> Result<(), Refusal> {
        if reader::in_section() {
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
                self.deliver_when_room(lane, entry, bytes, Until::after(limit))
            }
            None => Ok(()),
        }
    }

    #[inline]
    fn defer<F: FnOnce() + Send + 'static>(self, f: F, urgency: Urgency) {
        let (object, what) = kind::called(f, urgency);
        let (entry, bytes) = (Entry { object, what }, weight::closure::<F>());
        match urgency {
            Urgency::Hurry => self.deliver(Parcel::Entry(CODE, entry, bytes), Terms::of(urgency)),
            _ => deliver::code(entry, bytes, urgency),
        }
    }

    fn barrier(self) -> Result<(), SyncError> {
        sync::domain().barrier()
    }

    fn ticket(self) -> Awaited {
        sync::domain().awaited()
    }

    fn poll_barrier(self, ticket: &mut Awaited, waker: &Waker) -> Poll<Result<(), SyncError>> {
        sync::domain().poll_barrier(ticket, waker)
    }

    fn forget_ticket(self, ticket: &mut Awaited) {
        sync::domain().forget(ticket);
    }

    fn drain(self, until: Until) -> u64 {
        sync::domain().drain(until)
    }

    fn drain_ready(self, most: u64, until: Until) -> u64 {
        sync::domain().run_some(most, until)
    }

    fn held(self) -> u64 {
        sync::domain().held().0
    }

    fn holdouts(self) -> Vec<Holdout> {
        sync::domain().holdouts()
    }
}
