//! State of a [`Cpu`](crate::Cpu) and a [`Global`](crate::Global) for `threads/`, which has the decisions.

use core::num::NonZeroU32;

use crate::common::cpu::LANES;
use crate::common::host::Pos;

/// The policy's state of one CPU.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Deferring {
    /// The deadline for the visit of another thread; `None` if nothing is queued.
    pub(crate) deadline: Option<u64>,
    /// The time by which queued prompt callbacks have to be stamped.
    pub(crate) prompt: Option<u64>,
    /// Everything queued below these positions is requested: by a hurried call, a barrier, a passed deadline.
    pub(crate) hurried: Option<[Pos; LANES]>,
    /// Time of the last call.
    pub(crate) looked: u64,
    /// The last credit was none: a new entry was queued just now.
    pub(crate) tight: bool,
    /// [`Defer::drained`], at the last call.
    pub(crate) drained: bool,
    /// The owner runs the code of its own lane itself.
    pub(crate) owner_runs: bool,
}

impl Deferring {
    /// Nothing queued.
    pub const fn new() -> Deferring {
        Deferring {
            deadline: None,
            prompt: None,
            hurried: None,
            looked: 0,
            tight: true,
            drained: false,
            owner_runs: false,
        }
    }
}

impl Default for Deferring {
    fn default() -> Deferring {
        Deferring::new()
    }
}

/// Why callbacks that could have waited for more were flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The flush time of lazy ones has passed.
    Lazy,
    /// The flush time of prompt ones has passed.
    Prompt,
    /// There are enough of them.
    Batch,
    /// A caller is in a hurry.
    Hurry,
    /// A barrier waits for them.
    Barrier,
    /// A drain empties the domain.
    Drain,
    /// Memory is low.
    Pressure,
    /// The budget is near.
    Budget,
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 8] = [
        Cause::Lazy,
        Cause::Prompt,
        Cause::Batch,
        Cause::Hurry,
        Cause::Barrier,
        Cause::Drain,
        Cause::Pressure,
        Cause::Budget,
    ];

    /// Its name in counters.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Lazy => "lazy",
            Cause::Prompt => "prompt",
            Cause::Batch => "batch",
            Cause::Hurry => "hurry",
            Cause::Barrier => "barrier",
            Cause::Drain => "drain",
            Cause::Pressure => "pressure",
            Cause::Budget => "budget",
        }
    }
}

/// How often callbacks of a queue were flushed for each [`Cause`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flushes([u64; Cause::ALL.len()]);

impl Flushes {
    /// None.
    pub const fn new() -> Flushes {
        Flushes([0; Cause::ALL.len()])
    }

    /// Counts a flush for this cause.
    pub(crate) fn add(&mut self, cause: Cause) {
        self.0[cause as usize] += 1;
    }

    /// The count for this cause.
    pub fn of(&self, cause: Cause) -> u64 {
        self.0[cause as usize]
    }
}

/// A number of callbacks, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Held {
    /// The number.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
}

/// How near the budget is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Far.
    #[default]
    Easy,
    /// Near: callbacks are flushed and run sooner.
    Near,
    /// The budget is exceeded.
    Over,
}

/// The domain's part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Holding {
    pub(crate) held: Sum,
    pub(crate) lent: Sum,
    /// CPUs with a loan.
    pub(crate) borrowers: u64,
    pub(crate) level: Level,
    /// Every queue has to be taken over.
    pub(crate) sweep: bool,
    /// … and no thread has been woken for that.
    pub(crate) kick: bool,
    /// A report to the program is due.
    pub(crate) news: bool,
    /// The time of the last report.
    pub(crate) reported_at: Option<u64>,
}

impl Holding {
    pub(crate) const fn new() -> Holding {
        Holding {
            held: Sum::NOTHING,
            lent: Sum::NOTHING,
            borrowers: 0,
            level: Level::Easy,
            sweep: false,
            kick: false,
            news: false,
            reported_at: None,
        }
    }

