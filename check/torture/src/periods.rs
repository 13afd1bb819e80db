//! Grace periods of a program's own, of either kind: what [`Srcu`] and [`Domain`] have in common, so that actors and oracles are
//! written once.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use quiescent::{Domain, Guard, RcuCell, Retired, Srcu, SyncError};

use crate::callback::Own;
use crate::element::Dropping;
use crate::hand::Hand;
use crate::kind::Kind;
use crate::plot::{GROUNDS, Ground};
use crate::world::World;

/// For ever.
pub static SRCUS: [Srcu; GROUNDS] = [const { Srcu::new() }; GROUNDS];
/// For ever.
pub static DOMAINS: [Domain; GROUNDS] = [const { Domain::new() }; GROUNDS];

/// Grace periods, and who keeps them.
#[derive(Debug)]
pub enum Whose<P: 'static> {
    /// Nobody has to.
    Static(&'static P),
    /// Whoever has one of these.
    Owned(Arc<P>),
}

impl<P> Clone for Whose<P> {
    fn clone(&self) -> Whose<P> {
        match self {
            Whose::Static(periods) => Whose::Static(periods),
            Whose::Owned(periods) => Whose::Owned(Arc::clone(periods)),
        }
    }
}

impl<P> Deref for Whose<P> {
    type Target = P;

    fn deref(&self) -> &P {
        match self {
            Whose::Static(periods) => periods,
            Whose::Owned(periods) => periods,
        }
    }
}

/// A section, of a static one or of one that it keeps.
#[derive(Debug)]
pub enum Guard<S, O> {
    /// Of a static.
    Static(S),
    /// Keeps what it is of.
    Owned(O),
}

/// What a cell holds.
pub type Content = Option<Dropping>;

/// See above. The names are those of the library.
#[expect(missing_docs, reason = "as in the library")]
pub trait Periods: Send + Sync + Sized + 'static {
    type Cookie: Copy;
    type Future: Future<Output = ()> + Unpin + Send;
    type Barrier: Future<Output = ()> + Unpin + Send;
    type Section;
    type Cell: Send + Sync;
    type Retired: Deref<Target = Content>;

    fn made() -> Self;
    fn enter(whose: &Whose<Self>) -> Self::Section;
    fn synchronize(&self);
    fn synchronize_expedited(&self);
    fn synchronize_timeout(&self, timeout: Duration) -> Result<(), SyncError>;
    fn try_synchronize(&self) -> Result<(), SyncError>;
    fn start_poll(&self) -> Self::Cookie;
    fn poll(&self, cookie: Self::Cookie) -> bool;
    fn wait(&self, cookie: Self::Cookie);
    fn grace_period(&self) -> Self::Future;
    fn call(&self, f: impl FnOnce() + Send + 'static);
    fn call_hurry(&self, f: impl FnOnce() + Send + 'static);
    fn call_lazy(&self, f: impl FnOnce() + Send + 'static);
    /// # Safety
    /// As there.
    unsafe fn retire_ptr<T: Send + 'static>(&self, pointer: NonNull<T>);
    /// # Safety
    /// As there.
    unsafe fn retire_ptr_hurry<T: Send + 'static>(&self, pointer: NonNull<T>);
    fn try_barrier(&self) -> Result<(), SyncError>;
    fn barrier(&self);
    fn barrier_async(&self) -> Self::Barrier;
    fn drain_for(&self, limit: Duration);

    fn cell(&self) -> Self::Cell;
    fn load<'g>(cell: &'g Self::Cell, section: &'g Self::Section) -> &'g Content;
    fn store(cell: &Self::Cell, value: Content) -> Self::Retired;
    fn update(cell: &Self::Cell, f: impl FnMut(&Content) -> Content) -> Self::Retired;
    /// Ends a section, here or elsewhere, where that may be.
    fn end(section: Self::Section, hand: &mut Hand);
    /// Gives it back, in one of the ways of this kind.
    fn give_back(retired: Self::Retired, kind: Kind, hand: &mut Hand);

    /// Something about it that must not matter once it is dropped.
    fn before_drop(&self, hand: &mut Hand);
    /// The nearest kind that it has.
    fn nearest(kind: Kind) -> Kind;
    /// Where it is read.
    fn grounds(world: &World) -> &[Ground<Self>];
    /// For a callback to keep.
    fn own(whose: Whose<Self>) -> Own;
}

/// What both have by the same name.
macro_rules! by_name {
    ($periods:ident, $guard:ident, $owned:ident, $cell:ident, $retired:ident) => {
        type Section = Guard<$guard<'static>, $owned>;
        type Cell = $cell<Content>;
        type Retired = $retired<Content>;

        fn made() -> $periods {
            $periods::new()
        }
        fn enter(whose: &Whose<$periods>) -> Self::Section {
            match whose {
                Whose::Static(periods) => Guard::Static(periods.read_lock()),
                Whose::Owned(periods) => Guard::Owned(periods.read_owned()),
            }
        }
        fn synchronize(&self) {
            $periods::synchronize(self);
        }
        fn synchronize_expedited(&self) {
            $periods::synchronize_expedited(self);
        }
        fn synchronize_timeout(&self, timeout: Duration) -> Result<(), SyncError> {
            $periods::synchronize_timeout(self, timeout)
        }
        fn try_synchronize(&self) -> Result<(), SyncError> {
            $periods::try_synchronize(self)
        }
        fn start_poll(&self) -> Self::Cookie {
            $periods::start_poll(self)
        }
        fn poll(&self, cookie: Self::Cookie) -> bool {
            $periods::poll(self, cookie)
        }
        fn wait(&self, cookie: Self::Cookie) {
            $periods::wait(self, cookie);
        }
        fn grace_period(&self) -> Self::Future {
            $periods::grace_period(self)
        }
        fn call(&self, f: impl FnOnce() + Send + 'static) {
            $periods::call(self, f);
        }
        fn call_hurry(&self, f: impl FnOnce() + Send + 'static) {
            $periods::call_hurry(self, f);
        }
        fn call_lazy(&self, f: impl FnOnce() + Send + 'static) {
            $periods::call_lazy(self, f);
        }
        unsafe fn retire_ptr<T: Send + 'static>(&self, pointer: NonNull<T>) {
            // SAFETY: the caller's promise.
            unsafe { $periods::retire_ptr(self, pointer) };
        }
        unsafe fn retire_ptr_hurry<T: Send + 'static>(&self, pointer: NonNull<T>) {
            // SAFETY: the caller's promise.
            unsafe { $periods::retire_ptr_hurry(self, pointer) };
        }
        fn try_barrier(&self) -> Result<(), SyncError> {
            $periods::try_barrier(self)
        }
        fn barrier(&self) {
            $periods::barrier(self);
        }
        fn barrier_async(&self) -> Self::Barrier {
            $periods::barrier_async(self)
        }
        fn drain_for(&self, limit: Duration) {
            self.drain(limit);
        }
        fn cell(&self) -> Self::Cell {
            $cell::new(self, None)
        }
        fn load<'g>(cell: &'g Self::Cell, section: &'g Self::Section) -> &'g Content {
            match section {
                Guard::Static(guard) => cell.load(guard),
                Guard::Owned(guard) => cell.load(guard),
            }
        }
        fn store(cell: &Self::Cell, value: Content) -> Self::Retired {
            cell.store(value)
        }
        fn update(cell: &Self::Cell, f: impl FnMut(&Content) -> Content) -> Self::Retired {
            cell.update(f)
        }
        fn own(whose: Whose<$periods>) -> Own {
            Own::$periods(whose)
        }
    };
}

