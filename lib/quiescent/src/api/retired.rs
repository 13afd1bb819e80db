//! [`Retired`]: a value that was replaced or removed, and that readers may still use.
//!
//! The program can wait for it (`wait` and related methods return the value), keep it (`leak`), or retire it:
//! the library then frees it after a grace period, and no thread waits. Dropping it retires it.
//!
//! A retired object goes into the calling thread's own queue, with plain stores. The same thread frees it,
//! one or two objects at a time, in later calls of `retire` and `store`. This needs no wake-up, and the
//! caches are warm. When a thread stops retiring, or ends, the worker frees what is left, at most
//! [`FLUSH`](crate::tuning::FLUSH) later. (In a [`Domain`](crate::Domain) or [`Srcu`](crate::Srcu), a
//! thread's first 64 items take the lock of its queue there, and the worker drops those that have a
//! destructor.)
//!
//! # Destructors
//! A value with `Drop` is dropped inside a later `retire` or `store` of the thread that retired it, at most
//! two values a call; a thread that retires inside a section drops as many at the end of its outermost
//! section (or at its [`repin`](crate::Guard::repin)), a few at a time. A destructor never runs inside a
//! section of that thread (the sections of an [`Srcu`](crate::Srcu) whose guards may be sent belong to no
//! thread, and do not count), nor inside another destructor or callback: what these retire is only queued.
//! Nor does one run at the end of a section in a signal handler, while the thread unwinds, or while it ends;
//! `errno` is kept there. A panic is contained and [reported](crate::report::on_report). Waiting for a grace
//! period inside a destructor is refused, as in callbacks.
//!
//! **A destructor must not take a lock that is held while something is retired**: a thread that holds it and
//! retires would wait for itself. Where that cannot be excluded, have the worker run destructors: of one
//! value ([`on_worker`](Retired::on_worker)), of one thread
//! ([`set_thread_on_worker`](crate::tuning::set_thread_on_worker)), of a domain
//! ([`set_destructors`](crate::RcuDomain::set_destructors)), or of the process
//! ([`tuning`](crate::tuning::set_destructors), [`Options`](crate::Options)). In builds with
//! `debug_assertions` a destructor that takes more than 10 ms in such a call is
//! [reported](crate::report::Report::Slow) with its type. In fenced mode the worker runs all destructors.
//!
//! No method waits for readers or can fail, unless its name says so. None may be called in signal handlers,
//! or by a global allocator for its own use.

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::time::Duration;

#[cfg(not(quiescent_model))]
use super::cookie::Cookie;
use super::handle::sealed::INSIDE;
use super::handle::{Global, Handle};
use super::home::must;
use super::queueing::Boxed;
use quiescent_core::domain::driver::How;
use quiescent_core::domain::enqueue::Terms;
use quiescent_core::domain::error::Refusal;
use quiescent_core::domain::error::SyncError;
use quiescent_core::prim::counters::count;
use quiescent_engine::credit::Urgency;

/// A replaced value that sections that are open now may still be reading.
///
/// Dropping it **retires** it: the library frees it after a grace period, and no thread waits
/// ([`retire`](Retired::retire) does the same explicitly). [`wait`](Retired::wait) waits and returns the
/// value.
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
    boxed: Boxed<T>,
    domain: D,
    owns: PhantomData<Box<T>>,
}

// SAFETY: it owns a T that other threads may still read.
unsafe impl<T: Send + Sync, D: Handle + Send> Send for Retired<T, D> {}
// SAFETY: as above; a shared Retired gives &T only.
unsafe impl<T: Send + Sync, D: Handle + Sync> Sync for Retired<T, D> {}

/// The error of a wait: the value, still retired, and the reason.
type NotWaited<T, D> = Refused<Retired<T, D>, SyncError>;

