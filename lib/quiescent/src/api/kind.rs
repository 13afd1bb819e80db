//! The kinds of readers: how sections of a domain are opened and closed. A thread's own word ([`PerThread`])
//! or counters ([`Counted`]).

use std::fmt;
use std::num::NonZero;
use std::ptr::{self, NonNull};

use super::handle::sealed::{INSIDE, Inside};
use super::handle::{Global, Handle};
use crate::global::{env, local, section, with_local};
use quiescent_core::domain::life::Domain;
use quiescent_core::prim::{AtomicPtr, Ordering};
use quiescent_core::queue::per_thread::Queue;
use quiescent_core::reader::counted::{Counted as Counts, Entered};
use quiescent_core::reader::local::Local;
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

/// The operations of a kind. A *place* is null, or the address of a domain in the layers below. The *word* of
/// a domain holds its place.
pub trait Readers: Sized + 'static {
    /// A brand of this kind has one domain.
    const UNIQUE: bool = false;

    /// Makes a place for a new domain.
    fn found(_: Inside) -> &'static Domain;

    /// The queue to which the calling thread pushes without a lock, if there is one.
    #[inline(always)]
    fn own_queue(domain: &'static Domain) -> Option<&'static Queue> {
        attached_queue(domain)
    }

    /// Opens a section if the fast path allows it.
    ///
    /// # Safety
    /// The place is null or of this kind.
    unsafe fn open(place: *const ()) -> Option<Section>;

    /// Opens a section.
    fn open_slowly(domain: &'static Domain) -> Section;

    /// Closes a section. Loads the place only if a grace period waits.
    ///
    /// # Safety
    /// The section is open in this domain, and not used again.
    unsafe fn close(word: Option<&AtomicPtr<()>>, section: &Section);

    /// Lets a waiting grace period proceed.
    ///
    /// # Safety
    /// The section is open in this domain.
    unsafe fn repin(word: Option<&AtomicPtr<()>>, section: &mut Section);
}

/// The place that is in a word.
#[inline(always)]
pub(super) fn place_in(word: Option<&AtomicPtr<()>>) -> *const () {
    word.map_or(ptr::null_mut(), |word| word.load(Ordering::Acquire))
}

/// The domain at a place.
///
/// # Safety
/// It is not null.
#[inline(always)]
unsafe fn at(word: Option<&AtomicPtr<()>>) -> &'static Domain {
    // SAFETY: domains live for ever.
    unsafe { &*place_in(word).cast::<Domain>() }
}

/// The domain that a word leads to, made at first use.
#[inline(always)]
pub(super) fn domain_at<K: Readers>(word: Option<&AtomicPtr<()>>) -> &'static Domain {
    let Some(word) = word else {
        return K::found(INSIDE);
    };
    // SAFETY: null, or a domain, and those live for ever.
    match unsafe { place_in(Some(word)).cast::<Domain>().as_ref() } {
        Some(domain) => domain,
        None => first_use(word, K::found),
    }
}

#[cold]
#[inline(never)]
fn first_use(word: &AtomicPtr<()>, found: fn(Inside) -> &'static Domain) -> &'static Domain {
    let new = found(INSIDE);
    let place = ptr::from_ref(new).cast::<()>().cast_mut();
    let order = (Ordering::AcqRel, Ordering::Acquire);
    match word.compare_exchange(ptr::null_mut(), place, order.0, order.1) {
        Ok(_) => new,
        Err(other) => {
            new.abandon(); // no other thread has seen it
            // SAFETY: the domain of the thread that was first; domains live for ever.
            unsafe { &*other.cast::<Domain>() }
        }
    }
}

#[cfg_attr(feature = "locations", track_caller)]
#[inline(never)]
pub(super) fn open_slowly<K: Readers>(word: Option<&AtomicPtr<()>>) -> Section {
    K::open_slowly(domain_at::<K>(word))
}

/// A new domain; `counted`: its readers are.
fn found(counted: bool) -> &'static Domain {
    #[cfg(quiescent_model)]
    return crate::global::found(counted);
    #[cfg(not(quiescent_model))]
    match counted {
        true => Domain::found_counted(env()),
        false => Domain::found(env()),
    }
}

/// An open section, in a word of which its kind knows the meaning. It has one type for all kinds, and not one
/// of the handle's: so a guard that borrows its domain may be used where a shorter borrow is expected.
///
/// Neither `Send` nor `Sync`: most sections are closed with plain stores to words of their thread.
pub struct Section(NonNull<()>);

impl Section {
    /// One of the calling thread.
    #[inline(always)]
    fn of(reader: &'static Reader) -> Section {
        Section(NonNull::from(reader).cast())
    }

