//! A value that is read under a [`Domain`], and replaced whole: [`DomainCell`], and what comes back: [`DomainRetired`]. A load looks whether
//! the guard is of the cell's own domain, and panics if not; the rest is [`ground`](crate::api::ground).

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::time::Duration;

use quiescent_engine::credit::Urgency;

use super::guard::Section;
use super::{Domain, InDomain};
use crate::api::ground::{Cell, Ground, Old};
use crate::error::SyncError;
use crate::inner::defer::enqueue::Parcel;
use crate::inner::defer::sweep::Until;
use crate::inner::domain::grounds::Grounds;
use crate::inner::gp::driver::How;
use crate::inner::prim;
use crate::refused::{Refusal, Refused};

impl Ground for &'static Grounds {
    type Section = Section;

    fn open(self) -> Section {
        Section::open(self)
    }

    fn deliver(self, parcel: Parcel, urgency: Urgency, asks: bool) -> bool {
        Grounds::deliver(self, parcel, urgency, asks)
    }

    fn wait_for_gp(self, how: How) -> Result<(), SyncError> {
        Grounds::wait_for_gp(self, how)
    }
}

/// A value that sections of one [`Domain`] see without waiting, and that writers replace whole.
///
/// ```
/// use quiescent::{Domain, DomainCell};
///
/// let domain = Domain::new();
/// let table = DomainCell::new(&domain, vec![1, 2, 3]);
/// assert_eq!(domain.read(|guard| table.load(guard).len()), 3);
/// let old = table.store(vec![4]);
/// assert_eq!(*old.wait(), [1, 2, 3]);
/// ```
/// A guard of another one does not do:
/// ```should_panic
/// use quiescent::{Domain, DomainCell};
///
/// let (one, other) = (Domain::new(), Domain::new());
/// let cell = DomainCell::new(&one, 1);
/// other.read(|guard| *cell.load(guard)); // panics: a guard of another Domain
/// ```
/// Nor does one of [`read_lock`](crate::read_lock()):
/// ```compile_fail,E0277
/// let domain = quiescent::Domain::new();
/// let cell = quiescent::DomainCell::new(&domain, 1);
/// quiescent::read(|guard| *cell.load(guard));
/// ```
/// ```compile_fail,E0505
/// let domain = quiescent::Domain::new();
/// let cell = quiescent::DomainCell::new(&domain, 1);
/// let guard = domain.read_lock();
/// let seen = cell.load(&guard);
/// drop(guard); // while it is being read
/// println!("{seen}");
/// ```
pub struct DomainCell<T: Send + Sync + 'static, Tag: 'static = ()> {
    cell: Cell<T, &'static Grounds>,
    tag: PhantomData<fn() -> Tag>,
}

impl<T: Send + Sync + 'static, Tag: 'static> DomainCell<T, Tag> {
    /// A cell whose readers are sections of `domain`.
    pub fn new(domain: &Domain<Tag>, value: T) -> DomainCell<T, Tag> {
        DomainCell {
            cell: Cell::new(domain.grounds(), value),
            tag: PhantomData,
        }
    }

    /// The value, for as long as the section lasts.
    ///
    /// # Panics
    /// If the guard is of another domain with the same tag.
    #[track_caller]
    #[inline]
    pub fn load<'g>(&'g self, guard: &'g impl InDomain<Tag>) -> &'g T {
        assert!(
            std::ptr::eq(guard.place(), std::ptr::from_ref(self.cell.ground).cast()),
            "a guard of another Domain: this cell is not read under it"
        );
        // SAFETY: the guard's section is of the cell's ground, and open for as long as it is borrowed.
        unsafe { self.cell.load() }
    }

    /// Replaces the value. The old one comes back; dropped, it is freed after a grace period, and nobody waits.
    pub fn store(&self, value: T) -> DomainRetired<T> {
        DomainRetired(self.cell.store(value))
    }

    /// Replaces the value by what `f` makes of it; again, if somebody else was faster.
    pub fn update(&self, f: impl FnMut(&T) -> T) -> DomainRetired<T> {
        DomainRetired(self.cell.update(f))
    }

    /// The value itself, to change in place: nobody else can see it.
    pub fn get_mut(&mut self) -> &mut T {
        self.cell.get_mut()
    }

    /// The value itself.
    pub fn into_inner(self) -> T {
        self.cell.into_inner()
    }
}

