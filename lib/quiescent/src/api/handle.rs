//! Handles: what a type is read under. Every public type that belongs to a domain has one as a parameter, and [`Global`] as its default.

use std::fmt;

use super::backend::{Backend, OfProcess};
use super::domain::RcuDomain;
use super::kind::{Kind, Single, ThreadSection};

/// What leads to a domain: a guard, a cell, a list keep one.
///
/// | handle | leads to | its size |
/// |---|---|---|
/// | [`Global`] | the process's domain | nothing |
/// | `&Domain`, `&Srcu` | that one, which it borrows | a word |
/// | [`Domain`](crate::Domain), [`Srcu`](crate::Srcu) | that one, which it keeps alive: handles are counted | a word |
/// | a type made by [`domain!`](crate::domain!) | the only domain of that type | nothing |
///
/// It is implemented for these only. What can be read under what is the matter of [`Reads`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not lead to a domain",
    note = "borrow the domain (`&domain`), keep it alive (`domain.clone()`), or take `Global`"
)]
pub trait Handle: Clone + Reads<<Self as Handle>::Brand> {
    /// What all handles have in common that lead to the same domain, or to one of several with the same tag.
    type Brand: 'static;
}

/// Sections under this handle protect what belongs to domains of the brand `B`.
///
/// Where several domains have one brand (those without a tag, say), whether it is the right one of them is found out at run time.
#[diagnostic::on_unimplemented(
    message = "a section of `{Self}` does not protect what belongs to `{B}`",
    label = "a guard of another domain",
    note = "open a section with `read_lock` of the domain that the cell, list or pointer belongs to"
)]
pub trait Reads<B>: sealed::Sealed {}

/// The brand of a domain that is the only one of its type: [`Global`], and what [`domain!`](crate::domain!) makes.
#[diagnostic::on_unimplemented(
    message = "there may be several domains of the type `{Self}`, and the pointer does not know which is its own",
    label = "not a domain that is the only one of its type",
    note = "make the domain with `quiescent::domain!`, or use the unsafe `load_protected`"
)]
pub trait Unique {}

/// The process's domain, which the free functions of this crate are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Global;

/// A type that stands for one domain. Made by [`domain!`](crate::domain!).
///
/// # Safety
/// `domain` always returns the same one, and there is no other `RcuDomain<Self, Single>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not lead to a domain",
    note = "borrow the domain (`&domain`), keep it alive (`domain.clone()`), or take `Global`"
)]
pub unsafe trait Singleton: Copy + fmt::Debug + Send + Sync + 'static {
    /// The domain.
    fn domain() -> &'static RcuDomain<Self, Single>;
}

/// Makes a domain that is the only one of its type, and a handle to it that takes no room.
///
/// Guards, cells and cookies of such a domain are told from all others by the compiler, and nothing is looked at when the
/// program runs. It lives as long as the process.
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
            // SAFETY: the only one; nothing else can name it.
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
    use super::Backend;

    /// What a handle does for the types that keep it.
    pub trait Sealed: Sized {
        type OfBackend: Backend;
        type OpenSection: std::fmt::Debug;

        /// The domain, for calls that are not on the way of a reader.
        fn domain_backend(&self) -> Self::OfBackend;

        /// Tells domains of one brand apart; null where there is one only.
        fn domain_identity(&self) -> *const ();

        fn open_section(&self) -> Self::OpenSection;

        /// # Safety
        /// The section was opened by a handle to the same domain, and is not used again.
        unsafe fn close_section(&self, section: &Self::OpenSection);

        /// # Safety
        /// The section was opened by a handle to the same domain.
        unsafe fn repin_section(&self, section: &mut Self::OpenSection);
    }
}

use sealed::Sealed;

/// Is the guard of `reader` one of the domain of `owner`?
#[inline(always)]
pub(crate) fn is_same(owner: &impl Handle, reader: &impl Handle) -> bool {
    std::ptr::eq(owner.domain_identity(), reader.domain_identity())
}

impl Sealed for Global {
    type OfBackend = OfProcess;
    type OpenSection = ThreadSection;

    #[inline(always)]
    fn domain_backend(&self) -> OfProcess {
        OfProcess
    }

    #[inline(always)]
    fn domain_identity(&self) -> *const () {
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

impl Handle for Global {
    type Brand = Global;
}

impl Reads<Global> for Global {}

impl Unique for Global {}

impl<Tag: 'static, K: Kind> Sealed for RcuDomain<Tag, K> {
    type OfBackend = K::Backend;
    type OpenSection = K::Section;

    fn domain_backend(&self) -> K::Backend {
        RcuDomain::backend(self)
    }

    #[inline(always)]
    fn domain_identity(&self) -> *const () {
        K::identity(self.place())
    }

    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(always)]
    fn open_section(&self) -> K::Section {
        match K::open(self.place()) {
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

impl<Tag: 'static, K: Kind> Handle for RcuDomain<Tag, K> {
    type Brand = RcuDomain<Tag, K>;
}

impl<Tag: 'static, K: Kind> Reads<RcuDomain<Tag, K>> for RcuDomain<Tag, K> {}

impl<S: Singleton> Unique for RcuDomain<S, Single> {}

/// A handle that has another one.
macro_rules! forward {
    ([$($parameters:tt)*] $handle:ty, $to:ty, |$this:ident| $place:expr) => {
        impl<$($parameters)*> Sealed for $handle {
            type OfBackend = <$to as Sealed>::OfBackend;
            type OpenSection = <$to as Sealed>::OpenSection;

            fn domain_backend(&self) -> Self::OfBackend {
                let $this = self;
                Sealed::domain_backend($place)
            }

            #[inline(always)]
            fn domain_identity(&self) -> *const () {
                let $this = self;
                Sealed::domain_identity($place)
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

impl<Tag: 'static, K: Kind> Handle for &RcuDomain<Tag, K> {
    type Brand = RcuDomain<Tag, K>;
}

impl<Tag: 'static, K: Kind> Reads<RcuDomain<Tag, K>> for &RcuDomain<Tag, K> {}

impl<S: Singleton> Handle for S {
    type Brand = RcuDomain<S, Single>;
}

impl<S: Singleton> Reads<RcuDomain<S, Single>> for S {}
