//! What the public types need of a domain, whichever kind it is: the one seam between them and the layers below.
//!
//! [`Backend`] is implemented three times, by adapters without logic of their own: for the process's domain ([`OfProcess`]), for
//! domains of the program ([`OfGrounds`]) and for counted readers ([`OfYard`]). How a section is opened and closed is not in here,
//! since it is the one thing in which the kinds differ: [`kind`](super::kind) and [`handle`](super::handle) have that.

#![allow(
    private_interfaces,
    reason = "public only for the sealed traits that name it: nothing outside can"
)]

use std::fmt::Debug;
use std::hash::Hash;
use std::ptr::NonNull;
use std::task::{Poll, Waker};
use std::time::Duration;

use quiescent_engine::credit::Urgency;

use crate::api::error::SyncError;
use crate::api::refused::Refusal;
use crate::api::statistics::{DomainStatistics, Holdout};
use crate::api::tuning::FlushTimes;
#[cfg(not(quiescent_model))]
use crate::inner::defer::budget::LOOK_AGAIN;
pub(crate) use crate::inner::defer::enqueue::{Parcel, Terms};
pub(crate) use crate::inner::defer::sweep::Until;
pub(crate) use crate::inner::gp::driver::How;
use crate::inner::queue::kind;
use crate::inner::queue::lane::Entry;
use crate::inner::queue::per_thread::CODE;
use crate::inner::queue::weight;

mod grounds;
mod pack;
mod process;
mod yard;

pub use grounds::OfGrounds;
pub(crate) use pack::{Way, pack};
pub use process::OfProcess;
pub use yard::OfYard;

/// A domain, for calls that are not on the way of a reader.
pub trait Backend: Copy + Debug + Eq + Hash + Send + Sync + Unpin + 'static {
    /// A point in its sequence of grace periods.
    type Point: Copy + Debug + Eq + Hash + Send + Sync + Unpin + 'static;
    /// The place of a task that waits for a grace period.
    #[cfg(not(quiescent_model))]
    type Task: Default + Send + Sync + Unpin + 'static;
    type Kept;
    /// What a task keeps that waits for a barrier.
    type Ticket: Clone + Debug + Send + Sync + Unpin + 'static;

    /// Keeps what it has now as it is, until this is dropped.
    fn keep(self) -> Self::Kept;

    /// Is the calling thread inside a section here, as far as that is known?
    fn is_inside(self) -> bool;

    // Grace periods.

    fn wait(self, how: How) -> Result<(), SyncError>;
    fn start(self) -> Self::Point;
    /// Has a grace period passed since then? Helps it along as far as that needs no waiting.
    fn poll(self, point: Self::Point) -> Result<bool, SyncError>;
    /// The same, without helping.
    fn is_done(self, point: Self::Point) -> bool;
    /// A grace period has not passed yet: `waker` is woken when it may have.
    #[cfg(not(quiescent_model))]
    fn wake_then(self, point: Self::Point, task: &mut Self::Task, waker: &Waker);
    /// The task does not wait any more.
    #[cfg(not(quiescent_model))]
    fn forget_task(self, task: &mut Self::Task);

    // What is queued.

    fn deliver(self, parcel: Parcel, terms: Terms);
    /// Queues an entry if the budget has room for it.
    fn try_deliver(self, lane: usize, entry: Entry, bytes: u64) -> Result<(), Refusal>;
    /// Waits for room, and queues the entry then.
    fn deliver_when_room(
        self,
        lane: usize,
        entry: Entry,
        bytes: u64,
        until: Until,
    ) -> Result<(), Refusal>;

    /// Frees a box after a grace period.
    ///
    /// # Safety
    /// `pointer` comes from `Box::into_raw`; no section that opens from now on can find the object; it is retired once, and not freed
    /// or changed by anybody else.
    #[inline]
    unsafe fn retire<T: Send + 'static>(self, pointer: NonNull<T>, owned: usize, way: Way) {
        if let Some((lane, entry, bytes)) = pack(pointer, owned) {
            self.deliver(Parcel::Entry(lane, entry, bytes), way.terms());
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
        match pack(pointer, owned) {
            Some((lane, entry, bytes)) => self.try_deliver(lane, entry, bytes),
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
        match pack(pointer, owned) {
            Some((lane, entry, bytes)) => {
                self.deliver_when_room(lane, entry, bytes, Until::after(limit))
            }
            None => Ok(()),
        }
    }

    /// Runs a closure after a grace period.
    #[inline]
    fn defer<F: FnOnce() + Send + 'static>(self, f: F, urgency: Urgency) {
        let (object, what) = kind::called(f, urgency);
        let parcel = Parcel::Entry(CODE, Entry { object, what }, weight::closure::<F>());
        self.deliver(parcel, Terms::of(urgency));
    }

    /// Waits until everything queued before this call is gone.
    fn barrier(self) -> Result<(), SyncError>;
    fn ticket(self) -> Self::Ticket;
    /// As [`barrier`](Backend::barrier), but never waits: `waker` is woken when it is time to ask again.
    fn poll_barrier(self, ticket: &mut Self::Ticket, waker: &Waker) -> Poll<Result<(), SyncError>>;
    fn forget_ticket(self, ticket: &mut Self::Ticket);

    /// Frees and runs what is queued, as far as that goes before the deadline. Returns how much.
    fn drain(self, until: Until) -> u64;
    /// Runs and frees at most so much of what is done.
    fn drain_ready(self, most: u64, until: Until) -> u64;
    /// Callbacks and objects that are queued or being run.
    fn held(self) -> u64;

    fn holdouts(self) -> Vec<Holdout>;
}

/// What is shown of a domain that the program has made, and what can be changed.
pub trait Settings: Backend {
    fn statistics(self) -> DomainStatistics;
    fn set_name(self, name: &'static str);
    fn set_budget(self, bytes: u64, callbacks: u64);
    fn flush_times(self) -> FlushTimes;
    fn set_flush_times(self, times: FlushTimes);
    fn set_drained(self, drained: bool);
    fn set_stall_after(self, time: Duration);
}

/// Waits for room in a domain whose queue has no owner, and queues the entry then: for grace periods, whose plain objects `free` frees.
fn when_room<B: Backend>(
    backend: B,
    lane: usize,
    entry: Entry,
    bytes: u64,
    until: Until,
    free: impl Fn(),
) -> Result<(), Refusal> {
    let Err(mut reason) = backend.try_deliver(lane, entry, bytes) else {
        return Ok(());
    };
    loop {
        let how = How {
            deadline: until.deadline,
            ..How::default()
        };
        let holdouts = match backend.wait(how) {
            Ok(()) => Vec::new(),
            Err(SyncError::TimedOut { holdouts }) => holdouts,
            Err(error) => return Err(Refusal::CannotWait(error)),
        };
        let held = backend.held();
        free();
        if until.is_over()
            && let Refusal::Full(full) = reason
        {
            return Err(Refusal::TimedOut { full, holdouts });
        }
        match backend.try_deliver(lane, entry, bytes) {
            Ok(()) => return Ok(()),
            Err(again) => reason = again,
        }
        if backend.held() >= held {
            // What is in the way is code that somebody else runs: looking again at once would not help.
            #[cfg(not(quiescent_model))]
            std::thread::sleep(until.left().map_or(LOOK_AGAIN, |left| left.min(LOOK_AGAIN)));
        }
    }
}
