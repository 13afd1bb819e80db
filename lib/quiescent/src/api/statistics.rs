//! What the runtime did, and who is in the way.

use std::fmt;
use std::time::Duration;

use quiescent_engine::credit::{self, Cause};

use crate::inner::prim;
use crate::watch::pressure::PressureSources;

mod domain;

pub use domain::DomainStatistics;

/// How readers and updaters order their accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FenceMode {
    /// Readers execute no fence; the updater interrupts every CPU that runs a thread of the process,
    /// once a grace period (`membarrier(2)`).
    Membarrier,
    /// Readers execute a full fence on both sides of a section. For systems without `membarrier`,
    /// and for isolated CPUs that must not be interrupted.
    Fenced,
}

impl fmt::Display for FenceMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FenceMode::Membarrier => "membarrier",
            FenceMode::Fenced => "fenced",
        })
    }
}

/// Counters since the start of the process, and the present state.
///
/// Counters only grow. They are read one after the other while the program runs, so they need not
/// add up exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Grace periods that ended.
    pub grace_periods: u64,
    /// Grace periods that needed no fence: nobody but their driver was registered.
    pub grace_periods_sole: u64,
    /// Scans over readers.
    pub scans: u64,
    /// Groups of 64 threads that scans looked at: those with somebody in them who had not been found
    /// outside.
    pub leaves_scanned: u64,
    /// Pieces of work that grace periods consisted of: linear in groups of threads that somebody is in.
    pub steps: u64,
    /// Process-wide fences between the start of a grace period and its first scan.
    pub fences_gp: u64,
    /// Process-wide fences between flagging holdouts and going to sleep.
    pub fences_flag: u64,
    /// Threads woken because their grace period ended, or to drive the next.
    pub wakeups: u64,
    /// Sleeping drivers woken by a reader that ended its section.
    pub reader_wakeups: u64,
    /// Times a driver went to sleep for a holdout.
    pub sleeps: u64,
    /// Times a satisfied driver handed its role to another waiter.
    pub hand_overs: u64,
    /// Times a waiter took the role from a driver that had not moved for a tenth of a second: stopped, or starved.
    pub usurped: u64,
    /// Times a report of a stall was due ([`set_stall_after`](crate::report::set_stall_after)). It was given if somebody was
    /// still in the way, then.
    pub stalls: u64,
    /// Process-wide fences for taking queues over from threads that had gone quiet: one a sweep.
    pub fences_take: u64,
    /// Process-wide fences that were issued, for whatever domain or [`Srcu`](crate::Srcu); the other counters tell how many were needed. (None
    /// where readers carry the fence.)
    pub fences_issued: u64,
    /// Times that a fence issued for somebody else would do: by another thread at the same time, or for several [`Srcu`](crate::Srcu)s at once.
    pub fences_shared: u64,
    /// Callbacks and objects queued and not gone yet.
    pub queued: u64,
    /// Their bytes, as the budget counts them: sizes, rounded up as allocators do (a word more, then to 16), 16 bytes of
    /// queue for each, and what was said by [`Retired::with_owned_bytes`](crate::Retired::with_owned_bytes). What a thread
    /// has queued since it last asked for credit, a batch at most, is not in there yet.
    pub queued_bytes: u64,
    /// For how long the oldest of it has been queued, at most, as far as it is known. What is being run
    /// does not count.
    pub oldest: Duration,
    /// The budget in bytes, and in callbacks: see [`set_budget`](crate::tuning::set_budget()).
    pub budget_bytes: u64,
    /// See [`budget_bytes`](Statistics::budget_bytes).
    pub budget_callbacks: u64,
    /// Times the budget was passed. Once more only after an eighth of it had become free.
    pub over_budget: u64,
    /// Objects that [`try_retire`](crate::Retired::try_retire) has given back.
    pub refused: u64,
    /// Objects that were freed by threads that retire in passing, beyond the usual, since the budget was
    /// near.
    pub helped: u64,
    /// Times a thread that queues code gave its processor up, once, to those who run it, since the budget was near.
    pub gave_way: u64,
    /// Callbacks and destructors run by the reclaimer.
    pub callbacks: u64,
    /// Of those, how many panicked. Each panic was contained; the panic hook has spoken.
    pub callback_panics: u64,
    /// Of those, how many ended the worker's thread (`pthread_exit`): each time another one went on.
    pub callback_exits: u64,
    /// Callbacks that did not return within a second: each has a thread to itself since.
    pub callbacks_stuck: u64,
    /// Barriers completed.
    pub barriers: u64,
    /// Times the worker looked whether something is due.
    pub worker_passes: u64,
    /// Why it woke up for that, in all: it does not sleep between passes if there is more to do.
    pub worker_wakeups: WorkerWakeups,
    /// Times a queue's callbacks were sent on their way, by what ended their laziness.
    pub flushes: Flushes,
    /// Times the kernel said that memory is low while something was held.
    pub pressure_events: u64,
    /// Times the program said so ([`memory_is_low`](crate::tuning::memory_is_low)).
    pub pressure_calls: u64,
    /// Passes of the worker that took all that was queued since memory was low: ten a second at most, however often
    /// it was said.
    pub pressure_passes: u64,
    /// Which of the kernel's sources the worker listens to now.
    pub pressure_sources: PressureSources,
    /// Times the worker could not start, or could not go on (the fence was refused): what is queued is
    /// held.
    pub worker_errors: u64,
    /// The timer that the worker sleeps on is set.
    pub timer_armed: bool,
    /// Objects lost because there was no memory for a place in a queue.
    pub leaked: u64,
    /// Forks between the first process and this one. In the child of a fork all other counters start at
    /// nothing.
    pub forks: u64,
    /// Callbacks, destructors among them, that were queued or being run at the fork this process comes
    /// from, and that the parent runs, not this process.
    pub not_inherited: u64,
    /// Sections opened by threads that found no slot and share two counters.
    pub crowd_sections: u64,
    /// Callbacks and objects queued by threads without a queue of their own, into one that they share.
    pub crowd_queued: u64,
    /// Threads of this library: the worker, once something was queued; from its first callback on a stand-by; a second
    /// worker, once there was a backlog; and one while a future waits.
    pub helper_threads: u64,
    /// Threads registered now.
    pub registered: u32,
    /// Readers in the way of the grace period in flight now.
    pub holdouts: u32,
    /// Is a grace period in flight or wanted? One that nobody needs any more is left as it is, and nothing runs for it: whoever waits
    /// next takes it along.
    pub busy: bool,
    /// The fence mode.
    pub fence_mode: FenceMode,
}

