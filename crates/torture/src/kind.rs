//! The ways in which something that was removed can be waited for.

/// How many kinds there are.
pub const KINDS: usize = 14;

/// A way to wait for a grace period. Every published element carries the one it will be disposed of by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// `synchronize`, then free.
    Synchronize,
    /// `synchronize_expedited`, then free.
    Expedited,
    /// `start_poll`, `poll` until it says yes, then free.
    Poll,
    /// `Retired::wait`, and its kin with a deadline.
    RetiredWait,
    /// `call` of a closure that frees.
    Call,
    /// The same in a hurry.
    CallHurry,
    /// `call_head` with a head inside the element.
    CallHead,
    /// The same in a hurry.
    CallHeadHurry,
    /// `retire_ptr` of an object with `Drop`.
    RetireDrop,
    /// The same in a hurry.
    RetireDropHurry,
    /// `Retired::retire`, weighed or not, or dropped.
    Retired,
    /// `Retired::retire_hurry`.
    RetiredHurry,
    /// `retire_ptr` of a plain block: no code of ours runs but the allocator's.
    RetirePtr,
    /// The same in a hurry.
    RetirePtrHurry,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; KINDS] = [
        Kind::Synchronize,
        Kind::Expedited,
        Kind::Poll,
        Kind::RetiredWait,
        Kind::Call,
        Kind::CallHurry,
        Kind::CallHead,
        Kind::CallHeadHurry,
        Kind::RetireDrop,
        Kind::RetireDropHurry,
        Kind::Retired,
        Kind::RetiredHurry,
        Kind::RetirePtr,
        Kind::RetirePtrHurry,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Synchronize => "synchronize",
            Kind::Expedited => "synchronize_expedited",
            Kind::Poll => "poll",
            Kind::RetiredWait => "Retired::wait",
            Kind::Call => "call",
            Kind::CallHurry => "call_hurry",
            Kind::CallHead => "call_head",
            Kind::CallHeadHurry => "call_head_hurry",
            Kind::RetireDrop => "retire_ptr, Drop",
            Kind::RetireDropHurry => "retire_ptr_hurry, Drop",
            Kind::Retired => "Retired::retire",
            Kind::RetiredHurry => "Retired::retire_hurry",
            Kind::RetirePtr => "retire_ptr",
            Kind::RetirePtrHurry => "retire_ptr_hurry",
        }
    }

    /// Does the caller wait for the grace period? Then it may not be inside a section or a callback.
    pub fn waits(self) -> bool {
        matches!(
            self,
            Kind::Synchronize | Kind::Expedited | Kind::Poll | Kind::RetiredWait
        )
    }

    /// Is the element published in an owning pointer (which gives a `Retired` back)?
    pub fn in_cell(self) -> bool {
        matches!(self, Kind::RetiredWait | Kind::Retired | Kind::RetiredHurry)
    }

    /// Is the element a block without destructor, whose end only the allocator sees?
    pub fn plain(self) -> bool {
        matches!(self, Kind::RetirePtr | Kind::RetirePtrHurry)
    }

    /// Anyone of those that do not wait.
    pub fn deferred(draw: usize) -> Kind {
        Kind::ALL[4 + draw % (KINDS - 4)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_those_that_wait_come_first() {
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            assert_eq!(kind.waits(), index < 4);
        }
        assert!((0..100).all(|draw| !Kind::deferred(draw).waits()));
    }
}
