//! Grace periods of a program's own, for some of its data: [`RcuDomain`], whose two kinds are called [`Domain`] and
//! [`Srcu`](crate::Srcu).

use std::fmt;
use std::marker::PhantomData;

use super::backend::Backend as _;
use super::guard::Guard;
#[cfg(not(quiescent_model))]
use super::handle::Singleton;
#[cfg(not(quiescent_model))]
use super::kind::Single;
use super::kind::{Kind, PerThread};
use super::statistics::{DomainStatistics, Holdout};
use crate::inner::prim::{AtomicPtr, Ordering, const_new};

mod policy;
mod queue;
mod waiting;

/// Grace periods, budget, times and reports of its own, apart from those of the rest of the process.
///
/// The free functions of this crate ([`read_lock`](crate::read_lock()), [`synchronize`](crate::synchronize),
/// [`defer`](crate::defer())…) are one domain, [`Global`](crate::Global), which the whole process shares: a slow reader anywhere holds up
/// everything that is retired. Data whose readers are slow, or whose memory must not wait for other people's readers, get a domain of their
/// own. A section of one domain holds up nothing in another. [When to take one](crate::guide::domains) is told in the guide.
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
/// # Which domain is whose
/// A cell is read under guards of its own domain. A guard of the process's domain, or of an [`Srcu`](crate::Srcu), does not compile; one
/// of another `Domain` panics, since both have one type. Give domains *tags* to have that refused by the compiler, too:
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
/// Where there is one domain for each tag, [`domain!`](crate::domain!) makes both, and then nothing is looked at when the program runs.
///
/// # Handles
/// Cells, lists and guards borrow their domain (`&DOMAIN`), or keep it alive: a clone of a domain leads to the same one, and it is dropped
/// with the last.
///
/// # Cost
/// A section is as one of the process's domain: two stores to a word of the thread's own, and no fence; and a look whether the word
/// that the thread has at hand is of this domain. Whoever reads in several by turns looks his word up each time. `quiescent bench domain`
/// measures both. A thread pays for a domain once it has read in it, with 128 bytes.
///
/// A domain that was never used is a word; one at rest is less than a kilobyte, for two threads' words; it has no thread, no timer and no
/// wake-up. It gets an engine (some kilobytes) once something is queued or waited for there, and keeps it. A thread that
/// has queued 64 callbacks or objects in a domain has a queue of its own there; until then it takes a lock. What is queued is
/// freed and run by the process's worker, which waits for no reader, and shares its fences among the domains that need one.
///
/// # Rules
/// * As [`Guard`]: a guard belongs to its thread; sections nest, without a limit; they may be opened in signal handlers. A
///   forgotten guard holds up its domain for ever, and only that.
/// * Waiting in a section of the same domain is refused ([`SyncError::InsideSection`](crate::SyncError)), and so it is in one of the
///   process's domain, which would be held up meanwhile. In a section of *another* domain it is allowed (also to wait for the process's): two
///   threads that wait crosswise wait for ever.
/// * A thread that has no slot (there are too many, or no memory) counts as inside every domain while it is inside one: waiting is refused.
/// * In the child of a fork, sections of other threads are over, as in the process's domain.
///
/// # Dropping it
/// Never waits. What is queued becomes a callback of the process's domain, which frees and runs it; the process's [`barrier()`](crate::barrier())
/// and [`drain`](crate::drain()) cover it, and its budget counts it. (Except for what the worker is running at that moment, and for what a
/// forgotten guard, or a cell's `update` that is under way, still holds up: the worker keeps that, and nobody waits for it.)
pub type Domain<Tag = ()> = RcuDomain<Tag, PerThread>;

/// A domain with readers of some kind: [`Domain`] and [`Srcu`](crate::Srcu) are the names to use.
pub struct RcuDomain<Tag: 'static, K: Kind> {
    /// What it has in the layers below, or null if it has nothing yet.
    place: AtomicPtr<()>,
    is: PhantomData<fn() -> (Tag, K)>,
}

impl<K: Kind> RcuDomain<(), K> {
    const_new! {
        /// A new one, without a tag (with one: [`tagged`](Domain::tagged)). Nothing is allocated before it is used.
        pub fn new() -> RcuDomain<(), K> {
            RcuDomain::nowhere()
        }
    }
}

impl<Tag: 'static> RcuDomain<Tag, PerThread> {
    const_new! {
        /// A new one with a tag: a type of its own, which its guards and cells have in common.
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
    /// Called once.
    #[doc(hidden)]
    pub const unsafe fn single() -> RcuDomain<S, Single> {
        RcuDomain::nowhere()
    }
}