impl<T: Send + 'static> Retired<T> {
    /// Takes ownership of an object that has been unlinked, for linked structures whose pointers own nothing.
    ///
    /// # Safety
    /// `pointer` comes from `Box::into_raw`; no section that opens later can find the object (sections that
    /// are open now may continue to use it); it is retired once, and no other code frees or changes it.
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
    /// As [`from_raw`](Retired::from_raw), for an object that is read only under sections of this domain.
    ///
    /// # Safety
    /// As for [`from_raw`](Retired::from_raw), for sections of this domain.
    #[inline(always)]
    pub unsafe fn from_raw_in(pointer: NonNull<T>, domain: D) -> Retired<T, D> {
        let boxed = Boxed::new(pointer);
        let owns = PhantomData;
        Retired {
            boxed,
            domain,
            owns,
        }
    }

    /// Takes it apart without retiring it.
    #[inline(always)]
    fn into_parts(self) -> (Boxed<T>, D) {
        let this = ManuallyDrop::new(self);
        // SAFETY: each is read once, and `this` is not dropped.
        unsafe { (ptr::read(&this.boxed), ptr::read(&this.domain)) }
    }

    /// Frees the value after a grace period. Never waits for readers and never fails. A later `retire` or
    /// `store` of this thread drops the value, or the worker if this thread becomes quiet. Lazy: it may take
    /// some seconds ([`FLUSH`](crate::tuning::FLUSH)) if nothing else requests a grace period. Not for signal
    /// handlers.
    ///
    /// Outside of sections and callbacks this call may run the destructors of one or two values that were
    /// retired before; inside a section, the end of the outermost one may. **So hold no lock here that a
    /// destructor of a retired value takes**, or have the worker run it ([`on_worker`](Retired::on_worker)).
    #[doc(alias = "kfree_rcu")]
    #[doc(alias = "defer_destroy")]
    #[inline(always)]
    pub fn retire(self) {
        // Not through `drop`: the compiler may emit that as a separate function, where constants that are
        // known here (such as the declared bytes) are not known.
        let (boxed, domain) = self.into_parts();
        // SAFETY: a box of ours that no new reader can find.
        unsafe { boxed.retire(&domain, Terms::LAZY) };
    }

    /// As [`retire`](Retired::retire), but starts a grace period at once. What this thread has retired before
    /// is included.
    pub fn retire_hurry(self) {
        let (boxed, domain) = self.into_parts();
        // SAFETY: a box of ours that no new reader can find.
        unsafe { boxed.retire(&domain, Terms::of(Urgency::Hurry)) };
    }

    /// As [`retire`](Retired::retire), unless the [budget](crate::tuning::set_budget()) is used up; then it
    /// returns the value. Never waits. Far from the budget it costs one load more than `retire`.
    ///
    /// # Errors
    /// [`Refusal::Full`]: the value does not fit into the budget beside what is queued. Before the call
    /// returns this, it drives the grace period as far as possible without waiting, and frees what has become
    /// free.
    ///
    /// ```
    /// use quiescent::RcuCell;
    ///
    /// let cell = RcuCell::new([0u8; 64]);
    /// if let Err(refused) = cell.store([1; 64]).try_retire() {
    ///     drop(refused.object.wait()); // go no faster than the readers
    /// }
    /// ```
    ///
    /// Each domain has a budget of its own:
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
        let counters = &self.domain.core_domain(INSIDE).state().counters;
        self.retire_if_room(None)
            .inspect_err(|_| count(&counters.refused))
    }

    /// As [`retire`](Retired::retire), but waits while the [budget](crate::tuning::set_budget()) is used up,
    /// for at most `limit`. While it waits, it drives grace periods and frees memory, also of other threads.
    /// It runs the destructors that `retire` would run, and no callbacks.
    ///
    /// # Errors
    /// [`Refusal::TimedOut`], with the readers that blocked the grace period. Inside a section or a callback
    /// [`Refusal::CannotWait`], even if there is room. Each returns the value.
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
        self.retire_if_room(Some(limit))
    }

    fn retire_if_room(self, wait: Option<Duration>) -> Result<(), Refused<Retired<T, D>>> {
        // SAFETY: a box of ours that no new reader can find; if it is queued, `self` is gone.
        match unsafe { self.boxed.retire_if_room(&self.domain, wait) } {
            Ok(()) => {
                self.into_parts();
                Ok(())
            }
            Err(reason) => Err(Refused::new(self, reason)),
        }
    }

    /// Declares that the value owns this many bytes besides its own size, so that a few large objects are not
    /// held as long as many small ones. Several calls add up, also with the weight that a
    /// [cell](crate::RcuCell::with_weight) has found. The box itself, rounded as allocators do, and the queue
    /// entry are always counted. From 2048 on the amount is rounded up, by at most one part in 1024.
    ///
    /// Without a declaration a value with a destructor counts as owning 1 KiB. (The amount is only compared
    /// with the [budget](crate::tuning::set_budget()); it does not make batches of callbacks smaller.)
    #[must_use = "this does not retire"]
    pub fn with_owned_bytes(mut self, bytes: usize) -> Retired<T, D> {
        self.boxed.add_owned(bytes);
        self
    }

    /// Has the worker (or [`drain`](crate::drain())) reclaim this value, and no later `retire` of this
    /// thread: for destructors that take a lock which is held while something is retired, or that take long;
    /// and for threads with deadlines (audio, control loops). A [`retire`](Retired::retire) of it frees
    /// nothing, runs nothing, starts no grace period, and issues no process-wide fence. The worker does all
    /// that: it is woken once a batch, or wakes at the flush time. (A value without a destructor may still be
    /// freed by the thread's `retire` of other values.)
    ///
    /// For all values of a thread or of the process there are
    /// [`set_thread_on_worker`](crate::tuning::set_thread_on_worker) and
    /// [`set_on_worker`](crate::tuning::set_on_worker), for all destructors
    /// [`set_destructors`](crate::tuning::set_destructors).
    ///
    /// Cost of `retire`: about 20 instructions. Once in a few hundred calls it also takes the queue's lock
    /// and a block of memory; sometimes it makes a system call that wakes the worker or sets its timer; the
    /// first call of all starts the worker. In a domain of the program's own, each of a thread's first 64
    /// calls takes the lock of its queue there.
    ///
    /// From three quarters of the [budget](crate::tuning::set_budget()) on, a call that takes the lock
    /// wakes the worker and yields the processor once (not inside a section). Beyond the budget each call
    /// does: a microsecond or two, if no other thread wants the processor. A real-time thread yields to
    /// threads of its own priority only: give it a budget that it does not reach, or the worker a processor
    /// of its own.
    ///
    /// ```
    /// let cell = quiescent::RcuCell::new(String::from("old"));
    /// cell.store(String::from("new")).on_worker().retire();
    /// ```
    #[must_use = "this does not retire"]
    pub fn on_worker(mut self) -> Retired<T, D> {
        self.boxed.leave_to_worker();
        self
    }

    /// Waits for a grace period and returns the value. For several values: [`wait_all`](Retired::wait_all).
    ///
    /// # Panics
    /// As [`synchronize`](crate::synchronize); the value is then retired.
    #[track_caller]
    pub fn wait(self) -> Box<T> {
        must(self.try_wait(), "Retired::wait")
    }

    /// As [`wait`](Retired::wait), but returns an error instead of panicking.
    ///
    /// # Errors
    /// As [`try_synchronize`](crate::try_synchronize), with the value still retired.
    pub fn try_wait(self) -> Result<Box<T>, NotWaited<T, D>> {
        self.wait_as(How::default())
    }

    /// As [`try_wait`](Retired::try_wait), waiting for at most `timeout`.
    ///
    /// # Errors
    /// As [`synchronize_timeout`](crate::synchronize_timeout), with the value still retired.
    pub fn wait_timeout(self, timeout: Duration) -> Result<Box<T>, NotWaited<T, D>> {
        self.wait_as(How::within(timeout))
    }

    fn wait_as(self, how: How) -> Result<Box<T>, NotWaited<T, D>> {
        match self.domain.core_domain(INSIDE).state().synchronize(how) {
            Ok(()) => Ok(self.into_box()),
            Err(error) => Err(Refused::new(self, error)),
        }
    }

    /// Waits for **one** grace period and returns all these values. (If they belong to several domains, for
    /// one grace period of each.)
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
            let domain = one.domain.core_domain(INSIDE);
            if !waited.iter().any(|&it| ptr::eq(it, domain)) {
                must(
                    domain.state().synchronize(How::default()),
                    "Retired::wait_all",
                );
                waited.push(domain);
            }
        }
        all.into_iter().map(Retired::into_box).collect()
    }

    /// As [`wait`](Retired::wait), for async code. If the future is dropped before it is ready, the value is
    /// retired.
    ///
    /// # Panics
    /// As [`GracePeriod`](crate::GracePeriod).
    #[cfg(not(quiescent_model))]
    pub async fn wait_async(self) -> Box<T> {
        Cookie::<D>::start(self.domain.core_domain(INSIDE))
            .wait_async()
            .await;
        self.into_box()
    }

    /// As [`wait_async`](Retired::wait_async), but returns an error instead of panicking.
    ///
    /// # Errors
    /// As [`try_grace_period`](crate::try_grace_period()), with the value still retired.
    #[cfg(not(quiescent_model))]
    pub async fn try_wait_async(self) -> Result<Box<T>, NotWaited<T, D>> {
        match Cookie::<D>::start(self.domain.core_domain(INSIDE))
            .as_wait()
            .await
        {
            Ok(()) => Ok(self.into_box()),
            Err(error) => Err(Refused::new(self, error)),
        }
    }

    /// Never frees the value.
    pub fn leak(self) -> &'static T
    where
        T: Sync,
    {
        let (boxed, _) = self.into_parts();
        // SAFETY: never freed from here on.
        unsafe { boxed.value.as_ref() }
    }

    /// Returns the box. Only after a grace period since the value was replaced.
    fn into_box(self) -> Box<T> {
        let (boxed, _) = self.into_parts();
        // SAFETY: a box of ours, and after the grace period no reader uses it.
        unsafe { Box::from_raw(boxed.value.as_ptr()) }
    }
}

