//! A value that is read under an [`Srcu`], and replaced whole: [`SrcuCell`], and what comes back: [`SrcuRetired`]. A load looks whether the
//! guard is of the cell's own `Srcu`, and panics if not; the rest is [`ground`](crate::api::ground).

use std::fmt;
use std::ops::Deref;

use quiescent_engine::credit::Urgency;

use super::{InSrcu, Section, Srcu};
use crate::api::ground::{Cell, Ground, Old};
use crate::error::SyncError;
use crate::inner::defer::enqueue::Parcel;
use crate::inner::domain::yard::Yard;
use crate::inner::gp::driver::How;

impl Ground for &'static Yard {
    type Section = Section;

    fn open(self) -> Section {
        Section::open(self)
    }

    fn deliver(self, parcel: Parcel, urgency: Urgency, asks: bool) -> bool {
        self.deliver_if(parcel, urgency, asks)
    }

    fn wait_for_gp(self, how: How) -> Result<(), SyncError> {
        Yard::wait_for_gp(self, how)
    }
}

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
pub struct SrcuCell<T: Send + Sync + 'static>(Cell<T, &'static Yard>);

impl<T: Send + Sync + 'static> SrcuCell<T> {
    /// A cell whose readers are sections of `srcu`.
    pub fn new(srcu: &Srcu, value: T) -> SrcuCell<T> {
        SrcuCell(Cell::new(srcu.yard(), value))
    }

    /// The value, for as long as the section lasts.
    ///
    /// # Panics
    /// If the guard is of another `Srcu`.
    #[inline]
    pub fn load<'g>(&'g self, guard: &'g impl InSrcu) -> &'g T {
        assert!(
            std::ptr::eq(guard.place(), std::ptr::from_ref(self.0.ground).cast()),
            "a guard of another Srcu: this cell is not read under it"
        );
        // SAFETY: the guard's section is of the cell's ground, and open for as long as it is borrowed.
        unsafe { self.0.load() }
    }

    /// Replaces the value. The old one comes back; dropped, it is freed after a grace period, and nobody waits.
    pub fn store(&self, value: T) -> SrcuRetired<T> {
        SrcuRetired(self.0.store(value))
    }

    /// Replaces the value by what `f` makes of it; again, if somebody else was faster.
    pub fn update(&self, f: impl FnMut(&T) -> T) -> SrcuRetired<T> {
        SrcuRetired(self.0.update(f))
    }

    /// The value itself, to change in place: nobody else can see it.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }

    /// The value itself.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
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
pub struct SrcuRetired<T: Send + Sync + 'static>(Old<T, &'static Yard>);

impl<T: Send + Sync + 'static> SrcuRetired<T> {
    /// Frees the value after a grace period, lazily: the same as dropping this.
    pub fn retire(self) {
        drop(self);
    }

    /// As [`retire`](SrcuRetired::retire), but soon.
    pub fn retire_hurry(self) {
        self.0.retire_hurry();
    }

    /// Says that the value owns this many bytes beside its own size. Adds up over calls.
    #[must_use = "weighing does not retire"]
    pub fn weigh(mut self, bytes: usize) -> SrcuRetired<T> {
        self.0.weigh(bytes);
        self
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
        let result = self.0.try_wait();
        result.map_err(|(error, old)| (error, SrcuRetired(old)))
    }
}

impl<T: Send + Sync + 'static> Deref for SrcuRetired<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + Sync + fmt::Debug> fmt::Debug for SrcuRetired<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SrcuRetired").field(&**self).finish()
    }
}
