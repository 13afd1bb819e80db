//! The ways to wait for the disposal of a removed element.

/// The number of kinds.
pub const KINDS: usize = 21;

/// The number of kinds that wait; they are the first.
const WAITING: usize = 7;

/// A way to wait for a grace period. Every published element has the one by which it will be disposed of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// `synchronize`, then free.
    Synchronize,
    /// `synchronize_expedited`, then free.
    Expedited,
    /// `start_poll`, `poll` until it returns true, then free.
    Poll,
    /// `start_poll`, then `wait` for the cookie, then free.
    Cookie,
    /// `grace_period().await`, then free.
    Future,
    /// `Retired::wait`, and its variants with a deadline.
    RetiredWait,
    /// `Retired::retire_wait`: waits for room, not for a grace period.
    RetireWait,
    /// `call` of a closure that frees.
    Call,
    /// The same, hurried.
    CallHurry,
    /// The same, lazily.
    CallLazy,
    /// `call_head` with a head inside the element.
    CallHead,
    /// The same, hurried.
    CallHeadHurry,
    /// The same, lazily.
    CallHeadLazy,
    /// `retire_ptr` of an object with `Drop`.
    RetireDrop,
    /// The same, hurried.
    RetireDropHurry,
    /// `Retired::retire`, with a weight or without, or a drop of the `Retired`.
    Retired,
    /// `Retired::retire_hurry`.
    RetiredHurry,
    /// `Retired::try_retire`; a refused value is retired.
    TryRetire,
    /// `retire_ptr` of a plain block: only the allocator sees its end.
    RetirePtr,
    /// The same, hurried.
    RetirePtrHurry,
    /// `retire_ptr_on_worker` of a plain block.
    RetirePtrOnWorker,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; KINDS] = [
        Kind::Synchronize,
        Kind::Expedited,
        Kind::Poll,
        Kind::Cookie,
        Kind::Future,
        Kind::RetiredWait,
        Kind::RetireWait,
        Kind::Call,
        Kind::CallHurry,
        Kind::CallLazy,
        Kind::CallHead,
        Kind::CallHeadHurry,
        Kind::CallHeadLazy,
        Kind::RetireDrop,
        Kind::RetireDropHurry,
        Kind::Retired,
        Kind::RetiredHurry,
        Kind::TryRetire,
        Kind::RetirePtr,
        Kind::RetirePtrHurry,
        Kind::RetirePtrOnWorker,
    ];

    /// Its name in reports and in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Synchronize => "synchronize",
            Kind::Expedited => "synchronize_expedited",
            Kind::Poll => "poll",
            Kind::Cookie => "wait for a cookie",
            Kind::Future => "future",
            Kind::RetiredWait => "Retired::wait",
            Kind::RetireWait => "Retired::retire_wait",
            Kind::Call => "call",
            Kind::CallHurry => "call_hurry",
            Kind::CallLazy => "call_lazy",
            Kind::CallHead => "call_head",
            Kind::CallHeadHurry => "call_head_hurry",
            Kind::CallHeadLazy => "call_head_lazy",
            Kind::RetireDrop => "retire_ptr, Drop",
            Kind::RetireDropHurry => "retire_ptr_hurry, Drop",
            Kind::Retired => "Retired::retire",
            Kind::RetiredHurry => "Retired::retire_hurry",
            Kind::TryRetire => "Retired::try_retire",
            Kind::RetirePtr => "retire_ptr",
            Kind::RetirePtrHurry => "retire_ptr_hurry",
            Kind::RetirePtrOnWorker => "retire_ptr_on_worker",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
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
            Kind::CallLazy
                | Kind::CallHeadLazy
                | Kind::RetireDrop
                | Kind::Retired
                | Kind::TryRetire
                | Kind::RetirePtr
                | Kind::RetirePtrOnWorker
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

    /// The nearest kind that an `Srcu` has.
    pub fn of_srcu(self) -> Kind {
        match self {
            Kind::RetireWait => Kind::RetiredWait,
            Kind::CallHead => Kind::Call,
            Kind::CallHeadHurry => Kind::CallHurry,
            Kind::CallHeadLazy => Kind::CallLazy,
            Kind::TryRetire => Kind::Retired,
            Kind::RetirePtrOnWorker => Kind::RetirePtr,
            same => same,
        }
    }

    /// The nearest kind that a program's own domain has.
    pub fn of_domain(self) -> Kind {
        match self {
            Kind::RetireWait | Kind::TryRetire => self,
            other => other.of_srcu(),
        }
    }

    /// Any kind that does not wait.
    pub fn deferred(draw: usize) -> Kind {
        Kind::ALL[WAITING + draw % (KINDS - WAITING)]
    }

    /// Any lazy kind.
    pub fn lazy(draw: usize) -> Kind {
        let mut lazy = Kind::ALL.into_iter().filter(|kind| kind.is_lazy()).cycle();
        lazy.nth(draw % KINDS).unwrap_or(Kind::CallLazy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_those_that_wait_come_first() {
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            assert_eq!(Kind::named(kind.name()), Some(kind));
            assert_eq!(kind.of_srcu().waits(), kind.waits());
            assert_eq!(kind.of_domain().waits(), kind.waits());
            assert!(!(kind.waits() && (kind.is_lazy() || kind.plain())));
        }
        assert!(Kind::RetireWait.waits() && !Kind::Call.waits());
        assert!((0..100).all(|draw| !Kind::deferred(draw).waits()));
        assert!((0..100).all(|draw| Kind::lazy(draw).is_lazy()));
    }
}