impl<T: Send + Sync + 'static, D: Handle> Deref for Retired<T, D> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: owned by `self`; other threads may read it, so there is no mutable access.
        unsafe { self.boxed.value.as_ref() }
    }
}

/// As [`retire`](Retired::retire): may run destructors of values retired before, so hold no lock that these
/// take.
impl<T: Send + 'static, D: Handle> Drop for Retired<T, D> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: a box of ours that no new reader can find; it is not used again.
        unsafe { Boxed { ..self.boxed }.retire(&self.domain, Terms::LAZY) };
    }
}

impl<T: Send + Sync + fmt::Debug, D: Handle> fmt::Debug for Retired<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Retired").field(&**self).finish()
    }
}

/// An object that was **not** retired, not waited for or not freed, and the reason. Returned by
/// [`Retired::try_retire`], [`Retired::try_wait`], [`Domain::free_now`](crate::Domain::free_now) and related
/// methods.
///
/// [`Retired::try_retire`]: crate::Retired::try_retire
/// [`Retired::try_wait`]: crate::Retired::try_wait
///
/// ```
/// use quiescent::{RcuCell, Refused};
///
/// let cell = RcuCell::new([0u8; 100]);
/// let old = cell.store([1; 100]);
/// if let Err(Refused { object, reason, .. }) = old.try_retire() {
///     eprintln!("{reason}");
///     drop(object.wait()); // go no faster than the readers
/// }
/// ```
#[must_use = "the object comes back in here"]
#[non_exhaustive]
pub struct Refused<R, E = Refusal> {
    /// The object, as it was before the call.
    pub object: R,
    /// The reason.
    pub reason: E,
}

impl<R, E> Refused<R, E> {
    pub(crate) fn new(object: R, reason: E) -> Refused<R, E> {
        Refused { object, reason }
    }
}

impl<R, E: fmt::Debug> fmt::Debug for Refused<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused")
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

impl<R, E: fmt::Display> fmt::Display for Refused<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl<R, E: fmt::Debug + fmt::Display> Error for Refused<R, E> {}
