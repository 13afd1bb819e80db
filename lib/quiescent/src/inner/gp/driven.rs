//! What driving a grace period needs of whoever has grace periods: the domain, and each [`Srcu`](crate::Srcu).
//!
//! The driver's loop ([`drive`](crate::inner::gp::driver)) and those who wait for it ([`waiting`](crate::inner::gp::waiting)) are written once, over [`Driven`].
//! Readers are the one thing that differs: threads with a word each, or two counts of sections ([`Readers`]).

use quiescent_engine::stall::Stalled;
use quiescent_engine::{CpuId, Host};

use crate::inner::domain::counters::{Counters, count};
use crate::inner::domain::process::{Core, Process, View};
use crate::inner::prim::{AtomicU32, AtomicU64, MutexGuard};
use crate::inner::reader::threads::Slots;
use crate::statistics::Holdout;
use crate::watch::stall::StallReport;
use crate::watch::telemetry;

/// Those whom a grace period waits for.
pub(crate) trait Readers: Sync {
    /// The engine's questions, answered.
    type View<'a>: Host
    where
        Self: 'a;

    fn view(&self) -> Self::View<'_>;

    /// The wake flag of a reader.
    fn flag(&self, cpu: CpuId) -> Option<&AtomicU32>;

    /// The engine has found a leaf empty. Under the lock.
    fn vacated(&self, leaf: usize);

    /// New sections join this count. Under the lock.
    fn join(&self, count: CpuId);
}

impl Readers for Slots {
    type View<'a> = View<'a>;

    fn view(&self) -> View<'_> {
        View(self)
    }

    fn flag(&self, cpu: CpuId) -> Option<&AtomicU32> {
        self.slot(cpu).map(|slot| &slot.seat.reader.flag)
    }

    fn vacated(&self, leaf: usize) {
        Slots::vacated(self, leaf);
    }

    fn join(&self, _: CpuId) {} // threads are not counted
}

/// Somebody's grace periods: the engine behind its lock, and what its driver looks at without it.
pub(crate) trait Driven: Sync + Sized + 'static {
    type Readers: Readers;

    fn readers(&self) -> &Self::Readers;
    fn lock(&self) -> MutexGuard<'_, Core>;
    fn try_lock(&self) -> Option<MutexGuard<'_, Core>>;
    /// The driver that sleeps, or is about to, on this futex: a number of its reign, never that of nobody.
    fn sleeper(&self) -> &AtomicU32;
    /// The root's `gp_seq`, for polls without the lock.
    fn root_seq(&self) -> &AtomicU64;
    fn counters(&self) -> &Counters;
    /// The fence of a grace period.
    fn heavy_fence(&self) -> Result<(), i32>;
    /// The calling thread, if it takes part itself.
    fn own_cpu(&self) -> Option<CpuId>;

    /// Is the calling thread in a section of these readers' own, which no grace period of the process waits for?
    fn is_inside(&self) -> bool {
        false
    }

    /// Is there something to be told to the program first?
    fn has_news(&self) -> bool {
        false
    }
    /// Tells it. With no lock held, and without the role.
    fn tell_news(&self) {}

    /// A grace period has ended since this was called last. With no lock held.
    #[inline]
    fn gp_ended(&self) {}
    /// The driver is about to sleep until a reader or a time wakes it. With no lock held.
    #[inline]
    fn gp_waits(&self) {
        count(&self.counters().sleeps);
    }

    /// What there is to say about a stall. The caller drives, and has no lock.
    fn stall_report(&'static self, stalled: Stalled) -> Option<StallReport>;
    /// Delivers it. With no lock held, and without the role.
    fn tell_stall(&'static self, stall: Option<StallReport>);
    /// Who is in the way of the grace period in flight.
    fn holdouts(&self) -> Vec<Holdout>;
}

impl Driven for Process {
    type Readers = Slots;

    #[inline]
    fn readers(&self) -> &Slots {
        &self.slots
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Core> {
        Process::lock(self)
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Core>> {
        Process::try_lock(self)
    }

    #[inline]
    fn sleeper(&self) -> &AtomicU32 {
        &self.sleeper
    }

    #[inline]
    fn root_seq(&self) -> &AtomicU64 {
        &self.root_seq
    }

    #[inline]
    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn heavy_fence(&self) -> Result<(), i32> {
        Process::heavy_fence(self)
    }

    #[inline]
    fn own_cpu(&self) -> Option<CpuId> {
        self.own_slot().map(|slot| slot.cpu())
    }

    fn has_news(&self) -> bool {
        Process::has_news(self)
    }

    fn tell_news(&self) {
        Process::tell_news(self);
    }

    fn stall_report(&'static self, stalled: Stalled) -> Option<StallReport> {
        Process::stall_report(self, stalled)
    }

    fn tell_stall(&'static self, stall: Option<StallReport>) {
        Process::tell_stall(self, stall);
    }

    fn holdouts(&self) -> Vec<Holdout> {
        Process::holdouts(self)
    }

    #[inline]
    fn gp_ended(&self) {
        telemetry::publish_if_on();
    }

    #[inline]
    fn gp_waits(&self) {
        count(&self.counters.sleeps);
        telemetry::publish_if_on();
    }
}
