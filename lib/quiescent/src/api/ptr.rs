//! Non-owning pointers for linked structures: [`RcuPtr`], and [`Shared`], which a load returns.
//!
//! # What is safe, and why
//! Several pointers may lead to one object, so none of them can own it. Readers get `&'g T` from a safe call.
//! Therefore no safe call may free the object before the section `'g` ends, and none may store an address
//! that other code will free:
//!
//! | call | safe? | because |
//! |---|---|---|
//! | store, swap, compare-and-exchange a `Box` | yes | the caller owns it; only unsafe calls free it later |
//! | store null, drop the pointer | yes | the object becomes unreachable: a leak at worst |
//! | load, compare under a guard | yes | see below; the guard keeps the address from being reused |
//! | store what a load returned | **no** | it may be retired, and readers would find it after it is freed |
//! | retire; take back | **no** | the type does not know where else the object can be found |
//!
//! A plain reference cannot be stored, because it may come from anywhere. The address of an object is passed
//! in a [`Shared`], which keeps the provenance of the box (freeing through a `&T` is not allowed) and cannot
//! outlive its section.
//!
//! # Invariant
//! An `RcuPtr` that a reader can reach is null, or points to a box that was published complete `[PTR-1]` and
//! that is not freed before every section has ended in which it could be found there. `load` relies on this;
//! the safe calls preserve it; the unsafe ones require the caller to.
//!
//! # Edges
//! `[PTR-1]` An updater writes the object, then stores the pointer with release; a load acquires. The same
//! holds for an object that is linked a second time: the thread that stores a `Shared` acquired the contents
//! when it loaded it, so they happen before the second release as well. That unlinking comes before the grace
//! period is ensured by retiring, not by this pointer.
//!
//! These do not compile:
//!
//! ```compile_fail,E0597
//! let pointer = quiescent::RcuPtr::new(Box::new(1));
//! let kept;
//! {
//!     let guard = quiescent::read_lock();
//!     kept = pointer.load(&guard); // outlives the section
//! }
//! println!("{kept:?}");
//! ```
//! ```compile_fail,E0597
//! let pointer = quiescent::RcuPtr::new(Box::new(1));
//! let kept;
//! {
//!     let guard = quiescent::read_lock();
//!     kept = pointer.load_shared(&guard).unwrap().get(); // the same, the long way round
//! }
//! println!("{kept}");
//! ```
//! ```compile_fail,E0502
//! let pointer = quiescent::RcuPtr::new(Box::new(1));
//! let mut guard = quiescent::read_lock();
//! let seen = pointer.load(&guard);
//! guard.repin(); // ends what was read before
//! println!("{seen:?}");
//! ```
//! ```compile_fail,E0308
//! let pointer = quiescent::RcuPtr::null();
//! let local = 1;
//! pointer.store(Some(&local)); // only what no other code can free
//! ```
//! ```compile_fail,E0382
//! let pointer = quiescent::RcuPtr::null();
//! let object = Box::new(1);
//! pointer.store(Some(object));
//! drop(object); // it is not ours any more
//! ```
//! ```compile_fail,E0133
//! let (one, two) = (quiescent::RcuPtr::new(Box::new(1)), quiescent::RcuPtr::null());
//! let guard = quiescent::read_lock();
//! two.store_shared(one.load_shared(&guard)); // it may be retired by now: unsafe
//! ```
//! ```compile_fail,E0133
//! let pointer = quiescent::RcuPtr::new(Box::new(1));
//! let guard = quiescent::read_lock();
//! pointer.load_shared(&guard).unwrap().retire(); // it can still be found: unsafe
//! ```
//! ```compile_fail,E0277
//! let pointer = quiescent::RcuPtr::new(Box::new(1));
//! let guard = quiescent::read_lock();
//! let found = pointer.load_shared(&guard).unwrap();
//! std::thread::scope(|s| { s.spawn(move || *found); }); // stays with its guard
//! ```
//! ```compile_fail,E0277
//! let pointer = quiescent::RcuPtr::new(Box::new(std::rc::Rc::new(1))); // not Send
//! ```
//! ```compile_fail,E0277
//! let pointer = quiescent::RcuPtr::new(Box::new(std::cell::Cell::new(1))); // not Sync
//! ```
//! ```compile_fail,E0597
//! let local = String::from("short-lived");
//! let pointer = quiescent::RcuPtr::new(Box::new(&local)); // not 'static
//! drop(pointer);
//! ```

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use super::guard::Guard;
use super::handle::{Global, Handle, Reads, Unique};
use super::option::Exchanged;
use super::shared::Shared;
use quiescent_core::const_new;
use quiescent_core::prim::{AtomicPtr, Ordering};

