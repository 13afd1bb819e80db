//! Sections of a [`Domain`], and what proves that one is open.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::Domain;
use crate::inner::domain::grounds::Grounds;
use crate::inner::prim;
use crate::inner::reader::record::Seat;
use crate::inner::reader::word::{self, Reader};

/// An open section; dropped, it is closed.
pub(crate) struct Section {
    reader: &'static Reader,
    pub(super) grounds: &'static Grounds,
    /// Not `Send`, not `Sync`: closing it writes this thread's word with plain stores.
    here: PhantomData<*mut ()>,
}

impl Section {
    /// Opens one.
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    pub(crate) fn open(grounds: &'static Grounds) -> Section {
        match prim::noted_spot(grounds) {
            // SAFETY: a spot, and those live for ever.
            Some(spot) => Section::at(grounds, unsafe { &(*spot).seat }),
            None => Section::of(grounds, grounds.lock_anew()),
        }
    }

    /// Opens one at this seat, which is the calling thread's in these grounds.
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    fn at(grounds: &'static Grounds, seat: &'static Seat) -> Section {
        Section::of(grounds, seat.lock())
    }

    #[inline(always)]
    fn of(grounds: &'static Grounds, reader: &'static Reader) -> Section {
        Section {
            reader,
            grounds,
            here: PhantomData,
        }
    }
}

impl Drop for Section {
    #[inline(always)]
    fn drop(&mut self) {
        if word::end(self.reader) {
            self.grounds.unlock_slowly(self.reader);
        }
    }
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "open in domain {}", self.grounds.number())
    }
}

impl<Tag: 'static> Domain<Tag> {
    /// Opens a section. Never waits, never fails; also in signal handlers.
    ///
    /// # Ordering
    /// As [`read_lock`](crate::read_lock()): a grace period of this domain that starts while the section is open does not end before it
    /// has; a section that opens after one has started sees everything that happened before that start.
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    pub fn read_lock(&self) -> DomainGuard<'_, Tag> {
        let place = self.place();
        let section = match prim::noted_spot(place) {
            // SAFETY: a spot of these grounds, so there are some; both live for ever.
            Some(spot) => unsafe { Section::at(&*place, &(*spot).seat) },
            None => self.open_anew(),
        };
        DomainGuard {
            section,
            domain: PhantomData,
        }
    }

    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(never)]
    fn open_anew(&self) -> Section {
        let grounds = self.grounds();
        Section::of(grounds, grounds.lock_anew())
    }

    /// Runs `f` inside a section.
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    pub fn read<R>(&self, f: impl FnOnce(&DomainGuard<'_, Tag>) -> R) -> R {
        let guard = self.read_lock();
        f(&guard)
    }

    /// Opens a section whose guard keeps the domain alive.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use quiescent::Domain;
    ///
    /// let domain = Arc::new(Domain::new());
    /// let guard = domain.read_owned();
    /// drop(domain);
    /// drop(guard); // the last one: the domain goes with it
    /// ```
    #[cfg_attr(feature = "locations", track_caller)]
    pub fn read_owned(self: &Arc<Domain<Tag>>) -> OwnedDomainGuard<Tag> {
        OwnedDomainGuard {
            section: Section::open(self.grounds()),
            _domain: Arc::clone(self),
        }
    }

    /// Is this thread inside a section of this domain?
    pub fn in_section(&self) -> bool {
        self.grounds().is_inside()
    }
}

/// An open section of a [`Domain`]. It ends when the guard is dropped, on the thread that made it.
///
/// What was loaded under a guard may be used as long as that guard lives.
/// ```compile_fail,E0277
/// static DOMAIN: quiescent::Domain = quiescent::Domain::new();
/// let guard = DOMAIN.read_lock();
/// std::thread::spawn(move || drop(guard)); // to another thread
/// ```
/// ```compile_fail,E0505
/// let domain = quiescent::Domain::new();
/// let guard = domain.read_lock();
/// drop(domain); // while a guard lives
/// drop(guard);
/// ```
#[derive(Debug)]
#[must_use = "the section ends when the guard is dropped"]
pub struct DomainGuard<'a, Tag: 'static = ()> {
    section: Section,
    domain: PhantomData<&'a Domain<Tag>>,
}

impl<Tag: 'static> DomainGuard<'_, Tag> {
    /// Lets a waiting grace period pass, as [`Guard::repin`](crate::Guard::repin): what was read under this guard so far may no longer be
    /// used, and the section goes on. Does nothing while another guard of this thread in this domain is alive.
    ///
    /// ```
    /// use quiescent::{Domain, DomainCell};
    ///
    /// let domain = Domain::new();
    /// let table = DomainCell::new(&domain, [1, 2, 3]);
    /// let mut guard = domain.read_lock();
    /// let mut sum = 0;
    /// for _ in 0..1000 {
    ///     sum += table.load(&guard).iter().sum::<i32>();
    ///     guard.repin();
    /// }
    /// assert_eq!(sum, 6000);
    /// ```
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    pub fn repin(&mut self) {
        if prim::is_flagged(self.section.reader) {
            let grounds = self.section.grounds;
            self.section.reader = grounds.repin_slowly(self.section.reader);
        }
    }
}

/// As [`DomainGuard`]; keeps its [`Domain`] alive.
#[derive(Debug)]
#[must_use = "the section ends when the guard is dropped"]
pub struct OwnedDomainGuard<Tag: 'static = ()> {
    section: Section,
    /// Dropped last: the section is closed by then.
    _domain: Arc<Domain<Tag>>,
}

mod sealed {
    pub trait Inside {
        /// The address of where the section is.
        fn place(&self) -> *const ();
    }
}

/// Proof of being inside a section of a [`Domain`] with this tag: a [`DomainGuard`] or an [`OwnedDomainGuard`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no open section of a domain with this tag",
    label = "not a guard of the cell's domain",
    note = "open a section with `read_lock` of the `Domain` that the cell was made with"
)]
pub trait InDomain<Tag>: sealed::Inside {}

impl<Tag: 'static> sealed::Inside for DomainGuard<'_, Tag> {
    #[inline(always)]
    fn place(&self) -> *const () {
        std::ptr::from_ref(self.section.grounds).cast()
    }
}

impl<Tag: 'static> InDomain<Tag> for DomainGuard<'_, Tag> {}

impl<Tag: 'static> sealed::Inside for OwnedDomainGuard<Tag> {
    #[inline(always)]
    fn place(&self) -> *const () {
        std::ptr::from_ref(self.section.grounds).cast()
    }
}

impl<Tag: 'static> InDomain<Tag> for OwnedDomainGuard<Tag> {}
