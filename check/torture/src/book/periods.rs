//! Grace periods of any kind: the process's, an [`Srcu`]'s, a [`Domain`]'s. Their common interface, so that
//! actors and oracles are written once.

use std::hash::RandomState;
use std::ops::Deref;
use std::time::Duration;

use quiescent::{
    BarrierFuture, Cookie, Counted, Domain, Global, GracePeriod, Guard, Handle, Many, PerThread,
    RcuDomain, RcuOption, Reads, Runner, Srcu, SyncError,
};
use quiescent_collections::RcuHashMap;

use super::numbers::Numbers;
use super::role::Role;

/// Static grace periods of each of the program's own kinds.
pub const STATICS: usize = 3;
/// Static.
pub static SRCUS: [Srcu; STATICS] = [const { Srcu::new() }; STATICS];
/// Static.
pub static DOMAINS: [Domain; STATICS] = [const { Domain::new() }; STATICS];

/// Grace periods, either static or counted.
#[derive(Clone, Debug)]
pub enum Whose<P: 'static> {
    /// Static: never freed.
    Static(&'static P),
    /// Reference-counted.
    Owned(P),
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

/// The grace periods under which a callback can queue itself again.
#[derive(Debug)]
pub enum Own {
    /// None: they have been dropped.
    None,
    /// The process's.
    Process,
    /// An `Srcu`.
    Srcu(Whose<Srcu>),
    /// A domain of the program's own.
    Domain(Whose<Domain>),
}

impl Own {
    /// Those of the target with this number, if they are static.
    pub fn of_static(number: u32) -> Own {
        let number = number as usize;
        match number.checked_sub(1) {
            None => Own::Process,
            Some(at) if at < STATICS => Own::Srcu(Whose::Static(&SRCUS[at])),
            Some(at) if at < 2 * STATICS => Own::Domain(Whose::Static(&DOMAINS[at - STATICS])),
            _ => Own::None,
        }
    }
}

/// A map that is read under these grace periods.
pub type Map<V, P> = RcuHashMap<u64, V, RandomState, P>;

/// An open section, in which cells and maps are read.
pub trait Section<P: Periods> {
    fn load<'g, T: Send + Sync>(&'g self, cell: &'g RcuOption<T, P>) -> Option<&'g T>;
    fn get<'g, V: Send + Sync + 'static>(&'g self, map: &'g Map<V, P>, key: u64) -> Option<&'g V>;
}

impl<P: Periods, E: Handle + Reads<P::Brand>> Section<P> for Guard<E> {
    fn load<'g, T: Send + Sync>(&'g self, cell: &'g RcuOption<T, P>) -> Option<&'g T> {
        cell.load(self)
    }
    fn get<'g, V: Send + Sync + 'static>(&'g self, map: &'g Map<V, P>, key: u64) -> Option<&'g V> {
        map.get(&key, self)
    }
}

/// The common interface. The names are those of the library.
pub trait Periods: Handle + Send + Sync + 'static {
    type Section: Section<Self>;

    /// The role of its readers.
    const READER: Role;
    /// The number of the first static one's target; those of the others follow.
    const FIRST: u32;

    fn statics() -> &'static [Self];
    fn made() -> Self;
    fn enter(whose: &Whose<Self>) -> Self::Section;
    fn repin(section: &mut Self::Section);
    fn in_section(&self) -> bool;
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
    fn drain(&self, limit: Duration);

    /// An operation whose object is dropped and must have no effect then.
    fn before_drop(&self, _numbers: &mut Numbers) {}
    /// A handle that a callback can keep.
    fn own(whose: Whose<Self>) -> Own;
}

impl Periods for Global {
    type Section = Guard;

    const READER: Role = Role::Reader;
    const FIRST: u32 = 0;

