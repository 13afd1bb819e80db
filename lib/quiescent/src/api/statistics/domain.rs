//! What a domain of the program has done, and holds.

use crate::inner::domain::Domain;
use crate::inner::domain::numbers::Number;
use crate::inner::domain::state::State;

/// What a [`Domain`](crate::Domain) or an [`Srcu`](crate::Srcu) has done, and holds. Counters only grow; in the child of a fork those of what was going on start again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DomainStatistics {
    /// Grace periods that ended.
    pub grace_periods: u64,
    /// Those of them that needed no fence: nobody but their driver had ever read here.
    pub grace_periods_sole: u64,
    /// Scans over readers.
    pub scans: u64,
    /// Times new sections were sent to the other count: only in an [`Srcu`](crate::Srcu).
    pub turns: u64,
    /// Process-wide fences that it needed. One may have served several domains.
    pub fences: u64,
    /// Times a driver went to sleep for a reader.
    pub sleeps: u64,
    /// Sleeping drivers woken by a reader that ended its section.
    pub reader_wakeups: u64,
    /// Times the worker looked.
    pub looks: u64,
    /// Callbacks and destructors run.
    pub callbacks: u64,
    /// Of those, how many panicked.
    pub callback_panics: u64,
    /// Barriers that were waited for.
    pub barriers: u64,
    /// Times a report of a stall was due.
    pub stalls: u64,
    /// Times the budget was passed.
    pub over_budget: u64,
    /// Objects that the budget had no room for.
    pub refused: u64,
    /// Objects leaked for want of memory to queue them in.
    pub leaked: u64,
    /// Callbacks and objects queued and not gone yet, and their bytes.
    pub queued: u64,
    /// See [`queued`](DomainStatistics::queued).
    pub queued_bytes: u64,
    /// The budget.
    pub budget_bytes: u64,
    /// See [`budget_bytes`](DomainStatistics::budget_bytes).
    pub budget_callbacks: u64,
    /// Threads that have read here, counting those one after the other in the same slot once; and those that have read in a domain that is gone, and whose
    /// readers' places this one has taken over. (In an [`Srcu`](crate::Srcu) they are not counted.)
    pub readers: u32,
    /// Is a grace period in flight or wanted?
    pub busy: bool,
    /// Is it at rest: nothing is queued, being run, driven or waited for?
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
            readers: domain.records(),
            busy,
            at_rest: domain.state_if_any().is_none_or(State::is_at_rest),
        }
    }
}
