//! Handles to domains. Every public type that belongs to a domain has a handle type as a parameter, with
//! [`Global`] as its default.

use std::fmt;
use std::ptr;

use super::kind::{Readers, Section, domain_at, open_slowly, place_in};
use quiescent_core::prim::AtomicPtr;

/// A handle to a domain. Guards, cells and lists contain one.
///
/// | handle | domain | size |
/// |---|---|---|
/// | [`Global`] | the process's domain | 0 |
/// | `&Domain`, `&Srcu` | that one, borrowed | a word |
/// | [`Domain`](crate::Domain), [`Srcu`](crate::Srcu) | that one, kept alive (counted) | a word |
/// | a type made by [`domain!`](crate::domain!) | the only domain of that type | 0 |
///
/// Only these types implement it. [`Reads`] says which guard protects what.
///
/// # Safety
/// Not for implementations outside of this crate: all handles of a brand must lead to domains of that brand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not lead to a domain",
    note = "borrow the domain (`&domain`), keep it alive (`domain.clone()`), or take `Global`",
    note = "`RcuDomain<_, PerThread>` is a `Domain`, `RcuDomain<_, Counted>` an `Srcu`"
)]
pub unsafe trait Handle: Clone + Reads<<Self as Handle>::Brand> {
    /// The brand: a type that all handles to the same domain share, also with other domains that have the
    /// same tag.
    type Brand: 'static;
}

/// Sections under this handle protect the objects of domains with brand `B`.
///
/// Where several domains have the same brand (those without a tag, for example), a check at run time compares
/// the domains.
///
/// # Safety
/// Not for implementations outside of this crate. A guard of a handle that reads `B` opens the cells, lists
/// and pointers of `B`, so a wrong implementation leads to freed memory. It is `unsafe` because a seal alone
/// does not hold: the types of [`domain!`](crate::domain!) are handles, and are made in other crates.
#[diagnostic::on_unimplemented(
    message = "a section of `{Self}` does not protect what belongs to `{B}`",
    label = "a guard of another domain",
    note = "open a section with `read_lock` of the domain that the cell, list or pointer belongs to",
    note = "`RcuDomain<_, PerThread>` is a `Domain`, `RcuDomain<_, Counted>` an `Srcu`"
)]
pub unsafe trait Reads<B>: sealed::Sealed {}

/// The brand of a domain that is the only one of its type: [`Global`], and what [`domain!`](crate::domain!)
/// makes.
///
/// # Safety
/// There is one domain of this brand in the process.
#[diagnostic::on_unimplemented(
    message = "there may be several domains of the type `{Self}`: the pointer cannot know which is its own",
    label = "not a domain that is the only one of its type",
    note = "make the domain with `quiescent::domain!`, or use the unsafe `load_protected`",
    note = "`RcuDomain<_, PerThread>` is a `Domain`, `RcuDomain<_, Counted>` an `Srcu`"
)]
pub unsafe trait Unique {}

/// The process's domain, which the free functions of this crate use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Global;

pub(crate) mod sealed {
    use super::{AtomicPtr, Readers, Section, domain_at, open_slowly, place_in};
    use quiescent_core::domain::life::Domain;
    use quiescent_core::queue::per_thread::Queue;

    /// Only this crate has a value of it. Generic code of a program may call the methods of a trait that it
    /// cannot name, but not those that take one of these: they lead to a domain.
    #[derive(Debug)]
    pub struct Inside(());

    pub(crate) const INSIDE: Inside = Inside(());

    /// The operations of a handle for the types that contain it.
    pub trait Sealed: Sized {
        type Opens: Readers;

        /// The word of the domain at the end of the borrows, which holds its place; `None` for the process's.
        fn word(&self, _: Inside) -> Option<&AtomicPtr<()>>;

        /// The domain, for calls outside of the readers' fast path.
        fn core_domain(&self, _: Inside) -> &'static Domain {
            domain_at::<Self::Opens>(self.word(INSIDE))
        }

