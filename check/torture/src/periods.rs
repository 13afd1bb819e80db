//! A program's own grace periods, of either kind: the common interface of [`Srcu`] and [`Domain`], so that
//! actors and oracles are written once.

use std::ops::Deref;
use std::ptr::NonNull;
use std::thread;
use std::time::Duration;

use quiescent::{
    BarrierFuture, Cookie, Domain, GracePeriod, Guard, Handle, RcuCell, Retired, Runner, Sendable,
    Srcu, SyncError,
};

use crate::callback::Own;
use crate::element::Dropping;
use crate::hand::Hand;
use crate::kind::Kind;
use crate::target::{TARGETS, TargetSlot};
use crate::world::World;

/// Static.
pub static SRCUS: [Srcu; TARGETS] = [const { Srcu::new() }; TARGETS];
/// Static.
pub static DOMAINS: [Domain; TARGETS] = [const { Domain::new() }; TARGETS];

/// Grace periods, either static or counted.
#[derive(Debug)]
pub enum Whose<P: 'static> {
    /// Static: never freed.
    Static(&'static P),
    /// Reference-counted.
    Owned(P),
}

impl<P: Clone> Clone for Whose<P> {
    fn clone(&self) -> Whose<P> {
        match self {
            Whose::Static(periods) => Whose::Static(periods),
            Whose::Owned(periods) => Whose::Owned(periods.clone()),
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

/// A section, either of static grace periods or of those that it keeps.
#[derive(Debug)]
pub enum Inside<S, O> {
    /// Of static grace periods.
    Static(S),
    /// Keeps its grace periods.
    Owned(O),
}

/// The value of a cell.
pub type Content = Option<Dropping>;

/// The common interface. The names are those of the library.
#[expect(missing_docs, reason = "as in the library")]
pub trait Periods: Handle + Send + Sync + 'static {
    type Section;

    fn made() -> Self;
    fn enter(whose: &Whose<Self>) -> Self::Section;
    fn synchronize(&self);
    fn synchronize_expedited(&self);
    fn synchronize_timeout(&self, timeout: Duration) -> Result<(), SyncError>;
    fn try_synchronize(&self) -> Result<(), SyncError>;
    fn start_grace_period(&self) -> Cookie<Self>;
    fn grace_period(&self) -> GracePeriod<Self>;
    fn defer(&self, f: impl FnOnce() + Send + 'static);
    fn defer_hurry(&self, f: impl FnOnce() + Send + 'static);
    fn defer_lazy(&self, f: impl FnOnce() + Send + 'static);
    fn try_barrier(&self) -> Result<(), SyncError>;
    fn barrier(&self);
    fn barrier_async(&self) -> BarrierFuture<Self>;
    fn drain_for(&self, limit: Duration);
    fn load<'g>(cell: &'g Cell<Self>, section: &'g Self::Section) -> &'g Content;

    /// An object that the library takes over.
    ///
    /// # Safety
    /// As `Retired::from_raw_in`.
    unsafe fn retired<T: Send + 'static>(&self, pointer: NonNull<T>) -> Retired<T, Self> {
        // SAFETY: the caller's promise.
        unsafe { Retired::from_raw_in(pointer, self.clone()) }
    }
    /// A cell, which keeps the grace periods.
    fn cell(&self) -> Cell<Self> {
        RcuCell::new_in(None, self.clone())
    }

    /// Ends a section, on this thread or on another one where that is allowed.
    fn end(section: Self::Section, hand: &mut Hand);
    /// An operation whose object is dropped and must have no effect then.
    fn before_drop(&self, hand: &mut Hand);
    /// The nearest kind that it has.
    fn nearest(kind: Kind) -> Kind;
    /// The role that reads under it.
    fn slots(world: &World) -> &[TargetSlot<Self>];
    /// A handle that a callback can keep.
    fn own(whose: Whose<Self>) -> Own;
}

/// A cell with an element.
pub type Cell<P> = RcuCell<Content, P>;

/// Retires a value, in one of the ways of this kind.
pub fn give_back<P: Periods>(retired: Retired<Content, P>, kind: Kind, hand: &mut Hand) {
    match (kind, hand.numbers.below(2)) {
        (Kind::RetiredWait, 0) => drop(retired.wait()),
        (Kind::RetiredWait, _) => match retired.try_wait() {
            Ok(old) => drop(old),
            Err(refused) => panic!("Retired::try_wait: {refused}"),
        },
        // Refused values are dropped, and so retired.
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

/// The functions that both have by the same name.
macro_rules! by_name {
    ($periods:ident) => {
        fn made() -> $periods {
            $periods::new()
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
        fn start_grace_period(&self) -> Cookie<$periods> {
            $periods::start_grace_period(self)
        }
        fn grace_period(&self) -> GracePeriod<$periods> {
            $periods::grace_period(self)
        }
        fn defer(&self, f: impl FnOnce() + Send + 'static) {
            $periods::defer(self, f);
        }
        fn defer_hurry(&self, f: impl FnOnce() + Send + 'static) {
            $periods::defer_hurry(self, f);
        }
        fn defer_lazy(&self, f: impl FnOnce() + Send + 'static) {
            $periods::defer_lazy(self, f);
        }
        fn try_barrier(&self) -> Result<(), SyncError> {
            $periods::try_barrier(self)
        }
        fn barrier(&self) {
            $periods::barrier(self);
        }
        fn barrier_async(&self) -> BarrierFuture<$periods> {
            $periods::barrier_async(self)
        }
        fn drain_for(&self, limit: Duration) {
            self.drain(limit);
        }
        fn load<'g>(cell: &'g Cell<$periods>, section: &'g Self::Section) -> &'g Content {
            match section {
                Inside::Static(guard) => cell.load(guard),
                Inside::Owned(guard) => cell.load(guard),
            }
        }
        fn own(whose: Whose<$periods>) -> Own {
            Own::$periods(whose)
        }
    };
}

impl Periods for Srcu {
    by_name!(Srcu);

    /// It may be passed on. (`srcu_reader` has sections of both kinds.)
    type Section = Inside<Guard<Sendable<&'static Srcu>>, Guard<Sendable<Srcu>>>;

    fn enter(whose: &Whose<Srcu>) -> Self::Section {
        match whose {
            Whose::Static(srcu) => Inside::Static(srcu.read_lock_send()),
            Whose::Owned(srcu) => Inside::Owned(srcu.read_owned_send()),
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

    fn slots(world: &World) -> &[TargetSlot<Srcu>] {
        &world.srcus
    }
}

impl Periods for Domain {
    by_name!(Domain);

    type Section = Inside<Guard<&'static Domain>, Guard<Domain>>;

    fn enter(whose: &Whose<Domain>) -> Self::Section {
        match whose {
            Whose::Static(domain) => Inside::Static(domain.read_lock()),
            Whose::Owned(domain) => Inside::Owned(domain.read_owned()),
        }
    }

    fn end(section: Self::Section, _hand: &mut Hand) {
        drop(section);
    }

    fn before_drop(&self, hand: &mut Hand) {
        match hand.numbers.below(3) {
            0 => self.set_closures(Runner::Drained),
            1 => self.set_budget(1, 1),
            _ => {}
        }
    }

    fn nearest(kind: Kind) -> Kind {
        kind.of_domain()
    }

    fn slots(world: &World) -> &[TargetSlot<Domain>] {
        &world.domains
    }
}
