//! Counters of a domain of the program.

use quiescent_core::domain::life::Domain;
use quiescent_core::domain::numbers::Number;
use quiescent_core::domain::state::State;

/// Counters of a [`Domain`](crate::Domain) or an [`Srcu`](crate::Srcu), and its present state. Counters only
/// grow; in the child of a fork they restart for domains that were in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DomainStatistics {
    /// Grace periods that ended.
    pub grace_periods: u64,
    /// Of those, how many needed no fence: only their driver had ever read here.
    pub grace_periods_sole: u64,
    /// Scans over readers.
    pub scans: u64,
    /// Times new sections were directed to the other count: only in an [`Srcu`](crate::Srcu).
    pub turns: u64,
    /// Process-wide fences that it needed. One fence may have served several domains.
    pub fences: u64,
    /// Times a driver slept to wait for a reader.
    pub sleeps: u64,
    /// Sleeping drivers that a reader woke when it ended its section.
    pub reader_wakeups: u64,
    /// Passes of the worker over this domain.
    pub looks: u64,
    /// Callbacks and destructors run.
    pub callbacks: u64,
    /// Of those, how many panicked.
    pub callback_panics: u64,
    /// Barriers that were waited for.
    pub barriers: u64,
    /// Times a stall report was due.
    pub stalls: u64,
    /// Times the budget was exceeded.
    pub over_budget: u64,
    /// Objects that the budget had no room for.
    pub refused: u64,
    /// Objects leaked because there was no memory to queue them.
    pub leaked: u64,
    /// Callbacks and objects that are queued or being run, and their bytes.
    pub queued: u64,
    /// See [`queued`](DomainStatistics::queued).
    pub queued_bytes: u64,
    /// The budget.
    pub budget_bytes: u64,
    /// See [`budget_bytes`](DomainStatistics::budget_bytes).
    pub budget_callbacks: u64,
    /// Threads that have read here. Threads that used the same slot one after the other count once; included
    /// are threads that read in a dropped domain whose records this one reuses. (Not counted in an
    /// [`Srcu`](crate::Srcu).)
    pub readers: u32,
    /// Whether a grace period is in flight or requested.
    pub busy: bool,
    /// Whether the domain is at rest: nothing is queued, being run, driven or waited for.
    pub at_rest: bool,
}

impl DomainStatistics {
    pub(crate) fn of(domain: &'static Domain) -> DomainStatistics {
        let settings = *domain.settings();
        let numbers = domain.numbers();
        let number = |number| numbers.get(number);
        let (queued, queued_bytes) = domain.held();
        let counts = domain.state_if_any().map(|state| {
            let core = state.lock();
            (core.engine.busy(), core.engine.counts().turns)
        });
        let (busy, turns) = counts.unwrap_or_default();
        DomainStatistics {
            grace_periods: number(Number::GracePeriods),
            grace_periods_sole: number(Number::GracePeriodsSole),
            scans: number(Number::Scans),
            turns,
            fences: number(Number::Fences),
            sleeps: number(Number::Sleeps),
            reader_wakeups: number(Number::ReaderWakeups),
            looks: number(Number::Looks),
            callbacks: number(Number::Callbacks),
            callback_panics: number(Number::CallbackPanics),
            barriers: number(Number::Barriers),
            stalls: number(Number::Stalls),
            over_budget: number(Number::OverBudget),
            refused: number(Number::Refused),
            leaked: number(Number::Leaked),
            queued,
            queued_bytes,
            budget_bytes: settings.budget_bytes,
            budget_callbacks: settings.budget_count,
            readers: domain.readers.records(),
            busy,
            at_rest: domain.state_if_any().is_none_or(State::is_at_rest),
        }
    }
}
