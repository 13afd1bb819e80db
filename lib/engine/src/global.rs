//! The engine's state for one domain, and its parts.
//!
//! Each part has a file with what is done to it: [`gp`](Global), [`driver`](crate::driver),
//! [`stall`](crate::stall), [`pressure`](crate::pressure), [`batch`](crate::batch),
//! [`budget`](crate::budget), [`credit`](crate::credit). A new part is listed in [`Global::new`].

use crate::cblist::Held;
use crate::config::Config;
use crate::host::{CpuId, LeafId, Now, Pos};
use crate::leaves::Leaves;
use crate::seq::Seq;
use crate::waiters::Waiters;

/// The phase of the grace period. Every phase can be continued by another driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// No grace period.
    Idle,
    /// Started; the fence before the first scan is still to come.
    Fence,
    /// A scan is in progress, and has come to this leaf.
    Scan(LeafId),
    /// Waiting for holdouts.
    Wait(Wait),
}

/// The state of the grace period between scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// The driver spins; the flags are not set yet.
    Before,
    /// The driver is setting the flags.
    Flag,
    /// The driver spins; the flags are set.
    After,
    /// The driver is setting the flags again and declaring itself asleep.
    Arming,
    /// The driver is issuing the fence after which every reader sees the flags.
    Fence,
    /// The fence was issued: one more scan before sleep.
    Armed,
    /// The driver sleeps.
    Asleep,
}

/// The reason for driving, which determines when the driver is satisfied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interest {
    /// A waiter, until its position is satisfied.
    Waiter(Pos),
    /// A poller: any end of a grace period satisfies it. It does not spin after flags are set, nor sleep.
    Poller,
    /// A thread with callbacks that drives within another call: any end satisfies it, and it never spins,
    /// flags or sleeps. At a holdout it leaves at once.
    Passing,
}

/// The waits of the grace period in flight.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pacing {
    /// Spins so far in the current stage.
    pub(crate) spins: u32,
    pub(crate) stage: Wait,
    /// No scan has ended.
    pub(crate) is_first_scan: bool,
    /// Flags were newly set since the last fence.
    pub(crate) fence_owed: bool,
    pub(crate) expedited: bool,
}

impl Pacing {
    pub(crate) const fn of(expedited: bool) -> Pacing {
        Pacing {
            spins: 0,
            stage: Wait::Before,
            is_first_scan: true,
            fence_owed: false,
            expedited,
        }
    }
}

/// Counters of the engine's actions. They only grow, and decide nothing: engines that differ in them only
/// have the same hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Grace periods ended.
    pub grace_periods: u64,
    /// Scans begun.
    pub scans: u64,
    /// Leaves with readers visited by scans.
    pub leaves_scanned: u64,
    /// Pieces of grace periods done: starts, leaves, waits.
    pub steps: u64,
    /// Grace periods that needed no fence, because only the driver took part.
    pub sole: u64,
    /// How often new sections were directed to the other count ([`indexed`](crate::indexed)).
    pub turns: u64,
    /// How often a stall report was due: see [`stall`](crate::stall).
    pub stalls: u64,
    /// Takeovers of the role from a driver that made no calls.
    pub takeovers: u64,
    /// How often the budget was exceeded.
    pub over_budget: u64,
    /// How often low memory was acted upon ([`take_pressure`](crate::Global::take_pressure)).
    pub pressure: u64,
    /// How often the overflow worker was called ([`pool`](crate::pool)).
    pub backlogs: u64,
    /// How often callbacks were flushed, by cause.
    pub flushes: Flushes,
}

impl core::hash::Hash for Counts {
    fn hash<H: core::hash::Hasher>(&self, _: &mut H) {}
}

impl Counts {
    pub(crate) const NONE: Counts = Counts {
        grace_periods: 0,
        scans: 0,
        leaves_scanned: 0,
        steps: 0,
        sole: 0,
        turns: 0,
        stalls: 0,
        takeovers: 0,
        over_budget: 0,
        pressure: 0,
        backlogs: 0,
        flushes: Flushes::NONE,
    };
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
pub struct Flushes(pub(crate) [u64; Cause::ALL.len()]);

impl Flushes {
    pub(crate) const NONE: Flushes = Flushes([0; Cause::ALL.len()]);

    /// The count for this cause.
    pub fn of(&self, cause: Cause) -> u64 {
        self.0[cause as usize]
    }
}

/// The driver and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Driver {
    /// The CPU it runs on, if that CPU takes part.
    pub cpu: Option<CpuId>,
    pub interest: Interest,
}

/// The role.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Role {
    pub driver: Option<Driver>,
    /// How often the role was taken from a driver.
    pub(crate) epoch: u32,
    /// The number of successive drivers that lost the role before a fence of theirs had ended, up to the
    /// number that makes a difference.
    pub(crate) lost_in_row: u8,
    /// The time of the first inspection since the driver's last call, in nanoseconds; `u64::MAX` for none.
    pub(crate) silent_since: u64,
}

pub(crate) const NOT_SILENT: u64 = u64::MAX;

impl Role {
    pub(crate) const FREE: Role = Role {
        driver: None,
        epoch: 0,
        lost_in_row: 0,
        silent_since: NOT_SILENT,
    };

