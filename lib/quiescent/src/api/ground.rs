//! A value that is replaced whole, for readers of whatever kind: what [`SrcuCell`](crate::SrcuCell) and
//! [`DomainCell`](crate::DomainCell) are made of.
//!
//! # Why it is sound
//! As for [`RcuCell`](crate::RcuCell): a reference borrows the cell and the guard, and a replaced value is given up after a grace period that
//! started later than the replacement. That has to be one of the *same* ground; whoever hands out a load looks whether the guard is.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

use quiescent_engine::credit::Urgency;

use crate::error::SyncError;
use crate::inner::defer::enqueue::Parcel;
use crate::inner::gp::driver::How;
use crate::inner::prim::{AtomicPtr, Ordering};
use crate::retire;

/// Where sections are, and grace periods that wait for them.
pub(crate) trait Ground: Copy + 'static {
    /// An open section; dropped, it is closed.
    type Section;

    fn open(self) -> Self::Section;
    /// Queues an entry; if `asks`, only where it fits into the budget. Was it queued?
    fn deliver(self, parcel: Parcel, urgency: Urgency, asks: bool) -> bool;
    fn wait_for_gp(self, how: How) -> Result<(), SyncError>;
}

/// The cell.
pub(crate) struct Cell<T: Send + Sync + 'static, G: Ground> {
    pointer: AtomicPtr<T>,
    pub(crate) ground: G,
    owns: PhantomData<Box<T>>,
}

// SAFETY: the cell owns a T, hands out &T to any thread, and may be dropped on another than it was made on: as for Arc, both
// bounds are needed for either. The ground is a reference to what lives for ever and is used by all.
unsafe impl<T: Send + Sync, G: Ground> Send for Cell<T, G> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync, G: Ground> Sync for Cell<T, G> {}

impl<T: Send + Sync + 'static, G: Ground> Cell<T, G> {
    pub(crate) fn new(ground: G, value: T) -> Cell<T, G> {
        Cell {
            pointer: AtomicPtr::new(Box::into_raw(Box::new(value))),
            ground,
            owns: PhantomData,
        }
    }

    /// The value, for as long as a section lasts.
    ///
    /// # Safety
    /// A section of the cell's ground is open, and stays so for as long as the reference is used.
    #[inline(always)]
    pub(crate) unsafe fn load(&self) -> &T {
        // SAFETY: a box of ours, which is freed after a grace period that waits for this section. [PTR-1]
        unsafe { &*self.pointer.load(Ordering::Acquire) }
    }

    pub(crate) fn store(&self, value: T) -> Old<T, G> {
        let new = Box::into_raw(Box::new(value));
        self.old(self.pointer.swap(new, Ordering::AcqRel)) // [PTR-1]
    }

    /// Replaces the value by what `f` makes of it; again, if somebody else was faster.
    pub(crate) fn update(&self, mut f: impl FnMut(&T) -> T) -> Old<T, G> {
        let section = self.ground.open();
        loop {
            let now = self.pointer.load(Ordering::Acquire);
            // SAFETY: as in `load`: the section is open.
            let new = Box::into_raw(Box::new(f(unsafe { &*now })));
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            match self.pointer.compare_exchange(now, new, order.0, order.1) {
                Ok(old) => {
                    drop(section);
                    return self.old(old);
                }
                // SAFETY: made above, and nobody has seen it.
                Err(_) => drop(unsafe { Box::from_raw(new) }),
            }
        }
    }

    fn old(&self, old: *mut T) -> Old<T, G> {
        Old {
            // SAFETY: never null.
            value: unsafe { NonNull::new_unchecked(old) },
            ground: self.ground,
            owned: 0,
            owns: PhantomData,
        }
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        // SAFETY: a box of ours; `&mut self` means that no reader has a reference from `load`.
        unsafe { &mut *self.pointer.load(Ordering::Acquire) }
    }

    pub(crate) fn into_inner(self) -> T {
        let cell = ManuallyDrop::new(self);
        // SAFETY: a box of ours that nobody else sees, and the cell is not used again.
        *unsafe { Box::from_raw(cell.pointer.load(Ordering::Acquire)) }
    }
}

impl<T: Send + Sync + 'static, G: Ground> Drop for Cell<T, G> {
    fn drop(&mut self) {
        // SAFETY: no reader has a reference from `load`, which borrows the cell.
        drop(unsafe { Box::from_raw(self.pointer.load(Ordering::Acquire)) });
    }
}

/// A value that was replaced, and may still be read by sections that are open now. Dropped, it is retired.
pub(crate) struct Old<T: Send + Sync + 'static, G: Ground> {
    value: NonNull<T>,
    pub(crate) ground: G,
    /// Bytes that the value owns beside its own.
    owned: usize,
    owns: PhantomData<Box<T>>,
}

// SAFETY: it owns a T that others may still read.
unsafe impl<T: Send + Sync, G: Ground> Send for Old<T, G> {}
// SAFETY: as above; a shared one gives &T only.
unsafe impl<T: Send + Sync, G: Ground> Sync for Old<T, G> {}

impl<T: Send + Sync + 'static, G: Ground> Old<T, G> {
    /// The value owns so many bytes more.
    pub(crate) fn weigh(&mut self, bytes: usize) {
        self.owned = self.owned.saturating_add(bytes);
    }

    pub(crate) fn retire_hurry(self) {
        ManuallyDrop::new(self).queue(Urgency::Hurry, false);
    }

    /// Retires it if it fits into the budget.
    pub(crate) fn try_retire(self) -> Result<(), Old<T, G>> {
        let old = ManuallyDrop::new(self);
        match old.queue(Urgency::Lazy, true) {
            true => Ok(()),
            false => Err(ManuallyDrop::into_inner(old)),
        }
    }

    fn queue(&self, urgency: Urgency, asks: bool) -> bool {
        retire::pack(self.value, self.owned).is_none_or(|(lane, entry, bytes)| {
            self.ground
                .deliver(Parcel::Entry(lane, entry, bytes), urgency, asks)
        })
    }

    /// Waits for a grace period and gives the value back.
    pub(crate) fn try_wait(self) -> Result<Box<T>, (SyncError, Old<T, G>)> {
        match self.ground.wait_for_gp(How::default()) {
            Ok(()) => {
                let this = ManuallyDrop::new(self);
                // SAFETY: a box of ours; a grace period has passed since it was replaced, so nobody reads it any more; and `self` is gone.
                Ok(unsafe { Box::from_raw(this.value.as_ptr()) })
            }
            Err(error) => Err((error, self)),
        }
    }
}

impl<T: Send + Sync + 'static, G: Ground> Deref for Old<T, G> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: owned by `self`; others may read it too, so there is no mutable access.
        unsafe { self.value.as_ref() }
    }
}

impl<T: Send + Sync + 'static, G: Ground> Drop for Old<T, G> {
    fn drop(&mut self) {
        self.queue(Urgency::Lazy, false);
    }
}
