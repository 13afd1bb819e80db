//! What was done in a domain, in numbers: its memory has one owner after the other, and each sees its own.

use crate::inner::domain::counters::{Counters, value};
use crate::inner::domain::state::{Core, State};

/// So many there are.
const COUNT: usize = 14;

/// The numbers. Counters only grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers([u64; COUNT]);

/// Which number is which.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    GracePeriods,
    GracePeriodsSole,
    Scans,
    Fences,
    Sleeps,
    ReaderWakeups,
    Looks,
    Callbacks,
    CallbackPanics,
    Barriers,
    Stalls,
    OverBudget,
    Refused,
    Leaked,
}

impl Numbers {
    pub(crate) const ZERO: Numbers = Numbers([0; COUNT]);

    /// Those of a state since it was made.
    pub(crate) fn of(state: &State) -> Numbers {
        Numbers::at(&state.lock(), &state.counters)
    }

    /// The same, if the lock is free.
    #[cfg(not(quiescent_model))]
    pub(crate) fn try_of(state: &State) -> Option<Numbers> {
        Some(Numbers::at(&*state.try_lock()?, &state.counters))
    }

    fn at(core: &Core, c: &Counters) -> Numbers {
        let counts = core.engine.counts();
        // In the order of `Number`.
        Numbers([
            counts.grace_periods,
            counts.sole,
            counts.scans,
            value(&c.fences_gp) + value(&c.fences_flag),
            value(&c.sleeps),
            value(&c.reader_wakeups),
            value(&c.worker_passes),
            value(&c.callbacks),
            value(&c.panics),
            value(&c.barriers),
            counts.stalls,
            counts.over_budget,
            value(&c.refused),
            value(&c.leaked),
        ])
    }

    pub(crate) fn get(&self, number: Number) -> u64 {
        self.0[number as usize]
    }

    /// Without those of earlier owners.
    pub(crate) fn less(&self, before: Numbers) -> Numbers {
        Numbers(std::array::from_fn(|n| self.0[n].wrapping_sub(before.0[n])))
    }
}
