//! A reference count without shared writes.
//!
//! While an object *lives*, a thread counts its references on a cache line of its own ([`counts`]), with
//! plain loads and stores; a thread without an index, in `shared`. Only the sum means anything, and no thread
//! looks at it: the object cannot end. `shared` has a large bias, so that it does not reach zero meanwhile. A
//! kill takes the threads' counts away; when a grace period is over, no thread uses them any more, and their
//! sum moves to `shared`, without the bias. From then on `shared` is an ordinary count.
//!
//! # Edges
//! `[ARC-1]` a section loads where the object is counted, and counts there; its end. The kill stores that it
//! is counted in `shared`, then requests a grace period, after which the sum is taken: it has what such
//! sections counted, and later ones find the object killed. `[ARC-2]` sum taken and counts set to zero, the
//! column's bit cleared (release); the bit set (acquire), the next object's first count. `[ARC-3]` a thread's
//! use of the object, its `shared` lowered (release); zero found (acquire), the destructor. `[ARC-4]` a block
//! or a page, its address (release); the address (acquire), its counts.

mod counts;

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

use crate::arc::counts::Column;
use crate::prim::{AtomicU64, Ordering, fence};
use quiescent::{defer_hurry, with_thread_index};

/// More than there are references: making one each nanosecond takes a century.
const BIAS: u64 = 1 << 62;

/// One reference less.
const LESS: u64 = 1_u64.wrapping_neg();

/// A reference to a shared object, as [`Arc`](std::sync::Arc): but cloning and dropping one writes nothing
/// that another thread writes, until the object is killed.
///
/// For one object that many threads use for a long time: a configuration, a device, a connection with its
/// tasks. References may be kept as long as a program likes, sent to other threads, dropped on any of them,
/// and held across an `await`; no grace period waits for them.
///
/// An object has one [`RcuOwner`], which makes the first references, and *kills* the object when it is
/// dropped. From then on no new reference can be got but by cloning one, the references are counted in one
/// place, as an `Arc`'s, and the last one that is dropped runs the destructor, on its thread. An object that
/// is never killed is never freed.
///
/// # When not
/// * Many objects, or objects of short life: each takes 48 bytes beside its value and 8 for each thread that
///   uses one (in pages of 512 objects, which are used again, and never freed), and a kill costs a grace
///   period. Use `Arc`.
/// * For the time of a section: borrow from a cell; that costs less, and counts nothing.
/// * In a signal handler: it may interrupt its thread in the middle of a count.
///
/// # Cost
/// A clone or a drop: a section, three loads and an addition to a line of the thread's own; no locked
/// instruction, no fence. After the kill: an atomic addition. Threads that have no
/// [index](quiescent::thread_index), or one above 1023, always pay that. All of it is wait-free, but for what
/// a thread has to allocate once for each 512 objects (4 KiB; without memory it counts in the shared place).
///
/// # Fork
/// The child has the references of the thread that forked. Those of other threads are never dropped there, so
/// an object that they refer to stays. So does one whose kill was pending: closures that were queued run in
/// the parent ([`inherit_callbacks`](quiescent::Options::inherit_callbacks)).
///
/// ```
/// use quiescent_collections::RcuOwner;
///
/// let owner = RcuOwner::new(String::from("a connection"));
/// let first = owner.try_get().expect("it lives");
/// let task = std::thread::spawn({
///     let reference = first.clone();
///     move || reference.len()
/// });
/// assert_eq!(task.join().unwrap(), 12);
/// owner.kill();
/// assert!(owner.try_get().is_none());
/// drop(owner);
/// assert_eq!(&*first, "a connection"); // dropped with `first`
/// ```
///
/// These do not compile:
///
/// ```compile_fail,E0277
/// use std::cell::Cell;
/// quiescent_collections::RcuOwner::new(Cell::new(1)); // threads share it
/// ```
/// ```compile_fail,E0597
/// let text = String::from("short");
/// quiescent_collections::RcuOwner::new(&text); // it may be dropped later
/// ```
#[must_use = "a reference that is dropped at once keeps nothing alive"]
pub struct RcuArc<T> {
    object: NonNull<Object<T>>,
    /// Dropping it may drop a value.
    _value: PhantomData<T>,
}

/// What references lead to. It is freed when `shared` reaches zero.
struct Object<T> {
    column: Column,
    shared: AtomicU64,
    value: T,
}

