//! The ways to wait for the disposal of a removed element.

use strum::{EnumCount, VariantArray};

/// The number of kinds.
pub const KINDS: usize = Kind::COUNT;

/// The number of kinds that wait; they are the first.
const WAITING: usize = 7;

/// A way to wait for a grace period. Every published element has the one by which it will be disposed of.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    strum::EnumCount,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[strum(serialize_all = "snake_case")]
#[repr(u8)]
pub enum Kind {
    /// `synchronize`, then free.
    Synchronize,
    /// `synchronize_expedited`, then free.
    #[strum(serialize = "synchronize_expedited")]
    Expedited,
    /// `start_poll`, `poll` until it returns true, then free.
    Poll,
    /// `start_poll`, then `wait` for the cookie, then free.
    #[strum(serialize = "wait for a cookie")]
    Cookie,
    /// `grace_period().await`, then free.
    Future,
    /// `Retired::wait`, and its variants with a deadline.
    #[strum(serialize = "Retired::wait")]
    RetiredWait,
    /// `Retired::retire_wait`: waits for room, not for a grace period.
    #[strum(serialize = "Retired::retire_wait")]
    RetireWait,
    /// `defer` of a closure that frees.
    Defer,
    /// The same, hurried.
    DeferHurry,
    /// The same, lazily.
    DeferLazy,
    /// `intrusive::defer` of a head inside the element.
    DeferHead,
    /// The same, hurried.
    DeferHeadHurry,
    /// The same, lazily.
    DeferHeadLazy,
    /// `retire_ptr` of an object with `Drop`.
    #[strum(serialize = "retire_ptr, Drop")]
    RetireDrop,
    /// The same, hurried.
    #[strum(serialize = "retire_ptr_hurry, Drop")]
    RetireDropHurry,
    /// `Retired::retire`, with a weight or without, or a drop of the `Retired`.
    #[strum(serialize = "Retired::retire")]
    Retired,
    /// `Retired::retire_hurry`.
    #[strum(serialize = "Retired::retire_hurry")]
    RetiredHurry,
    /// `Retired::try_retire`; a refused value is retired.
    #[strum(serialize = "Retired::try_retire")]
    TryRetire,
    /// `retire_ptr` of a plain block: only the allocator sees its end.
    RetirePtr,
    /// The same, hurried.
    RetirePtrHurry,
    /// `retire_ptr_on_worker` of a plain block.
    RetirePtrOnWorker,
    /// An entry of an `RcuHashMap` that is replaced or removed.
    #[strum(serialize = "RcuHashMap")]
    Mapped,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; KINDS] = *Kind::VARIANTS.first_chunk().expect("so many");

    /// Its name in reports and in scenarios.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// May the caller wait? Then it must not be inside a section or a callback.
    pub fn waits(self) -> bool {
        (self as usize) < WAITING
    }

    /// Does the caller wait for a grace period, so that the wait can be timed?
    pub fn is_timed(self) -> bool {
        self.waits() && self != Kind::RetireWait
    }

    /// Does it wait for its flush time, unless another entry starts a grace period?
    pub fn is_lazy(self) -> bool {
        matches!(
            self,
            Kind::DeferLazy
                | Kind::DeferHeadLazy
                | Kind::RetireDrop
                | Kind::Retired
                | Kind::TryRetire
                | Kind::RetirePtr
                | Kind::RetirePtrOnWorker
                | Kind::Mapped
        )
    }

    /// Is the element published in an owning pointer (which gives a `Retired` back)?
    pub fn in_cell(self) -> bool {
        matches!(
            self,
            Kind::RetiredWait
                | Kind::RetireWait
                | Kind::Retired
                | Kind::RetiredHurry
                | Kind::TryRetire
        )
    }

    /// Is the element a block without destructor, whose end only the allocator sees?
    pub fn plain(self) -> bool {
        matches!(
            self,
            Kind::RetirePtr | Kind::RetirePtrHurry | Kind::RetirePtrOnWorker
        )
    }

    /// Any kind that does not wait.
    pub fn deferred(draw: usize) -> Kind {
        Kind::ALL[WAITING + draw % (KINDS - WAITING)]
    }

    /// Any lazy kind.
    pub fn lazy(draw: usize) -> Kind {
        let mut lazy = Kind::ALL.into_iter().filter(|kind| kind.is_lazy()).cycle();
        lazy.nth(draw % KINDS).unwrap_or(Kind::DeferLazy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_those_that_wait_come_first() {
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            assert_eq!(kind.name().parse(), Ok(kind));
            assert!(!(kind.waits() && (kind.is_lazy() || kind.plain())));
        }
        assert!(Kind::RetireWait.waits() && !Kind::Defer.waits());
        assert!((0..100).all(|draw| !Kind::deferred(draw).waits()));
        assert!((0..100).all(|draw| Kind::lazy(draw).is_lazy()));
    }
}
