//! [`RcuDomain`]: a domain of the program's own, with grace periods of its own. Its two kinds are [`Domain`]
//! and [`Srcu`](crate::Srcu).

use std::fmt;
use std::marker::PhantomData;

use super::guard::Guard;
#[cfg(not(quiescent_model))]
use super::handle::Singleton;
#[cfg(not(quiescent_model))]
use super::kind::Single;
use super::kind::{Kind, Many, PerThread, domain_at, place_in};
use super::statistics::{DomainStatistics, Holdout};
use quiescent_core::const_new;
use quiescent_core::domain::life as core;
use quiescent_core::domain::state::State;
use quiescent_core::prim::AtomicPtr;

mod policy;
mod queue;
mod waiting;

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
/// between domains looks its word up each time. `quiescent bench domain` measures both. Each thread that has
/// read in a domain costs 128 bytes.
///
/// A domain that was never used is one word. It gets an engine and queues when something is first queued or
/// waited for there, and keeps them: a domain at rest takes some kilobytes (`quiescent bench domain` measures
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
/// Dropping a domain never waits. What is queued becomes a callback of the process's domain, which frees and
/// runs it; the process's [`barrier()`](crate::barrier()) and [`drain`](crate::drain()) cover it, and the
/// process's budget counts it. (Except what the worker is running at that moment, and what a forgotten guard
/// or a running `update` of a cell still blocks: the worker keeps that, and a barrier does not wait for it.)
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

    /// For models: a domain at this place.
    #[cfg(quiescent_model)]
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
