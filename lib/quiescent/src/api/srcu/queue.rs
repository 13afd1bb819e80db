//! Callbacks of an [`Srcu`]: queued for its grace periods.

use std::ptr::NonNull;
use std::time::Duration;

use quiescent_engine::credit::Urgency;

use super::Srcu;
use crate::api::call::Drained;
use crate::error::SyncError;
use crate::inner::defer::barrier::Barriers as _;
use crate::inner::defer::enqueue::Parcel;
use crate::inner::defer::sweep::Until;
use crate::inner::queue::kind;
use crate::inner::queue::lane::Entry;
use crate::inner::queue::per_thread::CODE;
use crate::inner::queue::weight;
use crate::retire;

/// Queues a closure.
fn call<F: FnOnce() + Send + 'static>(srcu: &Srcu, f: F, urgency: Urgency) {
    let (object, what) = kind::called(f, urgency);
    let parcel = Parcel::Entry(CODE, Entry { object, what }, weight::closure::<F>());
    srcu.yard().deliver(parcel, urgency);
}

impl Srcu {
    /// Runs `f` after a grace period of this `Srcu`, on the caretaker (or in [`drain`](Srcu::drain)). Never waits, never fails.
    /// Prompt: see [`call`](crate::call()).
    ///
    /// ```
    /// use quiescent::Srcu;
    ///
    /// let srcu = Srcu::new();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// srcu.call(move || sender.send("all readers of before are gone").unwrap());
    /// srcu.barrier();
    /// receiver.recv().unwrap();
    /// ```
    pub fn call<F: FnOnce() + Send + 'static>(&self, f: F) {
        call(self, f, Urgency::Prompt);
    }

    /// As [`call`](Srcu::call), and it may wait for company: see [`call_lazy`](crate::call_lazy).
    pub fn call_lazy<F: FnOnce() + Send + 'static>(&self, f: F) {
        call(self, f, Urgency::Lazy);
    }

    /// As [`call`](Srcu::call), but at once: what was queued before goes along.
    pub fn call_hurry<F: FnOnce() + Send + 'static>(&self, f: F) {
        call(self, f, Urgency::Hurry);
    }

    /// Frees a box after a grace period of this `Srcu`: lazily, as [`retire_ptr`](crate::retire_ptr).
    ///
    /// # Safety
    /// `pointer` comes from `Box::into_raw`; no section of this `Srcu` that opens from now on can find the object, and nobody reads it
    /// but under its sections; it is retired once, and not freed or changed by anybody else.
    pub unsafe fn retire_ptr<T: Send + 'static>(&self, pointer: NonNull<T>) {
        // SAFETY: the caller's promise.
        unsafe { self.retire_with(pointer, Urgency::Lazy) };
    }

    /// As [`retire_ptr`](Srcu::retire_ptr), but soon.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn retire_ptr_hurry<T: Send + 'static>(&self, pointer: NonNull<T>) {
        // SAFETY: the caller's promise.
        unsafe { self.retire_with(pointer, Urgency::Hurry) };
    }

    /// # Safety
    /// As [`retire_ptr`](Srcu::retire_ptr).
    unsafe fn retire_with<T: Send + 'static>(&self, pointer: NonNull<T>, urgency: Urgency) {
        if let Some((lane, entry, bytes)) = retire::pack(pointer, 0) {
            self.yard()
                .deliver(Parcel::Entry(lane, entry, bytes), urgency);
        }
    }

    /// Waits until everything queued here before this call, by any thread, has been freed or run. The caretaker does that.
    ///
    /// # Panics
    /// As [`try_barrier`](Srcu::try_barrier) fails.
    pub fn barrier(&self) {
        if let Err(error) = self.try_barrier() {
            panic!("Srcu::barrier: {error}");
        }
    }

    /// As [`barrier`](Srcu::barrier), returning the reason why it cannot.
    ///
    /// # Errors
    /// Inside a [`read_lock`](crate::read_lock()) section or a callback; the fence was refused; the caretaker cannot be started.
    pub fn try_barrier(&self) -> Result<(), SyncError> {
        self.yard().barrier()
    }

    /// Frees and runs, in this thread, what is queued here, for at most `limit` (and the time of the callback that runs then). Waits for
    /// readers meanwhile, but not inside a callback or a [`read_lock`](crate::read_lock()) section.
    pub fn drain(&self, limit: Duration) -> Drained {
        let yard = self.yard();
        let ran = yard.drain(Until::after(limit));
        Drained {
            ran,
            left: yard.held().0,
        }
    }
}