/// Null, or the address of a heap object that readers may be using. It owns nothing: for the links of
/// structures.
///
/// Storing a `Box` passes the object to the structure. [`retire`](Shared::retire),
/// [`into_retired`](Shared::into_retired) and [`take`](RcuPtr::take), which are unsafe, get it back;
/// otherwise it is never freed. To own one replaceable value, use [`RcuOption`](crate::RcuOption), which
/// needs no `unsafe`.
///
/// Every call is one atomic instruction and never waits or panics. A load is one acquire load.
///
/// ```
/// use quiescent::{RcuPtr, read_lock};
///
/// struct Node {
///     value: u32,
///     next: RcuPtr<Node>,
/// }
/// let last = Box::new(Node { value: 2, next: RcuPtr::null() });
/// let chain = RcuPtr::new(Box::new(Node { value: 1, next: RcuPtr::new(last) }));
///
/// let guard = read_lock();
/// let first = chain.load_shared(&guard).expect("two nodes");
/// let second = first.next.load_shared(&guard);
/// // SAFETY: no other thread updates this chain, so the second node stays in it, and the first one cannot
/// // be found any more once the chain starts behind it.
/// unsafe {
///     chain.store_shared(second);
///     first.retire();
/// }
/// assert_eq!(chain.load(&guard).map(|node| node.value), Some(2));
/// assert_eq!(first.value, 1); // it stays until we leave the section
/// ```
///
/// # In other domains
/// The pointer contains no handle, only the type of one, `D`. So its safe calls with a guard work in the
/// process's domain, and in domains that are the only one of their type ([`domain!`](crate::domain!)). For
/// other domains the type does not identify the domain; use [`load_protected`](RcuPtr::load_protected), which
/// is unsafe.
///
/// ```
/// use quiescent::{Guard, RcuPtr};
///
/// quiescent::domain! { struct Routes; }
///
/// let route: RcuPtr<u32, Routes> = RcuPtr::null_in();
/// route.store(Some(Box::new(1)));
/// let guard = Guard::new_in(Routes);
/// assert_eq!(route.load(&guard), Some(&1));
/// ```
/// ```compile_fail,E0277
/// # use quiescent::{Domain, RcuPtr};
/// static DOMAIN: Domain = Domain::new();
/// let route: RcuPtr<u32, &Domain> = RcuPtr::null_in();
/// let guard = DOMAIN.read_lock();
/// route.load(&guard); // of this domain, or of another one of the same type?
/// ```
pub struct RcuPtr<T: Send + Sync + 'static, D: Handle = Global> {
    pointer: AtomicPtr<T>,
    of: PhantomData<fn() -> D::Brand>,
}

/// The error of [`RcuPtr::compare_exchange`].
pub type ExchangedPtr<'g, T, D = Global> = Exchanged<Option<Box<T>>, Option<Shared<'g, T, D>>>;

fn into_raw<T>(object: Option<Box<T>>) -> *mut T {
    object.map_or(ptr::null_mut(), Box::into_raw)
}

fn address<T: Send + Sync + 'static, D: Handle>(object: Option<Shared<'_, T, D>>) -> *mut T {
    object.map_or(ptr::null_mut(), |found| found.as_ptr().as_ptr())
}

impl<T: Send + Sync + 'static> RcuPtr<T> {
    const_new! {
        /// Makes a null pointer. Can be the value of a `static`.
        pub fn null() -> RcuPtr<T> {
            RcuPtr::null_in()
        }
    }

    /// Makes a pointer to this object.
    pub fn new(object: Box<T>) -> RcuPtr<T> {
        RcuPtr {
            pointer: AtomicPtr::new(Box::into_raw(object)),
            of: PhantomData,
        }
    }
}