    /// # Safety
    /// Made by [`of`](Section::of).
    #[inline(always)]
    unsafe fn reader(&self) -> &'static Reader {
        // SAFETY: made from such a reference.
        unsafe { self.0.cast().as_ref() }
    }
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("open")
    }
}

/// The process's domain: it needs no word, and no place.
impl Readers for Global {
    const UNIQUE: bool = true;

    #[inline(always)]
    fn found(_: Inside) -> &'static Domain {
        &env().home
    }

    #[inline(always)]
    fn own_queue(_: &'static Domain) -> Option<&'static Queue> {
        Some(with_local(Local::queue))
    }

    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    unsafe fn open(_: *const ()) -> Option<Section> {
        Some(Section::of(section::lock()))
    }

    #[cfg_attr(feature = "locations", track_caller)]
    fn open_slowly(_: &'static Domain) -> Section {
        Section::of(section::lock())
    }

    #[inline(always)]
    unsafe fn close(_: Option<&AtomicPtr<()>>, section: &Section) {
        // SAFETY: the caller's promise; sections of this kind have a reader.
        section::unlock(unsafe { section.reader() });
    }

    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    unsafe fn repin(_: Option<&AtomicPtr<()>>, section: &mut Section) {
        // SAFETY: as in `close`.
        *section = Section::of(section::repin(unsafe { section.reader() }));
    }
}

/// The two kinds of a program's domains whose readers are threads.
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
    const UNIQUE: bool = K::UNIQUE;

    fn found(_: Inside) -> &'static Domain {
        found(false)
    }

    #[inline(always)]
    fn own_queue(domain: &'static Domain) -> Option<&'static Queue> {
        match with_local(|local| local.noted_record(ptr::from_ref(domain).cast())) {
            // SAFETY: a record, and null or a queue; neither is ever freed.
            Some(record) => unsafe { (*record).queue.attached().as_ref() },
            None => attached_queue(domain),
        }
    }

    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    unsafe fn open(place: *const ()) -> Option<Section> {
        let record = with_local(|local| local.noted_record(place))?;
        // SAFETY: a record; records are never freed.
        Some(Section::of(unsafe { &*record }.words.lock()))
    }

    #[cfg_attr(feature = "locations", track_caller)]
    fn open_slowly(domain: &'static Domain) -> Section {
        Section::of(domain.lock_anew(&local()))
    }

    #[inline(always)]
    unsafe fn close(word: Option<&AtomicPtr<()>>, section: &Section) {
        // SAFETY: the caller's promise; sections of this kind have a reader.
        let reader = unsafe { section.reader() };
        if word::end(reader) {
            // SAFETY: the caller's promise.
            unsafe { unlock_slowly(word, reader) };
        }
    }

    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    unsafe fn repin(word: Option<&AtomicPtr<()>>, section: &mut Section) {
        // SAFETY: as in `close`.
        let reader = unsafe { section.reader() };
        if word::is_flagged(reader) {
            // SAFETY: the caller's promise.
            let domain = unsafe { at(word) };
            *section = Section::of(domain.repin_slowly(&local(), reader));
        }
    }
}

