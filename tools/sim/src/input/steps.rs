//! Tasks as lists of steps, and what carries them out.

use std::sync::Arc;

use quiescent_kernel::CpuId;

use super::op::{Op, Queued, SysCallName, Work};
use crate::base::chance::Chance;

/// A length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// In nanoseconds.
    pub mean: u64,
    /// It is exponentially distributed with this mean.
    pub vary: bool,
}

impl Time {
    /// Always so many nanoseconds.
    pub const fn of(mean: u64) -> Time {
        Time { mean, vary: false }
    }
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// It does this.
    Do(Op),
    /// It computes, for a nanosecond at least.
    Run(Time),
    /// It sleeps, for so many nanoseconds at least.
    Sleep(Time, u64),
    /// It sleeps, if the time is not 0.
    Rest(Time),
    /// It sleeps until the next arrival at a rate is due: what the steps between them take does not change
    /// it.
    Due {
        every: Time,
        /// From this time on there are none.
        stop: u64,
        /// The first is due one interval after the task's start, and all are made up for; otherwise the first
        /// is due one interval after the machine's, and those that are late by more than a second are left
        /// out.
        frames: bool,
    },
    /// It queues this one of its callbacks.
    Call(usize),
    /// It queues it, and waits for it.
    Await(usize),
    /// It enters the system call that closes a descriptor: as many after the first as that counter says.
    Close(usize),
    /// It changes a CPU, or changes it back: the one whose turn it is by that counter.
    Plug {
        offload: bool,
        back: bool,
        counter: usize,
    },
    /// It goes back to the step `from`, until it has been here so many times, or always.
    Repeat {
        from: usize,
        times: Option<u64>,
        counter: usize,
    },
}

/// Arrivals that could not be served are made up for, but not those of more than a second.
const BACKLOG: u64 = 1_000_000_000;

/// The first descriptor that is not standard input, output or error.
const FIRST: u64 = 3;

/// A task that does one step after the other; without steps it is over.
///
/// ```
/// use quiescent_sim::{Op, Steps, Time, Work};
///
/// let mut task = Steps::default().repeat(Some(2), |it| it.run(Time::of(5)).op(Op::Synchronize));
/// let done: Vec<Op> = (0..5).map(|now| task.next(now)).collect();
/// let once = [Op::Compute(5), Op::Synchronize];
/// assert_eq!((&done[..2], &done[2..4], &done[4]), (&once[..], &once[..], &Op::Exit));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Steps {
    list: Arc<Vec<Step>>,
    counters: Vec<u64>,
    callbacks: Vec<Queued>,
    /// Those that it changes in turn.
    cpus: Arc<[CpuId]>,
    chance: Chance,
    /// The next step.
    at: usize,
    /// When the arrival under way was due.
    due: u64,
}

impl Steps {
    /// So many calls of `synchronize_rcu`, one after the other, with a pause of so many nanoseconds after
    /// each.
    pub fn caller(calls: u64, pause: u64) -> Steps {
        let pause = Time::of(pause);
        let once = |it: Steps| it.op(Op::Synchronize).rest(pause);
        Steps::default().repeat(Some(calls), once)
    }

    /// The same steps for a task with these callbacks, whose times are drawn from this chance.
    pub fn of(&self, callbacks: Vec<Queued>, chance: Chance) -> Steps {
        Steps {
            callbacks,
            chance,
            ..self.clone()
        }
    }

    fn step(mut self, step: Step) -> Steps {
        Arc::make_mut(&mut self.list).push(step);
        self
    }

    /// Then it does this.
    pub fn op(self, op: Op) -> Steps {
        self.step(Step::Do(op))
    }

    /// Then it computes, for a nanosecond at least.
    pub fn run(self, time: Time) -> Steps {
        self.step(Step::Run(time))
    }

    /// Then it computes for so many nanoseconds, if that is not 0.
    pub fn compute(self, ns: u64) -> Steps {
        match ns {
            0 => self,
            ns => self.op(Op::Compute(ns)),
        }
    }

    /// Then it is in the kernel for so many nanoseconds, if that is not 0.
    pub fn kernel(self, ns: u64) -> Steps {
        match ns {
            0 => self,
            ns => self.op(Op::Kernel(ns)),
        }
    }

    /// Then it sleeps; for 0 nanoseconds as well.
    pub fn sleep(self, time: Time) -> Steps {
        self.step(Step::Sleep(time, 0))
    }

    /// Then it sleeps for a nanosecond at least.
    pub fn pause(self, time: Time) -> Steps {
        self.step(Step::Sleep(time, 1))
    }

    /// Then it sleeps, if the time that is drawn is not 0.
    pub fn rest(self, time: Time) -> Steps {
        self.step(Step::Rest(time))
    }

