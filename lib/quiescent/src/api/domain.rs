//! [`RcuDomain`]: a domain of the program's own, with grace periods of its own. Its two kinds are [`Domain`]
//! and [`Srcu`](crate::Srcu).

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use quiescent_engine::Lane;
use quiescent_engine::credit::Urgency;

use super::cookie::Cookie;
use super::future::BarrierFuture;
#[cfg(not(quiescent_model))]
use super::future::GracePeriod;
use super::guard::Guard;
use super::handle::sealed::{Inside, Sealed};
use super::handle::{Handle, HandlesLeft, Reads, Unique, handle, lead_to_one};
use super::home::{Drained, must};
use super::kind::{Kind, Many, PerThread, Single, domain_at, place_in};
use super::queueing;
use super::retired::Refused;
use super::tuning::{FlushTimes, in_ns};
use crate::stats::{DomainStatistics, Holdout};
use quiescent_core::const_new;
use quiescent_core::domain::driver::How;
use quiescent_core::domain::error::SyncError;
use quiescent_core::domain::life as core;
use quiescent_core::domain::points::Wait;
use quiescent_core::domain::settings::Runner;
use quiescent_core::domain::state::State;
use quiescent_core::domain::sweep::Until;
use quiescent_core::prim::AtomicPtr;
use quiescent_core::queue::weight::UNKNOWN;

/// A domain: grace periods, budget, flush times and reports that are separate from those of the rest of the
/// process.
///
/// The free functions of this crate ([`read_lock`](crate::read_lock()), [`synchronize`](crate::synchronize),
/// [`defer`](crate::defer())…) use one domain, [`Global`](crate::Global), which the whole process shares: a
/// slow reader anywhere in it blocks all reclaiming. Put data with slow readers, or data whose memory must
/// not wait for unrelated readers, into a domain of its own. A section of one domain blocks no other domain.
/// The guide has a chapter on [when to use one](crate::guide::domains).
///
/// ```
/// use quiescent::{Domain, RcuCell};
///
/// static ROUTES: Domain = Domain::new();
/// static REPORTS: Domain = Domain::new();
///
/// let table = RcuCell::new_in(vec![1, 2, 3], &ROUTES);
/// let slow = REPORTS.read_lock(); // a report that takes its time
/// table.store(vec![4]);
/// ROUTES.synchronize();           // does not wait for it
/// assert_eq!(ROUTES.read(|guard| table.load(guard).len()), 1);
/// drop(slow);
/// ```
///
/// # Guards and cells
/// A cell is read under guards of its own domain. A guard of the process's domain, or of an
/// [`Srcu`](crate::Srcu), does not compile. A guard of another `Domain` panics, because both have the same
/// type. With *tags* the compiler rejects it too:
///
/// ```
/// use quiescent::{Domain, RcuCell};
///
/// struct Routes;
/// static ROUTES: Domain<Routes> = Domain::tagged();
///
/// let table = RcuCell::new_in(1, &ROUTES);
/// assert_eq!(ROUTES.read(|guard| *table.load(guard)), 1);
/// ```
/// ```compile_fail,E0277
/// # use quiescent::{Domain, RcuCell};
/// # struct Routes;
/// # struct Reports;
/// # static ROUTES: Domain<Routes> = Domain::tagged();
/// static REPORTS: Domain<Reports> = Domain::tagged();
/// # let table = RcuCell::new_in(1, &ROUTES);
/// REPORTS.read(|guard| *table.load(guard)); // a guard of Reports, a cell of Routes
/// ```
/// Where each tag has one domain, [`domain!`](crate::domain!) makes both, and needs no check at run time.
///
/// # Handles
/// Cells, lists and guards borrow their domain (`&DOMAIN`), or keep it alive: a clone of a domain is another
/// handle to the same domain, which is dropped with its last handle.
///
/// # Cost
/// A section costs as much as one of the process's domain: two stores to a word of the thread's own, and no
/// fence; and a check whether the word that the thread has cached is of this domain. A thread that alternates
/// between domains looks its word up each time. `quiescent bench read` measures both. Each thread that has
/// read in a domain costs 128 bytes.
///
/// A domain that was never used is one word. It gets an engine and queues when something is first queued or
/// waited for there, and keeps them: a domain at rest takes some kilobytes (`quiescent bench idle` measures
/// it; the target is at most 8 KiB). It has no thread and no timer, and causes no wake-ups. A thread's first
/// 64 callbacks or objects in a domain take the lock of its queue there; after them it pushes without a lock.
/// The process's worker frees and runs what is queued. It waits for no reader, and one fence serves all
/// domains that need one.
///
/// # Rules
/// * As for every [`Guard`]: a guard belongs to its thread; sections nest without a limit; they may be opened
///   in signal handlers. A forgotten guard blocks its domain for ever, and only that.
/// * Waiting inside a section of the same domain is refused ([`SyncError::InsideSection`](crate::SyncError)),
///   and also inside one of the process's domain, which would be blocked meanwhile. Waiting inside a section
///   of *another* domain is allowed (also for the process's domain): two threads that do so in opposite
///   directions wait for ever.
/// * A thread without a slot (too many threads, or no memory) counts as inside every domain while it is
///   inside one: waiting is refused.
/// * In the child of a fork, sections of other threads have ended, as in the process's domain.
///
/// # Dropping it
/// Dropping the last handle never waits, and no reader is left then. The thread that drops it frees what is
/// queued, at once, and runs the destructors of retired values: **hold no lock that one of them takes.** The
/// worker runs the rest, as soon as it can, without a grace period:
///
/// * closures, intrusive callbacks, and values retired [`on_worker`](crate::Retired::on_worker);
/// * destructors, if [others than their owners run them](RcuDomain::set_destructors) in this domain, or the
///   thread is inside a section of any domain.
///
/// The process's [`barrier()`](crate::barrier()) and [`drain`](crate::drain()) cover that, and the process's
/// budget counts it. (Except what the worker is running at that moment: a barrier does not wait for it.)
/// [`free_now`](RcuDomain::free_now) leaves nothing.
pub type Domain<Tag = ()> = RcuDomain<Tag, PerThread>;

