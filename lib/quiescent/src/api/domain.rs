//! Grace periods of a program's own, for some of its data: [`Domain`], and the guards of its sections.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use quiescent_engine::FullCookie;

use crate::error::SyncError;
use crate::inner::domain::grounds::Grounds;
use crate::inner::gp::driven::Driven as _;
use crate::inner::gp::driver::How;
use crate::inner::prim::{AtomicPtr, Ordering, const_new};
use crate::stats::Holdout;

#[cfg(not(quiescent_model))]
mod barrier;
mod cell;
#[cfg(not(quiescent_model))]
mod future;
mod guard;
mod policy;
mod queue;
mod stats;

pub use cell::{DomainCell, DomainRetired};
pub use guard::{DomainGuard, InDomain, OwnedDomainGuard};
pub use stats::DomainStatistics;
#[cfg(not(quiescent_model))]
pub use {barrier::DomainBarrier, future::DomainGracePeriod};

/// Grace periods, budget, times and reports of its own, apart from those of the rest of the process.
///
/// The free functions of this crate ([`read_lock`](crate::read_lock()), [`synchronize`](crate::synchronize),
/// [`retire`](crate::retire)…) are one domain, which the whole process shares: a slow reader anywhere holds up everything that is retired.
/// Data whose readers are slow, or whose memory must not wait for other people's readers, get a domain of their own. A section
/// of one domain holds up nothing in another. [When to take one](crate::guide::domains) is told in the guide.
///
/// ```
/// use quiescent::{Domain, DomainCell};
///
/// static ROUTES: Domain = Domain::new();
/// static REPORTS: Domain = Domain::new();
///
/// let table = DomainCell::new(&ROUTES, vec![1, 2, 3]);
/// let slow = REPORTS.read_lock(); // a report that takes its time
/// table.store(vec![4]);
/// ROUTES.synchronize();           // does not wait for it
/// assert_eq!(ROUTES.read(|guard| table.load(guard).len()), 1);
/// drop(slow);
/// ```
///
/// # Which domain is whose
/// A [`DomainCell`] is read under guards of its own domain. A guard of the process's domain, or of an [`Srcu`](crate::Srcu), does not
/// compile; one of another `Domain` panics, since both have one type. Give domains *tags* to have that refused by the compiler, too:
///
/// ```
/// use quiescent::{Domain, DomainCell};
///
/// struct Routes;
/// static ROUTES: Domain<Routes> = Domain::tagged();
///
/// let table: DomainCell<u32, Routes> = DomainCell::new(&ROUTES, 1);
/// assert_eq!(ROUTES.read(|guard| *table.load(guard)), 1);
/// ```
/// ```compile_fail,E0277
/// # use quiescent::{Domain, DomainCell};
/// # struct Routes;
/// # struct Reports;
/// # static ROUTES: Domain<Routes> = Domain::tagged();
/// static REPORTS: Domain<Reports> = Domain::tagged();
/// # let table: DomainCell<u32, Routes> = DomainCell::new(&ROUTES, 1);
/// REPORTS.read(|guard| *table.load(guard)); // a guard of Reports, a cell of Routes
/// ```
///
/// # Cost
/// A section is as one of the process's domain: two stores to a word of the thread's own, and no fence; and a look whether the word
/// that the thread has at hand is of this domain. Whoever reads in several by turns looks his word up each time. `quiescent bench domain`
/// measures both. A thread pays for a domain once it has read in it, with 128 bytes.
///
/// A domain that was never used is a word; one at rest is less than a kilobyte, for two threads' words; it has no thread, no timer and no
/// wake-up. While something is queued or waited for, it borrows an engine (some kilobytes). What domains queue goes through one lock each, and
/// is freed and run by one thread for all of them, the *caretaker*, which waits for no reader, and shares its fences among those that
/// need one.
///
/// # Rules
/// * As [`Guard`](crate::Guard): a guard belongs to its thread; sections nest, without a limit; they may be opened in signal handlers. A
///   forgotten guard holds up its domain for ever, and only that.
/// * Waiting in a section of the same domain is refused ([`SyncError::InsideSection`]), and so it is in one of the process's domain, which
///   would be held up meanwhile. In a section of *another* domain it is allowed (also to wait for the process's): two threads that wait crosswise
///   wait for ever.
/// * A thread that has no slot (there are too many, or no memory) counts as inside every domain while it is inside one: waiting is refused.
/// * In the child of a fork, sections of other threads are over, as in the process's domain.
///
/// # Dropping it
/// Never waits. What is queued becomes a callback of the process's domain, which frees and runs it; the process's [`barrier()`](crate::barrier())
/// and [`drain`](crate::drain()) cover it, and its budget counts it. (Except for what the caretaker is running at that moment, and for what a
/// forgotten guard, or a cell's `update` that is under way, still holds up: the caretaker keeps that, and nobody waits for it.) Guards cannot outlive the domain (an [`OwnedDomainGuard`] keeps it alive); cells may.
pub struct Domain<Tag: 'static = ()> {
    grounds: AtomicPtr<Grounds>,
    tag: PhantomData<fn() -> Tag>,
}