impl Periods for Srcu {
    type Cookie = quiescent::Cookie<Srcu>;
    type Future = quiescent::GracePeriod<Srcu>;
    type Barrier = quiescent::BarrierFuture<Srcu>;
    by_name!(Srcu, SrcuGuard, Guard<Srcu>, SrcuCell, SrcuRetired);

    fn give_back(retired: Retired<Content, &'static Srcu>, kind: Kind, hand: &mut Hand) {
        match (kind, hand.numbers.below(2)) {
            (Kind::RetiredWait, 0) => drop(retired.wait()),
            (Kind::RetiredWait, _) => match retired.try_wait() {
                Ok(old) => drop(old),
                Err((why, _)) => panic!("SrcuRetired::try_wait: {why}"),
            },
            (Kind::RetiredHurry, _) => retired.retire_hurry(),
            (_, 0) => retired.retire(),
            _ => drop(retired),
        }
    }

    fn end(section: Self::Section, hand: &mut Hand) {
        match hand.numbers.below(2) {
            0 => drop(section),
            _ => thread::scope(|scope| _ = scope.spawn(move || drop(section))),
        }
    }

    fn before_drop(&self, _hand: &mut Hand) {}

    fn nearest(kind: Kind) -> Kind {
        kind.of_srcu()
    }

    fn grounds(world: &World) -> &[Ground<Srcu>] {
        &world.grounds
    }
}

impl Periods for Domain {
    type Cookie = quiescent::Cookie<Domain>;
    type Future = quiescent::GracePeriod<Domain>;
    type Barrier = quiescent::BarrierFuture<Domain>;
    by_name!(
        Domain,
        DomainGuard,
        Guard<Domain>,
        DomainCell,
        DomainRetired
    );

    fn give_back(retired: Retired<Content, &'static Domain>, kind: Kind, hand: &mut Hand) {
        match (kind, hand.numbers.below(2)) {
            (Kind::RetiredWait, 0) => drop(retired.wait()),
            (Kind::RetiredWait, _) => match retired.try_wait() {
                Ok(old) => drop(old),
                Err((why, _)) => panic!("DomainRetired::try_wait: {why}"),
            },
            // Refused, they are dropped, and so retired.
            (Kind::RetireWait, _) => {
                let limit = Duration::from_micros(hand.numbers.next() % 8000);
                _ = retired.retire_wait(limit);
            }
            (Kind::TryRetire, _) => _ = retired.try_retire(),
            (Kind::RetiredHurry, _) => retired.retire_hurry(),
            (_, 0) => retired.retire(),
            _ => drop(retired),
        }
    }

    fn end(section: Self::Section, _hand: &mut Hand) {
        drop(section);
    }

    fn before_drop(&self, hand: &mut Hand) {
        match hand.numbers.below(3) {
            0 => self.set_drained(true),
            1 => self.set_budget(1, 1),
            _ => {}
        }
    }

    fn nearest(kind: Kind) -> Kind {
        kind.of_domain()
    }

    fn grounds(world: &World) -> &[Ground<Domain>] {
        &world.fields
    }
}