    /// In the child of a fork: the thread that was woken does not exist.
    pub(crate) fn unsaid(&mut self) {
        let Holding {
            sweep,
            kick,
            news,
            reported_at,
            // Kept: the CPUs change their shares.
            held: _,
            lent: _,
            borrowers: _,
            level: _,
        } = self;
        *sweep = false;
        *kick = false;
        *news = false;
        *reported_at = None;
    }

    /// Requests that every queue is taken over, unless that is requested already.
    pub(crate) fn sweep(&mut self) {
        self.kick |= !self.sweep;
        self.sweep = true;
    }

    /// The worker has to be woken for decisions since the last check.
    pub(crate) fn take_kick(&mut self) -> bool {
        core::mem::take(&mut self.kick)
    }
}

/// What fences for deferred work cost the domain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FenceCosts {
    /// The moving average of the time of one, in nanoseconds; 0 before the first.
    pub(crate) average_ns: u64,
    /// The end of the last one.
    pub(crate) ended_ns: u64,
    /// A batch is so much larger than the smallest.
    pub(crate) more: u64,
}

impl FenceCosts {
    pub(crate) const fn new() -> FenceCosts {
        FenceCosts {
            average_ns: 0,
            ended_ns: 0,
            more: 0,
        }
    }
}

/// A CPU's part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Share {
    /// Its part of the total.
    pub(crate) reported: Held,
    /// The credit of its owner.
    pub(crate) lent: Held,
}

impl Share {
    pub(crate) const fn new() -> Share {
        const NOTHING: Held = Held { count: 0, bytes: 0 };
        Share {
            reported: NOTHING,
            lent: NOTHING,
        }
    }
}

/// A sum of shares. The bytes of one CPU saturate, so that those of all do not overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    pub(crate) bytes: u128,
}

impl Sum {
    pub(crate) const NOTHING: Sum = Sum { count: 0, bytes: 0 };

    /// One share of it has changed.
    pub(crate) fn replace(&mut self, old: Held, new: Held) {
        self.count = self.count - old.count + new.count;
        self.bytes = self.bytes - u128::from(old.bytes) + u128::from(new.bytes);
    }

    pub(crate) fn held(self) -> Held {
        Held {
            count: self.count,
            bytes: u64::try_from(self.bytes).unwrap_or(u64::MAX),
        }
    }
}

/// The name of a turn: its worker. The host gives each worker a different one.
pub type TurnId = NonZeroU32;

/// The domain's part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Duty {
    /// The sum of the CPUs' reported parts.
    pub(crate) untended: u64,
    /// The overflow worker was called, and has not been asked to rest.
    pub(crate) on_duty: bool,
}

impl Duty {
    pub(crate) const fn new() -> Duty {
        Duty {
            untended: 0,
            on_duty: false,
        }
    }

    /// In the child of a fork: the worker belongs to another process.
    pub(crate) fn forked(&mut self) {
        let Duty {
            untended: _, // the CPUs change their shares
            on_duty,
        } = self;
        *on_duty = false;
    }
}

/// A CPU's part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Turn {
    pub(crate) holder: Option<TurnId>,
    /// Its part of the total.
    pub(crate) reported: u64,
}

impl Turn {
    pub(crate) const fn new() -> Turn {
        Turn {
            holder: None,
            reported: 0,
        }
    }

    /// In the child of a fork: no worker has a turn.
    pub(crate) fn forked(&mut self) {
        let Turn {
            holder,
            reported: _, // `tell` changes it
        } = self;
        *holder = None;
    }
}

/// A report of low memory, until it is acted upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reported {
    No,
    /// The worker was woken for it.
    Now,
    /// It is deferred to the end of the minimum interval.
    Later,
}

/// Pressure of the group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pressure {
    pub(crate) reported: Reported,
    /// The earliest time of the next action, in nanoseconds.
    pub(crate) not_before: u64,
}

impl Pressure {
    pub(crate) const fn new() -> Pressure {
        Pressure {
            reported: Reported::No,
            not_before: 0,
        }
    }
}