/// A domain with readers of kind `K`. Use the names [`Domain`] and [`Srcu`](crate::Srcu).
pub struct RcuDomain<Tag: 'static, K: Kind> {
    /// The domain in the layers below, or null before first use.
    place: AtomicPtr<()>,
    is: PhantomData<fn() -> (Tag, K)>,
}

impl<K: Many> RcuDomain<(), K> {
    const_new! {
        /// Makes a domain without a tag (with one: [`tagged`](Domain::tagged)). Allocates nothing before it
        /// is used.
        pub fn new() -> RcuDomain<(), K> {
            RcuDomain::nowhere()
        }
    }
}

impl<Tag: 'static> RcuDomain<Tag, PerThread> {
    const_new! {
        /// Makes a domain with a tag: a type that it shares with its guards and cells.
        pub fn tagged() -> RcuDomain<Tag, PerThread> {
            RcuDomain::nowhere()
        }
    }
}

#[cfg(not(quiescent_model))]
impl<S: Singleton> RcuDomain<S, Single> {
    /// For [`domain!`](crate::domain!).
    ///
    /// # Safety
    /// Call it once.
    #[doc(hidden)]
    pub const unsafe fn single() -> RcuDomain<S, Single> {
        RcuDomain::nowhere()
    }
}

impl<Tag: 'static, K: Kind> RcuDomain<Tag, K> {
    const_new! {
        /// Makes a domain without a place.
        pub(crate) fn nowhere() -> RcuDomain<Tag, K> {
            RcuDomain { place: AtomicPtr::new(std::ptr::null_mut()), is: PhantomData }
        }
    }

    /// A domain at this place, for models and for readers of another kind.
    #[cfg(any(quiescent_model, feature = "foreign"))]
    pub(crate) fn of(place: *const ()) -> RcuDomain<Tag, K> {
        RcuDomain {
            place: AtomicPtr::new(place.cast_mut()),
            is: PhantomData,
        }
    }

    /// What holds its place.
    #[inline(always)]
    pub(crate) fn word(&self) -> &AtomicPtr<()> {
        &self.place
    }

    /// The domain in the layers below, made at first use.
    pub(crate) fn core(&self) -> &'static core::Domain {
        domain_at::<K>(Some(&self.place))
    }

    fn core_if_any(&self) -> Option<&'static core::Domain> {
        // SAFETY: null, or a domain, and those live for ever.
        unsafe { place_in(Some(&self.place)).cast::<core::Domain>().as_ref() }
    }

    /// Opens a section. Never waits, never fails. Allowed in signal handlers for a [`Domain`], not for an
    /// [`Srcu`](crate::Srcu).
    ///
    /// # Ordering
    /// As [`read_lock`](crate::read_lock()): a grace period of this domain that starts while the section is
    /// open ends after it; a section that opens after a grace period has started sees everything that
    /// happened before that start.
    #[doc(alias = "pin")]
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    pub fn read_lock(&self) -> Guard<&RcuDomain<Tag, K>> {
        Guard::new_in(self)
    }

    /// Runs `f` inside a section.
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    pub fn read<'d, R>(&'d self, f: impl FnOnce(&Guard<&'d RcuDomain<Tag, K>>) -> R) -> R {
        let guard = self.read_lock();
        f(&guard)
    }

    /// Opens a section whose guard keeps the domain alive, for code that outlives the scope that made the
    /// domain. (For tasks: [`read_owned_send`](crate::Srcu::read_owned_send) of an [`Srcu`](crate::Srcu).)
    ///
    /// ```
    /// use quiescent::Domain;
    ///
    /// let domain = Domain::new();
    /// let guard = domain.read_owned();
    /// drop(domain);
    /// drop(guard); // the last one: the domain goes with it
    /// ```
    #[cfg_attr(feature = "locations", track_caller)]
    pub fn read_owned(&self) -> Guard<RcuDomain<Tag, K>> {
        Guard::new_in(self.clone())
    }

    /// The readers that the grace period in flight waits for, at most 64 of them; empty if none is in flight.
    /// Reads their names from `/proc`.
    ///
    /// In an [`Srcu`](crate::Srcu), for sections of guards that may be sent: the threads on which they were
    /// begun, as far as one inspection can tell; in the child of a fork, how many of them other threads of
    /// the parent had open ([`Holdout::inherited`]).
    pub fn holdouts(&self) -> Vec<Holdout> {
        self.core()
            .state_if_any()
            .map_or(Vec::new(), State::holdouts)
    }

    /// Returns whether this thread is inside a section of this domain. (In an [`Srcu`](crate::Srcu): one of a
    /// guard that belongs to this thread.)
    pub fn in_section(&self) -> bool {
        self.core().caller_is_inside()
    }

    /// Counters of this domain, and its present state.
    pub fn statistics(&self) -> DomainStatistics {
        DomainStatistics::of(self.core())
    }

    // Waiting.

    /// Waits for a grace period: until every section of this domain that was open when this was called has
    /// ended.
    ///
    /// # Ordering
    /// As [`synchronize`](crate::synchronize), for sections of this domain.
    ///
    /// # Panics
    /// Inside a section of this domain or of the process's, and inside a callback; if `membarrier(2)` is
    /// refused after start-up. [`try_synchronize`](RcuDomain::try_synchronize) returns these as errors.
    #[doc(alias = "synchronize_srcu")]
    #[track_caller]
    pub fn synchronize(&self) {
        must(self.try_synchronize(), "synchronize");
    }

    /// As [`synchronize`](RcuDomain::synchronize), but returns an error instead of panicking.
    ///
    /// # Errors
    /// [`SyncError::InsideSection`] (not for guards that are [`Sendable`](crate::Sendable)),
    /// [`SyncError::InsideCallback`], [`SyncError::FenceRefused`], [`SyncError::OutOfMemory`]. No grace
    /// period has been waited for then.
    ///
    /// ```
    /// use quiescent::{Domain, SyncError};
    ///
    /// let domain = Domain::new();
    /// let guard = domain.read_lock();
    /// assert_eq!(domain.try_synchronize(), Err(SyncError::InsideSection));
    /// # drop(guard);
    /// ```
    pub fn try_synchronize(&self) -> Result<(), SyncError> {
        self.core().state().synchronize(How::default())
    }

    /// As [`try_synchronize`](RcuDomain::try_synchronize), waiting for at most `timeout`.
    ///
    /// # Errors
    /// Also [`SyncError::TimedOut`], with the readers that blocked the grace period.
    ///
    /// ```
    /// use std::time::Duration;
    /// use quiescent::{Srcu, SyncError};
    ///
    /// let srcu = Srcu::new();
    /// let guard = srcu.read_lock_send();
    /// let result = srcu.synchronize_timeout(Duration::from_millis(1));
    /// assert!(matches!(result, Err(SyncError::TimedOut { .. })));
    /// drop(guard);
    /// assert_eq!(srcu.synchronize_timeout(Duration::from_secs(60)), Ok(()));
    /// ```
    pub fn synchronize_timeout(&self, timeout: Duration) -> Result<(), SyncError> {
        self.core().state().synchronize(How::within(timeout))
    }

    /// As [`synchronize`](RcuDomain::synchronize), but spins longer before it sleeps.
    ///
    /// # Panics
    /// As [`synchronize`](RcuDomain::synchronize).
    #[track_caller]
    pub fn synchronize_expedited(&self) {
        must(
            self.core().state().synchronize(How::EXPEDITED),
            "synchronize_expedited",
        );
    }

    /// Requests a grace period without waiting, and returns a cookie for it.
    ///
    /// ```
    /// use quiescent::Domain;
    ///
    /// let domain = Domain::new();
    /// let cookie = domain.start_grace_period();
    /// while !cookie.is_done() {
    ///     std::thread::yield_now();
    /// }
    /// ```
    #[doc(alias = "start_poll_synchronize_srcu")]
    pub fn start_grace_period(&self) -> Cookie<RcuDomain<Tag, K>> {
        Cookie::start(self.core())
    }

    /// A future that resolves once every section of this domain that is open now has ended:
    /// [`grace_period`](crate::grace_period()) for it.
    ///
    /// It counts from this call, not from the first poll; needs no runtime; is `Send`; keeps nothing alive.
    /// Polling drives the grace period as far as possible without waiting; if a reader blocks it, the worker
    /// wakes the task. (If the worker cannot be started, the task is woken at once and polls again until that
    /// succeeds.) Dropping the future early has no side effects.
    ///
    /// # Panics
    /// As [`GracePeriod`].
    #[cfg(not(quiescent_model))]
    pub fn grace_period(&self) -> GracePeriod<RcuDomain<Tag, K>> {
        self.start_grace_period().wait_async()
    }

    /// As [`grace_period`](RcuDomain::grace_period), but returns an error instead of panicking.
    #[cfg(not(quiescent_model))]
    pub fn try_grace_period(
        &self,
    ) -> impl Future<Output = Result<(), SyncError>> + Send + Sync + Unpin + 'static {
        self.start_grace_period().as_wait()
    }

    // Callbacks.

    /// Runs `f` after a grace period of this domain, on the worker (or where the program drains). Never
    /// waits, never fails. Prompt: see [`defer`](crate::defer()).
    ///
    /// ```
    /// use quiescent::Domain;
    ///
    /// let domain = Domain::new();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// domain.defer(move || sender.send("all readers of before are gone").unwrap());
    /// domain.barrier();
    /// receiver.recv().unwrap();
    /// ```
    #[doc(alias = "call_srcu")]
    pub fn defer<F: FnOnce() + Send + 'static>(&self, f: F) {
        queueing::defer(self, f, Urgency::Prompt);
    }

    /// As [`defer`](RcuDomain::defer), but lazy: see [`defer_lazy`](crate::defer_lazy).
    pub fn defer_lazy<F: FnOnce() + Send + 'static>(&self, f: F) {
        queueing::defer(self, f, Urgency::Lazy);
    }

    /// As [`defer`](RcuDomain::defer), but at once, with what was queued before.
    pub fn defer_hurry<F: FnOnce() + Send + 'static>(&self, f: F) {
        queueing::defer(self, f, Urgency::Hurry);
    }

    /// Calls `free(object)` after a grace period of this domain: see [`retire`](crate::retire()).
    ///
    /// # Safety
    /// As [`retire`](crate::retire()), for sections of this domain. What `free` uses is alive also after the
    /// domain was dropped.
    ///
    /// ```
    /// let domain = quiescent::Domain::new();
    /// let node = Box::into_raw(Box::new(std::cell::Cell::new(1)));
    /// // … published, read under sections of this domain, unlinked …
    /// unsafe { domain.retire(node, |node| drop(Box::from_raw(node))) };
    /// domain.barrier(); // for the example only: now it is freed
    /// ```
    #[inline(always)]
    pub unsafe fn retire<T>(&self, object: *mut T, free: unsafe fn(*mut T)) {
        // SAFETY: the caller's promise.
        unsafe { queueing::retire_by(self, object, free, UNKNOWN) };
    }

    /// As [`retire`](RcuDomain::retire), for an object that owns so many bytes besides the size of `T`: see
    /// [`retire_weighed`](crate::retire_weighed).
    ///
    /// # Safety
    /// As [`retire`](RcuDomain::retire).
    #[inline(always)]
    pub unsafe fn retire_weighed<T>(
        &self,
        object: *mut T,
        free: unsafe fn(*mut T),
        owned_bytes: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe { queueing::retire_by(self, object, free, owned_bytes.min(UNKNOWN - 1)) };
    }

    /// Runs `f` after a grace period of this domain, also if it is neither `Send` nor `'static`: see
    /// [`defer_unchecked`](crate::defer_unchecked).
    ///
    /// # Safety
    /// As [`defer_unchecked`](crate::defer_unchecked). What `f` uses is alive also after the domain was
    /// dropped.
    pub unsafe fn defer_unchecked<F: FnOnce()>(&self, f: F) {
        // SAFETY: the caller's promise.
        unsafe { queueing::defer_unchecked(self, f) };
    }

    /// Waits until everything queued here before this call, by any thread, has been freed or run. The worker
    /// does that (or the program, in a [drained](RcuDomain::set_closures) domain).
    ///
    /// # Panics
    /// Where [`try_barrier`](RcuDomain::try_barrier) returns an error.
    #[track_caller]
    pub fn barrier(&self) {
        must(self.try_barrier(), "barrier");
    }

    /// As [`barrier`](RcuDomain::barrier), but returns an error instead of panicking.
    ///
    /// # Errors
    /// Inside a section of this domain or of the process's, or inside a callback; the fence was refused; the
    /// worker cannot be started.
    pub fn try_barrier(&self) -> Result<(), SyncError> {
        self.core().barrier()
    }

    /// A future that resolves once everything that was queued here before this call, by any thread, has been
    /// freed or run.
    ///
    /// As [`barrier`](RcuDomain::barrier), for tasks; otherwise as [`barrier_async`](crate::barrier_async()).
    /// The worker runs what is queued, and wakes the task.
    ///
    /// # Panics
    /// As [`BarrierFuture`].
    pub fn barrier_async(&self) -> BarrierFuture<RcuDomain<Tag, K>> {
        BarrierFuture::of(Wait::for_barrier(self.core()))
    }

    /// As [`barrier_async`](RcuDomain::barrier_async), but returns an error instead of panicking.
    pub fn try_barrier_async(
        &self,
    ) -> impl Future<Output = Result<(), SyncError>> + Send + Sync + Unpin + 'static {
        Wait::for_barrier(self.core())
    }

    /// Frees and runs, in this thread, what is queued here, for at most `limit` (plus the time of the
    /// callback that is running then). Waits for readers, except inside a callback or a section.
    ///
    /// ```
    /// use std::time::Duration;
    /// use quiescent::{Domain, RcuCell};
    ///
    /// let domain = Domain::new();
    /// let cell = RcuCell::new_in(String::from("old"), &domain);
    /// cell.store(String::from("new"));
    /// let drained = domain.drain(Duration::from_secs(60));
    /// assert_eq!((drained.ran, drained.left), (1, 0));
    /// ```
    pub fn drain(&self, limit: Duration) -> Drained {
        let domain = self.core();
        Drained::of(domain.state().drain(Until::after(limit)), domain)
    }

    /// Frees and runs, now and in this thread, everything that is queued here, closures too. Needs no grace
    /// period: this is the last handle, so no guard is left. What destructors and callbacks queue here is
    /// freed, too; if one queues another each time, this does not end.
    ///
    /// Allowed inside a destructor or callback that the library runs. What other threads are running at this
    /// moment is waited for, except inside a section (of any domain, of a guard that belongs to this thread)
    /// or a callback: [`Drained::left`] counts it. Whatever the settings say about who runs code, this thread
    /// does, also inside other domains' sections: hold no lock that a destructor or closure takes.
    ///
    /// # Errors
    /// There are other handles: [`HandlesLeft`] says how many; the domain comes back as `object`. Nothing was
    /// freed.
    ///
    /// # Complexity
    /// Linear in what is queued and in the threads that have queued here; one fence of the process
    /// (`membarrier(2)`) if one of these threads still runs.
    ///
    /// ```
    /// use quiescent::{Domain, RcuCell};
    ///
    /// let domain = Domain::new();
    /// let cell = RcuCell::new_in(String::from("old"), domain.clone());
    /// cell.store(String::from("new"));
    /// let refused = domain.free_now().unwrap_err();
    /// assert_eq!(refused.reason.others, 1); // the cell's
    /// drop(cell);
    /// let freed = refused.object.free_now().unwrap();
    /// assert_eq!((freed.ran, freed.left), (1, 0));
    /// ```
    pub fn free_now(self) -> Result<Drained, Refused<RcuDomain<Tag, K>, HandlesLeft>> {
        let others = self.core_if_any().map_or(0, core::Domain::other_handles);
        if others > 0 {
            return Err(Refused::new(self, HandlesLeft { others }));
        }
        // SAFETY: each guard borrows a handle or has one, and this handle is the last one, and not borrowed.
        Ok(unsafe { self.free_now_unchecked() })
    }

    /// As [`free_now`](RcuDomain::free_now), for a caller who knows that no reader is left although there are
    /// handles: a structure with a domain of its own, which is being dropped.
    ///
    /// # Safety
    /// No reader uses an object that is queued here, or that is queued before this returns, and the code of
    /// closures and destructors that are queued needs no grace period. (Sections may be open, if no reference
    /// that they protect is used any more.)
    ///
    /// ```
    /// use quiescent::{Domain, RcuPtr, Shared};
    ///
    /// struct Stack {
    ///     domain: Domain,
    ///     // … and links, whose nodes are retired in `domain`.
    /// }
    ///
    /// impl Drop for Stack {
    ///     fn drop(&mut self) {
    ///         // SAFETY: `&mut self`: no thread reads in this stack, and its domain is its own.
    ///         unsafe { self.domain.free_now_unchecked() };
    ///     }
    /// }
    /// # drop(Stack { domain: Domain::new() });
    /// ```
    pub unsafe fn free_now_unchecked(&self) -> Drained {
        match self.core_if_any() {
            None => Drained { ran: 0, left: 0 },
            Some(domain) => {
                let state = domain.state_if_any();
                // SAFETY: the caller's promise.
                let ran = state.map_or(0, |state| unsafe { state.free_now(&Lane::CODE, true) });
                Drained::of(ran, domain)
            }
        }
    }

    /// Runs and frees, in this thread, at most `most` callbacks and objects that are ready, and starts none
    /// after `limit`. Never waits, issues no fence, and leaves what is not ready. For event loops: see
    /// [`set_closures`](RcuDomain::set_closures).
    ///
    /// Inside a callback it only frees memory.
    pub fn drain_ready(&self, most: u64, limit: Duration) -> Drained {
        let domain = self.core();
        Drained::of(domain.state().run_some(most, Until::after(limit)), domain)
    }

    // Settings. All of them can be changed at any time.

    /// Sets the name of this domain in reports ([`StallReport::domain`](crate::report::StallReport),
    /// [`Report::OverBudget`](crate::report::Report)) and in [`telemetry`](crate::telemetry), which counts
    /// domains with the same name together, and all domains without a name.
    ///
    /// ```
    /// static ROUTES: quiescent::Domain = quiescent::Domain::new();
    /// ROUTES.set_name("routes");
    /// ```
    pub fn set_name(&self, name: &'static str) {
        #[cfg(feature = "telemetry")]
        let place = crate::watch::telemetry::place_of(name);
        #[cfg(not(feature = "telemetry"))]
        let place = quiescent_core::queue::meter::UNNAMED;
        self.core()
            .set(|settings| (settings.name, settings.place) = (name, place));
    }

    /// Sets the budget of this domain: how many bytes and how many callbacks may be queued here. The default
    /// is the default of the process's domain. Near the budget, grace periods are expedited and retiring
    /// threads help to free; at it, [`try_retire`](crate::Retired::try_retire) returns the object, and
    /// `retire` causes a [`Report::OverBudget`](crate::report::Report). Takes effect at once; queued items
    /// stay queued.
    ///
    /// ```
    /// let domain = quiescent::Domain::new();
    /// domain.set_budget(1 << 20, u64::MAX);
    /// assert_eq!(domain.statistics().budget_bytes, 1 << 20);
    /// ```
    pub fn set_budget(&self, bytes: u64, callbacks: u64) {
        self.core().set(|settings| {
            (settings.budget_bytes, settings.budget_count) = (bytes, callbacks);
        });
    }

    /// Changes how long callbacks of this domain wait before a grace period is requested for them, as
    /// [`set_flush_times`](crate::tuning::set_flush_times) does for the process's domain. Applies to queued
    /// items too.
    ///
    /// ```
    /// use quiescent::{Domain, tuning::FlushTimes};
    /// use std::time::Duration;
    ///
    /// let domain = Domain::new();
    /// domain.set_flush_times(FlushTimes { lazy: Duration::from_secs(60), ..domain.flush_times() });
    /// assert_eq!(domain.flush_times().lazy, Duration::from_secs(60));
    /// ```
    pub fn set_flush_times(&self, times: FlushTimes) {
        times.set(self.core());
    }

    /// The current times.
    pub fn flush_times(&self) -> FlushTimes {
        FlushTimes::of(self.core())
    }

    /// Sets who runs this domain's closures: at first the worker. With [`Runner::Drained`] the program runs
    /// them when it calls [`drain_ready`](RcuDomain::drain_ready) or [`drain`](RcuDomain::drain); the worker
    /// calls [`on_ready`](crate::tuning::on_ready) when some are ready. What is left when the domain is
    /// dropped is run by the process's worker.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let domain = quiescent::Domain::new();
    /// domain.set_closures(quiescent::Runner::Drained);
    /// domain.defer(|| println!("on the event loop's thread"));
    /// domain.synchronize();
    /// assert_eq!(domain.drain(Duration::from_secs(60)).ran, 1);
    /// ```
    pub fn set_closures(&self, runner: Runner) {
        self.core().set(|settings| settings.set_closures(runner));
    }

    /// Sets who runs the destructors of values that are retired in this domain: at first
    /// [`Runner::Owner`]. As [`set_destructors`](crate::tuning::set_destructors) for the process's domain.
    ///
    /// ```
    /// static CACHES: quiescent::Domain = quiescent::Domain::new();
    ///
    /// CACHES.set_destructors(quiescent::Runner::Worker);
    /// ```
    pub fn set_destructors(&self, runner: Runner) {
        self.core().set(|settings| settings.set_destructors(runner));
    }

    /// Sets the time after which stalls of this domain are reported; zero: no reports. See
    /// [`report::set_stall_after`](crate::report::set_stall_after), which sets it for the process's domain,
    /// and [`on_report()`](crate::report::on_report()).
    pub fn set_stall_after(&self, time: Duration) {
        self.core().set(|settings| settings.stall_ns = in_ns(time));
    }
}

