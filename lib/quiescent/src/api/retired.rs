//! What a replaced value comes back as: [`Retired`].
//!
//! It can be waited for (`wait` and its kin give the value back), kept (`leak`), or retired: handed to
//! the reclaiming side, which frees it after a grace period while nobody waits. Dropping it does that.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::time::Duration;

use crate::error::SyncError;
use crate::inner::defer::budget;
use crate::refused::Refused;
use crate::retire::{self, Way};
use crate::wait::{synchronize_timeout, try_synchronize};

/// A value that was replaced and may still be read by sections that are open now.
///
/// Dropping it **retires** it: it is freed after a grace period, some time later, and nobody waits
/// ([`retire`](Retired::retire) says so in words). [`wait`](Retired::wait) waits and gives it back.
///
/// ```
/// use quiescent::RcuCell;
///
/// let cell = RcuCell::new(vec![1]);
/// cell.store(vec![2]);                   // the old value is retired
/// cell.store(vec![3]).weigh(8).retire(); // the same, and it counts as 8 bytes more than its size
/// assert_eq!(*cell.store(vec![4]).wait(), [3]);
/// ```
pub struct Retired<T: Send + Sync + 'static> {
    value: NonNull<T>,
    /// Bytes that the value owns beside its own size.
    owned_bytes: usize,
    owns: PhantomData<Box<T>>,
}

// SAFETY: it owns a T that others may still read.
unsafe impl<T: Send + Sync> Send for Retired<T> {}
// SAFETY: as above; a shared Retired gives &T only.
unsafe impl<T: Send + Sync> Sync for Retired<T> {}