impl<Tag: 'static, K: Kind> RcuDomain<Tag, K> {
    const_new! {
        /// One that is nowhere yet.
        pub(crate) fn nowhere() -> RcuDomain<Tag, K> {
            RcuDomain { place: AtomicPtr::new(std::ptr::null_mut()), is: PhantomData }
        }
    }

    /// In a model.
    #[cfg(quiescent_model)]
    pub(crate) fn of(place: *const ()) -> RcuDomain<Tag, K> {
        RcuDomain {
            place: AtomicPtr::new(place.cast_mut()),
            is: PhantomData,
        }
    }

    /// Where it is, or null if it is nowhere yet.
    #[inline(always)]
    pub(crate) fn place(&self) -> *const () {
        self.place.load(Ordering::Acquire)
    }

    #[inline(always)]
    pub(crate) fn place_word(&self) -> &AtomicPtr<()> {
        &self.place
    }

    pub(crate) fn backend(&self) -> K::Backend {
        let mut place = self.place();
        if place.is_null() {
            place = self.first_use();
        }
        // SAFETY: a place of this kind.
        unsafe { K::backend(place) }
    }

    #[cold]
    #[inline(never)]
    fn first_use(&self) -> *const () {
        #[cfg(quiescent_model)]
        unreachable!("a model's has its place");
        #[cfg(not(quiescent_model))]
        {
            let new = K::found();
            let order = (Ordering::AcqRel, Ordering::Acquire);
            let empty = std::ptr::null_mut();
            match self
                .place
                .compare_exchange(empty, new.cast_mut(), order.0, order.1)
            {
                Ok(_) => new,
                Err(other) => {
                    // SAFETY: a place of this kind, which nobody else has seen.
                    K::abandon(unsafe { K::backend(new) });
                    other
                }
            }
        }
    }

    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(never)]
    pub(crate) fn open_slowly(&self) -> K::Section {
        K::open_slowly(self.backend())
    }

    /// Opens a section. Never waits, never fails. In a [`Domain`] also in signal handlers; not in an [`Srcu`](crate::Srcu).
    ///
    /// # Ordering
    /// As [`read_lock`](crate::read_lock()): a grace period of this domain that starts while the section is open does not end before it
    /// has; a section that opens after one has started sees everything that happened before that start.
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

    /// Opens a section whose guard keeps the domain alive: for tasks and threads that outlive the place where they are made.
    ///
    /// ```
    /// use quiescent::{Domain, Srcu};
    ///
    /// let domain = Domain::new();
    /// let guard = domain.read_owned();
    /// drop(domain);
    /// drop(guard); // the last one: the domain goes with it
    ///
    /// let guard = Srcu::new().read_owned();
    /// std::thread::spawn(move || drop(guard)).join().unwrap(); // counted sections may end anywhere
    /// ```
    #[cfg_attr(feature = "locations", track_caller)]
    pub fn read_owned(&self) -> Guard<RcuDomain<Tag, K>> {
        Guard::new_in(self.clone())
    }

    /// The readers that the grace period in flight waits for, at most 64 of them; empty if none is in flight. Reads their names from `/proc`.
    ///
    /// In an [`Srcu`](crate::Srcu), the threads on which the sections were begun, as far as one look can tell. They may end on others.
    pub fn holdouts(&self) -> Vec<Holdout> {
        self.backend().holdouts()
    }

    /// What it has done so far, and holds now.
    pub fn statistics(&self) -> DomainStatistics {
        self.backend().statistics()
    }
}

impl<Tag: 'static> RcuDomain<Tag, PerThread> {
    /// Is this thread inside a section of this domain?
    pub fn in_section(&self) -> bool {
        self.backend().is_inside()
    }
}

/// Another handle to the same domain. Both keep it alive.
impl<Tag: 'static, K: Kind> Clone for RcuDomain<Tag, K> {
    fn clone(&self) -> RcuDomain<Tag, K> {
        K::retain(self.backend());
        RcuDomain {
            place: AtomicPtr::new(self.place().cast_mut()),
            is: PhantomData,
        }
    }
}

impl<Tag: 'static, K: Kind> Drop for RcuDomain<Tag, K> {
    fn drop(&mut self) {
        let place = self.place();
        if !place.is_null() {
            // SAFETY: a place of this kind.
            K::release(unsafe { K::backend(place) });
        }
    }
}

impl<K: Kind> Default for RcuDomain<(), K> {
    fn default() -> RcuDomain<(), K> {
        RcuDomain::new()
    }
}

impl<Tag: 'static, K: Kind> fmt::Debug for RcuDomain<Tag, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place();
        if place.is_null() {
            return f.write_str("RcuDomain(unused)");
        }
        // SAFETY: a place of this kind.
        let backend = unsafe { K::backend(place) };
        f.debug_tuple("RcuDomain").field(&backend).finish()
    }
}