/// Makes another handle to the same domain. Both keep it alive.
impl<Tag: 'static, K: Kind> Clone for RcuDomain<Tag, K> {
    fn clone(&self) -> RcuDomain<Tag, K> {
        let domain = self.core();
        domain.retain();
        let place = AtomicPtr::new(std::ptr::from_ref(domain).cast::<()>().cast_mut());
        let is = PhantomData;
        RcuDomain { place, is }
    }
}

impl<Tag: 'static, K: Kind> Drop for RcuDomain<Tag, K> {
    #[inline]
    fn drop(&mut self) {
        if let Some(domain) = self.core_if_any() {
            domain.drop_handle();
        }
    }
}

/// Handles are equal if they lead to the same domain. (A domain that was not used yet has one handle.)
///
/// ```
/// use quiescent::Domain;
///
/// let domain = Domain::new();
/// assert!(domain == domain.clone() && domain != Domain::new());
/// ```
impl<Tag: 'static, K: Kind> PartialEq for RcuDomain<Tag, K> {
    fn eq(&self, other: &RcuDomain<Tag, K>) -> bool {
        lead_to_one(&self, &other)
    }
}

impl<Tag: 'static, K: Kind> Eq for RcuDomain<Tag, K> {}

impl<K: Many> Default for RcuDomain<(), K> {
    fn default() -> RcuDomain<(), K> {
        RcuDomain::new()
    }
}

