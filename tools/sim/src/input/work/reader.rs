//! A task that reads: section after section, with something in them and between them.

use crate::base::chance::Chance;
use crate::input::op::{Op, Work};

/// Reads in sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reads {
    /// Sections; 0: for ever.
    pub sections: u64,
    /// Nanoseconds in each.
    pub inside: u64,
    /// Nanoseconds after each.
    pub outside: u64,
    /// It sleeps in its sections, and does not compute.
    pub sleeps_inside: bool,
    /// It sleeps between them.
    pub sleeps_outside: bool,
    /// Times are exponentially distributed with these means.
    pub vary: bool,
    /// What they are drawn from.
    pub chance: Chance,
    /// Where it is.
    pub at: ReaderState,
}

/// Where a [`Reads`] is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReaderState {
    read: u64,
    step: ReaderStep,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReaderStep {
    #[default]
    Lock,
    Inside,
    Unlock,
    Outside,
}

impl Reads {
    fn pause(&mut self, now: u64, mean: u64, sleeps: bool) -> Op {
        let length = self.chance.pause(mean, self.vary);
        match sleeps {
            true => Op::SleepUntil(now + length),
            false => Op::Compute(length.max(1)),
        }
    }
}

impl Work for Reads {
    fn next(&mut self, now: u64) -> Op {
        match self.at.step {
            ReaderStep::Lock if self.sections != 0 && self.at.read == self.sections => Op::Exit,
            ReaderStep::Lock => {
                self.at.step = ReaderStep::Inside;
                Op::Lock
            }
            ReaderStep::Inside => {
                self.at.step = ReaderStep::Unlock;
                self.pause(now, self.inside, self.sleeps_inside)
            }
            ReaderStep::Unlock => {
                self.at.step = ReaderStep::Outside;
                Op::Unlock
            }
            ReaderStep::Outside => {
                self.at.step = ReaderStep::Lock;
                self.at.read += 1;
                self.pause(now, self.outside, self.sleeps_outside)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_follow_each_other_until_there_were_enough() {
        let mut work = Reads {
            sections: 2,
            inside: 5,
            outside: 70,
            sleeps_inside: false,
            sleeps_outside: true,
            vary: false,
            chance: Chance::new(1),
            at: ReaderState::default(),
        };
        let section = |end: u64| {
            [
                Op::Lock,
                Op::Compute(5),
                Op::Unlock,
                Op::SleepUntil(end + 70),
            ]
        };
        let done: Vec<Op> = (0..9).map(|_| work.next(100)).collect();
        assert_eq!(done[..4], section(100));
        assert_eq!(done[4..8], section(100));
        assert_eq!(done[8], Op::Exit);
    }
}
