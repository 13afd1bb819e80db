//! Counters of a domain per owner: its memory has one owner after the other, and each sees only its own
//! counts.

use crate::domain::counters::Counters;
use crate::domain::state::{Core, State};
use crate::prim::counters::value;

/// Number of counters.
const COUNT: usize = 14;

/// A snapshot of the counters. They only grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers([u64; COUNT]);

/// The index of each counter.
#[derive(Clone, Copy, Debug)]
pub enum Number {
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
    pub const ZERO: Numbers = Numbers([0; COUNT]);

    /// The counters of a state since it was created.
    pub fn of(state: &State) -> Numbers {
        Numbers::at(&state.lock(), &state.counters)
    }

    /// The same, if the lock is free.
    pub fn try_of(state: &State) -> Option<Numbers> {
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

    pub fn get(&self, number: Number) -> u64 {
        self.0[number as usize]
    }

    /// The counters minus those of earlier owners.
    pub fn less(&self, before: Numbers) -> Numbers {
        Numbers(std::array::from_fn(|n| self.0[n].wrapping_sub(before.0[n])))
    }
}