impl<Tag: 'static, K: Kind> fmt::Debug for RcuDomain<Tag, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.core_if_any() {
            Some(domain) => write!(f, "RcuDomain(domain {})", domain.number),
            None => f.write_str("RcuDomain(unused)"),
        }
    }
}

/// A type that identifies one domain. Made by [`domain!`](crate::domain!).
///
/// # Safety
/// `domain` always returns the same domain, and there is no other `RcuDomain<Self, Single>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not lead to a domain",
    note = "borrow the domain (`&domain`), keep it alive (`domain.clone()`), or take `Global`"
)]
pub unsafe trait Singleton: Copy + fmt::Debug + Send + Sync + 'static {
    /// The domain.
    fn domain() -> &'static RcuDomain<Self, Single>;
}

/// Makes a domain that is the only one of its type, and a handle to it of size 0.
///
/// The compiler distinguishes guards, cells and cookies of such a domain from all others, so no check at run
/// time is needed. The domain lives as long as the process.
///
/// ```
/// use quiescent::{Guard, RcuCell};
///
/// quiescent::domain! {
///     /// Where packets go.
///     pub struct Routes;
/// }
///
/// let table = RcuCell::new_in(vec![1, 2, 3], Routes);
/// let guard = Guard::new_in(Routes);
/// assert_eq!(table.load(&guard).len(), 3);
/// drop(guard);
/// Routes.synchronize(); // all that a domain can do
/// ```
#[macro_export]
macro_rules! domain {
    ($(#[$meta:meta])* $visibility:vis struct $name:ident;) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        $visibility struct $name;

        const _: () = {
            // SAFETY: this is the only call; no other code can name the domain.
            static DOMAIN: $crate::RcuDomain<$name, $crate::Single> = unsafe { $crate::RcuDomain::single() };

            // SAFETY: as above.
            unsafe impl $crate::Singleton for $name {
                fn domain() -> &'static $crate::RcuDomain<$name, $crate::Single> {
                    &DOMAIN
                }
            }

            impl ::core::ops::Deref for $name {
                type Target = $crate::RcuDomain<$name, $crate::Single>;

                fn deref(&self) -> &Self::Target {
                    &DOMAIN
                }
            }
        };
    };
}

handle!(RcuDomain<Tag, K>, RcuDomain<Tag, K>, K, [Tag: 'static, K: Kind] [] |this| Some(this.word()));
handle!(&RcuDomain<Tag, K>, RcuDomain<Tag, K>, K, [Tag: 'static, K: Kind] [] |this| Some((*this).word()));
handle!(S, RcuDomain<S, Single>, Single, [S: Singleton] [] |_this| Some(S::domain().word()));

// SAFETY: as `Singleton` promises.
unsafe impl<S: Singleton> Unique for RcuDomain<S, Single> {}