impl<T: Send + Sync + 'static, D: Handle> RcuPtr<T, D> {
    const_new! {
        /// As [`null`](RcuPtr::null), in the domain that the type `D` names.
        pub fn null_in() -> RcuPtr<T, D> {
            RcuPtr { pointer: AtomicPtr::new(ptr::null_mut()), of: PhantomData }
        }
    }

    /// Returns whether the pointer is null now.
    pub fn is_null(&self) -> bool {
        self.pointer.load(Ordering::Acquire).is_null()
    }

    /// The object that it points to now. Costs one acquire load.
    #[inline(always)]
    pub fn load<'g, E>(&self, guard: &'g Guard<E>) -> Option<&'g T>
    where
        E: Handle + Reads<D::Brand>,
        D::Brand: Unique,
    {
        self.load_shared(guard).map(Shared::get)
    }

    /// As [`load`](RcuPtr::load), returning a [`Shared`], which can be compared, linked or retired.
    #[inline(always)]
    pub fn load_shared<'g, E>(&self, guard: &'g Guard<E>) -> Option<Shared<'g, T, D>>
    where
        E: Handle + Reads<D::Brand>,
        D::Brand: Unique,
    {
        let _ = guard;
        // SAFETY: what can be found here is not freed while sections are open that could find it, and `guard`
        // keeps this section open.
        unsafe { Shared::found(self.pointer.load(Ordering::Acquire)) } // [PTR-1]
    }

    /// As [`load_shared`](RcuPtr::load_shared), without a section: for updaters that hold the lock under
    /// which objects are unlinked.
    ///
    /// # Safety
    /// The object is not freed before the last use of the result.
    #[inline(always)]
    pub unsafe fn load_protected<'a>(&'a self) -> Option<Shared<'a, T, D>> {
        // SAFETY: the caller's promise.
        unsafe { Shared::found(self.pointer.load(Ordering::Acquire)) } // [PTR-1]
    }

    /// Stores the address of this object. The previous object is neither freed nor retired: it leaks unless
    /// another pointer leads to it.
    pub fn store(&self, object: Option<Box<T>>) {
        self.pointer.store(into_raw(object), Ordering::Release); // [PTR-1]
    }

    /// As [`store`](RcuPtr::store), and returns the previous object.
    pub fn swap<'g, E>(
        &self,
        object: Option<Box<T>>,
        guard: &'g Guard<E>,
    ) -> Option<Shared<'g, T, D>>
    where
        E: Handle + Reads<D::Brand>,
        D::Brand: Unique,
    {
        let _ = guard;
        let old = self.pointer.swap(into_raw(object), Ordering::AcqRel); // [PTR-1]
        // SAFETY: as in `load_shared`: it could be found here in our section.
        unsafe { Shared::found(old) }
    }

    /// Stores the address of `new` if the pointer still leads to `current`. Compares addresses, not contents.
    ///
    /// # Errors
    /// Returns the new object, and the object that the pointer leads to.
    pub fn compare_exchange<'g, E>(
        &self,
        current: Option<Shared<'g, T, D>>,
        new: Option<Box<T>>,
        guard: &'g Guard<E>,
    ) -> Result<(), ExchangedPtr<'g, T, D>>
    where
        E: Handle + Reads<D::Brand>,
        D::Brand: Unique,
    {
        let raw = into_raw(new);
        self.exchange(address(current), raw, guard)
            .map_err(|current| Exchanged {
                // SAFETY: `raw` was not published; it is null or a box that was ours before.
                new: (!raw.is_null()).then(|| unsafe { Box::from_raw(raw) }),
                current,
            })
    }

    /// Stores the address of an object that is also linked elsewhere, for instance to bypass another one.
    ///
    /// # Safety
    /// `object` has not been retired or freed, and will not be while sections that open later can find it
    /// here.
    pub unsafe fn store_shared(&self, object: Option<Shared<'_, T, D>>) {
        self.pointer.store(address(object), Ordering::Release); // [PTR-1]
    }

    /// As [`store_shared`](RcuPtr::store_shared), if the pointer still leads to `current`.
    ///
    /// # Errors
    /// Returns what the pointer leads to instead.
    ///
    /// # Safety
    /// As [`store_shared`](RcuPtr::store_shared), if it succeeds; and the guard is of the domain in which the
    /// objects are retired.
    pub unsafe fn compare_exchange_shared<'g, E>(
        &self,
        current: Option<Shared<'g, T, D>>,
        new: Option<Shared<'g, T, D>>,
        guard: &'g Guard<E>,
    ) -> Result<(), Option<Shared<'g, T, D>>>
    where
        E: Handle + Reads<D::Brand>,
    {
        self.exchange(address(current), address(new), guard)
    }

    fn exchange<'g, E: Handle>(
        &self,
        current: *mut T,
        new: *mut T,
        guard: &'g Guard<E>,
    ) -> Result<(), Option<Shared<'g, T, D>>> {
        let _ = guard;
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire); // [PTR-1]
        match self
            .pointer
            .compare_exchange(current, new, success, failure)
        {
            Ok(_) => Ok(()),
            // SAFETY: as in `load_shared`.
            Err(held) => Err(unsafe { Shared::found(held) }),
        }
    }

    /// Takes the object back at once, and stores null: for the destructors of structures.
    ///
    /// # Safety
    /// No thread uses the object or can find it elsewhere, and it has not been retired.
    pub unsafe fn take(&mut self) -> Option<Box<T>> {
        let raw = self.pointer.load(Ordering::Acquire); // [PTR-1]
        self.pointer.store(ptr::null_mut(), Ordering::Relaxed); // `&mut`: ours alone
        // SAFETY: a box that was given away; it is ours again by the caller's promise.
        (!raw.is_null()).then(|| unsafe { Box::from_raw(raw) })
    }
}

/// Prints the address only, because links may form a cycle.
impl<T: Send + Sync, D: Handle> fmt::Debug for RcuPtr<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RcuPtr")
            .field(&self.pointer.load(Ordering::Relaxed))
            .finish()
    }
}

impl<T: Send + Sync, D: Handle> Default for RcuPtr<T, D> {
    fn default() -> RcuPtr<T, D> {
        RcuPtr::null_in()
    }
}