/// The queue to which the calling thread pushes in this domain, if the thread's cached record is of another
/// domain.
#[inline(never)]
fn attached_queue(domain: &'static Domain) -> Option<&'static Queue> {
    with_local(|local| domain.attached_queue(local))
}

/// The rare part of the end of a section: a driver waits, or the word is a sink. It takes arguments that the
/// caller has in registers, because a guard's drop must be small enough to be inlined where a function
/// unwinds. Otherwise the compiler keeps the guard in memory.
///
/// # Safety
/// As [`Readers::close`].
#[cold]
#[inline(never)]
unsafe fn unlock_slowly(word: Option<&AtomicPtr<()>>, reader: &'static Reader) {
    // SAFETY: the caller's promise.
    let domain = unsafe { at(word) };
    domain.unlock_slowly(&local(), reader);
}

/// A counted section of the calling thread.
struct Here;

impl Here {
    #[inline(always)]
    fn enter(counts: &'static Counts) -> Section {
        Section(section::enter(counts).word())
    }

    /// The count that it leaves, if a driver may wait for that.
    ///
    /// # Safety
    /// It was made by [`enter`](Here::enter), and is open.
    #[inline(always)]
    unsafe fn leave(section: &Section, counts: &'static Counts) -> Option<usize> {
        // SAFETY: the caller's promise.
        let entered = unsafe { Entered::of(section.0) };
        section::leave(counts, entered).then(|| entered.count())
    }
}

/// A counted section that may end on any thread: its count, and a bit that is always set.
struct Sent;

impl Sent {
    const SET: NonZero<usize> = NonZero::new(2).unwrap();

    #[inline(always)]
    fn enter(counts: &'static Counts) -> Section {
        let word = Sent::SET | section::enter_sent(counts);
        Section(NonNull::dangling().with_addr(word)) // a number, and no pointer
    }

    /// # Safety
    /// As [`Here::leave`].
    #[inline(always)]
    unsafe fn leave(section: &Section, counts: &'static Counts) -> Option<usize> {
        let count = section.0.addr().get() & !Sent::SET.get();
        section::leave_sent(counts, count).then_some(count)
    }
}

/// The operations of an `Srcu`, for sections that are counted like this.
macro_rules! counted {
    ($kind:ty, $section:ident) => {
        impl Readers for $kind {
            fn found(_: Inside) -> &'static Domain {
                found(true)
            }

            #[inline(always)]
            unsafe fn open(place: *const ()) -> Option<Section> {
                // SAFETY: the caller's promise: null, or a domain, and those live for ever.
                let domain: &'static Domain = unsafe { place.cast::<Domain>().as_ref() }?;
                // SAFETY: a place of this kind.
                Some($section::enter(unsafe { counted(domain) }))
            }

            fn open_slowly(domain: &'static Domain) -> Section {
                // SAFETY: a domain of this kind.
                $section::enter(unsafe { counted(domain) })
            }

            #[inline(always)]
            unsafe fn close(word: Option<&AtomicPtr<()>>, section: &Section) {
                // SAFETY: the caller's promise.
                let domain = unsafe { at(word) };
                // SAFETY: a place of this kind.
                let counts = unsafe { counted(domain) };
                // SAFETY: the caller's promise; sections of this kind are made by `enter`.
                if let Some(count) = unsafe { $section::leave(section, counts) } {
                    may_be_empty(domain, counts, count);
                }
            }

            unsafe fn repin(word: Option<&AtomicPtr<()>>, section: &mut Section) {
                // SAFETY: the caller's promise; the new section takes the place of the old one.
                unsafe {
                    <$kind>::close(word, section);
                    *section = <$kind>::open_slowly(at(word));
                }
            }
        }
    };
}

/// A handle to an [`Srcu`](crate::Srcu) whose guards are `Send` and `Sync`:
/// [`read_lock_send`](crate::Srcu::read_lock_send) and [`read_owned_send`](crate::Srcu::read_owned_send)
/// return them.
///
/// Their sections may cross an `await`, and end on any thread. They read the same cells, lists and pointers
/// as the guards of the handle inside.
///
/// ```
/// use quiescent::{Guard, RcuCell, Sendable, Srcu};
///
/// let srcu = Srcu::new();
/// let cell = RcuCell::new_in(String::from("v1"), srcu.clone());
/// let guard: Guard<Sendable<Srcu>> = srcu.read_owned_send();
/// std::thread::spawn(move || assert_eq!(cell.load(&guard), "v1")).join().unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sendable<D>(pub D);

/// A handle whose sections may end on any thread: [`Sendable`]. Its guards are `Send` and `Sync`.
///
/// # Safety
/// Not for implementations outside of this crate: sections of other handles are in words of their thread.
#[diagnostic::on_unimplemented(
    message = "a guard of `{Self}` stays on its thread",
    label = "its guard is not sent, and not held across an `await`",
    note = "copy what you need and drop the guard before; or keep the value in an `Srcu`, whose \
            `read_lock_send` gives a guard that may be sent and held across an `await`"
)]
pub unsafe trait MaySend: Handle {}

// SAFETY: such sections are counted, wherever they end.
unsafe impl<D> MaySend for Sendable<D> where Sendable<D>: Handle {}

counted!(Counted, Here);
counted!(Sendable<Counted>, Sent);

/// The counters of a domain with counted readers.
///
/// # Safety
/// It was made by `found_counted`: a domain keeps its kind of readers.
#[inline(always)]
unsafe fn counted(domain: &'static Domain) -> &'static Counts {
    match &domain.readers {
        DomainReaders::Counted(counted) => counted,
        // SAFETY: the caller's promise.
        _ => unsafe { std::hint::unreachable_unchecked() },
    }
}

/// A section has ended that a driver may wait for. Not in line: a guard's drop should be small.
#[cold]
#[inline(never)]
fn may_be_empty(domain: &'static Domain, counted: &'static Counts, count: usize) {
    if let Some(state) = domain.state_if_any() {
        state.may_be_empty(counted, count);
    }
}