    /// Then it sleeps until the next arrival is due; it is over at the time `stop`. Frames are due from its
    /// own start on, however late it is.
    pub fn due(self, every: Time, stop: u64, frames: bool) -> Steps {
        self.step(Step::Due {
            every,
            stop,
            frames,
        })
    }

    /// Then it queues the callback of this number.
    pub fn call(self, callback: usize) -> Steps {
        self.step(Step::Call(callback))
    }

    /// Then it queues it, and waits for it.
    pub fn wait(self, callback: usize) -> Steps {
        self.step(Step::Await(callback))
    }

    /// Then it enters the system call that closes a descriptor, another one each time in the innermost
    /// repetition.
    pub fn close(self) -> Steps {
        let counter = self.counters.len().saturating_sub(1);
        self.step(Step::Close(counter))
    }

    /// Then it does all that so many times, or for ever.
    pub fn repeat(mut self, times: Option<u64>, body: impl FnOnce(Steps) -> Steps) -> Steps {
        let (from, counter) = (self.list.len(), self.counters.len());
        self.counters.push(0);
        let mut it = body(self);
        match times {
            Some(0) => {
                Arc::make_mut(&mut it.list).truncate(from);
                it
            }
            _ => it.step(Step::Repeat {
                from,
                times,
                counter,
            }),
        }
    }

    /// Then it queues so many callbacks, all of them so many times, with work before the first and between
    /// them.
    pub fn queue(self, callbacks: usize, times: u64, work: u64, between: u64) -> Steps {
        let it = self.kernel(work);
        let Some(again) = times.checked_sub(1) else {
            return it;
        };
        let after = |it: Steps, n| it.kernel(between).call(n);
        let first = (1..callbacks).fold(it.call(0), after);
        first.repeat(Some(again), |it| (0..callbacks).fold(it, after))
    }

    /// Then, for ever, it takes one CPU after the other offline and brings each back, or has it take its
    /// callbacks back and offloads it again: `every` from the one to the next, `away` in between.
    pub fn plug(mut self, cpus: Vec<CpuId>, offload: bool, every: Time, away: Time) -> Steps {
        if cpus.is_empty() {
            return self;
        }
        self.cpus = cpus.into();
        self.repeat(None, |it| {
            let counter = it.counters.len() - 1;
            let plug = |back| Step::Plug {
                offload,
                back,
                counter,
            };
            let it = it.pause(every).step(plug(false));
            it.pause(away).step(plug(true))
        })
    }

    /// When the next arrival is due; none if there is none any more.
    fn next_due(&mut self, now: u64, every: Time, stop: u64, frames: bool) -> Option<u64> {
        let pause = self.chance.pause(every.mean, every.vary).max(1);
        self.due = match frames {
            true if self.due == 0 => now + pause,
            true => self.due + pause,
            false => (self.due.max(1) + pause).max(now.saturating_sub(BACKLOG)),
        };
        (self.due < stop).then_some(self.due)
    }
}

impl Work for Steps {
    fn next(&mut self, now: u64) -> Op {
        loop {
            let Some(step) = self.list.get(self.at).cloned() else {
                return Op::Exit;
            };
            self.at += 1;
            let mut drawn = |it: Time| self.chance.pause(it.mean, it.vary);
            match step {
                Step::Do(op) => return op,
                Step::Run(it) => return Op::Compute(drawn(it).max(1)),
                Step::Sleep(it, least) => return Op::SleepUntil(now + drawn(it).max(least)),
                Step::Rest(it) => match drawn(it) {
                    0 => {}
                    rest => return Op::SleepUntil(now + rest),
                },
                Step::Due {
                    every,
                    stop,
                    frames,
                } => match self.next_due(now, every, stop, frames) {
                    None => self.at = self.list.len(),
                    Some(due) if due > now => return Op::SleepUntil(due),
                    Some(_) => {}
                },
                Step::Call(it) => return Op::Call(self.callbacks[it]),
                Step::Await(it) => return Op::AwaitCallback(self.callbacks[it]),
                Step::Close(counter) => {
                    return Op::Enter {
                        name: SysCallName::Close,
                        argument: FIRST + self.counters[counter],
                    };
                }
                Step::Plug {
                    offload,
                    back,
                    counter,
                } => {
                    let cpu = self.cpus[self.counters[counter] as usize % self.cpus.len()];
                    return match (offload, back) {
                        (false, false) => Op::Offline(cpu),
                        (false, true) => Op::Online(cpu),
                        (true, false) => Op::Deoffload(cpu),
                        (true, true) => Op::Offload(cpu),
                    };
                }
                Step::Repeat {
                    from,
                    times,
                    counter,
                } => {
                    self.counters[counter] += 1;
                    match times == Some(self.counters[counter]) {
                        true => self.counters[counter] = 0,
                        false => self.at = from,
                    }
                }
            }
        }
    }
}