impl<T: Send + Sync + 'static, Tag: 'static> fmt::Debug for DomainCell<T, Tag> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DomainCell").finish_non_exhaustive()
    }
}

/// A value that was replaced in a [`DomainCell`], and may still be read by sections that are open now.
///
/// Dropping it retires it: it is freed after a grace period of its domain, lazily, and nobody waits.
pub struct DomainRetired<T: Send + Sync + 'static>(Old<T, &'static Grounds>);

impl<T: Send + Sync + 'static> DomainRetired<T> {
    /// Frees the value after a grace period, lazily: the same as dropping this.
    pub fn retire(self) {
        drop(self);
    }

    /// As [`retire`](DomainRetired::retire), but soon.
    pub fn retire_hurry(self) {
        self.0.retire_hurry();
    }

    /// Says that the value owns this many bytes beside its own size, for the budget. Adds up over calls.
    #[must_use = "weighing does not retire"]
    pub fn weigh(mut self, bytes: usize) -> DomainRetired<T> {
        self.0.weigh(bytes);
        self
    }

    /// As [`retire`](DomainRetired::retire), if the domain's budget has room for it ([`Domain::set_budget`]).
    ///
    /// # Errors
    /// There is no room: the object comes back.
    ///
    /// ```
    /// use quiescent::{Domain, DomainCell};
    ///
    /// let domain = Domain::new();
    /// domain.set_budget(u64::MAX, 10);
    /// let cell = DomainCell::new(&domain, 0);
    /// let guard = domain.read_lock(); // nothing can be freed meanwhile
    /// let refused = (1..100).map(|n| cell.store(n).try_retire()).filter(Result::is_err).count();
    /// assert_eq!(refused, 89);
    /// # drop(guard);
    /// ```
    pub fn try_retire(self) -> Result<(), Refused<DomainRetired<T>>> {
        let ground = self.0.ground;
        self.0.try_retire().map_err(|old| {
            let full = ground.hold().fullness();
            Refused::new(DomainRetired(old), Refusal::Full(full))
        })
    }

    /// As [`try_retire`](DomainRetired::try_retire), but waits for room, for at most `limit`: for grace periods, whose objects it frees.
    ///
    /// # Errors
    /// There is no room still, or this may not wait: the object comes back.
    pub fn retire_wait(self, limit: Duration) -> Result<(), Refused<DomainRetired<T>>> {
        let until = Until::after(limit);
        let mut refused = match self.try_retire() {
            Ok(()) => return Ok(()),
            Err(refused) => refused,
        };
        loop {
            let ground = refused.object.0.ground;
            let how = How {
                deadline: until.deadline,
                ..How::default()
            };
            let holdouts = match ground.wait_for_gp(how) {
                Ok(()) => Vec::new(),
                Err(SyncError::TimedOut { holdouts }) => holdouts,
                Err(error) => {
                    refused.reason = Refusal::CannotWait(error);
                    return Err(refused);
                }
            };
            let freed = ground.hold().yard().free_ready(until);
            refused = match refused.object.try_retire() {
                Ok(()) => return Ok(()),
                Err(refused) => refused,
            };
            if until.is_over() {
                let full = ground.hold().fullness();
                refused.reason = Refusal::TimedOut { full, holdouts };
                return Err(refused);
            }
            if freed == 0 {
                // Code holds the rest, and runs elsewhere: a grace period more does not help.
                prim::domain().wait_for_progress(until);
            }
        }
    }

    /// Waits for a grace period and gives the value back.
    ///
    /// # Panics
    /// As [`Domain::synchronize`]; the value is then retired.
    #[track_caller]
    pub fn wait(self) -> Box<T> {
        self.try_wait()
            .unwrap_or_else(|(error, _)| panic!("DomainRetired::wait: {error}"))
    }

    /// As [`wait`](DomainRetired::wait), returning the reason why it cannot.
    ///
    /// # Errors
    /// As [`Domain::try_synchronize`], with the value still retired.
    pub fn try_wait(self) -> Result<Box<T>, (SyncError, DomainRetired<T>)> {
        let result = self.0.try_wait();
        result.map_err(|(error, old)| (error, DomainRetired(old)))
    }
}

impl<T: Send + Sync + 'static> Deref for DomainRetired<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + Sync + fmt::Debug> fmt::Debug for DomainRetired<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DomainRetired").field(&**self).finish()
    }
}
