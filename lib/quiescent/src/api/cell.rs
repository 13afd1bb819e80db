//! Owning pointers that readers load without waiting: [`RcuCell`], and through it [`RcuOption`] and
//! [`Retired`], which a replaced value is returned as.
//!
//! # Why it is sound
//! A reference from `load` borrows both the cell and the guard, so it ends before the cell is dropped and
//! before the section ends. A replaced value is returned as a [`Retired`], which releases it only after a
//! grace period that started later than the replacement. Threads share values and may drop them on another
//! thread, hence `T: Send + Sync + 'static`.
//!
//! # Edges
//! `[PTR-1]` An updater writes the new value's contents, then stores the pointer with release; a reader loads
//! it with acquire. (A consume load would be enough; on x86-64 an acquire load costs the same.)
//!
//! These do not compile:
//!
//! ```compile_fail,E0597
//! let cell = quiescent::RcuCell::new(1);
//! let kept;
//! {
//!     let guard = quiescent::read_lock();
//!     kept = cell.load(&guard); // outlives the section
//! }
//! println!("{kept}");
//! ```
//! ```compile_fail,E0505
//! let cell = quiescent::RcuCell::new(1);
//! let guard = quiescent::read_lock();
//! let seen = cell.load(&guard);
//! drop(cell); // while it is being read
//! println!("{seen}");
//! ```
//! ```compile_fail,E0502
//! let cell = quiescent::RcuCell::new(1);
//! let mut guard = quiescent::read_lock();
//! let seen = cell.load(&guard);
//! guard.repin(); // ends what was read before
//! println!("{seen}");
//! ```
//! ```compile_fail,E0277
//! let guard = quiescent::read_lock();
//! std::thread::spawn(move || drop(guard)); // a guard stays on its thread
//! ```
//! ```compile_fail,E0277
//! let cell = quiescent::RcuCell::new(std::rc::Rc::new(1)); // not Send
//! std::thread::scope(|s| { s.spawn(|| quiescent::read(|g| **cell.load(g))); });
//! ```
//! ```compile_fail,E0277
//! fn shared<T: Sync>(_: &T) {}
//! shared(&quiescent::RcuCell::new(std::cell::Cell::new(1))); // not Sync
//! ```
//! ```compile_fail,E0597
//! let local = String::from("short-lived");
//! let cell = quiescent::RcuCell::new(&local); // not 'static
//! cell.store(&local);
//! drop(local);
//! ```
//! Readers of a domain's cell need a guard of that domain:
//! ```compile_fail,E0277
//! let domain = quiescent::Domain::new();
//! let cell = quiescent::RcuCell::new_in(1, &domain);
//! quiescent::read(|guard| *cell.load(guard));
//! ```
//! ```compile_fail,E0277
//! let srcu = quiescent::Srcu::new();
//! let cell = quiescent::RcuCell::new_in(1, &srcu);
//! quiescent::Domain::new().read(|guard| *cell.load(guard));
//! ```
//! ```compile_fail,E0277
//! let srcu = quiescent::Srcu::new();
//! let cell = quiescent::RcuCell::new(1);
//! srcu.read(|guard| *cell.load(guard));
//! ```
//! ```compile_fail,E0505
//! let srcu = quiescent::Srcu::new();
//! let cell = quiescent::RcuCell::new_in(1, srcu.clone());
//! let guard = srcu.read_lock();
//! let seen = cell.load(&guard);
//! drop(guard); // while it is being read
//! println!("{seen}");
//! ```
//! ```compile_fail,E0505
//! let domain = quiescent::Domain::new();
//! let cell = quiescent::RcuCell::new_in(1, &domain);
//! drop(domain); // while a cell borrows it
//! cell.store(2);
//! ```

use std::fmt;

use super::guard::Guard;
use super::handle::{Global, Handle, Reads};
use super::held::Held;
use super::option::{Exchanged, RcuOption};
use super::retired::Retired;
use super::weigh::Weigh;
use quiescent_core::prim::Ordering;

