//! The kinds of readers: how sections of a domain are opened and closed. A thread's own word ([`PerThread`])
//! or counters ([`Counted`]).

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

#[cfg(not(quiescent_model))]
use crate::global::env;
use crate::global::{local, section, with_local};
use quiescent_core::domain::life::Domain;
use quiescent_core::prim::{AtomicPtr, Ordering};
use quiescent_core::queue::per_thread::Queue;
use quiescent_core::reader::counted::Entered;
use quiescent_core::reader::set::DomainReaders;
use quiescent_core::reader::word::{self, Reader};

/// Readers are threads, each with a word of its own, so a section belongs to its thread. The kind of
/// [`Domain`](crate::Domain).
#[derive(Clone, Copy, Debug)]
pub struct PerThread;

/// As [`PerThread`], for a domain that is the only one of its type: see [`domain!`](crate::domain!).
#[derive(Clone, Copy, Debug)]
pub struct Single;

/// Readers are counted, so a section may sleep, and end on another thread if its guard is made for that. The
/// kind of [`Srcu`](crate::Srcu).
#[derive(Clone, Copy, Debug)]
pub struct Counted;

/// A kind of readers: [`PerThread`], [`Single`] or [`Counted`].
pub trait Kind: Readers {}

impl Kind for PerThread {}
impl Kind for Single {}
impl Kind for Counted {}

/// A kind of readers of which a type may have any number of domains: [`PerThread`] or [`Counted`].
#[diagnostic::on_unimplemented(
    message = "a domain of the kind `{Self}` exists once for each type",
    label = "not made by `new` or `default`",
    note = "make it with `quiescent::domain!`; or take a `Domain` or an `Srcu`, of which there may be several"
)]
pub trait Many: Kind {}

impl Many for PerThread {}
impl Many for Counted {}

/// The operations of a kind. A *place* is null, or the address of a domain in the layers below.
pub trait Readers: Sized + 'static {
    type Section: fmt::Debug;

    /// Makes a place for a new domain.
    #[cfg(not(quiescent_model))]
    fn found() -> &'static Domain;

    /// The queue to which the calling thread pushes without a lock, if there is one.
    fn own_queue(domain: &'static Domain) -> Option<&'static Queue>;

    /// Distinguishes domains of one brand; null where the brand has one domain only.
    #[inline(always)]
    fn identity(place: *const ()) -> *const () {
        place
    }

    /// Opens a section if the fast path allows it.
    ///
    /// # Safety
    /// The place is null or of this kind.
    unsafe fn open(place: *const ()) -> Option<Self::Section>;

    /// Opens a section.
    fn open_slowly(domain: &'static Domain) -> Self::Section;

    /// Closes a section. Loads the place only if a grace period waits.
    ///
    /// # Safety
    /// The section is open at this place, and not used again.
    unsafe fn close(place: &AtomicPtr<()>, section: &Self::Section);

    /// Lets a waiting grace period proceed.
    ///
    /// # Safety
    /// The section is open at this place.
    unsafe fn repin(place: &AtomicPtr<()>, section: &mut Self::Section);
}

/// The domain at a place.
///
/// # Safety
/// It is not null.
#[inline(always)]
unsafe fn at(place: &AtomicPtr<()>) -> &'static Domain {
    // SAFETY: domains live for ever.
    unsafe { &*place.load(Ordering::Acquire).cast::<Domain>() }
}

/// An open section of the calling thread.
pub struct ThreadSection {
    reader: &'static Reader,
    /// Not `Send`, not `Sync`: closing it writes this thread's word with plain stores.
    here: PhantomData<*mut ()>,
}

impl ThreadSection {
    #[inline(always)]
    fn of(reader: &'static Reader) -> ThreadSection {
        ThreadSection {
            reader,
            here: PhantomData,
        }
    }

    /// Opens one of the process's domain.
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    pub(crate) fn of_process() -> ThreadSection {
        ThreadSection::of(section::lock())
    }

    #[inline(always)]
    pub(crate) fn close_of_process(&self) {
        section::unlock(self.reader);
    }

    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    pub(crate) fn repin_of_process(&mut self) {
        self.reader = section::repin(self.reader);
    }
}

impl fmt::Debug for ThreadSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("open on this thread")
    }
}

/// The two kinds whose readers are threads.
pub trait OfThreads: fmt::Debug + 'static {
    /// A domain is the only one of its type.
    const UNIQUE: bool;
}

impl OfThreads for PerThread {
    const UNIQUE: bool = false;
}

impl OfThreads for Single {
    const UNIQUE: bool = true;
}

impl<K: OfThreads> Readers for K {
    type Section = ThreadSection;

