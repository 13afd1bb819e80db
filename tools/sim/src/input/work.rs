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

/// Calls `synchronize_rcu` so many times, one after the other.
#[derive(Clone, Debug)]
pub struct Caller {
    calls: u64,
    pause: u64,
    pausing: bool,
}

impl Caller {
    /// So many calls, with a pause of so many nanoseconds after each.
    pub fn new(calls: u64, pause: u64) -> Caller {
        Caller {
            calls,
            pause,
            pausing: false,
        }
    }
}

impl Work for Caller {
    fn next(&mut self, now: u64) -> Op {
        if std::mem::take(&mut self.pausing) && self.pause > 0 {
            return Op::SleepUntil(now + self.pause);
        }
        if self.calls == 0 {
            return Op::Exit;
        }
        self.calls -= 1;
        self.pausing = true;
        Op::Synchronize
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
    /// When, and what is queued then: function, lazy, whether threads can be woken.
    arrivals: std::vec::IntoIter<Arrivals>,
    pending: std::vec::IntoIter<(usize, bool, bool)>,
    next: Option<Arrivals>,
    stage: TurnStage,
}

/// What is queued at one time.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// When the first of them is queued, in nanoseconds.
    pub at: u64,
    /// Function, lazy, whether threads can be woken.
    pub calls: Vec<(usize, bool, bool)>,
}

#[derive(Clone, Copy, Debug)]
enum TurnStage {
    Sleeps,
    Works,
    Queues,
}

/// From the alarm until the first callback is queued.
const LEAD: u64 = 15_000;

impl Churn {
    /// All of them, in the order of time.
    pub fn new(arrivals: Vec<Arrivals>) -> Churn {
        Churn {
            arrivals: arrivals.into_iter(),
            pending: Vec::new().into_iter(),
            next: None,
            stage: TurnStage::Sleeps,
        }
    }
}

impl Work for Churn {
    fn next(&mut self, now: u64) -> Op {
        loop {
            match self.stage {
                TurnStage::Sleeps => {
                    let Some(next) = self.arrivals.next() else {
                        return Op::Exit;
                    };
                    let at = next.at.saturating_sub(LEAD);
                    self.next = Some(next);
                    self.stage = TurnStage::Works;
                    if at > now {
                        return Op::SleepUntil(at);
                    }
                }
                TurnStage::Works => {
                    let next = self.next.take().expect("one is to come");
                    self.pending = next.calls.into_iter();
                    self.stage = TurnStage::Queues;
                    return Op::Kernel(next.at.saturating_sub(now).min(LEAD));
                }
                TurnStage::Queues => match self.pending.next() {
                    Some((func, lazy, can_wake)) => {
                        return Op::Call {
                            func,
                            lazy,
                            can_wake,
                        };
                    }
                    None => self.stage = TurnStage::Sleeps,
                },
            }
        }
    }
}