    fn statics() -> &'static [Global] {
        static PROCESS: [Global; 1] = [Global];
        &PROCESS
    }
    fn made() -> Global {
        Global
    }
    fn enter(_whose: &Whose<Global>) -> Guard {
        quiescent::read_lock()
    }
    fn repin(section: &mut Guard) {
        section.repin();
    }
    fn in_section(&self) -> bool {
        quiescent::in_section()
    }
    fn synchronize(&self) {
        quiescent::synchronize();
    }
    fn synchronize_expedited(&self) {
        quiescent::synchronize_expedited();
    }
    fn synchronize_timeout(&self, timeout: Duration) -> Result<(), SyncError> {
        quiescent::synchronize_timeout(timeout)
    }
    fn try_synchronize(&self) -> Result<(), SyncError> {
        quiescent::try_synchronize()
    }
    fn start_grace_period(&self) -> Cookie {
        quiescent::start_grace_period()
    }
    fn grace_period(&self) -> GracePeriod {
        quiescent::grace_period()
    }
    fn defer(&self, f: impl FnOnce() + Send + 'static) {
        quiescent::defer(f);
    }
    fn defer_hurry(&self, f: impl FnOnce() + Send + 'static) {
        quiescent::defer_hurry(f);
    }
    fn defer_lazy(&self, f: impl FnOnce() + Send + 'static) {
        quiescent::defer_lazy(f);
    }
    fn try_barrier(&self) -> Result<(), SyncError> {
        quiescent::try_barrier()
    }
    fn barrier(&self) {
        quiescent::barrier();
    }
    fn barrier_async(&self) -> BarrierFuture {
        quiescent::barrier_async()
    }
    fn drain(&self, limit: Duration) {
        quiescent::drain(limit);
    }
    fn own(_whose: Whose<Global>) -> Own {
        Own::Process
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

impl<P: Periods, S: Section<P>, O: Section<P>> Section<P> for Inside<S, O> {
    fn load<'g, T: Send + Sync>(&'g self, cell: &'g RcuOption<T, P>) -> Option<&'g T> {
        match self {
            Inside::Static(section) => section.load(cell),
            Inside::Owned(section) => section.load(cell),
        }
    }
    fn get<'g, V: Send + Sync + 'static>(&'g self, map: &'g Map<V, P>, key: u64) -> Option<&'g V> {
        match self {
            Inside::Static(section) => section.get(map, key),
            Inside::Owned(section) => section.get(map, key),
        }
    }
}

/// What differs between the program's own kinds.
pub trait Sort: Many {
    const READER: Role;
    const FIRST: u32;

    fn statics() -> &'static [RcuDomain<(), Self>];
    fn own(whose: Whose<RcuDomain<(), Self>>) -> Own;
}

impl Sort for Counted {
    const READER: Role = Role::SrcuReader;
    const FIRST: u32 = 1;

    fn statics() -> &'static [Srcu] {
        &SRCUS
    }
    fn own(whose: Whose<Srcu>) -> Own {
        Own::Srcu(whose)
    }
}

impl Sort for PerThread {
    const READER: Role = Role::DomainReader;
    const FIRST: u32 = 1 + STATICS as u32;

    fn statics() -> &'static [Domain] {
        &DOMAINS
    }
    fn own(whose: Whose<Domain>) -> Own {
        Own::Domain(whose)
    }
}

impl<K: Sort> Periods for RcuDomain<(), K>
where
    RcuDomain<(), K>: Handle<Brand = RcuDomain<(), K>> + Send + Sync,
{
    type Section = Inside<Guard<&'static Self>, Guard<Self>>;

    const READER: Role = K::READER;
    const FIRST: u32 = K::FIRST;

    fn statics() -> &'static [Self] {
        K::statics()
    }
    fn made() -> Self {
        RcuDomain::new()
    }
    fn enter(whose: &Whose<Self>) -> Self::Section {
        match whose {
            Whose::Static(domain) => Inside::Static(domain.read_lock()),
            Whose::Owned(domain) => Inside::Owned(domain.read_owned()),
        }
    }
    fn repin(section: &mut Self::Section) {
        match section {
            Inside::Static(guard) => guard.repin(),
            Inside::Owned(guard) => guard.repin(),
        }
    }
    fn in_section(&self) -> bool {
        self.in_section()
    }
    fn synchronize(&self) {
        self.synchronize();
    }
    fn synchronize_expedited(&self) {
        self.synchronize_expedited();
    }
    fn synchronize_timeout(&self, timeout: Duration) -> Result<(), SyncError> {
        self.synchronize_timeout(timeout)
    }
    fn try_synchronize(&self) -> Result<(), SyncError> {
        self.try_synchronize()
    }
    fn start_grace_period(&self) -> Cookie<Self> {
        self.start_grace_period()
    }
    fn grace_period(&self) -> GracePeriod<Self> {
        self.grace_period()
    }
    fn defer(&self, f: impl FnOnce() + Send + 'static) {
        self.defer(f);
    }
    fn defer_hurry(&self, f: impl FnOnce() + Send + 'static) {
        self.defer_hurry(f);
    }
    fn defer_lazy(&self, f: impl FnOnce() + Send + 'static) {
        self.defer_lazy(f);
    }
    fn try_barrier(&self) -> Result<(), SyncError> {
        self.try_barrier()
    }
    fn barrier(&self) {
        self.barrier();
    }
    fn barrier_async(&self) -> BarrierFuture<Self> {
        self.barrier_async()
    }
    fn drain(&self, limit: Duration) {
        self.drain(limit);
    }
    fn before_drop(&self, numbers: &mut Numbers) {
        match numbers.below(3) {
            0 => self.set_closures(Runner::Drained),
            1 => self.set_budget(1, 1),
            _ => {}
        }
    }
    fn own(whose: Whose<Self>) -> Own {
        K::own(whose)
    }
}
