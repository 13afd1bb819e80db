//! What was done in a yard, in numbers that can be added up: a domain has one yard after the other.

use crate::inner::domain::counters::value;
use crate::inner::domain::yard::Yard;
use crate::inner::gp::driven::Driven as _;

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

    /// Those of a yard now.
    pub(crate) fn of(yard: &Yard) -> Numbers {
        let counts = yard.lock().engine.counts();
        let c = yard.counters();
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

    /// Without those. May be less than nothing, until as many are added.
    pub(crate) fn less(&self, other: Numbers) -> Numbers {
        Numbers(std::array::from_fn(|n| self.0[n].wrapping_sub(other.0[n])))
    }

    /// Both together.
    pub(crate) fn and(&self, other: Numbers) -> Numbers {
        Numbers(std::array::from_fn(|n| self.0[n].wrapping_add(other.0[n])))
    }
}