// SAFETY: a reference gives access to the value on its thread, and may be the one that drops it.
unsafe impl<T: Send + Sync> Send for RcuArc<T> {}
// SAFETY: from a shared reference any thread can make one of its own.
unsafe impl<T: Send + Sync> Sync for RcuArc<T> {}

impl<T> RcuArc<T> {
    fn object(&self) -> &Object<T> {
        // SAFETY: it is counted, so the object is there.
        unsafe { self.object.as_ref() }
    }

    /// Another reference, unless the object has been killed. A call that begins after the kill finds it
    /// killed.
    #[inline]
    pub fn try_get(this: &RcuArc<T>) -> Option<RcuArc<T>> {
        // SAFETY: the object is there, since this reference is.
        let (object, is_counted) = unsafe { Object::count(this.object, 1) };
        if is_counted {
            return Some(RcuArc::counted(object));
        }
        // SAFETY: as above. The caller's reference stays, so another may be counted late.
        let counted = || RcuArc::counted(unsafe { Object::count_slowly(object) });
        (!RcuArc::is_killed(this)).then(counted)
    }

    /// A reference that has been counted.
    #[inline(always)]
    fn counted(object: NonNull<Object<T>>) -> RcuArc<T> {
        let _value = PhantomData;
        RcuArc { object, _value }
    }

    /// Returns whether the object has been killed.
    #[inline]
    pub fn is_killed(this: &RcuArc<T>) -> bool {
        !this.object().column.lives()
    }

    /// Returns whether both refer to the same object.
    #[inline]
    pub fn ptr_eq(this: &RcuArc<T>, other: &RcuArc<T>) -> bool {
        this.object == other.object
    }
}

impl<T: Send + Sync + 'static> RcuArc<T> {
    /// Kills the object, as its owner's [`kill`](RcuOwner::kill).
    pub fn kill(this: &RcuArc<T>) -> bool {
        if !this.object().column.kill() {
            return false;
        }
        let dying = Dying(this.object);
        // [ARC-1] Hurried, because until then no reference that is dropped can be the last.
        defer_hurry(move || dying.switch());
        true
    }
}

impl<T> Clone for RcuArc<T> {
    /// Another reference, also to an object that has been killed.
    #[inline]
    fn clone(&self) -> RcuArc<T> {
        // SAFETY: the object is there, since this reference is.
        let (object, is_counted) = unsafe { Object::count(self.object, 1) };
        if is_counted {
            return RcuArc::counted(object);
        }
        // SAFETY: as above.
        RcuArc::counted(unsafe { Object::count_slowly(object) })
    }
}

impl<T> Drop for RcuArc<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this reference is counted, and is not used again.
        let (object, is_counted) = unsafe { Object::count(self.object, LESS) };
        if !is_counted {
            // SAFETY: as above.
            unsafe { leave(object) };
        }
    }
}

impl<T> Deref for RcuArc<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.object().value
    }
}

impl<T: fmt::Debug> fmt::Debug for RcuArc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> Object<T> {
    /// Adds to the calling thread's count, if the object lives and the thread has one. Returns the object as
    /// well, which the fast path then need not keep.
    ///
    /// # Safety
    /// The object is there.
    #[inline(always)]
    unsafe fn count(object: NonNull<Object<T>>, change: u64) -> (NonNull<Object<T>>, bool) {
        let (object, page) = with_thread_index(move |index| {
            // SAFETY: the caller's promise; a reference that ends has not ended yet.
            let column = unsafe { &object.as_ref().column };
            (object, index.and_then(|index| column.add(index, change)))
        });
        (object, page.is_some())
    }

    /// The same, for a thread that may have no page yet.
    fn count_anew(&self, change: u64) -> bool {
        with_thread_index(|index| {
            let add = |index| {
                if self.column.lives() {
                    self.column.reach(index);
                }
                self.column.add(index, change)
            };
            index.and_then(add).is_some()
        })
    }

    /// Another reference, in the thread's count if possible, else in the shared one.
    ///
    /// # Safety
    /// The object is there.
    #[cold]
    #[inline(never)]
    unsafe fn count_slowly(object: NonNull<Object<T>>) -> NonNull<Object<T>> {
        // SAFETY: the caller's promise.
        let it = unsafe { object.as_ref() };
        if !it.count_anew(1) {
            it.shared.fetch_add(1, Ordering::Relaxed);
        }
        object
    }
}