/// Times the worker woke up, each counted once. If several things woke it, the last of these counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerWakeups {
    /// A flush time had come.
    pub timer: u64,
    /// Somebody was in a hurry, waited for a barrier, had a batch of code ready, or said that memory is low.
    pub kick: u64,
    /// A source of memory pressure spoke.
    pub pressure: u64,
    /// More than 10 000 callbacks were done and nobody was at them: the *second* worker was woken, beside the first,
    /// and slept again when fewer than 100 were left.
    pub backlog: u64,
}

/// What ended the laziness of queues: how often a queue's callbacks were sent on their way for each of these. A thread
/// that comes back while its queue is being taken over does it in a hurry itself: that counts as both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flushes {
    /// The flush time of what is lazy.
    pub lazy: u64,
    /// That of prompt calls.
    pub prompt: u64,
    /// A batch was full.
    pub batch: u64,
    /// `*_hurry`.
    pub hurry: u64,
    /// [`barrier`](crate::barrier()).
    pub barrier: u64,
    /// [`drain`](crate::drain()).
    pub drain: u64,
    /// Memory was low.
    pub pressure: u64,
    /// The [budget](crate::tuning::set_budget()) was near.
    pub budget: u64,
}

impl Flushes {
    pub(crate) fn of(counts: &credit::Flushes) -> Flushes {
        Flushes {
            lazy: counts.of(Cause::Lazy),
            prompt: counts.of(Cause::Prompt),
            batch: counts.of(Cause::Batch),
            hurry: counts.of(Cause::Hurry),
            barrier: counts.of(Cause::Barrier),
            drain: counts.of(Cause::Drain),
            pressure: counts.of(Cause::Pressure),
            budget: counts.of(Cause::Budget),
        }
    }
}

/// A reader that the grace period in flight waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holdout {
    /// The kernel's number of the thread; 0 for the readers that share the two counters.
    pub thread_id: u32,
    /// Its name, if the kernel still knows the thread. A thread without one has *ended* inside a
    /// section: it leaked a guard, and no grace period will ever end.
    pub name: Option<String>,
    /// Sections it has open, one inside the other, as seen just now.
    pub nesting: u32,
}

impl Holdout {
    pub(crate) fn new(thread_id: u32, nesting: u32) -> Holdout {
        let name = match thread_id {
            0 => Some("(threads without a slot)".to_owned()),
            id => std::fs::read_to_string(format!("/proc/self/task/{id}/comm"))
                .ok()
                .map(|name| name.trim_end().to_owned()),
        };
        Holdout {
            thread_id,
            name,
            nesting,
        }
    }
}

impl fmt::Display for Holdout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "thread {} \"{name}\"", self.thread_id)?,
            None => write!(f, "thread {}, which ended inside a section", self.thread_id)?,
        }
        write!(f, " (nesting {})", self.nesting)
    }
}

/// Counters since the start of the process, and the present state. Takes the domain's lock briefly.
///
/// ```
/// let before = quiescent::statistics();
/// quiescent::synchronize();
/// assert!(quiescent::statistics().grace_periods > before.grace_periods);
/// ```
pub fn statistics() -> Statistics {
    prim::domain().statistics()
}

/// The readers that the grace period in flight waits for, at most 64 of them; empty if none is in
/// flight or nobody has looked yet. Reads their names from `/proc`.
pub fn holdouts() -> Vec<Holdout> {
    prim::domain().holdouts()
}