    /// A driver has returned from its fence in time.
    pub(crate) fn returned(&mut self) {
        self.lost_in_row = 0;
    }
}

/// Stands for no time.
pub(crate) const NEVER: u64 = u64::MAX;

/// The reports about the grace period in flight.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reports {
    /// The time of the first scan that found holdouts.
    pub(crate) blocked_ns: u64,
    /// The same, or the time of the last report.
    pub(crate) since_ns: u64,
    pub(crate) made: u32,
    /// A report is due, and is made at the end of the scan.
    pub(crate) noticed: bool,
}

impl Reports {
    pub(crate) const NONE: Reports = Reports {
        blocked_ns: NEVER,
        since_ns: NEVER,
        made: 0,
        noticed: false,
    };
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

/// The timer, and reports of low memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WorkerTimer {
    /// The time to which the timer is set, in nanoseconds; `u64::MAX` if it is not set.
    pub(crate) armed: u64,
    pub(crate) low: Reported,
    /// The earliest time of the next action for low memory, in nanoseconds.
    pub(crate) not_before: u64,
    /// The end of the [round](Global::prompt_by) of prompt callbacks, in nanoseconds.
    pub(crate) round_end: u64,
    /// It is as long as the shortest one, doubled so often.
    pub(crate) round: u8,
}

impl WorkerTimer {
    pub(crate) const fn new() -> WorkerTimer {
        WorkerTimer {
            armed: u64::MAX,
            low: Reported::No,
            not_before: 0,
            round_end: 0,
            round: 0,
        }
    }
}

/// What fences for deferred work cost the domain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FenceCosts {
    /// The moving average of the time of one, in nanoseconds; 0 before the first.
    pub(crate) average_ns: u32,
    /// The end of the last one.
    pub(crate) ended_ns: u64,
    /// A batch is so much larger than the smallest.
    pub(crate) more: u32,
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
    pub(crate) borrowers: u32,
    pub(crate) level: Level,
    /// Every queue has to be taken over.
    pub(crate) sweep: bool,
    /// … and no thread has been woken for that.
    pub(crate) kick: bool,
    /// A report to the program is due.
    pub(crate) news: bool,
    /// The time before which the next one is not made.
    pub(crate) quiet_until: u64,
    /// What was held when the budget was exceeded last, and that budget.
    pub(crate) exceeded: (Held, Held),
}

impl Holding {
    pub(crate) const fn new() -> Holding {
        Holding {
            held: Sum(Held::NOTHING),
            lent: Sum(Held::NOTHING),
            borrowers: 0,
            level: Level::Easy,
            sweep: false,
            kick: false,
            news: false,
            quiet_until: 0,
            exceeded: (Held::NOTHING, Held::NOTHING),
        }
    }

    /// In the child of a fork: the thread that was woken does not exist. (The CPUs change their shares.)
    pub(crate) fn forked(&mut self) {
        *self = Holding {
            held: self.held,
            lent: self.lent,
            borrowers: self.borrowers,
            level: self.level,
            ..Holding::new()
        };
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

/// A sum of shares. One CPU counts with 2⁴⁸ bytes at most, so that those of all do not overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sum(pub(crate) Held);

impl Sum {
    /// One share of it has changed.
    pub(crate) fn change(&mut self, old: Held, new: Held) {
        const MOST: u64 = 1 << 48;
        self.0.count = self.0.count - old.count + new.count;
        self.0.bytes = self.0.bytes - old.bytes.min(MOST) + new.bytes.min(MOST);
    }
}

/// The grace-period engine of one domain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Global {
    pub(crate) config: Config,
    pub(crate) gp_seq: Seq,
    /// The furthest grace period that is requested.
    pub(crate) needed: Seq,
    pub(crate) phase: Phase,
    pub(crate) role: Role,
    pub(crate) leaves: Leaves,
    pub(crate) waiters: Waiters,
    pub(crate) pacing: Pacing,
    /// The count that new sections join, where readers are [indexed](crate::indexed).
    pub(crate) joined: CpuId,
    pub(crate) reports: Reports,
    pub(crate) now: Now,
    pub(crate) timer: WorkerTimer,
    pub(crate) budget: Holding,
    pub(crate) fences: FenceCosts,
    /// Callbacks that are done and in no turn: the sum of the CPUs' reported parts ([`pool`](crate::pool)).
    pub(crate) untended: u64,
    /// The overflow worker was called, and has not been asked to rest.
    pub(crate) overflow_on_duty: bool,
    pub(crate) counts: Counts,
}

impl Global {
    /// An idle engine without leaves: the first driver has to [`grow`](Global::grow) some.
    pub const fn new(config: Config) -> Global {
        Global {
            config,
            gp_seq: Seq::INITIAL,
            needed: Seq::INITIAL,
            phase: Phase::Idle,
            role: Role::FREE,
            leaves: Leaves::none(),
            waiters: Waiters::new(),
            pacing: Pacing::of(false),
            joined: 0,
            reports: Reports::NONE,
            now: Now { ns: 0 },
            timer: WorkerTimer::new(),
            budget: Holding::new(),
            fences: FenceCosts::new(),
            untended: 0,
            overflow_on_duty: false,
            counts: Counts::NONE,
        }
    }
}