impl<T: Send + Sync + 'static> Retired<T> {
    /// Takes over a box that was replaced; nothing for null.
    pub(crate) fn from_raw(raw: *mut T) -> Option<Retired<T>> {
        NonNull::new(raw).map(|value| Retired {
            value,
            owned_bytes: 0,
            owns: PhantomData,
        })
    }

    /// Frees the value after a grace period. Never waits, never fails, and runs no code of `T` here:
    /// a plain value (one without `Drop`) is freed by a later `retire` of this thread or by the worker,
    /// any other by the worker or in [`drain`](crate::drain). Lazy: it may take some seconds
    /// ([`FLUSH`](crate::FLUSH)) if nothing else asks for a grace period. Not for signal handlers.
    #[inline]
    pub fn retire(self) {
        drop(self);
    }

    /// As [`retire`](Retired::retire), but soon: a grace period is started for it, and everything that
    /// this thread has retired before goes with it.
    pub fn retire_hurry(self) {
        let (value, bytes) = (self.value, self.owned_bytes);
        std::mem::forget(self);
        // SAFETY: a box of ours that no new reader can find, and `self` is gone.
        unsafe { retire::retire_box(value, bytes, Way::Hurry) };
    }

    /// As [`retire`](Retired::retire), for threads whose time is dear (audio, control loops): this call frees
    /// nothing, runs nothing, starts no grace period, and issues no process-wide fence. Others do all that: the
    /// worker is woken once a batch, or comes when the flush time is over.
    ///
    /// What it may cost besides its ~20 instructions: once in a few hundred calls the queue's lock and a
    /// block of memory, now and then a system call that wakes the worker or sets its timer, and the first
    /// of all calls starts the worker. A thread for which all of `retire` is to be like this:
    /// [`offload_thread`](crate::offload_thread).
    ///
    /// ```
    /// let cell = quiescent::RcuCell::new([0u8; 64]);
    /// cell.store([1; 64]).retire_no_reclaim();
    /// ```
    #[inline]
    pub fn retire_no_reclaim(self) {
        let (value, bytes) = (self.value, self.owned_bytes);
        std::mem::forget(self);
        // SAFETY: a box of ours that no new reader can find, and `self` is gone.
        unsafe { retire::retire_box(value, bytes, Way::NoReclaim) };
    }

    /// As [`retire`](Retired::retire), unless the [budget](crate::set_budget()) is used up: then the value comes
    /// back. Never waits. Far from the budget it costs one look at a word more.
    ///
    /// # Errors
    /// [`Refusal::Full`](crate::Refusal): it does not fit beside what is queued. Before it says so, it drives
    /// the grace period as far as that needs no waiting, and frees what has become free.
    ///
    /// ```
    /// use quiescent::RcuCell;
    ///
    /// let cell = RcuCell::new([0u8; 64]);
    /// if let Err(refused) = cell.store([1; 64]).try_retire() {
    ///     drop(refused.object.wait()); // go no faster than the readers
    /// }
    /// ```
    pub fn try_retire(self) -> Result<(), Refused<Retired<T>>> {
        // SAFETY: a box of ours that no new reader can find; if it is queued, `self` is gone.
        match unsafe { budget::try_box(self.value, self.owned_bytes) } {
            Ok(()) => {
                std::mem::forget(self);
                Ok(())
            }
            Err(reason) => Err(Refused::new(self, reason)),
        }
    }

    /// As [`retire`](Retired::retire), but waits while the [budget](crate::set_budget()) is used up, for at
    /// most `limit`. It waits for grace periods, and frees memory that is done, also of others; it runs
    /// nobody's code.
    ///
    /// # Errors
    /// [`Refusal::TimedOut`](crate::Refusal), with the readers that were in the way. Inside a section or a
    /// callback always [`Refusal::CannotWait`](crate::Refusal), also where there is room. The value comes
    /// back with each of them.
    ///
    /// ```
    /// use std::time::Duration;
    /// use quiescent::RcuCell;
    ///
    /// let cell = RcuCell::new([0u8; 64]);
    /// cell.store([1; 64]).retire_wait(Duration::from_secs(1))?;
    /// # Ok::<(), quiescent::Refused<quiescent::Retired<[u8; 64]>>>(())
    /// ```
    pub fn retire_wait(self, limit: Duration) -> Result<(), Refused<Retired<T>>> {
        // SAFETY: as in `try_retire`.
        match unsafe { budget::wait_box(self.value, self.owned_bytes, limit) } {
            Ok(()) => {
                std::mem::forget(self);
                Ok(())
            }
            Err(reason) => Err(Refused::new(self, reason)),
        }
    }

    /// Says that the value owns this many bytes beside its own size, so that a few large objects are
    /// not held as long as many small ones. Adds up over calls. What the box itself takes, rounded as
    /// allocators do, and the queue's entry are counted anyway.
    #[must_use = "weighing does not retire"]
    pub fn weigh(mut self, bytes: usize) -> Retired<T> {
        self.owned_bytes = self.owned_bytes.saturating_add(bytes);
        self
    }

    /// Waits for a grace period and gives the value back. Many at once: [`wait_all`](Retired::wait_all).
    ///
    /// # Panics
    /// As [`synchronize`](crate::synchronize); the value is then retired.
    pub fn wait(self) -> Box<T> {
        self.try_wait()
            .unwrap_or_else(|(error, _)| panic!("Retired::wait: {error}"))
    }

    /// As [`wait`](Retired::wait), returning the reason why it cannot.
    ///
    /// # Errors
    /// As [`try_synchronize`], with the value still retired.
    pub fn try_wait(self) -> Result<Box<T>, (SyncError, Retired<T>)> {
        match try_synchronize() {
            Ok(()) => Ok(self.into_box()),
            Err(error) => Err((error, self)),
        }
    }

    /// As [`try_wait`](Retired::try_wait), giving up after `timeout`.
    ///
    /// # Errors
    /// As [`synchronize_timeout`], with the value still retired.
    pub fn wait_timeout(self, timeout: Duration) -> Result<Box<T>, (SyncError, Retired<T>)> {
        match synchronize_timeout(timeout) {
            Ok(()) => Ok(self.into_box()),
            Err(error) => Err((error, self)),
        }
    }

    /// Waits for **one** grace period and gives all these values back.
    ///
    /// # Panics
    /// As [`wait`](Retired::wait).
    ///
    /// ```
    /// use quiescent::{RcuCell, Retired};
    ///
    /// let cells = [RcuCell::new(1), RcuCell::new(2)];
    /// let old = Retired::wait_all(cells.iter().map(|cell| cell.store(0)));
    /// assert_eq!(old, [Box::new(1), Box::new(2)]);
    /// ```
    pub fn wait_all(retired: impl IntoIterator<Item = Retired<T>>) -> Vec<Box<T>> {
        let all: Vec<Retired<T>> = retired.into_iter().collect();
        if let Err(error) = try_synchronize() {
            panic!("Retired::wait_all: {error}");
        }
        all.into_iter().map(Retired::into_box).collect()
    }

    /// As [`wait`](Retired::wait), for async code. A future that is dropped half-way drops the value as
    /// [`Retired`] does.
    ///
    /// # Panics
    /// As [`GracePeriod`](crate::GracePeriod).
    #[cfg(not(quiescent_model))]
    pub async fn wait_async(self) -> Box<T> {
        crate::future::grace_period().await;
        self.into_box()
    }

    /// Keeps the value for ever.
    pub fn leak(self) -> &'static T {
        let value = self.value;
        std::mem::forget(self);
        // SAFETY: never freed from here on.
        unsafe { value.as_ref() }
    }

    /// A grace period has passed since the value was replaced.
    fn into_box(self) -> Box<T> {
        let value = self.value.as_ptr();
        std::mem::forget(self);
        // SAFETY: a box of ours; nobody reads it any more, and `self` is gone.
        unsafe { Box::from_raw(value) }
    }
}

impl<T: Send + Sync + 'static> Deref for Retired<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: owned by `self`; others may read it too, so there is no mutable access.
        unsafe { self.value.as_ref() }
    }
}

impl<T: Send + Sync + 'static> Drop for Retired<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: a box of ours that no new reader can find; it is not used again.
        unsafe { retire::retire_box(self.value, self.owned_bytes, Way::Lazy) };
    }
}

impl<T: Send + Sync + fmt::Debug> fmt::Debug for Retired<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Retired").field(&**self).finish()
    }
}
