//! Handles to domains. Every public type that belongs to a domain has a handle type as a parameter, with
//! [`Global`] as its default.

use std::fmt;

use super::domain::RcuDomain;
use super::kind::{Kind, Single, ThreadSection};
use crate::global::{env, with_local};
use quiescent_core::domain::life::Domain;
use quiescent_core::queue::per_thread::Queue;
use quiescent_core::reader::local::Local;

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
    note = "borrow the domain (`&domain`), keep it alive (`domain.clone()`), or take `Global`"
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
    note = "open a section with `read_lock` of the domain that the cell, list or pointer belongs to"
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
    note = "make the domain with `quiescent::domain!`, or use the unsafe `load_protected`"
)]
pub unsafe trait Unique {}

/// The process's domain, which the free functions of this crate use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Global;

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

pub(crate) mod sealed {
    use super::{Domain, Queue};

    /// Only this crate has a value of it. Generic code of a program may call the methods of a trait that it
    /// cannot name, but not those that take one of these: they lead to a domain.
    #[derive(Debug)]
    pub struct Inside(());

    pub(crate) const INSIDE: Inside = Inside(());

    /// The operations of a handle for the types that contain it.
    pub trait Sealed: Sized {
        type OpenSection: std::fmt::Debug;

        /// The domain, for calls outside of the readers' fast path.
        fn core_domain(&self, _: Inside) -> &'static Domain;

        /// The queue to which the calling thread pushes without a lock, if there is one.
        fn own_queue(&self, _: Inside) -> Option<&'static Queue>;

        /// Distinguishes domains of one brand; null where the brand has one domain only.
        fn domain_identity(&self) -> *const ();

        /// Where the handle at the end of the borrows lies: if two are equal, so are their domains. Takes no
        /// load.
        fn domain_address(&self) -> *const ();

        fn open_section(&self) -> Self::OpenSection;

        /// # Safety
        /// The section was opened by a handle to the same domain, and is not used again.
        unsafe fn close_section(&self, section: &Self::OpenSection);

        /// # Safety
        /// The section was opened by a handle to the same domain.
        unsafe fn repin_section(&self, section: &mut Self::OpenSection);
    }
}

use sealed::{INSIDE, Inside, Sealed};

/// Returns whether `reader` and `owner` are handles to the same domain.
#[inline(always)]
pub(crate) fn is_same(owner: &impl Handle, reader: &impl Handle) -> bool {
    std::ptr::eq(owner.domain_address(), reader.domain_address())
        || std::ptr::eq(owner.domain_identity(), reader.domain_identity())
}

impl Sealed for Global {
    type OpenSection = ThreadSection;

    #[inline(always)]
    fn core_domain(&self, _: Inside) -> &'static Domain {
        &env().home
    }

    #[inline(always)]
    fn own_queue(&self, _: Inside) -> Option<&'static Queue> {
        Some(with_local(Local::queue))
    }

    #[inline(always)]
    fn domain_identity(&self) -> *const () {
        std::ptr::null()
    }

    #[inline(always)]
    fn domain_address(&self) -> *const () {
        std::ptr::null()
    }

    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    fn open_section(&self) -> ThreadSection {
        ThreadSection::of_process()
    }

    #[inline(always)]
    unsafe fn close_section(&self, section: &ThreadSection) {
        section.close_of_process();
    }

    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    unsafe fn repin_section(&self, section: &mut ThreadSection) {
        section.repin_of_process();
    }
}

// SAFETY: all values lead to the process's domain, and the brand is its own.
unsafe impl Handle for Global {
    type Brand = Global;
}

// SAFETY: a section of it is one of that domain.
unsafe impl Reads<Global> for Global {}

// SAFETY: there is one process's domain.
unsafe impl Unique for Global {}

