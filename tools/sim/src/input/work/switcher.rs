//! A task that waits for a callback of its own: the mode switches of a percpu-ref.
//!
//! A reference count that is kept by CPU is read as a whole by switching it to one atomic counter. The
//! switching task queues a callback and waits until it has been invoked: by then no reader counts by CPU any
//! more. The way back needs no wait.

use super::Queued;
use crate::base::chance::Chance;
use crate::input::op::{Op, Work};

/// Queues a callback, waits until it has been invoked, rests, and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switcher {
    /// Switches that are left.
    pub times: u64,
    /// What it queues.
    pub callback: Queued,
    /// Nanoseconds of work in the kernel before each.
    pub compute: u64,
    /// Nanoseconds from the end of one to the next.
    pub rest: u64,
    /// Rests are exponentially distributed with this mean.
    pub vary: bool,
    /// What rests are drawn from.
    pub chance: Chance,
    /// Where it is.
    pub at: SwitcherState,
}

/// Where a [`Switcher`] is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitcherState(SwitcherStep);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SwitcherStep {
    #[default]
    Work,
    Switch,
    Rest,
}

impl Work for Switcher {
    fn next(&mut self, now: u64) -> Op {
        loop {
            match self.at.0 {
                SwitcherStep::Work => {
                    if self.times == 0 {
                        return Op::Exit;
                    }
                    self.times -= 1;
                    self.at.0 = SwitcherStep::Switch;
                    if self.compute > 0 {
                        return Op::Kernel(self.compute);
                    }
                }
                SwitcherStep::Switch => {
                    self.at.0 = SwitcherStep::Rest;
                    return self.callback.awaited();
                }
                SwitcherStep::Rest => {
                    self.at.0 = SwitcherStep::Work;
                    let rest = self.chance.pause(self.rest, self.vary);
                    if rest > 0 {
                        return Op::SleepUntil(now + rest);
                    }
                }
            }
        }
    }
}

/// Looks now and then how much memory callbacks hold, and asks the shrinker if it is too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reclaimer {
    /// Nanoseconds between two looks; 0: it never looks.
    pub every: u64,
    /// Bytes that may be held.
    pub above: u64,
    /// So many lazy callbacks are asked for.
    pub lazy: u64,
    /// It has slept, and looks.
    pub slept: bool,
}

impl Work for Reclaimer {
    fn next(&mut self, now: u64) -> Op {
        if self.every == 0 {
            return Op::Exit;
        }
        self.slept = !self.slept;
        match self.slept {
            true => Op::SleepUntil(now + self.every),
            false => Op::Reclaim {
                above: self.above,
                lazy: self.lazy,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_ends_before_the_next_begins() {
        let callback = Queued {
            func: 4,
            lazy: true,
            can_wake: true,
        };
        let mut work = Switcher {
            times: 2,
            callback,
            compute: 3,
            rest: 70,
            vary: false,
            chance: Chance::new(1),
            at: SwitcherState::default(),
        };
        let done: Vec<Op> = (0..7).map(|_| work.next(100)).collect();
        let switch = [
            Op::Kernel(3),
            Op::AwaitCallback {
                func: 4,
                lazy: true,
            },
            Op::SleepUntil(170),
        ];
        assert_eq!(done[..3], switch);
        assert_eq!(done[3..6], switch);
        assert_eq!(done[6], Op::Exit);
    }

    #[test]
    fn a_reclaimer_that_never_looks_is_gone() {
        let mut work = Reclaimer {
            every: 5,
            above: 9,
            lazy: 2,
            slept: false,
        };
        let reclaim = Op::Reclaim { above: 9, lazy: 2 };
        let done = [0, 5, 5].map(|now| work.next(now));
        assert_eq!(done, [Op::SleepUntil(5), reclaim, Op::SleepUntil(10)]);
        work.every = 0;
        assert_eq!(work.next(10), Op::Exit);
    }
}
