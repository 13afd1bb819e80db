//! The counters of a machine of threads: the same as the library's `Statistics`, under the same names.

use quiescent_engine::Counts;
use quiescent_engine::credit::Cause;

/// Counters of the library's part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Grace periods that ended.
    pub grace_periods: u64,
    /// Those that needed no fence, because only the driver took part.
    pub sole: u64,
    /// Scans.
    pub scans: u64,
    /// Steps of grace periods.
    pub steps: u64,
    /// Process-wide fences at the start of a grace period.
    pub fences_gp: u64,
    /// … before a driver sleeps.
    pub fences_flag: u64,
    /// … of take-overs.
    pub fences_take: u64,
    /// Of all these, how many threads were asked for first, …
    pub fences_asked: u64,
    /// … and how many they have executed themselves.
    pub fences_answered: u64,
    /// Process-wide fences that were issued.
    pub fences_issued: u64,
    /// Sleeps of drivers.
    pub sleeps: u64,
    /// Drivers that a reader has woken.
    pub reader_wakeups: u64,
    /// Waiters that were asked to drive.
    pub hand_overs: u64,
    /// Roles taken from a silent driver.
    pub takeovers: u64,
    /// Stalled grace periods that were reported.
    pub stalls: u64,
    /// Owners' trips to the lock.
    pub refills: u64,
    /// Objects that owners freed because the budget was near.
    pub helped: u64,
    /// Times a caller gave its processor up.
    pub gave_way: u64,
    /// Times the budget was passed.
    pub over_budget: u64,
    /// Wake-ups of the worker by its timer.
    pub woken_timer: u64,
    /// Wake-ups of the worker by a kick.
    pub woken_kick: u64,
    /// Times the worker checked whether anything is due.
    pub worker_passes: u64,
    /// Barriers.
    pub barriers: u64,
    /// Callbacks that were sent on their way, by cause ([`Cause::ALL`]): times.
    pub flushes: [u64; Cause::ALL.len()],
}

impl Counted {
    /// Fences that were needed.
    pub fn fences(&self) -> u64 {
        self.fences_gp + self.fences_flag + self.fences_take
    }

    /// Callbacks that were sent on their way, times: each cause by its name.
    pub fn flushes_by_cause(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Cause::ALL.iter().map(|it| it.name()).zip(self.flushes)
    }

    /// With what the engine counts.
    pub(crate) fn with(mut self, counts: &Counts) -> Counted {
        self.grace_periods = counts.grace_periods;
        self.sole = counts.sole;
        self.scans = counts.scans;
        self.steps = counts.steps;
        self.takeovers = counts.takeovers;
        self.stalls = counts.stalls;
        self.over_budget = counts.over_budget;
        self.flushes = Cause::ALL.map(|cause| counts.flushes.of(cause));
        self
    }

    /// What was counted since `before`.
    pub fn since(&self, before: &Counted) -> Counted {
        macro_rules! less {
            ($($field:ident)+) => {
                Counted {
                    $($field: self.$field - before.$field,)+
                    flushes: std::array::from_fn(|n| self.flushes[n] - before.flushes[n]),
                }
            };
        }
        less! {
            grace_periods sole scans steps fences_gp fences_flag fences_take fences_asked
            fences_answered fences_issued sleeps reader_wakeups hand_overs takeovers stalls refills
            helped gave_way over_budget woken_timer woken_kick worker_passes barriers
        }
    }
}