        /// The queue to which the calling thread pushes without a lock, if there is one.
        #[inline(always)]
        fn own_queue(&self, _: Inside) -> Option<&'static Queue> {
            Self::Opens::own_queue(self.core_domain(INSIDE))
        }

        #[cfg_attr(feature = "locations", track_caller)]
        #[inline(always)]
        fn open_section(&self) -> Section {
            let word = self.word(INSIDE);
            // SAFETY: the word of a domain of this kind contains null, or its place.
            match unsafe { Self::Opens::open(place_in(word)) } {
                Some(section) => section,
                None => open_slowly::<Self::Opens>(word),
            }
        }

        /// # Safety
        /// The section was opened by a handle to the same domain, and is not used again.
        #[inline(always)]
        unsafe fn close_section(&self, section: &Section) {
            // SAFETY: the caller's promise. The domain has a place since the section was opened.
            unsafe { Self::Opens::close(self.word(INSIDE), section) };
        }

        /// # Safety
        /// The section was opened by a handle to the same domain.
        #[cfg_attr(feature = "locations", track_caller)]
        #[inline(always)]
        unsafe fn repin_section(&self, section: &mut Section) {
            // SAFETY: as in `close_section`.
            unsafe { Self::Opens::repin(self.word(INSIDE), section) };
        }
    }
}

use sealed::{INSIDE, Inside, Sealed};

/// Returns whether `reader` and `owner` are handles to the same domain. If they lead to the same word, this
/// takes no load.
#[inline(always)]
pub(crate) fn is_same<O: Handle, R: Handle>(owner: &O, reader: &R) -> bool {
    let (owner, reader) = (owner.word(INSIDE), reader.word(INSIDE));
    O::Opens::UNIQUE
        || ptr::eq(address(owner), address(reader))
        || ptr::eq(place_in(owner), place_in(reader))
}

/// Returns whether two handles lead to the same domain, whatever their brands are. (Before its first use, a
/// domain has no place, and one handle.)
pub(crate) fn lead_to_one(one: &impl Handle, other: &impl Handle) -> bool {
    let (one, other) = (one.word(INSIDE), other.word(INSIDE));
    let place = place_in(one);
    ptr::eq(address(one), address(other)) || !place.is_null() && ptr::eq(place, place_in(other))
}

#[inline(always)]
fn address(word: Option<&AtomicPtr<()>>) -> *const AtomicPtr<()> {
    word.map_or(ptr::null(), ptr::from_ref)
}

/// A type of handles, the brand of the domains that they lead to, how they open sections, and the word that
/// one of them leads to.
macro_rules! handle {
    ($handle:ty, $brand:ty, $opens:ty, [$($parameters:tt)*] [$($bounds:tt)*] |$this:ident| $word:expr) => {
        impl<$($parameters)*> Sealed for $handle where $($bounds)* {
            type Opens = $opens;

            #[inline(always)]
            fn word(&self, _: Inside) -> Option<&AtomicPtr<()>> {
                let $this = self;
                $word
            }
        }

        // SAFETY: its word is that of a domain of this brand.
        unsafe impl<$($parameters)*> Handle for $handle where $($bounds)* {
            type Brand = $brand;
        }

        // SAFETY: a section of it is one of that domain.
        unsafe impl<$($parameters)*> Reads<$brand> for $handle where $($bounds)* {}
    };
}

pub(crate) use handle;

handle!(Global, Global, Global, [] [] |_this| None);

// SAFETY: a process has one.
unsafe impl Unique for Global {}

/// Why [`free_now`](crate::RcuDomain::free_now) was refused: the domain has other handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandlesLeft {
    /// How many.
    pub others: u32,
}

impl fmt::Display for HandlesLeft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the domain has other handles: {}; drop the clones, guards, cells, lists and retired values that \
             own one",
            self.others
        )
    }
}

impl std::error::Error for HandlesLeft {}
