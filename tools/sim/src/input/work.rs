//! Work of tasks that is no list of steps, and the callbacks that tasks queue.

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
    calls: std::vec::IntoIter<(usize, bool, bool)>,
}

/// What is queued at one time.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// When the first of them is queued, in nanoseconds.
    pub at: u64,
    /// Function, lazy, whether threads can be woken.
    pub calls: Vec<(usize, bool, bool)>,
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
        if let Some((func, lazy, can_wake)) = self.calls.next() {
            return Op::Call {
                func,
                lazy,
                can_wake,
            };
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