impl<Tag: 'static> Default for Domain<Tag> {
    fn default() -> Domain<Tag> {
        Domain::tagged()
    }
}

impl Domain {
    const_new! {
        /// A new one, without a tag (with one: [`tagged`](Domain::tagged)). Nothing is allocated before it is used.
        pub fn new() -> Domain {
            Domain::tagged()
        }
    }
}

impl<Tag: 'static> Domain<Tag> {
    const_new! {
        /// A new one with a tag: a type of its own, which its guards and cells have in common.
        pub fn tagged() -> Domain<Tag> {
            Domain { grounds: AtomicPtr::new(std::ptr::null_mut()), tag: PhantomData }
        }
    }

    /// In a model.
    #[cfg(quiescent_model)]
    pub(crate) fn of(grounds: &'static Grounds) -> Domain<Tag> {
        Domain {
            grounds: AtomicPtr::new(std::ptr::from_ref(grounds).cast_mut()),
            tag: PhantomData,
        }
    }

    /// Where they are, or null if they are nowhere yet.
    #[inline(always)]
    fn place(&self) -> *const Grounds {
        self.grounds.load(Ordering::Acquire)
    }

    pub(crate) fn grounds(&self) -> &'static Grounds {
        // SAFETY: null, or grounds, and those live for ever.
        match unsafe { self.place().as_ref() } {
            Some(grounds) => grounds,
            None => self.first_use(),
        }
    }

    #[cold]
    #[inline(never)]
    fn first_use(&self) -> &'static Grounds {
        #[cfg(quiescent_model)]
        unreachable!("a model's has its grounds");
        #[cfg(not(quiescent_model))]
        {
            let new = Grounds::found();
            let order = (Ordering::AcqRel, Ordering::Acquire);
            let raw = std::ptr::from_ref(new).cast_mut();
            match self
                .grounds
                .compare_exchange(std::ptr::null_mut(), raw, order.0, order.1)
            {
                Ok(_) => new,
                Err(other) => {
                    new.abandon();
                    // SAFETY: as above.
                    unsafe { &*other }
                }
            }
        }
    }

    /// Waits for a grace period: until every section of this domain that was open when this was called has ended.
    ///
    /// # Ordering
    /// As [`synchronize`](crate::synchronize), for sections of this domain.
    ///
    /// # Panics
    /// Inside a section of this domain or of the process's, and inside a callback; if `membarrier(2)` was taken away since start-up.
    /// [`try_synchronize`](Domain::try_synchronize) returns these.
    #[track_caller]
    pub fn synchronize(&self) {
        if let Err(error) = self.try_synchronize() {
            panic!("Domain::synchronize: {error}");
        }
    }

    /// As [`synchronize`](Domain::synchronize), returning the reason why it cannot.
    ///
    /// # Errors
    /// [`SyncError::InsideSection`], [`SyncError::InsideCallback`], [`SyncError::FenceRefused`], [`SyncError::OutOfMemory`]. No grace period
    /// has been waited for then.
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
        self.grounds().wait_for_gp(How::default())
    }

    /// As [`try_synchronize`](Domain::try_synchronize), giving up after `timeout`.
    ///
    /// # Errors
    /// Also [`SyncError::TimedOut`], with the readers that are in the way.
    pub fn synchronize_timeout(&self, timeout: Duration) -> Result<(), SyncError> {
        self.grounds().wait_for_gp(How::within(timeout))
    }

    /// As [`synchronize`](Domain::synchronize), in a hurry: spins longer before it sleeps.
    ///
    /// # Panics
    /// As [`synchronize`](Domain::synchronize).
    #[track_caller]
    pub fn synchronize_expedited(&self) {
        if let Err(error) = self.grounds().wait_for_gp(How::EXPEDITED) {
            panic!("Domain::synchronize_expedited: {error}");
        }
    }

    /// Asks for a grace period without waiting, and returns the cookie it will satisfy.
    ///
    /// ```
    /// use quiescent::Domain;
    ///
    /// let domain = Domain::new();
    /// let cookie = domain.start_poll();
    /// while !domain.poll(cookie) {
    ///     std::thread::yield_now();
    /// }
    /// ```
    pub fn start_poll(&self) -> DomainCookie {
        let grounds = self.grounds();
        DomainCookie {
            grounds,
            point: grounds.start_poll(),
        }
    }

    /// Has a full grace period passed since the cookie was taken? Never waits; helps it along as far as that goes without waiting.
    ///
    /// # Panics
    /// If the cookie is of another domain.
    #[track_caller]
    pub fn poll(&self, cookie: DomainCookie) -> bool {
        let grounds = self.own(cookie);
        grounds.poll(cookie.point).unwrap_or(false)
    }

    /// Waits until a full grace period has passed since the cookie was taken.
    ///
    /// # Panics
    /// If the cookie is of another domain; else as [`synchronize`](Domain::synchronize), if it has to wait.
    #[track_caller]
    pub fn wait(&self, cookie: DomainCookie) {
        if !self.poll(cookie) {
            self.synchronize();
        }
    }

    #[track_caller]
    fn own(&self, cookie: DomainCookie) -> &'static Grounds {
        let grounds = self.grounds();
        assert!(
            std::ptr::eq(grounds, cookie.grounds),
            "a cookie of another Domain: ask the one that it was taken from"
        );
        grounds
    }

    /// The readers that the grace period in flight waits for, at most 64 of them; empty if none is in flight. Reads their names from `/proc`.
    pub fn holdouts(&self) -> Vec<Holdout> {
        self.grounds().hold().holdouts()
    }

    /// What it has done so far, and holds now.
    pub fn statistics(&self) -> DomainStatistics {
        DomainStatistics::of(self.grounds())
    }
}

impl<Tag: 'static> Drop for Domain<Tag> {
    fn drop(&mut self) {
        // SAFETY: null, or grounds, and those live for ever.
        if let Some(grounds) = unsafe { self.place().as_ref() } {
            grounds.hand_over();
        }
    }
}

impl<Tag: 'static> fmt::Debug for Domain<Tag> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain").finish_non_exhaustive()
    }
}

/// A point in the sequence of a [`Domain`]'s grace periods: "a full grace period from now". Never expires.
#[derive(Clone, Copy)]
pub struct DomainCookie {
    grounds: &'static Grounds,
    /// The epoch of the grounds, and the cookie of the engine that they had then.
    point: (u64, FullCookie),
}

impl fmt::Debug for DomainCookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DomainCookie").field(&self.point).finish()
    }
}
