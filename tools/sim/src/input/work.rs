//! Work of tasks that is no list of steps.

use crate::input::op::{Op, Queued, Work};

/// Computes for ever.
#[derive(Clone, Copy, Debug)]
pub struct Hog;

impl Work for Hog {
    fn next(&mut self, _: u64) -> Op {
        Op::Compute(1_000_000_000)
    }
}

/// Queues callbacks at given times.
#[derive(Clone, Debug)]
pub struct Churn {
    /// Those to come.
    arrivals: std::iter::Peekable<std::vec::IntoIter<Arrivals>>,
    /// What is queued of the last one.
    calls: std::vec::IntoIter<Queued>,
}

/// What is queued at one time.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// When the first of them is queued, in nanoseconds.
    pub at: u64,
    /// They, in their order.
    pub calls: Vec<Queued>,
}

/// From the alarm until the first callback is queued.
const LEAD: u64 = 15_000;

impl Churn {
    /// All of them, in the order of time.
    pub fn new(arrivals: Vec<Arrivals>) -> Churn {
        Churn {
            arrivals: arrivals.into_iter().peekable(),
            calls: Vec::new().into_iter(),
        }
    }
}

impl Work for Churn {
    fn next(&mut self, now: u64) -> Op {
        if let Some(it) = self.calls.next() {
            return Op::Call(it);
        }
        let alarm = |it: &Arrivals| it.at.saturating_sub(LEAD);
        match self.arrivals.next_if(|it| alarm(it) <= now) {
            Some(due) => {
                self.calls = due.calls.into_iter();
                Op::Kernel(due.at.saturating_sub(now).min(LEAD))
            }
            None => self
                .arrivals
                .peek()
                .map_or(Op::Exit, |it| Op::SleepUntil(alarm(it))),
        }
    }
}
