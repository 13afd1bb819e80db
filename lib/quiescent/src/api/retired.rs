//! What a replaced value comes back as: [`Retired`].
//!
//! It can be waited for (`wait` and its kin give the value back), kept (`leak`), or retired: handed to
//! the reclaiming side, which frees it after a grace period while nobody waits. Dropping it does that.
//!
//! A retired object goes into the calling thread's own queue, with plain stores. A *plain* one (no
//! `Drop`) is given back to the allocator by the same thread, one or two at a time, in later calls of
//! `retire`: no wake-up, warm caches, and no code of the program runs under whatever locks the caller
//! holds. One with `Drop` is dropped by the worker, or in [`drain`](crate::drain()). When a thread retires
//! no more, or ends, the worker looks after what it left, [`FLUSH`](crate::tuning::FLUSH) later at most. (What belongs to a
//! [`Domain`](crate::Domain) or [`Srcu`](crate::Srcu) goes into a queue of that, under its lock.)
//!
//! None of this ever waits for readers, and none can fail, unless its name says so. Not for signal handlers, nor for a
//! global allocator's own use.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::time::Duration;

use super::backend::{Backend as _, Way};
#[cfg(not(quiescent_model))]
use super::cookie::Cookie;
#[cfg(not(quiescent_model))]
use super::future;
use super::handle::{Global, Handle};
use super::refused::{Refusal, Refused};
use crate::api::backend::How;
use crate::api::error::SyncError;

/// A value that was replaced and may still be read by sections that are open now.
///
/// Dropping it **retires** it: it is freed after a grace period, some time later, and nobody waits
/// ([`retire`](Retired::retire) says so in words). [`wait`](Retired::wait) waits and gives it back.
///
/// ```
/// use quiescent::RcuCell;
///
/// let cell = RcuCell::new(vec![1]);
/// cell.store(vec![2]); // the old value is retired
/// cell.store(vec![3]).with_owned_bytes(8).retire(); // the same, and it counts as 8 bytes more than its size
/// assert_eq!(*cell.store(vec![4]).wait(), [3]);
/// ```
pub struct Retired<T: Send + 'static, D: Handle = Global> {
    value: NonNull<T>,
    /// Bytes that the value owns beside its own size.
    owned_bytes: usize,
    domain: D,
    owns: PhantomData<Box<T>>,
}

// SAFETY: it owns a T that others may still read.
unsafe impl<T: Send + Sync, D: Handle + Send> Send for Retired<T, D> {}
// SAFETY: as above; a shared Retired gives &T only.
unsafe impl<T: Send + Sync, D: Handle + Sync> Sync for Retired<T, D> {}

/// What comes back from a wait that failed: the value, still retired, and the reason.
type NotWaited<T, D> = Refused<Retired<T, D>, SyncError>;

impl<T: Send + 'static> Retired<T> {
    /// Takes over an object that has been unlinked: for linked structures whose pointers own nothing.
    ///
    /// # Safety
    /// `pointer` comes from `Box::into_raw`; no section that opens from now on can find the object (those
    /// that are open may go on with it); it is retired once, and not freed or changed by anybody else.
    ///
    /// ```
    /// use quiescent::Retired;
    /// use std::ptr::NonNull;
    ///
    /// let object = NonNull::from(Box::leak(Box::new([0u64; 8])));
    /// // … published, read, unlinked …
    /// unsafe { Retired::from_raw(object) }.retire();
    /// quiescent::barrier(); // for the example only: now it is freed
    /// ```
    #[inline(always)]
    pub unsafe fn from_raw(pointer: NonNull<T>) -> Retired<T> {
        // SAFETY: the caller's promise.
        unsafe { Retired::from_raw_in(pointer, Global) }
    }
}

