//! A task that queues callbacks, a few at a time.

use crate::base::chance::Chance;
use crate::input::op::{Op, Work};

/// A callback that is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Its function: an index that [`Machine::func`](crate::Machine::func) gave.
    pub func: usize,
    /// Without a waiter.
    pub lazy: bool,
    /// Interrupts are enabled where it is queued, so that threads can be woken from there.
    pub can_wake: bool,
}

impl Queued {
    /// A lazy callback of this function, queued where threads can be woken.
    pub const fn of(func: usize) -> Queued {
        Queued {
            func,
            lazy: true,
            can_wake: true,
        }
    }

    /// It is queued.
    pub(crate) const fn call(self) -> Op {
        Op::Call {
            func: self.func,
            lazy: self.lazy,
            can_wake: self.can_wake,
        }
    }

    /// It is queued, and waited for.
    pub(crate) const fn awaited(self) -> Op {
        Op::AwaitCallback {
            func: self.func,
            lazy: self.lazy,
        }
    }
}

/// Sleeps, works, queues callbacks, and sleeps again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queuer {
    /// Nanoseconds between two arrivals.
    pub every: u64,
    /// The times between arrivals are exponentially distributed with this mean.
    pub vary: bool,
    /// How often it queues all of `callbacks` at an arrival.
    pub times: u64,
    /// What it queues.
    pub callbacks: Vec<Queued>,
    /// Nanoseconds of work before the first callback of an arrival.
    pub work: u64,
    /// Nanoseconds of work before each of the others.
    pub between: u64,
    /// From this time on it queues nothing.
    pub stop: u64,
    /// What the times are drawn from.
    pub chance: Chance,
    /// Where it is.
    pub at: QueuerState,
}

/// Where a [`Queuer`] is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuerState {
    /// When the arrival under way was due.
    due: u64,
    step: QueuerStep,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum QueuerStep {
    #[default]
    Sleep,
    Work,
    /// The next callback to be queued; before it, or at it.
    Queue(u64),
    Between(u64),
}

impl Work for Queuer {
    fn next(&mut self, now: u64) -> Op {
        let n = self.callbacks.len() as u64;
        loop {
            match self.at.step {
                QueuerStep::Sleep => {
                    if self.every == 0 || n == 0 {
                        return Op::Exit;
                    }
                    let pause = self.chance.pause(self.every, self.vary).max(1);
                    // From when the last one was due, so that what the work takes does not change the rate.
                    self.at.due = (self.at.due.max(1) + pause).max(now.saturating_sub(BACKLOG));
                    if self.at.due >= self.stop {
                        return Op::Exit;
                    }
                    self.at.step = QueuerStep::Work;
                    if self.at.due > now {
                        return Op::SleepUntil(self.at.due);
                    }
                }
                QueuerStep::Work => {
                    self.at.step = QueuerStep::Queue(0);
                    if self.work > 0 {
                        return Op::Kernel(self.work);
                    }
                }
                QueuerStep::Queue(index) if index < n * self.times => {
                    self.at.step = QueuerStep::Between(index + 1);
                    return self.callbacks[(index % n) as usize].call();
                }
                QueuerStep::Queue(_) => self.at.step = QueuerStep::Sleep,
                QueuerStep::Between(index) => {
                    self.at.step = QueuerStep::Queue(index);
                    if self.between > 0 && index < n * self.times {
                        return Op::Kernel(self.between);
                    }
                }
            }
        }
    }
}

/// Arrivals that could not be served are made up for, but not those of more than a second.
const BACKLOG: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn queuer(vary: bool, times: u64) -> Queuer {
        let callback = |func| Queued {
            func,
            lazy: false,
            can_wake: true,
        };
        Queuer {
            every: 1_000_000,
            vary,
            times,
            callbacks: vec![callback(0), callback(1)],
            work: 20_000,
            between: 500,
            stop: u64::MAX,
            chance: Chance::new(3),
            at: QueuerState::default(),
        }
    }

    /// Lets it run for so long; how many callbacks it queues, and how often it sleeps.
    fn run(mut work: Queuer, until: u64) -> (u64, u64) {
        let (mut now, mut calls, mut sleeps) = (0, 0, 0);
        while now < until {
            match work.next(now) {
                Op::Call { .. } => calls += 1,
                Op::Kernel(ns) => now += ns,
                Op::SleepUntil(at) => {
                    assert!(at > now);
                    (now, sleeps) = (at, sleeps + 1);
                }
                op => panic!("{op:?}"),
            }
        }
        (calls, sleeps)
    }

    #[test]
    fn nothing_is_queued_once_it_has_stopped() {
        let mut work = queuer(false, 1);
        work.stop = 3_000_001;
        let (mut now, mut calls) = (0, 0);
        loop {
            match work.next(now) {
                Op::Call { .. } => calls += 1,
                Op::Kernel(ns) => now += ns,
                Op::SleepUntil(at) => now = at,
                op => break assert_eq!(op, Op::Exit),
            }
        }
        assert_eq!(calls, 4, "two arrivals of two");
    }

    #[test]
    fn the_rate_is_the_one_that_was_asked_for() {
        let second = 1_000_000_000;
        let (calls, sleeps) = run(queuer(false, 3), second);
        assert!((5990..=6000).contains(&calls), "{calls}");
        assert!((999..=1000).contains(&sleeps), "{sleeps}");
        let (calls, _) = run(queuer(true, 1), 10 * second);
        assert!((19_400..20_600).contains(&calls), "{calls}");
    }
}
