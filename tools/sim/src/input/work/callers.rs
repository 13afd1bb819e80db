//! Tasks that wait for grace periods, and tasks that keep a CPU busy.

use super::Queued;
use crate::base::chance::Chance;
use crate::input::op::{Op, Work};

/// Waits in rounds: some calls of `synchronize_rcu` and some callbacks of its own that it waits for, with
/// pauses after them, then a rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// Rounds that are left.
    pub rounds: u64,
    /// Calls of a round.
    pub calls: u64,
    /// After the calls of a round, so many callbacks are queued, each waited for.
    pub awaits: u64,
    /// That callback.
    pub callback: Queued,
    /// Nanoseconds of the pause after each wait.
    pub pause: u64,
    /// Nanoseconds that the task computes before each wait.
    pub compute: u64,
    /// Nanoseconds of the rest after each round.
    pub rest: u64,
    /// Pauses and rests are exponentially distributed with this mean.
    pub vary: bool,
    /// What pauses are drawn from.
    pub chance: Chance,
    /// Where it is.
    pub at: CallerState,
}

/// Where a [`Rounds`] is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallerState {
    called: u64,
    step: CallerStep,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CallerStep {
    /// It computes, then calls.
    #[default]
    Begin,
    Call,
    /// It has called.
    Called,
}

impl Work for Rounds {
    fn next(&mut self, now: u64) -> Op {
        loop {
            match self.at.step {
                CallerStep::Begin => {
                    if self.rounds == 0 || self.calls + self.awaits == 0 {
                        return Op::Exit;
                    }
                    self.at.step = CallerStep::Call;
                    if self.compute > 0 {
                        return Op::Compute(self.compute);
                    }
                }
                CallerStep::Call => {
                    self.at.step = CallerStep::Called;
                    if self.at.called >= self.calls {
                        return self.callback.awaited();
                    }
                    return Op::Synchronize;
                }
                CallerStep::Called => {
                    self.at.step = CallerStep::Begin;
                    self.at.called += 1;
                    let mut sleep = self.pause;
                    if self.at.called == self.calls + self.awaits {
                        self.at.called = 0;
                        self.rounds -= 1;
                        sleep = self.rest;
                    }
                    if sleep > 0 {
                        let pause = self.chance.pause(sleep, self.vary).max(1);
                        return Op::SleepUntil(now + pause);
                    }
                }
            }
        }
    }
}

/// Computes and sleeps by turns, for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turns {
    /// Nanoseconds that it computes.
    pub compute: u64,
    /// Nanoseconds that it sleeps.
    pub sleep: u64,
    /// Both are exponentially distributed with this mean.
    pub vary: bool,
    /// What they are drawn from.
    pub chance: Chance,
    /// It has computed.
    pub computed: bool,
}

impl Work for Turns {
    fn next(&mut self, now: u64) -> Op {
        self.computed = !self.computed;
        let mean = if self.computed {
            self.compute
        } else {
            self.sleep
        };
        let length = self.chance.pause(mean, self.vary).max(1);
        match self.computed {
            true => Op::Compute(length),
            false => Op::SleepUntil(now + length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_of_calls_with_pauses_and_rests() {
        let mut work = Rounds {
            rounds: 2,
            calls: 2,
            awaits: 0,
            callback: Queued::of(7),
            pause: 5,
            compute: 3,
            rest: 70,
            vary: false,
            chance: Chance::new(1),
            at: CallerState::default(),
        };
        let mut done = Vec::new();
        for now in [0, 0, 100, 105, 105, 200, 270, 270, 300, 305, 305, 400, 470] {
            done.push(work.next(now));
        }
        let round = |at: u64| {
            let call = [Op::Compute(3), Op::Synchronize, Op::SleepUntil(at + 5)];
            let last = [Op::Compute(3), Op::Synchronize, Op::SleepUntil(at + 170)];
            [call, last].concat()
        };
        assert_eq!(done[..6], round(100));
        assert_eq!(done[6..12], round(300));
        assert_eq!(done[12], Op::Exit);
    }

    #[test]
    fn callbacks_are_waited_for_after_the_calls_of_each_round() {
        let mut work = Rounds {
            rounds: 2,
            calls: 1,
            awaits: 2,
            callback: Queued::of(7),
            pause: 0,
            compute: 0,
            rest: 0,
            vary: false,
            chance: Chance::new(1),
            at: CallerState::default(),
        };
        let done: Vec<Op> = (0..7).map(|now| work.next(now)).collect();
        let wait = Queued::of(7).awaited();
        let round = [Op::Synchronize, wait.clone(), wait];
        assert_eq!(done[..3], round);
        assert_eq!(done[3..6], round);
        assert_eq!(done[6], Op::Exit);
    }
}
