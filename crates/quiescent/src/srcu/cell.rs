//! A value that is read under an [`Srcu`], and replaced whole: [`SrcuCell`], and what comes back: [`SrcuRetired`].
//!
//! # Why it is sound
//! As for [`RcuCell`](crate::RcuCell): a reference borrows the cell and the guard, and a replaced value is given up after a grace period that
//! started later than the replacement. That has to be one of the *same* `Srcu`: a load looks whether the guard is, and panics if not.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

use quiescent_engine::credit::Urgency;

use super::{InSrcu, Srcu};
use crate::deliver::Parcel;
use crate::drive::How;
use crate::error::SyncError;
use crate::retire;
use crate::sync::{AtomicPtr, Ordering};
use crate::yard::Yard;

/// A value that sections of one [`Srcu`] see without waiting, and that writers replace whole.
///
/// ```
/// use quiescent::{Srcu, SrcuCell};
///
/// let srcu = Srcu::new();
/// let table = SrcuCell::new(&srcu, vec![1, 2, 3]);
/// assert_eq!(srcu.read(|guard| table.load(guard).len()), 3);
/// let old = table.store(vec![4]);
/// assert_eq!(*old.wait(), [1, 2, 3]);
/// ```
/// A guard of another one does not do:
/// ```should_panic
/// use quiescent::{Srcu, SrcuCell};
///
/// let (one, other) = (Srcu::new(), Srcu::new());
/// let cell = SrcuCell::new(&one, 1);
/// other.read(|guard| *cell.load(guard)); // panics: a guard of another Srcu
/// ```
/// Nor does one of [`read_lock`](crate::read_lock()):
/// ```compile_fail,E0277
/// let srcu = quiescent::Srcu::new();
/// let cell = quiescent::SrcuCell::new(&srcu, 1);
/// quiescent::read(|guard| *cell.load(guard));
/// ```
/// ```compile_fail,E0505
/// let srcu = quiescent::Srcu::new();
/// let cell = quiescent::SrcuCell::new(&srcu, 1);
/// let guard = srcu.read_lock();
/// let seen = cell.load(&guard);
/// drop(guard); // while it is being read
/// println!("{seen}");
/// ```
/// ```compile_fail,E0505
/// let srcu = quiescent::Srcu::new();
/// let guard = srcu.read_lock();
/// drop(srcu); // while a guard lives
/// drop(guard);
/// ```
pub struct SrcuCell<T: Send + Sync + 'static> {
    pointer: AtomicPtr<T>,
    yard: &'static Yard,
    owns: PhantomData<Box<T>>,
}

// SAFETY: the cell owns a T, hands out &T to any thread, and may be dropped on another than it was made on: as for Arc, both
// bounds are needed for either.
unsafe impl<T: Send + Sync> Send for SrcuCell<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for SrcuCell<T> {}

impl<T: Send + Sync + 'static> SrcuCell<T> {
    /// A cell whose readers are sections of `srcu`.
    pub fn new(srcu: &Srcu, value: T) -> SrcuCell<T> {
        SrcuCell {
            pointer: AtomicPtr::new(Box::into_raw(Box::new(value))),
            yard: srcu.yard(),
            owns: PhantomData,
        }
    }

    /// The value, for as long as the section lasts.
    ///
    /// # Panics
    /// If the guard is of another `Srcu`.
    #[inline]
    pub fn load<'g>(&'g self, guard: &'g impl InSrcu) -> &'g T {
        assert!(
            std::ptr::eq(guard.place(), std::ptr::from_ref(self.yard).cast()),
            "a guard of another Srcu: this cell is not read under it"
        );
        // SAFETY: a box of ours, which is freed after a grace period that waits for this section. [PTR-1]
        unsafe { &*self.pointer.load(Ordering::Acquire) }
    }

    /// Replaces the value. The old one comes back; dropped, it is freed after a grace period, and nobody waits.
    pub fn store(&self, value: T) -> SrcuRetired<T> {
        let new = Box::into_raw(Box::new(value));
        self.retired(self.pointer.swap(new, Ordering::AcqRel)) // [PTR-1]
    }

    /// Replaces the value by what `f` makes of it; again, if somebody else was faster.
    pub fn update(&self, mut f: impl FnMut(&T) -> T) -> SrcuRetired<T> {
        let count = self.yard.readers.enter();
        let section = Inside(self.yard, count);
        loop {
            let now = self.pointer.load(Ordering::Acquire);
            // SAFETY: as in `load`: the section is open.
            let new = Box::into_raw(Box::new(f(unsafe { &*now })));
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            match self.pointer.compare_exchange(now, new, order.0, order.1) {
                Ok(old) => {
                    drop(section);
                    return self.retired(old);
                }
                // SAFETY: made above, and nobody has seen it.
                Err(_) => drop(unsafe { Box::from_raw(new) }),
            }
        }
    }

    fn retired(&self, old: *mut T) -> SrcuRetired<T> {
        SrcuRetired {
            // SAFETY: never null.
            value: unsafe { NonNull::new_unchecked(old) },
            yard: self.yard,
            owns: PhantomData,
        }
    }

    /// The value itself, to change in place: nobody else can see it.
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: a box of ours; `&mut self` means that no reader has a reference from `load`.
        unsafe { &mut *self.pointer.load(Ordering::Acquire) }
    }

    /// The value itself.
    pub fn into_inner(self) -> T {
        let cell = ManuallyDrop::new(self);
        // SAFETY: a box of ours that nobody else sees, and the cell is not used again.
        *unsafe { Box::from_raw(cell.pointer.load(Ordering::Acquire)) }
    }
}

