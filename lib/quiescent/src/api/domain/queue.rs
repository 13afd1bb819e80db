//! Callbacks of a [`Domain`]: queued for its grace periods.

use std::ptr::NonNull;
use std::time::Duration;

use quiescent_engine::credit::Urgency;

use super::Domain;
use crate::api::call::Drained;
use crate::error::SyncError;
use crate::inner::defer::barrier::Barriers as _;
use crate::inner::defer::enqueue::Parcel;
use crate::inner::defer::sweep::Until;
use crate::inner::queue::kind;
use crate::inner::queue::lane::Entry;
use crate::inner::queue::per_thread::CODE;
use crate::inner::queue::weight;
use crate::refused::{Refusal, Refused};
use crate::retire;

impl<Tag: 'static> Domain<Tag> {
    /// Runs `f` after a grace period of this domain, on the caretaker (or where the program drains). Never waits, never fails.
    /// Prompt: see [`call`](crate::call()).
    ///
    /// ```
    /// use quiescent::Domain;
    ///
    /// let domain = Domain::new();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// domain.call(move || sender.send("all readers of before are gone").unwrap());
    /// domain.barrier();
    /// receiver.recv().unwrap();
    /// ```
    pub fn call<F: FnOnce() + Send + 'static>(&self, f: F) {
        self.queue(f, Urgency::Prompt);
    }

    /// As [`call`](Domain::call), and it may wait for company: see [`call_lazy`](crate::call_lazy).
    pub fn call_lazy<F: FnOnce() + Send + 'static>(&self, f: F) {
        self.queue(f, Urgency::Lazy);
    }

    /// As [`call`](Domain::call), but at once: what was queued before goes along.
    pub fn call_hurry<F: FnOnce() + Send + 'static>(&self, f: F) {
        self.queue(f, Urgency::Hurry);
    }

    fn queue<F: FnOnce() + Send + 'static>(&self, f: F, urgency: Urgency) {
        let (object, what) = kind::called(f, urgency);
        let parcel = Parcel::Entry(CODE, Entry { object, what }, weight::closure::<F>());
        self.grounds().deliver(parcel, urgency, false);
    }

    /// Frees a box after a grace period of this domain: lazily, as [`retire_ptr`](crate::retire_ptr).
    ///
    /// # Safety
    /// `pointer` comes from `Box::into_raw`; no section of this domain that opens from now on can find the object, and nobody reads it
    /// but under its sections; it is retired once, and not freed or changed by anybody else.
    pub unsafe fn retire_ptr<T: Send + 'static>(&self, pointer: NonNull<T>) {
        // SAFETY: the caller's promise.
        unsafe { self.retire_with(pointer, Urgency::Lazy, false) };
    }

    /// As [`retire_ptr`](Domain::retire_ptr), but soon.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn retire_ptr_hurry<T: Send + 'static>(&self, pointer: NonNull<T>) {
        // SAFETY: the caller's promise.
        unsafe { self.retire_with(pointer, Urgency::Hurry, false) };
    }

    /// As [`retire_ptr`](Domain::retire_ptr), unless the budget is used up.
    ///
    /// # Errors
    /// There is no room. The object is then not retired, and nothing has been promised about it.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn try_retire_ptr<T: Send + 'static>(
        &self,
        pointer: NonNull<T>,
    ) -> Result<(), Refused<NonNull<T>>> {
        // SAFETY: the caller's promise.
        if unsafe { self.retire_with(pointer, Urgency::Lazy, true) } {
            return Ok(());
        }
        let full = self.grounds().hold().fullness();
        Err(Refused::new(pointer, Refusal::Full(full)))
    }

    /// # Safety
    /// As [`retire_ptr`](Domain::retire_ptr).
    unsafe fn retire_with<T: Send + 'static>(
        &self,
        pointer: NonNull<T>,
        urgency: Urgency,
        asks: bool,
    ) -> bool {
        retire::pack(pointer, 0).is_none_or(|(lane, entry, bytes)| {
            let parcel = Parcel::Entry(lane, entry, bytes);
            self.grounds().deliver(parcel, urgency, asks)
        })
    }

    /// Waits until everything queued here before this call, by any thread, has been freed or run. The caretaker does that (or the
    /// program, in a [drained](Domain::set_drained) domain).
    ///
    /// # Panics
    /// As [`try_barrier`](Domain::try_barrier) fails.
    #[track_caller]
    pub fn barrier(&self) {
        if let Err(error) = self.try_barrier() {
            panic!("Domain::barrier: {error}");
        }
    }

    /// As [`barrier`](Domain::barrier), returning the reason why it cannot.
    ///
    /// # Errors
    /// Inside a section of this domain or of the process's, or inside a callback; the fence was refused; the caretaker cannot be started.
    pub fn try_barrier(&self) -> Result<(), SyncError> {
        self.grounds().hold().yard().barrier()
    }

    /// Frees and runs, in this thread, what is queued here, for at most `limit` (and the time of the callback that runs then). Waits for
    /// readers meanwhile, but not inside a callback or a section.
    ///
    /// ```
    /// use std::time::Duration;
    /// use quiescent::{Domain, DomainCell};
    ///
    /// let domain = Domain::new();
    /// let cell = DomainCell::new(&domain, String::from("old"));
    /// cell.store(String::from("new"));
    /// let drained = domain.drain(Duration::from_secs(60));
    /// assert_eq!((drained.ran, drained.left), (1, 0));
    /// ```
    pub fn drain(&self, limit: Duration) -> Drained {
        let held = self.grounds().hold();
        let ran = held.yard().drain(Until::after(limit));
        let left = held.held().0;
        Drained { ran, left }
    }

    /// Runs and frees, in this thread, at most `most` callbacks and objects that are ready, and begins none after `limit`. Never waits, and
    /// issues no fence: what is not ready is left. For event loops: see [`set_drained`](Domain::set_drained).
    ///
    /// Inside a callback it frees memory only.
    pub fn drain_ready(&self, most: u64, limit: Duration) -> Drained {
        let held = self.grounds().hold();
        let ran = held.yard().run_at_most(most, Until::after(limit));
        let left = held.held().0;
        Drained { ran, left }
    }
}