impl<Tag: 'static, K: Kind> Sealed for RcuDomain<Tag, K> {
    type OpenSection = K::Section;

    fn core_domain(&self, _: Inside) -> &'static Domain {
        RcuDomain::core(self)
    }

    #[inline(always)]
    fn own_queue(&self, _: Inside) -> Option<&'static Queue> {
        K::own_queue(RcuDomain::core(self))
    }

    #[inline(always)]
    fn domain_identity(&self) -> *const () {
        K::identity(self.place())
    }

    #[inline(always)]
    fn domain_address(&self) -> *const () {
        K::identity(std::ptr::from_ref(self).cast())
    }

    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    fn open_section(&self) -> K::Section {
        // SAFETY: the place of a domain of this kind, or null.
        match unsafe { K::open(self.place()) } {
            Some(section) => section,
            None => self.open_slowly(),
        }
    }

    #[inline(always)]
    unsafe fn close_section(&self, section: &K::Section) {
        // SAFETY: the caller's promise: a section was opened here, so there is a place.
        unsafe { K::close(self.place_word(), section) };
    }

    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    unsafe fn repin_section(&self, section: &mut K::Section) {
        // SAFETY: as above.
        unsafe { K::repin(self.place_word(), section) };
    }
}

// SAFETY: it leads to a domain of its own type, always the same.
unsafe impl<Tag: 'static, K: Kind> Handle for RcuDomain<Tag, K> {
    type Brand = RcuDomain<Tag, K>;
}

// SAFETY: of several domains of this brand, `is_same` compares the identities.
unsafe impl<Tag: 'static, K: Kind> Reads<RcuDomain<Tag, K>> for RcuDomain<Tag, K> {}

// SAFETY: the promise of `Singleton`.
unsafe impl<S: Singleton> Unique for RcuDomain<S, Single> {}

/// A handle that wraps another one.
macro_rules! forward {
    ([$($parameters:tt)*] $handle:ty, $to:ty, |$this:ident| $place:expr) => {
        impl<$($parameters)*> Sealed for $handle {
            type OpenSection = <$to as Sealed>::OpenSection;

            fn core_domain(&self, _: Inside) -> &'static Domain {
                let $this = self;
                Sealed::core_domain($place, INSIDE)
            }

            #[inline(always)]
            fn own_queue(&self, _: Inside) -> Option<&'static Queue> {
                let $this = self;
                Sealed::own_queue($place, INSIDE)
            }

            #[inline(always)]
            fn domain_identity(&self) -> *const () {
                let $this = self;
                Sealed::domain_identity($place)
            }

            #[inline(always)]
            fn domain_address(&self) -> *const () {
                let $this = self;
                Sealed::domain_address($place)
            }

            #[cfg_attr(feature = "locations", track_caller)]
            #[inline(always)]
            fn open_section(&self) -> Self::OpenSection {
                let $this = self;
                Sealed::open_section($place)
            }

            #[inline(always)]
            unsafe fn close_section(&self, section: &Self::OpenSection) {
                let $this = self;
                // SAFETY: the caller's promise.
                unsafe { Sealed::close_section($place, section) };
            }

            #[cfg_attr(feature = "locations", track_caller)]
            #[inline(always)]
            unsafe fn repin_section(&self, section: &mut Self::OpenSection) {
                let $this = self;
                // SAFETY: the caller's promise.
                unsafe { Sealed::repin_section($place, section) };
            }
        }
    };
}

forward!(['a, Tag: 'static, K: Kind] &'a RcuDomain<Tag, K>, RcuDomain<Tag, K>, |this| *this);
forward!([S: Singleton] S, RcuDomain<S, Single>, |_this| S::domain());

// SAFETY: as the domain that it borrows.
unsafe impl<Tag: 'static, K: Kind> Handle for &RcuDomain<Tag, K> {
    type Brand = RcuDomain<Tag, K>;
}

// SAFETY: as the domain that it borrows.
unsafe impl<Tag: 'static, K: Kind> Reads<RcuDomain<Tag, K>> for &RcuDomain<Tag, K> {}

// SAFETY: the promise of `Singleton`: all values lead to one domain, the only one of this brand.
unsafe impl<S: Singleton> Handle for S {
    type Brand = RcuDomain<S, Single>;
}

// SAFETY: a section of it is one of that domain.
unsafe impl<S: Singleton> Reads<RcuDomain<S, Single>> for S {}