/// A section without a borrow.
struct Inside(&'static Yard, usize);

impl Drop for Inside {
    fn drop(&mut self) {
        if self.0.readers.leave(self.1) {
            self.0.may_be_empty(self.1);
        }
    }
}

impl<T: Send + Sync + 'static> Drop for SrcuCell<T> {
    fn drop(&mut self) {
        // SAFETY: no reader has a reference from `load`, which borrows the cell.
        drop(unsafe { Box::from_raw(self.pointer.load(Ordering::Acquire)) });
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for SrcuCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SrcuCell").finish_non_exhaustive()
    }
}

/// A value that was replaced in an [`SrcuCell`], and may still be read by sections that are open now.
///
/// Dropping it retires it: it is freed after a grace period of its `Srcu`, lazily, and nobody waits.
pub struct SrcuRetired<T: Send + Sync + 'static> {
    value: NonNull<T>,
    yard: &'static Yard,
    owns: PhantomData<Box<T>>,
}

// SAFETY: it owns a T that others may still read.
unsafe impl<T: Send + Sync> Send for SrcuRetired<T> {}
// SAFETY: as above; a shared one gives &T only.
unsafe impl<T: Send + Sync> Sync for SrcuRetired<T> {}

impl<T: Send + Sync + 'static> SrcuRetired<T> {
    /// Frees the value after a grace period, lazily: the same as dropping this.
    pub fn retire(self) {
        drop(self);
    }

    /// As [`retire`](SrcuRetired::retire), but soon.
    pub fn retire_hurry(self) {
        ManuallyDrop::new(self).queue(Urgency::Hurry);
    }

    fn queue(&self, urgency: Urgency) {
        if let Some((lane, entry, bytes)) = retire::pack(self.value, 0) {
            self.yard
                .deliver(Parcel::Entry(lane, entry, bytes), urgency);
        }
    }

    /// Waits for a grace period and gives the value back.
    ///
    /// # Panics
    /// As [`Srcu::synchronize`]; the value is then retired.
    pub fn wait(self) -> Box<T> {
        self.try_wait()
            .unwrap_or_else(|(error, _)| panic!("SrcuRetired::wait: {error}"))
    }

    /// As [`wait`](SrcuRetired::wait), returning the reason why it cannot.
    ///
    /// # Errors
    /// As [`Srcu::try_synchronize`], with the value still retired.
    pub fn try_wait(self) -> Result<Box<T>, (SyncError, SrcuRetired<T>)> {
        match self.yard.wait_for_gp(How::default()) {
            Ok(()) => Ok(self.into_box()),
            Err(error) => Err((error, self)),
        }
    }

    /// A grace period has passed since the value was replaced.
    fn into_box(self) -> Box<T> {
        let this = ManuallyDrop::new(self);
        // SAFETY: a box of ours; nobody reads it any more, and `self` is gone.
        unsafe { Box::from_raw(this.value.as_ptr()) }
    }
}

impl<T: Send + Sync + 'static> Deref for SrcuRetired<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: owned by `self`; others may read it too, so there is no mutable access.
        unsafe { self.value.as_ref() }
    }
}

impl<T: Send + Sync + 'static> Drop for SrcuRetired<T> {
    fn drop(&mut self) {
        self.queue(Urgency::Lazy);
    }
}

impl<T: Send + Sync + fmt::Debug> fmt::Debug for SrcuRetired<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SrcuRetired").field(&**self).finish()
    }
}
