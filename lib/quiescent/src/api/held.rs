//! [`Held`]: a value together with the guard that keeps it.
//!
//! These do not compile:
//!
//! ```compile_fail,E0505
//! let cell = quiescent::RcuCell::new(1);
//! let held = cell.hold(quiescent::read_lock());
//! drop(cell); // frees the value at once
//! println!("{}", *held);
//! ```
//! ```compile_fail,E0505
//! let cell = quiescent::RcuCell::new(String::new());
//! let held = cell.hold(quiescent::read_lock());
//! let text: &str = &held;
//! drop(held); // while it is being read
//! println!("{text}");
//! ```
//! ```compile_fail,E0597
//! let cell = quiescent::RcuCell::new(1);
//! let local = 2;
//! let held = cell.hold(quiescent::read_lock()).map(|_| &local); // not a part of the value
//! ```
//! ```compile_fail,E0277
//! static CELL: quiescent::RcuCell<Vec<u8>> = unreachable!();
//! let held = CELL.hold(quiescent::read_lock());
//! std::thread::spawn(move || drop(held)); // it stays on its thread, as its guard does
//! ```

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

use super::guard::Guard;
use super::handle::{Global, Handle};

/// A value that was loaded, or a part of it, and the guard that keeps it: to return both from a function, or
/// to store both. It borrows the cell. The section ends when it is dropped.
///
/// Made by [`RcuCell::hold`](crate::RcuCell::hold) and [`RcuOption::hold`](crate::RcuOption::hold). It is as
/// large as the guard and a reference, and costs nothing more.
///
/// ```
/// use quiescent::{Held, RcuCell, read_lock};
/// use std::collections::HashMap;
///
/// struct Routes(RcuCell<HashMap<u32, String>>);
///
/// impl Routes {
///     fn find(&self, key: u32) -> Option<Held<'_, String>> {
///         self.0.hold(read_lock()).try_map(|routes| routes.get(&key))
///     }
/// }
/// let routes = Routes(RcuCell::new(HashMap::from([(1, "one".into())])));
/// assert_eq!(routes.find(1).as_deref().map(String::as_str), Some("one"));
/// assert!(routes.find(2).is_none() && !quiescent::in_section());
/// ```
#[must_use = "the section ends when this is dropped"]
pub struct Held<'c, T: ?Sized, D: Handle = Global> {
    /// No reference: it may be freed while a function that this was passed to drops the guard.
    value: NonNull<T>,
    /// Borrowed from the cell.
    of: PhantomData<&'c T>,
    guard: Guard<D>,
}

// SAFETY: it is a `&T` and a guard.
unsafe impl<T: ?Sized + Sync, D: Handle> Send for Held<'_, T, D> where Guard<D>: Send {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync, D: Handle> Sync for Held<'_, T, D> where Guard<D>: Sync {}

impl<'c, T: ?Sized, D: Handle> Held<'c, T, D> {
    /// # Safety
    /// The value is not freed before the section of `guard` ends, as long as the cell is borrowed.
    pub(super) unsafe fn new(value: NonNull<T>, guard: Guard<D>) -> Held<'c, T, D> {
        let of = PhantomData;
        Held { value, of, guard }
    }

    /// A part of the value instead of the whole.
    ///
    /// ```
    /// let pair = quiescent::RcuCell::new((1, String::from("one")));
    /// let name = pair.hold(quiescent::read_lock()).map(|pair| pair.1.as_str());
    /// assert_eq!(&*name, "one");
    /// ```
    pub fn map<U: ?Sized>(self, part: impl FnOnce(&T) -> &U) -> Held<'c, U, D> {
        // SAFETY: the guard keeps it, and the cell is borrowed.
        let value = NonNull::from(part(unsafe { self.value.as_ref() }));
        let (of, guard) = (PhantomData, self.guard);
        Held { value, of, guard }
    }

    /// As [`map`](Held::map), if there is such a part; if not, the section ends.
    pub fn try_map<U: ?Sized>(self, part: impl FnOnce(&T) -> Option<&U>) -> Option<Held<'c, U, D>> {
        // SAFETY: the guard keeps it, and the cell is borrowed.
        let value = NonNull::from(part(unsafe { self.value.as_ref() })?);
        let (of, guard) = (PhantomData, self.guard);
        Some(Held { value, of, guard })
    }
}

impl<T: ?Sized, D: Handle> Deref for Held<'_, T, D> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard keeps it, and the cell is borrowed.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized + fmt::Debug, D: Handle> fmt::Debug for Held<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Held").field(&&**self).finish()
    }
}