/// A value that readers load without waiting and that writers replace as a whole.
///
/// ```
/// use quiescent::{RcuCell, read};
///
/// let config = RcuCell::new(vec![1, 2, 3]);
/// assert_eq!(read(|g| config.load(g).len()), 3);
/// let old = config.store(vec![4]);
/// assert_eq!(*old.wait(), vec![1, 2, 3]); // after a grace period it is ours again
/// ```
///
/// A cell of another domain:
/// ```
/// use quiescent::{Domain, RcuCell};
///
/// let domain = Domain::new();
/// let table = RcuCell::new_in(vec![1, 2, 3], &domain);
/// assert_eq!(domain.read(|guard| table.load(guard).len()), 3);
/// let old = table.store(vec![4]);
/// assert_eq!(*old.wait(), [1, 2, 3]);
/// ```
///
/// # Weight
/// Replaced values are held until their readers have ended, and count against the
/// [budget](crate::tuning::set_budget()). An old value counts its box (rounded as allocators do) and 16 bytes
/// of the queue. The memory that it *owns* is not visible to the library: a value with a destructor counts 1
/// KiB for it, whatever it owns. So 12 000 old strings of 64 KiB count as 13 MB, and occupy 786 MB. Where no
/// reader is in the way, the thread that stores notices that the process grows, and asks for grace periods
/// earlier; behind a reader that stays it cannot help. A cell of values that own much should say so:
/// [`weighed`](RcuCell::weighed), [`with_weight`](RcuCell::with_weight), or
/// [`with_owned_bytes`](Retired::with_owned_bytes) for one value.
pub struct RcuCell<T: Send + Sync + 'static, D: Handle = Global>(RcuOption<T, D>);

impl<T: Send + Sync + 'static> RcuCell<T> {
    /// Makes a cell with this value. Allocates.
    pub fn new(value: T) -> RcuCell<T> {
        RcuCell::new_in(value, Global)
    }
}