impl<T: Send + 'static, D: Handle> Retired<T, D> {
    /// As [`from_raw`](Retired::from_raw), for an object that is read under sections of this domain, and no other.
    ///
    /// # Safety
    /// As there, for sections of this domain.
    #[inline(always)]
    pub unsafe fn from_raw_in(pointer: NonNull<T>, domain: D) -> Retired<T, D> {
        Retired {
            value: pointer,
            owned_bytes: 0,
            domain,
            owns: PhantomData,
        }
    }

    /// What it consists of. It retires nothing any more.
    #[inline(always)]
    fn into_parts(self) -> (NonNull<T>, usize, D) {
        let this = ManuallyDrop::new(self);
        // SAFETY: read once, and `this` is not dropped.
        let domain = unsafe { ptr::read(&this.domain) };
        (this.value, this.owned_bytes, domain)
    }

    /// Frees the value after a grace period. Never waits, never fails, and runs no code of `T` here:
    /// a plain value (one without `Drop`) is freed by a later `retire` of this thread or by the worker,
    /// any other by the worker or in [`drain`](crate::drain()). Lazy: it may take some seconds
    /// ([`FLUSH`](crate::tuning::FLUSH)) if nothing else asks for a grace period. Not for signal handlers.
    #[doc(alias = "kfree_rcu")]
    #[doc(alias = "defer_destroy")]
    #[inline(always)]
    pub fn retire(self) {
        drop(self);
    }

    /// As [`retire`](Retired::retire), but soon: a grace period is started for it, and everything that
    /// this thread has retired before goes with it.
    pub fn retire_hurry(self) {
        let (value, bytes, domain) = self.into_parts();
        // SAFETY: a box of ours that no new reader can find.
        unsafe { domain.domain_backend().retire(value, bytes, Way::Hurry) };
    }

    /// As [`retire`](Retired::retire), for threads whose time is dear (audio, control loops): this call frees
    /// nothing, runs nothing, starts no grace period, and issues no process-wide fence. Others do all that: the
    /// worker is woken once a batch, or comes when the flush time is over.
    ///
    /// What it may cost besides its ~20 instructions: once in a few hundred calls the queue's lock and a
    /// block of memory, now and then a system call that wakes the worker or sets its timer, and the first
    /// of all calls starts the worker. A thread for which all of `retire` is to be like this:
    /// [`offload_thread`](crate::tuning::offload_thread). In a domain of the program's own it is as [`retire`](Retired::retire).
    ///
    /// ```
    /// let cell = quiescent::RcuCell::new([0u8; 64]);
    /// cell.store([1; 64]).retire_no_reclaim();
    /// ```
    #[inline(always)]
    pub fn retire_no_reclaim(self) {
        let (value, bytes, domain) = self.into_parts();
        // SAFETY: a box of ours that no new reader can find.
        unsafe { domain.domain_backend().retire(value, bytes, Way::NoReclaim) };
    }

    /// As [`retire`](Retired::retire), unless the [budget](crate::tuning::set_budget()) is used up: then the value comes
    /// back. Never waits. Far from the budget it costs one look at a word more.
    ///
    /// # Errors
    /// [`Refusal::Full`]: it does not fit beside what is queued. Before it says so, it drives
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
    /// The budget of a domain is its own:
    /// ```
    /// use quiescent::{Domain, RcuCell};
    ///
    /// let domain = Domain::new();
    /// domain.set_budget(u64::MAX, 10);
    /// let cell = RcuCell::new_in(0, &domain);
    /// let guard = domain.read_lock(); // nothing can be freed meanwhile
    /// let refused = (1..100).map(|n| cell.store(n).try_retire()).filter(Result::is_err).count();
    /// assert_eq!(refused, 89);
    /// # drop(guard);
    /// ```
    pub fn try_retire(self) -> Result<(), Refused<Retired<T, D>>> {
        let backend = self.domain.domain_backend();
        // SAFETY: a box of ours that no new reader can find; if it is queued, `self` is gone.
        let result = unsafe { backend.try_retire(self.value, self.owned_bytes) };
        self.unless_queued(result)
    }

    /// As [`retire`](Retired::retire), but waits while the [budget](crate::tuning::set_budget()) is used up, for at
    /// most `limit`. It waits for grace periods, and frees memory that is done, also of others; it runs
    /// nobody's code.
    ///
    /// # Errors
    /// [`Refusal::TimedOut`], with the readers that were in the way. Inside a section or a
    /// callback [`Refusal::CannotWait`] (of the process's domain also where there is room). The value comes
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
    pub fn retire_wait(self, limit: Duration) -> Result<(), Refused<Retired<T, D>>> {
        let backend = self.domain.domain_backend();
        // SAFETY: as in `try_retire`.
        let result = unsafe { backend.retire_wait(self.value, self.owned_bytes, limit) };
        self.unless_queued(result)
    }

    fn unless_queued(self, result: Result<(), Refusal>) -> Result<(), Refused<Retired<T, D>>> {
        match result {
            Ok(()) => {
                self.into_parts();
                Ok(())
            }
            Err(reason) => Err(Refused::new(self, reason)),
        }
    }

    /// Says that the value owns this many bytes beside its own size, so that a few large objects are
    /// not held as long as many small ones. Adds up over calls. What the box itself takes, rounded as
    /// allocators do, and the queue's entry are counted anyway.
    #[must_use = "this does not retire"]
    pub fn with_owned_bytes(mut self, bytes: usize) -> Retired<T, D> {
        self.owned_bytes = self.owned_bytes.saturating_add(bytes);
        self
    }

    /// Waits for a grace period and gives the value back. Many at once: [`wait_all`](Retired::wait_all).
    ///
    /// # Panics
    /// As [`synchronize`](crate::synchronize); the value is then retired.
    #[track_caller]
    pub fn wait(self) -> Box<T> {
        match self.try_wait() {
            Ok(value) => value,
            Err(Refused { reason, .. }) => panic!("Retired::wait: {reason}"),
        }
    }

    /// As [`wait`](Retired::wait), returning the reason why it cannot.
    ///
    /// # Errors
    /// As [`try_synchronize`](crate::try_synchronize), with the value still retired.
    pub fn try_wait(self) -> Result<Box<T>, NotWaited<T, D>> {
        self.wait_as(How::default())
    }

    /// As [`try_wait`](Retired::try_wait), giving up after `timeout`.
    ///
    /// # Errors
    /// As [`synchronize_timeout`](crate::synchronize_timeout), with the value still retired.
    pub fn wait_timeout(self, timeout: Duration) -> Result<Box<T>, NotWaited<T, D>> {
        self.wait_as(How::within(timeout))
    }

    fn wait_as(self, how: How) -> Result<Box<T>, NotWaited<T, D>> {
        match self.domain.domain_backend().wait(how) {
            Ok(()) => Ok(self.into_box()),
            Err(error) => Err(Refused::new(self, error)),
        }
    }

    /// Waits for **one** grace period and gives all these values back. (If they are of several domains, for one of each but the first
    /// as well.)
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
    #[track_caller]
    pub fn wait_all(retired: impl IntoIterator<Item = Retired<T, D>>) -> Vec<Box<T>> {
        let all: Vec<Retired<T, D>> = retired.into_iter().collect();
        let mut waited = Vec::new();
        for one in &all {
            let backend = one.domain.domain_backend();
            if !waited.contains(&backend) {
                if let Err(error) = backend.wait(How::default()) {
                    panic!("Retired::wait_all: {error}");
                }
                waited.push(backend);
            }
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
        Cookie::<D>::start(self.domain.domain_backend())
            .wait_async()
            .await;
        self.into_box()
    }

    /// As [`wait_async`](Retired::wait_async), with the reason why it cannot in place of a panic.
    ///
    /// # Errors
    /// As [`try_grace_period`](crate::try_grace_period()), with the value still retired.
    #[cfg(not(quiescent_model))]
    pub async fn try_wait_async(self) -> Result<Box<T>, NotWaited<T, D>> {
        match future::Waits::of(Cookie::<D>::start(self.domain.domain_backend())).await {
            Ok(()) => Ok(self.into_box()),
            Err(error) => Err(Refused::new(self, error)),
        }
    }

    /// Keeps the value for ever.
    pub fn leak(self) -> &'static T
    where
        T: Sync,
    {
        let (value, ..) = self.into_parts();
        // SAFETY: never freed from here on.
        unsafe { value.as_ref() }
    }

    /// A grace period has passed since the value was replaced.
    fn into_box(self) -> Box<T> {
        let (value, ..) = self.into_parts();
        // SAFETY: a box of ours; nobody reads it any more.
        unsafe { Box::from_raw(value.as_ptr()) }
    }
}

impl<T: Send + Sync + 'static, D: Handle> Deref for Retired<T, D> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: owned by `self`; others may read it too, so there is no mutable access.
        unsafe { self.value.as_ref() }
    }
}

impl<T: Send + 'static, D: Handle> Drop for Retired<T, D> {
    #[inline(always)]
    fn drop(&mut self) {
        let (value, bytes) = (self.value, self.owned_bytes);
        // SAFETY: a box of ours that no new reader can find; it is not used again.
        unsafe { self.domain.domain_backend().retire(value, bytes, Way::Lazy) };
    }
}

impl<T: Send + Sync + fmt::Debug, D: Handle> fmt::Debug for Retired<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Retired").field(&**self).finish()
    }
}