    #[cfg(not(quiescent_model))]
    fn found() -> &'static Domain {
        Domain::found(env())
    }

    #[inline(always)]
    fn own_queue(domain: &'static Domain) -> Option<&'static Queue> {
        match with_local(|local| local.noted_record(ptr::from_ref(domain).cast())) {
            // SAFETY: a record, and null or a queue; neither is ever freed.
            Some(record) => unsafe { (*record).queue.attached().as_ref() },
            None => attached_queue(domain),
        }
    }

    #[inline(always)]
    fn identity(place: *const ()) -> *const () {
        if K::UNIQUE { ptr::null() } else { place }
    }

    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    unsafe fn open(place: *const ()) -> Option<ThreadSection> {
        let record = with_local(|local| local.noted_record(place))?;
        // SAFETY: a record; records are never freed.
        Some(ThreadSection::of(unsafe { &*record }.words.lock()))
    }

    #[cfg_attr(feature = "locations", track_caller)]
    fn open_slowly(domain: &'static Domain) -> ThreadSection {
        ThreadSection::of(domain.lock_anew(&local()))
    }

    #[inline(always)]
    unsafe fn close(place: &AtomicPtr<()>, section: &ThreadSection) {
        if word::end(section.reader) {
            // SAFETY: the caller's promise.
            unsafe { unlock_slowly(place, section.reader) };
        }
    }

    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    unsafe fn repin(place: &AtomicPtr<()>, section: &mut ThreadSection) {
        if word::is_flagged(section.reader) {
            // SAFETY: the caller's promise.
            let domain = unsafe { at(place) };
            section.reader = domain.repin_slowly(&local(), section.reader);
        }
    }
}

/// The queue to which the calling thread pushes in this domain, if the thread's cached record is of another
/// domain.
#[inline(never)]
fn attached_queue(domain: &'static Domain) -> Option<&'static Queue> {
    with_local(|local| domain.attached_queue(local))
}

/// An open counted section of the calling thread.
#[derive(Debug)]
pub struct CountedSection {
    entered: Entered,
    /// Not `Send`, not `Sync`: closing it writes this thread's counts with plain stores.
    here: PhantomData<*mut ()>,
}

impl CountedSection {
    #[inline(always)]
    fn of(entered: Entered) -> CountedSection {
        let here = PhantomData;
        CountedSection { entered, here }
    }
}

impl Readers for Counted {
    type Section = CountedSection;

    #[cfg(not(quiescent_model))]
    fn found() -> &'static Domain {
        Domain::found_counted(env())
    }

    #[inline(always)]
    fn own_queue(domain: &'static Domain) -> Option<&'static Queue> {
        attached_queue(domain)
    }

    #[inline(always)]
    unsafe fn open(place: *const ()) -> Option<CountedSection> {
        // SAFETY: the caller's promise: null, or a domain, and those live for ever.
        let domain: &'static Domain = unsafe { place.cast::<Domain>().as_ref() }?;
        // SAFETY: a place of this kind.
        let entered = section::enter(unsafe { counted(domain) });
        Some(CountedSection::of(entered))
    }

    fn open_slowly(domain: &'static Domain) -> CountedSection {
        // SAFETY: a domain of this kind.
        CountedSection::of(section::enter(unsafe { counted(domain) }))
    }

    #[inline(always)]
    unsafe fn close(place: &AtomicPtr<()>, section: &CountedSection) {
        // SAFETY: the caller's promise.
        let domain = unsafe { at(place) };
        // SAFETY: a place of this kind.
        let counted = unsafe { counted(domain) };
        if section::leave(counted, section.entered) {
            may_be_empty(domain, counted, section.entered.count());
        }
    }

    unsafe fn repin(place: &AtomicPtr<()>, section: &mut CountedSection) {
        // SAFETY: the caller's promise; the new section takes the place of the old one.
        unsafe {
            Counted::close(place, section);
            *section = Counted::open_slowly(at(place));
        }
    }
}

/// The rare part of the end of a section: a driver waits, or the word is a sink. It takes arguments that the
/// caller has in registers, because a guard's drop must be small enough to be inlined where a function
/// unwinds. Otherwise the compiler keeps the guard in memory.
///
/// # Safety
/// As [`Readers::close`].
#[cold]
#[inline(never)]
unsafe fn unlock_slowly(place: &AtomicPtr<()>, reader: &'static Reader) {
    // SAFETY: the caller's promise.
    let domain = unsafe { at(place) };
    domain.unlock_slowly(&local(), reader);
}

/// The counters of a domain with counted readers.
///
/// # Safety
/// It was made by `found_counted`: a domain keeps its kind of readers.
#[inline(always)]
pub(super) unsafe fn counted(
    domain: &'static Domain,
) -> &'static quiescent_core::reader::counted::Counted {
    match &domain.readers {
        DomainReaders::Counted(counted) => counted,
        // SAFETY: the caller's promise.
        DomainReaders::Threads | DomainReaders::Records(_) => unsafe {
            std::hint::unreachable_unchecked()
        },
    }
}

/// A section has ended that a driver may wait for. Not in line: a guard's drop should be small.
#[cold]
#[inline(never)]
pub(super) fn may_be_empty(
    domain: &'static Domain,
    counted: &'static quiescent_core::reader::counted::Counted,
    count: usize,
) {
    if let Some(state) = domain.state_if_any() {
        state.may_be_empty(counted, count);
    }
}