/// A reference ends: in the thread's count if possible, else in the shared one.
///
/// # Safety
/// It is one of those that are counted, and is not used again.
#[cold]
#[inline(never)]
unsafe fn leave<T>(object: NonNull<Object<T>>) {
    // SAFETY: there is a reference still.
    let it = unsafe { object.as_ref() };
    if it.count_anew(LESS) {
        return;
    }
    if it.shared.fetch_sub(1, Ordering::Release) == 1 {
        fence(Ordering::Acquire); // [ARC-3]
        // SAFETY: it was the last reference; the object is a box.
        drop(unsafe { Box::from_raw(object.as_ptr()) });
    }
}

/// An object that has been killed, after the grace period.
struct Dying<T>(NonNull<Object<T>>);

// SAFETY: it gives no access to the value, but may be what drops it.
unsafe impl<T: Send + Sync> Send for Dying<T> {}

impl<T> Dying<T> {
    /// From here on, `shared` is the number of references.
    fn switch(self) {
        // SAFETY: the count has its bias, so that no reference has been the last.
        let object = unsafe { self.0.as_ref() };
        let counted = object.column.take().wrapping_sub(BIAS);
        // One more while the bias goes: `leave` looks whether that was the last.
        (object.shared).fetch_add(counted.wrapping_add(1), Ordering::AcqRel); // [ARC-3]
        // SAFETY: the reference that was added.
        unsafe { leave(self.0) };
    }
}

/// The owner of a shared object: it makes references, and kills the object when it is dropped, or before.
///
/// It is for the place where an object is entered and removed: a field, or the value of a registry. There is
/// one for each object, so it can be neither copied nor forgotten by chance.
///
/// A registry of connections: who looks one up gets a reference that lives on without the registry, unless
/// the connection is being closed.
///
/// ```
/// use quiescent::{RcuCell, read};
/// use quiescent_collections::{RcuArc, RcuOwner};
/// use std::collections::HashMap;
/// use std::sync::Arc;
///
/// # #[derive(Debug, PartialEq)]
/// struct Connection(u32);
/// type Connections = HashMap<u32, Arc<RcuOwner<Connection>>>;
///
/// fn find(connections: &RcuCell<Connections>, id: u32) -> Option<RcuArc<Connection>> {
///     read(|guard| connections.load(guard).get(&id)?.try_get())
/// }
/// let owner = Arc::new(RcuOwner::new(Connection(7)));
/// let connections = RcuCell::new(HashMap::from([(7, owner.clone())]));
/// let found = find(&connections, 7).unwrap();
/// owner.kill(); // closes: no thread begins to use it
/// assert!(find(&connections, 7).is_none());
/// assert_eq!(*found, Connection(7)); // this user continues
/// ```
#[must_use = "the object is killed when its owner is dropped"]
pub struct RcuOwner<T: Send + Sync + 'static>(RcuArc<T>);

impl<T: Send + Sync + 'static> RcuOwner<T> {
    /// Makes an object, and its owner.
    pub fn new(value: T) -> RcuOwner<T> {
        let object = Object {
            column: Column::new(),
            shared: AtomicU64::new(BIAS + 1), // the owner's reference
            value,
        };
        let object = NonNull::from(Box::leak(Box::new(object)));
        RcuOwner(RcuArc::counted(object))
    }

    /// A reference, unless the object has been killed. A call that begins after the kill finds it killed.
    #[inline]
    pub fn try_get(&self) -> Option<RcuArc<T>> {
        RcuArc::try_get(&self.0)
    }

    /// Kills the object: [`try_get`](RcuOwner::try_get) fails from now on, and once a grace period is over,
    /// which this call requests and does not wait for, the last reference that is dropped runs the
    /// destructor. (If there is none any more, the library's worker runs it, as it runs
    /// [`defer`](quiescent::defer()); then the destructor must not wait for a grace period.) False if it had
    /// been killed before.
    ///
    /// The owner has a reference itself until it is dropped.
    pub fn kill(&self) -> bool {
        RcuArc::kill(&self.0)
    }

    /// Returns whether the object has been killed.
    pub fn is_killed(&self) -> bool {
        RcuArc::is_killed(&self.0)
    }
}

impl<T: Send + Sync + 'static> Drop for RcuOwner<T> {
    fn drop(&mut self) {
        self.kill();
    }
}

impl<T: Send + Sync + 'static> Deref for RcuOwner<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Debug + Send + Sync + 'static> fmt::Debug for RcuOwner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RcuOwner").field(&self.0).finish()
    }
}