impl<T: Send + Sync + 'static, D: Handle> RcuCell<T, D> {
    /// As [`new`](RcuCell::new), for readers under sections of `domain`. `domain` is `&DOMAIN`, or a clone of
    /// it, which keeps it alive.
    pub fn new_in(value: T, domain: D) -> RcuCell<T, D> {
        RcuCell(RcuOption::new_in(Some(value), domain))
    }

    /// Sets the function that weighs values: it returns the bytes that a value owns besides its own size.
    /// Each
    /// `store`, `update` or `compare_exchange` calls it once, for the old value, after the replacement;
    /// readers may be using the value then. Reads do not become slower.
    ///
    /// If the function panics, the old value is retired without a weight, and the panic goes on to the caller
    /// of `store`.
    ///
    /// ```
    /// use quiescent::RcuCell;
    ///
    /// struct Table { rows: Vec<String> }
    ///
    /// let table = RcuCell::new(Table { rows: Vec::new() })
    ///     .with_weight(|table| table.rows.iter().map(String::capacity).sum());
    /// table.store(Table { rows: vec!["row".repeat(1000)] });
    /// table.store(Table { rows: Vec::new() }); // the old one counts as 3000 bytes more than its size
    /// ```
    #[must_use = "this returns the cell"]
    pub fn with_weight(self, weight: fn(&T) -> usize) -> RcuCell<T, D> {
        RcuCell(self.0.with_weight(weight))
    }

    /// Weighs values by their type's [`Weigh`]. Generic code cannot find out whether a type has it, so each
    /// cell asks for it.
    ///
    /// ```
    /// let text = quiescent::RcuCell::new(String::new()).weighed();
    /// text.store("x".repeat(1 << 16));
    /// text.store(String::new()); // the old one counts as 64 KiB more than its size
    /// ```
    #[must_use = "this returns the cell"]
    pub fn weighed(self) -> RcuCell<T, D>
    where
        T: Weigh,
    {
        self.with_weight(T::owned_bytes)
    }

    /// The current value. Costs one acquire load.
    ///
    /// # Panics
    /// If the guard is of another domain with the same tag:
    ///
    /// ```should_panic
    /// use quiescent::{Domain, RcuCell};
    ///
    /// let (one, other) = (Domain::new(), Domain::new());
    /// let cell = RcuCell::new_in(1, &one);
    /// other.read(|guard| *cell.load(guard)); // panics: a guard of another domain
    /// ```
    #[doc(alias = "load_full")]
    #[doc(alias = "rcu_dereference")]
    #[track_caller]
    #[inline(always)]
    pub fn load<'g, E: Handle + Reads<D::Brand>>(&'g self, guard: &'g Guard<E>) -> &'g T {
        self.0.look_at(guard);
        // SAFETY: as in `RcuOption::load`, and never null: no operation of this type stores null.
        unsafe { &*self.0.pointer.load(Ordering::Acquire) }
    }

    /// As [`load`](RcuCell::load), but keeps the guard together with the value: for functions that return
    /// what they have found. See [`Held`].
    ///
    /// # Panics
    /// If the guard is of another domain with the same tag.
    ///
    /// ```
    /// let cell = quiescent::RcuCell::new([1, 2, 3]);
    /// let second = cell.hold(quiescent::read_lock()).map(|values| &values[1]);
    /// assert_eq!(*second, 2);
    /// ```
    #[track_caller]
    pub fn hold<E: Handle + Reads<D::Brand>>(&self, guard: Guard<E>) -> Held<'_, T, E> {
        never_empty(self.0.hold(guard))
    }

    /// A copy of the value, made inside a section of its own.
    ///
    /// ```
    /// let name = quiescent::RcuCell::new(String::from("one"));
    /// assert_eq!(name.get_cloned(), "one");
    /// ```
    pub fn get_cloned(&self) -> T
    where
        T: Clone,
    {
        never_empty(self.0.get_cloned())
    }

    /// The value, to change in place: `&mut self` excludes readers.
    pub fn get_mut(&mut self) -> &mut T {
        never_empty(self.0.get_mut())
    }

    /// Consumes the cell and returns the value.
    pub fn into_inner(self) -> T {
        never_empty(self.0.into_inner())
    }

    /// Replaces the value and returns the old one. Does not wait.
    ///
    /// Dropping the result [retires](Retired::retire) it, which may run the destructors of values that this
    /// thread has replaced before (inside a section, its end may). So hold no lock here that such a
    /// destructor takes, or have the worker run it ([`on_worker`](Retired::on_worker)).
    #[doc(alias = "swap")]
    #[doc(alias = "rcu_assign_pointer")]
    pub fn store(&self, value: T) -> Retired<T, D> {
        never_empty(self.0.replace(Some(value)))
    }

    /// Replaces the value if the cell still holds `current`, which was loaded under `guard`. Compares
    /// addresses, not contents.
    ///
    /// # Errors
    /// Returns the new value, and what the cell holds, if the cell holds another object.
    ///
    /// # Panics
    /// If the guard is of another domain with the same tag.
    ///
    /// ```
    /// let cell = quiescent::RcuCell::new(1);
    /// let retired = quiescent::read(|guard| {
    ///     let seen = cell.load(guard);
    ///     cell.compare_exchange(seen, seen + 1, guard).expect("the only writer")
    /// });
    /// assert_eq!(*retired.wait(), 1);
    /// ```
    #[track_caller]
    pub fn compare_exchange<'g, E: Handle + Reads<D::Brand>>(
        &'g self,
        current: &'g T,
        new: T,
        guard: &'g Guard<E>,
    ) -> Result<Retired<T, D>, Exchanged<T, &'g T>> {
        match self.0.compare_exchange(Some(current), Some(new), guard) {
            Ok(old) => Ok(never_empty(old)),
            Err(Exchanged { new, current }) => Err(Exchanged {
                new: never_empty(new),
                current: never_empty(current),
            }),
        }
    }

    /// Replaces the value by one that `f` makes from it, and tries again if the cell has changed meanwhile.
    /// `f` may run several times, inside a section of its own.
    ///
    /// # Panics
    /// If `f` itself stores to this cell, in each of 1000 calls in a row: the update would never end.
    ///
    /// ```
    /// let counter = quiescent::RcuCell::new(1);
    /// counter.update(|n| n + 1).wait();
    /// assert_eq!(quiescent::read(|g| *counter.load(g)), 2);
    /// ```
    /// ```should_panic
    /// let counter = quiescent::RcuCell::new(1);
    /// counter.update(|n| {
    ///     counter.store(0); // panics, after a while: now `f` has to be called again
    ///     n + 1
    /// });
    /// ```
    #[doc(alias = "rcu")]
    #[track_caller]
    pub fn update(&self, mut f: impl FnMut(&T) -> T) -> Retired<T, D> {
        never_empty(self.0.update(|current| current.map(&mut f)))
    }

    /// As [`update`](RcuCell::update), for functions that also return something to the caller, or that find
    /// nothing to change: `None` leaves the cell as it is. Returns the old value, if it was replaced, and
    /// what the last call of `f` has returned.
    ///
    /// # Panics
    /// As [`update`](RcuCell::update).
    ///
    /// ```
    /// use std::collections::HashMap;
    ///
    /// let ages = quiescent::RcuCell::new(HashMap::from([("Ada", 36)]));
    /// let mut remove = |name| {
    ///     let (_, removed) = ages.update_with(|ages| match ages.get(name) {
    ///         None => (None, None), // without a copy of the map
    ///         Some(&age) => {
    ///             let mut ages = ages.clone();
    ///             ages.remove(name);
    ///             (Some(ages), Some(age))
    ///         }
    ///     });
    ///     removed
    /// };
    /// assert_eq!([remove("Ada"), remove("Ada")], [Some(36), None]);
    /// ```
    #[track_caller]
    pub fn update_with<R>(
        &self,
        mut f: impl FnMut(&T) -> (Option<T>, R),
    ) -> (Option<Retired<T, D>>, R) {
        self.0.update_with(|current| {
            let (new, result) = f(never_empty(current));
            (new.map(Some), result)
        })
    }

    /// As [`update`](RcuCell::update), for functions that may fail.
    ///
    /// # Errors
    /// That of `f`; the cell is as it was.
    ///
    /// # Panics
    /// As [`update`](RcuCell::update).
    ///
    /// ```
    /// let port = quiescent::RcuCell::new(80_u16);
    /// let mut set = |text: &str| port.try_update(|_| text.parse()).is_ok();
    /// assert!(set("8080") && !set("many"));
    /// assert_eq!(port.get_cloned(), 8080);
    /// ```
    #[track_caller]
    pub fn try_update<E>(&self, mut f: impl FnMut(&T) -> Result<T, E>) -> Result<Retired<T, D>, E> {
        let changed = self
            .0
            .try_update(|current| f(never_empty(current)).map(Some));
        changed.map(never_empty)
    }
}

/// An `RcuCell` starts with a value and never stores null.
fn never_empty<T>(value: Option<T>) -> T {
    value.expect("an RcuCell always holds a value")
}

impl<T: Send + Sync + fmt::Debug, D: Handle> fmt::Debug for RcuCell<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guard = Guard::new_in(self.0.domain.clone());
        f.debug_tuple("RcuCell").field(self.load(&guard)).finish()
    }
}

impl<T: Send + Sync + Default> Default for RcuCell<T> {
    fn default() -> RcuCell<T> {
        RcuCell::new(T::default())
    }
}
